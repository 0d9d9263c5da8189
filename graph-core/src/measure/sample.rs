//! What is known of one packet when it is taken.

use crate::time::{Nanos, Stamp};

/// The stamps of one packet on one edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// When the producer took the cause.
    pub began: Stamp,
    /// When the producer handed the packet over.
    pub sent: Stamp,
    /// When the consumer took it.
    pub taken: Stamp,
    /// What the producer waited on purpose.
    pub held: Nanos,
}

impl Hop {
    /// `taken - began`; `None` where the stamps are out of order, as for all of these.
    #[inline]
    pub fn latency(&self) -> Option<Nanos> {
        self.taken.since(self.began)
    }

    /// `sent - began - held`: what the producer spent.
    #[inline]
    pub fn work(&self) -> Option<Nanos> {
        self.sent.since(self.began)?.0.checked_sub(self.held.0).map(Nanos)
    }

    /// `taken - sent`: what the queue and the way cost.
    #[inline]
    pub fn wait(&self) -> Option<Nanos> {
        self.taken.since(self.sent)
    }

    /// `latency - held`: what someone could make faster.
    #[inline]
    pub fn cost(&self) -> Option<Nanos> {
        self.latency()?.0.checked_sub(self.held.0).map(Nanos)
    }

    /// Whether work and wait are both at least nothing, so that `latency = work + held + wait`.
    #[inline]
    pub(crate) fn in_order(&self) -> bool {
        let ready = self.began.0.saturating_add(self.held.0);
        ready <= self.sent.0 && self.sent <= self.taken
    }
}

/// One packet, as its consumer took it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The packet's number on its edge.
    pub seq: u64,
    /// The turn it belongs to.
    pub turn: u64,
    /// The trail of its lineage; with `began` it tells one cause from the next.
    pub trail: u32,
    /// Whether it is counted only, since the run still warms up.
    pub warm_up: bool,
    /// When the data came to exist on this host.
    pub origin: Stamp,
    /// When the producer took the cause.
    pub began: Stamp,
    /// When the producer handed the packet over.
    pub sent: Stamp,
    /// When the consumer took it.
    pub taken: Stamp,
    /// What the producer waited on purpose.
    pub held: Nanos,
}

impl Sample {
    /// Its stamps on this edge alone.
    #[inline]
    pub fn hop(&self) -> Hop {
        Hop { began: self.began, sent: self.sent, taken: self.taken, held: self.held }
    }

    pub(crate) const WORDS: usize = 8;

    pub(crate) fn words(&self) -> [u64; Sample::WORDS] {
        let Sample { seq, turn, trail, warm_up: _, origin, began, sent, taken, held } = *self;
        [seq, turn, trail.into(), origin.0, began.0, sent.0, taken.0, held.0]
    }

    pub(crate) fn from_words(words: &[u64]) -> Option<Sample> {
        let &[seq, turn, trail, origin, began, sent, taken, held] = words else { return None };
        Some(Sample {
            seq,
            turn,
            trail: trail as u32,
            warm_up: false,
            origin: Stamp(origin),
            began: Stamp(began),
            sent: Stamp(sent),
            taken: Stamp(taken),
            held: Nanos(held),
        })
    }
}
