//! What the queue of an edge is made of, and how much memory it takes before anything runs.

use std::sync::atomic::AtomicUsize;

use serde::Serialize;

use super::{local, packets, wire};
use crate::file::{Full, QueueSpec};

/// What the queue of an edge is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RingKind {
    /// A plain ring inside a lane.
    Local,
    /// A ring of one producer and one consumer, between lanes.
    Spsc,
    /// A ring between lanes from which the producer may steal, to drop the oldest.
    Stealing,
    /// The headers of packets that are under way through a socket.
    WireTable,
}

impl RingKind {
    /// As the plan names it.
    pub fn name(self) -> &'static str {
        match self {
            RingKind::Local => "local ring",
            RingKind::Spsc => "SPSC ring",
            RingKind::Stealing => "stealing ring",
            RingKind::WireTable => "wire table",
        }
    }

    pub(crate) fn of(queue: &QueueSpec, crosses: bool, wire: bool) -> RingKind {
        match (wire, crosses, queue.full) {
            (true, ..) => RingKind::WireTable,
            (false, false, _) => RingKind::Local,
            (false, true, Full::DropOldest) => RingKind::Stealing,
            (false, true, _) => RingKind::Spsc,
        }
    }

    /// How many packets the queue takes at most.
    pub(crate) fn packets(self, queue: &QueueSpec) -> usize {
        if self == RingKind::WireTable { wire::SLOTS } else { packets(queue.capacity) }
    }

    /// How many bytes it takes for each packet of its capacity, where a packet has so many.
    pub(crate) fn packet_bytes(self, packet_bytes: usize) -> usize {
        match self {
            RingKind::Local => local::SPARE * packet_bytes,
            RingKind::Spsc => packet_bytes,
            // Each slot has a counter of its own.
            RingKind::Stealing => packet_bytes + size_of::<AtomicUsize>(),
            RingKind::WireTable => wire::SLOT_BYTES,
        }
    }
}
