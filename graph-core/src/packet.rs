//! Packets: a payload and the stamps it travels with.

use crate::{
    time::{Nanos, Stamp},
    trail::TrailRef,
    turn::Turn,
};

/// What travels in front of every payload; one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Header {
    /// Counts the packets of one output port, from 0.
    pub seq: u64,
    /// When the data came to exist on this host. Only sources set it; what follows inherits it from its cause.
    pub origin: Stamp,
    /// When the producer took the cause; for a source, the origin.
    pub began: Stamp,
    /// When the packet was handed over, before any blocking.
    pub sent: Stamp,
    /// What the producer waited on purpose between `began` and `sent`.
    pub held: Nanos,
    /// The interaction it belongs to.
    pub turn: Turn,
    /// The hop that its cause came by.
    pub trail: TrailRef,
}

/// A payload and its header.
#[derive(Clone, Debug)]
pub struct Packet<T> {
    /// Stamps, turn and trail.
    pub header: Header,
    /// The data.
    pub payload: T,
}

/// What output is due to: output that names a cause inherits its origin, turn and trail, and its time at the node is
/// counted from the cause's `taken`.
///
/// A small value: a node may keep one for as long as it likes and emit in its name later.
// No two words that are neighbours here are neighbours in a header: copied as a pair just after they were written one by
// one, they would have to wait for both to reach the cache, which took a third of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Cause {
    /// When the data came to exist on this host.
    pub origin: Stamp,
    /// The interaction it belongs to.
    pub turn: Turn,
    /// When this node took the packet.
    pub taken: Stamp,
    /// The hop that it came by.
    pub trail: TrailRef,
}

impl Cause {
    /// The cause of data that came to exist at `origin`, for sources.
    pub fn from_origin(origin: Stamp) -> Cause {
        Cause { origin, taken: origin, turn: Turn::NONE, trail: TrailRef::NONE }
    }

    /// The same cause as part of `turn`.
    pub fn in_turn(self, turn: Turn) -> Cause {
        Cause { turn, ..self }
    }
}

impl Header {
    /// What the packet is to the node that took it at `taken`.
    #[inline(always)]
    pub fn cause(&self, taken: Stamp) -> Cause {
        Cause { origin: self.origin, taken, turn: self.turn, trail: self.trail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_fits_one_cache_line() {
        assert!(size_of::<Header>() <= 64, "{} bytes", size_of::<Header>());
    }
}
