//! A virtual call per hop: what no runtime can beat that does not know its graph when it is compiled.

use crate::{
    packet::{Large, Load, Payload, Small},
    peer::{Chain, Failure, Peer, Setup},
    probe::{Feed, Sink, Stage},
};

/// Each node calls the next.
pub struct Direct;

impl Peer for Direct {
    fn name(&self) -> &'static str {
        "dyn"
    }

    fn version(&self) -> String {
        "-".into()
    }

    fn setup(&self, _: Chain) -> Option<Setup> {
        Some(Setup { words: "each node calls the next through a Box<dyn>".into(), threads: 1 })
    }

    fn run(&self, chain: Chain) -> Result<(), Failure> {
        match chain.payload {
            Payload::Small => call::<Small>(chain.stages),
            Payload::Large => call::<Large>(chain.stages),
        }
        Ok(())
    }
}

trait Node<L> {
    fn take(&mut self, packet: L);
}

struct Hand<L> {
    stage: Stage,
    next: Box<dyn Node<L>>,
}

impl<L: Load> Node<L> for Hand<L> {
    fn take(&mut self, mut packet: L) {
        self.stage.pass(packet.head());
        self.next.take(packet);
    }
}

impl<L: Load> Node<L> for Sink {
    fn take(&mut self, packet: L) {
        Sink::take(self, packet);
    }
}

fn call<L: Load>(stages: usize) {
    let mut first: Box<dyn Node<L>> = Box::new(Sink::default());
    for _ in 0..stages {
        first = Box::new(Hand { stage: Stage::default(), next: first });
    }
    let mut feed = Feed::<L>::default();
    while let Some(packet) = feed.next() {
        first.take(packet);
    }
}
