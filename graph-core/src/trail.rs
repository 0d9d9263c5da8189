//! Trails: the hops of each lineage, so that a path's time can be taken apart.
//!
//! Whoever takes a packet over an edge that a path crosses writes that hop down, with a reference to the hop before it,
//! and the reference to the new hop travels on with the cause. So hops form a tree: packets of one cause, branches of a
//! fan-out and causes that were kept share what they have in common and nothing else. At a path's last edge the hops are
//! read backwards.
//!
//! Hops are kept in a preallocated ring an edge, written by the edge's consumer alone. A hop that is older than its ring
//! is gone, which its readers notice.

use crate::{
    measure::Hop,
    sync::{
        atomic::{AtomicU32, AtomicU64, Ordering, fence},
        or_modelled,
    },
    time::{Nanos, Stamp},
};

/// Names the hop that a packet's cause came by; a plain value in the packet's header.
///
/// One word, so that it is copied by one instruction: the index below, the generation above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TrailRef(u64);

impl TrailRef {
    /// No hop was written down.
    pub const NONE: TrailRef = TrailRef(u32::MAX as u64);

    fn new(index: u32, generation: u32) -> TrailRef {
        TrailRef(u64::from(generation) << 32 | u64::from(index))
    }

    /// Tells this trail from others of the time.
    pub(crate) fn index(self) -> u32 {
        self.0 as u32
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) fn from_bits(bits: u64) -> TrailRef {
        TrailRef(bits)
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }
}

impl Default for TrailRef {
    fn default() -> Self {
        TrailRef::NONE
    }
}

/// What became of an attempt to read a lineage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lineage {
    /// Every hop of the path was read.
    Whole,
    /// It came by another way.
    Elsewhere,
    /// It came by this way, but a hop is older than its ring, or does not begin where the one before was taken.
    Broken,
}

/// The most memory that all trails of a run take, as long as no ring is shorter than the shortest.
const BYTES: usize = 8 << 20;
const RING_LENGTHS: std::ops::RangeInclusive<usize> = or_modelled(256, 1)..=or_modelled(4096, 2);

#[derive(Debug, Default)]
struct Cell {
    /// 0 while it is written.
    generation: AtomicU32,
    before: AtomicU64,
    began: AtomicU64,
    sent: AtomicU64,
    held: AtomicU64,
    taken: AtomicU64,
}

/// All trails of a run.
#[derive(Debug, Default)]
pub(crate) struct Trails {
    ring_length: usize,
    /// A ring for each edge that a path crosses.
    cells: Box<[Cell]>,
}

impl Trails {
    /// Trails over so many edges.
    pub(crate) fn new(edges: usize) -> Trails {
        let fits = BYTES / (edges.max(1) * size_of::<Cell>());
        let ring_length = fits.clamp(*RING_LENGTHS.start(), *RING_LENGTHS.end());
        Trails { ring_length, cells: (0..edges * ring_length).map(|_| Cell::default()).collect() }
    }

    /// Writes down the `count`-th hop over `edge`, which follows the hop `before`.
    #[inline]
    pub(crate) fn write(&self, edge: usize, count: u64, before: TrailRef, hop: &Hop) -> TrailRef {
        let index = edge * self.ring_length + (count % self.ring_length as u64) as usize;
        // Never 0, and another one each time that the ring comes round.
        let generation = (count / self.ring_length as u64) as u32 | 1 << 31;
        let cell = &self.cells[index];
        cell.generation.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        cell.before.store(before.to_bits(), Ordering::Relaxed);
        cell.began.store(hop.began.0, Ordering::Relaxed);
        cell.sent.store(hop.sent.0, Ordering::Relaxed);
        cell.held.store(hop.held.0, Ordering::Relaxed);
        cell.taken.store(hop.taken.0, Ordering::Relaxed);
        cell.generation.store(generation, Ordering::Release);
        TrailRef::new(index as u32, generation)
    }

    /// Reads the hops over `edges` that end with `last` into `hops`, oldest first.
    pub(crate) fn read(&self, last: TrailRef, edges: &[usize], hops: &mut Vec<Hop>) -> Lineage {
        hops.clear();
        let mut at = last;
        for &edge in edges.iter().rev() {
            if at == TrailRef::NONE || at.index() as usize / self.ring_length != edge {
                return Lineage::Elsewhere;
            }
            let Some((before, hop)) = self.cell(at) else { return Lineage::Broken };
            if hops.last().is_some_and(|after: &Hop| after.began != hop.taken) {
                return Lineage::Broken;
            }
            hops.push(hop);
            at = before;
        }
        hops.reverse();
        Lineage::Whole
    }

