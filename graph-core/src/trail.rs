//! Trails: for each lineage, one hop per edge that it crossed, so that a path's time can be taken apart.
//!
//! A source opens a trail for each packet in a ring of its own. Whoever takes a descendant over a tracked edge writes
//! that edge's hop, once a lineage: the first packet of a cause wins. At a path's last edge the hops are
//! read back. A lineage that is older than its source's ring is evicted, which is counted by the reader.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::{
    measure::Hop,
    time::{Nanos, Stamp},
};

/// Names the trail of a lineage; a plain value in the packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TrailRef {
    index: u32,
    generation: u32,
}

impl TrailRef {
    /// No trail: the graph tracks none.
    pub const NONE: TrailRef = TrailRef { index: u32::MAX, generation: 0 };

    /// Tells this trail from others of the time.
    pub(crate) fn index(self) -> u32 {
        self.index
    }

    pub(crate) fn from_bits(bits: u64) -> TrailRef {
        TrailRef { index: bits as u32, generation: (bits >> 32) as u32 }
    }

    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }
}

impl Default for TrailRef {
    fn default() -> Self {
        TrailRef::NONE
    }
}

/// The most memory one source's trails may take.
const RING_BYTES: usize = 4 << 20;
const RING_LENGTHS: std::ops::RangeInclusive<usize> = 256..=4096;

#[derive(Debug, Default)]
struct Cell {
    generation: AtomicU32,
    began: AtomicU64,
    sent: AtomicU64,
    held: AtomicU64,
    taken: AtomicU64,
}

/// All trails of a run.
#[derive(Debug, Default)]
pub(crate) struct Trails {
    /// Edges tracked in each trail; none where the graph has no paths.
    tracked: usize,
    ring_length: usize,
    /// The lineage that owns each trail now.
    owners: Box<[AtomicU32]>,
    /// `owners.len() * tracked` intervals.
    cells: Box<[Cell]>,
}

/// One source's part of [`Trails`].
#[derive(Debug, Default)]
pub(crate) struct TrailRing {
    base: u32,
    opened: u32,
}

impl Trails {
    /// Trails of `tracked` edges for `sources` sources.
    pub(crate) fn new(tracked: usize, sources: usize) -> Trails {
        if tracked == 0 {
            return Trails::default();
        }
        let ring_length =
            (RING_BYTES / (tracked * size_of::<Cell>())).clamp(*RING_LENGTHS.start(), *RING_LENGTHS.end());
        let trails = ring_length * sources;
        Trails {
            tracked,
            ring_length,
            owners: (0..trails).map(|_| AtomicU32::new(0)).collect(),
            cells: (0..trails * tracked).map(|_| Cell::default()).collect(),
        }
    }

    /// The part of the `source`-th source.
    pub(crate) fn ring(&self, source: usize) -> TrailRing {
        TrailRing { base: (source * self.ring_length) as u32, opened: 0 }
    }

    /// A trail for a new lineage of the ring's source.
    #[inline]
    pub(crate) fn open(&self, ring: &mut TrailRing) -> TrailRef {
        if self.tracked == 0 {
            return TrailRef::NONE;
        }
        let index = ring.base + ring.opened % self.ring_length as u32;
        // Generation 0 marks a cell nobody wrote.
        let generation = ring.opened / self.ring_length as u32 + 1;
        ring.opened = ring.opened.wrapping_add(1);
        self.owners[index as usize].store(generation, Ordering::Release);
        TrailRef { index, generation }
    }

    /// Writes what the lineage spent on the tracked edge `edge`, unless a sibling has been there before. Returns
    /// whether it wrote.
    #[inline]
    pub(crate) fn record(&self, trail: TrailRef, edge: usize, hop: Hop) -> bool {
        let Some(cell) = self.cell(trail, edge) else { return false };
        if cell.generation.load(Ordering::Relaxed) == trail.generation {
            return false;
        }
        cell.began.store(hop.began.0, Ordering::Relaxed);
        cell.sent.store(hop.sent.0, Ordering::Relaxed);
        cell.held.store(hop.held.0, Ordering::Relaxed);
        cell.taken.store(hop.taken.0, Ordering::Relaxed);
        cell.generation.store(trail.generation, Ordering::Release);
        true
    }

