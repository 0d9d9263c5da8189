//! Wire edges: a socket between two nodes of one graph.
//!
//! The runtime does not carry such a packet. Both ends compute the same key from its bytes, such as SSRC and sequence
//! number: the sender leaves the packet's header under it, the receiver finds it there, and the lineage goes on. A
//! key that is never asked for is a packet that never arrived.

use crate::{
    packet::Header,
    sync::{
        atomic::{AtomicU64, Ordering, fence},
        or_modelled,
    },
    time::{Nanos, Stamp},
    trail::TrailRef,
    turn::Turn,
};

/// Keys that are remembered: a key is overwritten by the one this many later.
pub(super) const SLOTS: usize = or_modelled(4096, 1);
/// What one of them takes.
pub(super) const SLOT_BYTES: usize = size_of::<Slot>();

#[derive(Debug, Default)]
struct Slot {
    /// Key + 1, so that an empty slot is 0.
    key: AtomicU64,
    seq: AtomicU64,
    origin: AtomicU64,
    began: AtomicU64,
    sent: AtomicU64,
    held: AtomicU64,
    turn: AtomicU64,
    trail: AtomicU64,
}

/// The headers of packets under way; one writer and one reader.
#[derive(Debug)]
pub(crate) struct WireTable {
    slots: Box<[Slot]>,
}

impl Default for WireTable {
    fn default() -> Self {
        WireTable { slots: (0..SLOTS).map(|_| Slot::default()).collect() }
    }
}

impl WireTable {
    fn slot(&self, key: u64) -> &Slot {
        // Keys count up in their low bits, so neighbours in time are neighbours here.
        &self.slots[(key % SLOTS as u64) as usize]
    }

    /// Leaves a header under `key`. Returns whether another packet was there, which will never arrive now.
    pub(crate) fn leave(&self, key: u64, header: &Header) -> bool {
        let slot = self.slot(key);
        let lost = slot.key.swap(0, Ordering::AcqRel) != 0;
        // A reader of what is written from here on finds that its key has gone.
        fence(Ordering::Release);
        slot.seq.store(header.seq, Ordering::Relaxed);
        slot.origin.store(header.origin.0, Ordering::Relaxed);
        slot.began.store(header.began.0, Ordering::Relaxed);
        slot.sent.store(header.sent.0, Ordering::Relaxed);
        slot.held.store(header.held.0, Ordering::Relaxed);
        slot.turn.store(header.turn.to_bits(), Ordering::Relaxed);
        slot.trail.store(header.trail.to_bits(), Ordering::Relaxed);
        slot.key.store(key.wrapping_add(1), Ordering::Release);
        lost
    }

    /// Takes the header under `key`, once.
    pub(crate) fn take(&self, key: u64) -> Option<Header> {
        let slot = self.slot(key);
        let tag = key.wrapping_add(1);
        if tag == 0 || slot.key.load(Ordering::Acquire) != tag {
            return None;
        }
        let header = Header {
            seq: slot.seq.load(Ordering::Relaxed),
            origin: Stamp(slot.origin.load(Ordering::Relaxed)),
            began: Stamp(slot.began.load(Ordering::Relaxed)),
            sent: Stamp(slot.sent.load(Ordering::Relaxed)),
            held: Nanos(slot.held.load(Ordering::Relaxed)),
            turn: Turn::from_bits(slot.turn.load(Ordering::Relaxed)),
            trail: TrailRef::from_bits(slot.trail.load(Ordering::Relaxed)),
        };
        fence(Ordering::Acquire);
        slot.key.compare_exchange(tag, 0, Ordering::AcqRel, Ordering::Relaxed).ok().map(|_| header)
    }

    /// Forgets the packets that have not arrived, and says how many they were.
    pub(crate) fn give_up(&self) -> u64 {
        self.slots.iter().filter(|slot| slot.key.swap(0, Ordering::AcqRel) != 0).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_found_once_under_its_key() {
        let table = WireTable::default();
        let header = Header { seq: 9, origin: Stamp(4), ..Header::default() };
        assert!(!table.leave(77, &header));
        assert_eq!(table.take(78).map(|found| found.seq), None);
        assert_eq!(table.take(77).map(|found| (found.seq, found.origin)), Some((9, Stamp(4))));
        assert!(table.take(77).is_none(), "a duplicate on the wire has no header of its own");
    }

    #[test]
    fn a_key_that_nobody_asked_for_is_lost_when_its_slot_is_needed() {
        let table = WireTable::default();
        table.leave(5, &Header::default());
        assert!(table.leave(5 + SLOTS as u64, &Header::default()));
        assert!(table.take(5).is_none());
        assert_eq!((table.give_up(), table.give_up()), (1, 0));
    }
}

#[cfg(all(test, loom))]
mod interleavings {
    use std::sync::Arc;

    use super::*;
    use crate::sync::explore;

    fn header(seq: u64) -> Header {
        Header {
            seq,
            origin: Stamp(seq),
            began: Stamp(seq),
            sent: Stamp(seq),
            held: Nanos(seq),
            ..Header::default()
        }
    }

    fn is_whole(found: &Header, seq: u64) -> bool {
        (found.seq, found.origin, found.began, found.sent, found.held)
            == (seq, Stamp(seq), Stamp(seq), Stamp(seq), Nanos(seq))
    }

    #[test]
    fn a_header_is_found_whole_or_not_at_all_and_every_one_is_accounted_for() {
        explore(3, || {
            let table = Arc::new(WireTable::default());
            table.leave(1, &header(1));
            let sender = loom::thread::spawn({
                let table = table.clone();
                move || u64::from(table.leave(2, &header(2)))
            });
            let mut taken = 0;
            for seq in [1, 2] {
                if let Some(found) = table.take(seq) {
                    assert!(is_whole(&found, seq), "torn: {found:?}");
                    taken += 1;
                }
            }
            let lost = sender.join().unwrap();
            assert_eq!(taken + lost + table.give_up(), 2);
        });
    }

    #[test]
    fn a_header_is_taken_once_though_its_packet_comes_twice() {
        explore(3, || {
            let table = Arc::new(WireTable::default());
            table.leave(1, &header(1));
            let other = loom::thread::spawn({
                let table = table.clone();
                move || u32::from(table.take(1).is_some())
            });
            let taken = u32::from(table.take(1).is_some());
            assert_eq!(taken + other.join().unwrap(), 1);
        });
    }
}
