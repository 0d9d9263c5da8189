//! rtrb: a wait-free ring of one producer and one consumer.

use crate::{
    packet::{Large, Payload, Small},
    peer::{Chain, Failure, Peer, Setup},
    probe,
    queues::{CAPACITY, Queue, in_one_thread, in_two_threads},
};

/// A ring per edge.
pub struct Rtrb {
    /// 1 or 2.
    pub threads: usize,
}

impl Peer for Rtrb {
    fn name(&self) -> &'static str {
        "rtrb"
    }

    fn version(&self) -> String {
        env!("VERSION_RTRB").into()
    }

    fn setup(&self, _: Chain) -> Option<Setup> {
        let threads = self.threads;
        let words = if threads == 1 {
            format!("a ring of {CAPACITY} per edge, stages behind a Box<dyn> stepped in order")
        } else {
            format!("a ring of {CAPACITY} per edge, two pinned threads that spin, every hop crosses")
        };
        Some(Setup { words, threads })
    }

    fn run(&self, chain: Chain) -> Result<(), Failure> {
        let packets = probe::run().packets;
        match (chain.payload, self.threads) {
            (Payload::Small, 1) => in_one_thread::<Small, Ring>(chain.stages),
            (Payload::Large, 1) => in_one_thread::<Large, Ring>(chain.stages),
            (Payload::Small, _) => in_two_threads::<Small, Ring>(chain.stages, packets)?,
            (Payload::Large, _) => in_two_threads::<Large, Ring>(chain.stages, packets)?,
        }
        Ok(())
    }
}

struct Ring;

impl<L: Send> Queue<L> for Ring {
    type Tx = rtrb::Producer<L>;
    type Rx = rtrb::Consumer<L>;

    fn new() -> (Self::Tx, Self::Rx) {
        rtrb::RingBuffer::new(CAPACITY)
    }

    #[inline]
    fn is_full(tx: &Self::Tx) -> bool {
        tx.is_full()
    }

    #[inline]
    fn push(tx: &mut Self::Tx, packet: L) -> Result<(), L> {
        tx.push(packet).map_err(|rtrb::PushError::Full(packet)| packet)
    }

    #[inline]
    fn pop(rx: &mut Self::Rx) -> Option<L> {
        rx.pop().ok()
    }
}
