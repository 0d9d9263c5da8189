//! crossbeam-channel: a bounded channel of many producers and consumers.

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::{
    packet::{Large, Payload, Small},
    peer::{Chain, Failure, Peer, Setup},
    probe,
    queues::{CAPACITY, Queue, in_one_thread, in_two_threads},
};

/// A channel per edge.
pub struct Crossbeam {
    /// 1 or 2.
    pub threads: usize,
}

impl Peer for Crossbeam {
    fn name(&self) -> &'static str {
        "crossbeam"
    }

    fn version(&self) -> String {
        env!("VERSION_CROSSBEAM_CHANNEL").into()
    }

    fn setup(&self, _: Chain) -> Option<Setup> {
        let threads = self.threads;
        let words = if threads == 1 {
            format!(
                "bounded({CAPACITY}) per edge, try_send and try_recv, stages behind a Box<dyn> stepped in order"
            )
        } else {
            format!(
                "bounded({CAPACITY}) per edge, two pinned threads that spin on try_recv, every hop crosses"
            )
        };
        Some(Setup { words, threads })
    }

    fn run(&self, chain: Chain) -> Result<(), Failure> {
        let packets = probe::run().packets;
        match (chain.payload, self.threads) {
            (Payload::Small, 1) => in_one_thread::<Small, Channel>(chain.stages),
            (Payload::Large, 1) => in_one_thread::<Large, Channel>(chain.stages),
            (Payload::Small, _) => in_two_threads::<Small, Channel>(chain.stages, packets)?,
            (Payload::Large, _) => in_two_threads::<Large, Channel>(chain.stages, packets)?,
        }
        Ok(())
    }
}

struct Channel;

impl<L: Send> Queue<L> for Channel {
    type Tx = Sender<L>;
    type Rx = Receiver<L>;

    fn new() -> (Self::Tx, Self::Rx) {
        bounded(CAPACITY)
    }

    #[inline]
    fn is_full(tx: &Self::Tx) -> bool {
        tx.is_full()
    }

    #[inline]
    fn push(tx: &mut Self::Tx, packet: L) -> Result<(), L> {
        tx.try_send(packet).map_err(|error| error.into_inner())
    }

    #[inline]
    fn pop(rx: &mut Self::Rx) -> Option<L> {
        rx.try_recv().ok()
    }
}
