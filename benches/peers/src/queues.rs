//! Chains over bounded queues that cross threads: all nodes in one, or in two that spin.

use std::thread;

use crate::{
    cpus::{cpus, pin},
    packet::Load,
    peer::Failure,
    probe::{Feed, Sink, Stage},
};

/// Packets that a queue holds.
pub const CAPACITY: usize = 64;

/// A queue of one producer and one consumer.
pub trait Queue<L> {
    /// The producer's end.
    type Tx: Send;
    /// The consumer's end.
    type Rx: Send;

    /// A queue of [`CAPACITY`].
    fn new() -> (Self::Tx, Self::Rx);
    /// Whether a push would fail now.
    fn is_full(tx: &Self::Tx) -> bool;
    /// Gives the packet back when the queue is full.
    fn push(tx: &mut Self::Tx, packet: L) -> Result<(), L>;
    /// The oldest packet.
    fn pop(rx: &mut Self::Rx) -> Option<L>;
}

/// What a stage does, behind a pointer as in any runtime whose graph is not compiled in.
pub trait Process<L>: Send {
    /// A packet comes by.
    fn process(&mut self, packet: &mut L);
}

impl<L: Load> Process<L> for Stage {
    fn process(&mut self, packet: &mut L) {
        self.pass(packet.head());
    }
}

/// So many of them.
pub fn stages<L: Load>(count: usize) -> Vec<Box<dyn Process<L>>> {
    (0..count).map(|_| Box::new(Stage::default()) as Box<dyn Process<L>>).collect()
}

/// All nodes in this thread, in order.
pub fn in_one_thread<L: Load, Q: Queue<L>>(count: usize) {
    let (mut txs, mut rxs): (Vec<_>, Vec<_>) = (0..=count).map(|_| Q::new()).unzip();
    let mut stages = stages::<L>(count);
    let (mut feed, mut sink) = (Feed::<L>::default(), Sink::default());
    while let Some(packet) = feed.next() {
        // One packet at a time is in the chain: no queue is ever full.
        let _ = Q::push(&mut txs[0], packet);
        for (at, stage) in stages.iter_mut().enumerate() {
            if let Some(mut packet) = Q::pop(&mut rxs[at]) {
                stage.process(&mut packet);
                let _ = Q::push(&mut txs[at + 1], packet);
            }
        }
        if let Some(packet) = Q::pop(&mut rxs[count]) {
            sink.take(packet);
        }
    }
}

/// A node of a spinning thread.
enum Node<L: Load, Q: Queue<L>> {
    Source(Feed<L>, Q::Tx),
    Stage(Box<dyn Process<L>>, Q::Rx, Q::Tx),
    Sink(Sink, Q::Rx),
}

impl<L: Load, Q: Queue<L>> Node<L, Q> {
    /// Moves a packet if there is one and there is room for it.
    fn step(&mut self) -> Step {
        match self {
            Node::Source(feed, tx) => {
                if !feed.may_send() || Q::is_full(tx) {
                    return Step::Idle;
                }
                match feed.next().map(|packet| Q::push(tx, packet)) {
                    Some(_) => Step::Moved,
                    None => Step::Ended,
                }
            }
            Node::Stage(stage, rx, tx) => {
                if Q::is_full(tx) {
                    return Step::Idle;
                }
                let Some(mut packet) = Q::pop(rx) else { return Step::Idle };
                stage.process(&mut packet);
                let _ = Q::push(tx, packet);
                Step::Moved
            }
            Node::Sink(sink, rx) => match Q::pop(rx).map(|packet| sink.take(packet)) {
                Some(true) => Step::Ended,
                Some(false) => Step::Moved,
                None => Step::Idle,
            },
        }
    }
}

#[derive(PartialEq)]
enum Step {
    Idle,
    Moved,
    Ended,
}

/// Source, stages and sink in two threads in turn, so that every hop crosses. Both are pinned and never sleep.
pub fn in_two_threads<L: Load, Q: Queue<L> + 'static>(count: usize, packets: u64) -> Result<(), Failure> {
    let mut lanes: [Vec<Node<L, Q>>; 2] = [Vec::new(), Vec::new()];
    let (tx, mut rx) = Q::new();
    lanes[0].push(Node::Source(Feed::default(), tx));
    for (at, stage) in stages::<L>(count).into_iter().enumerate() {
        let (tx, next) = Q::new();
        lanes[(at + 1) % 2].push(Node::Stage(stage, std::mem::replace(&mut rx, next), tx));
    }
    lanes[(count + 1) % 2].push(Node::Sink(Sink::default(), rx));
    let cpus = cpus();
    thread::scope(|scope| {
        let spinners: Vec<_> = lanes
            .into_iter()
            .enumerate()
            .map(|(at, lane)| {
                let cpu = cpus[at % cpus.len()];
                scope.spawn(move || {
                    pin(cpu)?;
                    spin(lane, packets);
                    Ok(())
                })
            })
            .collect();
        let ends = spinners.into_iter().map(|spinner| spinner.join().map_err(|_| "a thread panicked")?);
        ends.collect()
    })
}

/// Steps the nodes, the nearest to the sink first, until all packets have been through.
fn spin<L: Load, Q: Queue<L>>(mut nodes: Vec<Node<L, Q>>, packets: u64) {
    let mut left: Vec<u64> = vec![packets; nodes.len()];
    while left.iter().any(|&left| left > 0) {
        for (node, left) in nodes.iter_mut().zip(&mut left).rev() {
            if *left == 0 {
                continue;
            }
            match node.step() {
                Step::Moved => *left -= 1,
                Step::Ended => *left = 0,
                Step::Idle => std::hint::spin_loop(),
            }
        }
    }
}
