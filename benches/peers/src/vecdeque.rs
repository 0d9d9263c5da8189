//! The plainest queue between stages of one thread.

use std::collections::VecDeque;

use crate::{
    packet::{Large, Load, Payload, Small},
    peer::{Chain, Failure, Peer, Setup},
    probe::{Feed, Sink},
    queues::{CAPACITY, stages},
};

/// A `VecDeque` per edge.
pub struct Deques;

impl Peer for Deques {
    fn name(&self) -> &'static str {
        "vecdeque"
    }

    fn version(&self) -> String {
        "std".into()
    }

    fn setup(&self, _: Chain) -> Option<Setup> {
        let words = format!("a VecDeque of {CAPACITY} per edge, stages behind a Box<dyn> stepped in order");
        Some(Setup { words, threads: 1 })
    }

    fn run(&self, chain: Chain) -> Result<(), Failure> {
        match chain.payload {
            Payload::Small => step::<Small>(chain.stages),
            Payload::Large => step::<Large>(chain.stages),
        }
        Ok(())
    }
}

fn step<L: Load>(count: usize) {
    let mut edges: Vec<VecDeque<L>> = (0..=count).map(|_| VecDeque::with_capacity(CAPACITY)).collect();
    let mut stages = stages::<L>(count);
    let (mut feed, mut sink) = (Feed::<L>::default(), Sink::default());
    while let Some(packet) = feed.next() {
        edges[0].push_back(packet);
        for (at, stage) in stages.iter_mut().enumerate() {
            if let Some(mut packet) = edges[at].pop_front() {
                stage.process(&mut packet);
                edges[at + 1].push_back(packet);
            }
        }
        if let Some(packet) = edges[count].pop_front() {
            sink.take(packet);
        }
    }
}