    fn cell(&self, at: TrailRef) -> Option<(TrailRef, Hop)> {
        let cell = self.cells.get(at.index() as usize)?;
        let is_same = |order| cell.generation.load(order) == at.generation();
        if !is_same(Ordering::Acquire) {
            return None;
        }
        let before = TrailRef::from_bits(cell.before.load(Ordering::Relaxed));
        let hop = Hop {
            began: Stamp(cell.began.load(Ordering::Relaxed)),
            sent: Stamp(cell.sent.load(Ordering::Relaxed)),
            held: Nanos(cell.held.load(Ordering::Relaxed)),
            taken: Stamp(cell.taken.load(Ordering::Relaxed)),
        };
        // The ring may have come round meanwhile.
        fence(Ordering::Acquire);
        is_same(Ordering::Relaxed).then_some((before, hop))
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
        let trails = Trails::new(2);
        let first = trails.write(0, 0, TrailRef::NONE, &hop(1, 3));
        let second = trails.write(1, 0, first, &hop(3, 8));
        let mut hops = Vec::new();
        assert_eq!(trails.read(second, &[0, 1], &mut hops), Lineage::Whole);
        assert_eq!(hops, [hop(1, 3), hop(3, 8)]);
        assert_eq!(trails.read(second, &[1], &mut hops), Lineage::Whole);
        assert_eq!(hops, [hop(3, 8)], "a path may begin in the middle");
    }

    #[test]
    fn packets_of_one_cause_share_what_was_before_and_nothing_else() {
        let trails = Trails::new(2);
        let shared = trails.write(0, 0, TrailRef::NONE, &hop(1, 3));
        let early = trails.write(1, 0, shared, &hop(3, 8));
        let late = trails.write(1, 1, shared, &hop(3, 20));
        let mut hops = Vec::new();
        assert_eq!(trails.read(late, &[0, 1], &mut hops), Lineage::Whole);
        assert_eq!(hops, [hop(1, 3), hop(3, 20)]);
        assert_eq!(trails.read(early, &[0, 1], &mut hops), Lineage::Whole);
        assert_eq!(hops, [hop(1, 3), hop(3, 8)]);
    }

    #[test]
    fn branches_that_meet_again_are_told_apart() {
        let trails = Trails::new(4);
        let shared = trails.write(0, 0, TrailRef::NONE, &hop(1, 3));
        let left = trails.write(1, 0, shared, &hop(3, 5));
        let right = trails.write(2, 0, shared, &hop(3, 6));
        let mut hops = Vec::new();
        let end = trails.write(3, 0, left, &hop(5, 7));
        assert_eq!(trails.read(end, &[0, 2, 3], &mut hops), Lineage::Elsewhere);
        let end = trails.write(3, 1, right, &hop(6, 9));
        assert_eq!(trails.read(end, &[0, 2, 3], &mut hops), Lineage::Whole);
        assert_eq!(hops, [hop(1, 3), hop(3, 6), hop(6, 9)]);
    }

    #[test]
    fn a_hop_older_than_its_ring_is_gone() {
        let trails = Trails::new(2);
        let first = trails.write(0, 0, TrailRef::NONE, &hop(1, 3));
        let second = trails.write(1, 0, first, &hop(3, 8));
        trails.write(0, trails.ring_length as u64, TrailRef::NONE, &hop(5, 9));
        assert_eq!(trails.read(second, &[0, 1], &mut Vec::new()), Lineage::Broken);
    }

    #[test]
    fn hops_that_do_not_touch_are_no_lineage() {
        let trails = Trails::new(2);
        let first = trails.write(0, 0, TrailRef::NONE, &hop(1, 3));
        let second = trails.write(1, 0, first, &hop(4, 8));
        assert_eq!(trails.read(second, &[0, 1], &mut Vec::new()), Lineage::Broken);
    }
}

#[cfg(all(test, loom))]
mod interleavings {
    use std::sync::Arc;

    use super::*;
    use crate::sync::explore;

    fn hop(stamp: u64) -> Hop {
        Hop { began: Stamp(stamp), sent: Stamp(stamp), held: Nanos(stamp), taken: Stamp(stamp) }
    }

    #[test]
    fn a_reader_never_reads_half_a_hop() {
        explore(3, || {
            let trails = Arc::new(Trails::new(1));
            let first = trails.write(0, 0, TrailRef::NONE, &hop(1));
            let writer = loom::thread::spawn({
                let (trails, again) = (trails.clone(), trails.ring_length as u64);
                move || trails.write(0, again, first, &hop(2))
            });
            let mut hops = Vec::new();
            match trails.read(first, &[0], &mut hops) {
                Lineage::Whole => assert_eq!(hops, [hop(1)]),
                Lineage::Broken => {}
                Lineage::Elsewhere => panic!("the hop is of this edge"),
            }
            let second = writer.join().unwrap();
            assert_eq!(trails.read(first, &[0], &mut hops), Lineage::Broken);
            assert_eq!(
                (trails.read(second, &[0], &mut hops), hops.as_slice()),
                (Lineage::Whole, &[hop(2)][..])
            );
        });
    }
}