    /// Reads the lineage's hops over the tracked edges `edges` into `hops`, oldest first. Returns whether it crossed
    /// them all, one after the other, and its trail has not been given to another lineage.
    pub(crate) fn collect(&self, trail: TrailRef, edges: &[usize], hops: &mut Vec<Hop>) -> bool {
        hops.clear();
        for &edge in edges {
            let Some(cell) = self.cell(trail, edge) else { return false };
            if cell.generation.load(Ordering::Acquire) != trail.generation {
                return false;
            }
            let hop = Hop {
                began: Stamp(cell.began.load(Ordering::Relaxed)),
                sent: Stamp(cell.sent.load(Ordering::Relaxed)),
                held: Nanos(cell.held.load(Ordering::Relaxed)),
                taken: Stamp(cell.taken.load(Ordering::Relaxed)),
            };
            if hops.last().is_some_and(|before: &Hop| before.taken != hop.began) {
                return false;
            }
            hops.push(hop);
        }
        // The ring may have come round while the hops were read.
        self.cell(trail, 0).is_some()
    }

    fn cell(&self, trail: TrailRef, edge: usize) -> Option<&Cell> {
        let owner = self.owners.get(trail.index as usize)?;
        (owner.load(Ordering::Acquire) == trail.generation)
            .then(|| &self.cells[trail.index as usize * self.tracked + edge])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(began: u64, taken: u64) -> Hop {
        Hop { began: Stamp(began), sent: Stamp(taken), held: Nanos(0), taken: Stamp(taken) }
    }

    #[test]
    fn a_lineage_is_read_back_edge_by_edge() {
        let trails = Trails::new(2, 1);
        let trail = trails.open(&mut trails.ring(0));
        trails.record(trail, 0, hop(1, 3));
        trails.record(trail, 1, hop(3, 8));
        let mut hops = Vec::new();
        assert!(trails.collect(trail, &[0, 1], &mut hops));
        assert_eq!(hops, [hop(1, 3), hop(3, 8)]);
    }

    #[test]
    fn the_first_packet_of_a_cause_keeps_the_hop() {
        let trails = Trails::new(1, 1);
        let trail = trails.open(&mut trails.ring(0));
        trails.record(trail, 0, hop(1, 3));
        trails.record(trail, 0, hop(1, 9));
        let mut hops = Vec::new();
        assert!(trails.collect(trail, &[0], &mut hops));
        assert_eq!(hops, [hop(1, 3)]);
    }

    #[test]
    fn a_lineage_that_left_the_path_or_was_evicted_is_not_read_back() {
        let trails = Trails::new(2, 1);
        let mut ring = trails.ring(0);
        let trail = trails.open(&mut ring);
        trails.record(trail, 0, hop(1, 3));
        let mut hops = Vec::new();
        assert!(!trails.collect(trail, &[0, 1], &mut hops));
        trails.record(trail, 1, hop(3, 8));
        assert!(trails.collect(trail, &[0, 1], &mut hops));
        for _ in 0..trails.ring_length {
            trails.open(&mut ring);
        }
        assert!(!trails.collect(trail, &[0, 1], &mut hops));
    }

    #[test]
    fn intervals_that_do_not_touch_are_no_lineage() {
        let trails = Trails::new(2, 1);
        let trail = trails.open(&mut trails.ring(0));
        trails.record(trail, 0, hop(1, 3));
        trails.record(trail, 1, hop(4, 8));
        assert!(!trails.collect(trail, &[0, 1], &mut Vec::new()));
    }

    #[test]
    fn without_paths_there_are_no_trails() {
        let trails = Trails::new(0, 3);
        assert_eq!(trails.open(&mut trails.ring(2)), TrailRef::NONE);
        trails.record(TrailRef::NONE, 0, hop(1, 2));
    }
}
