//! Turns: one interaction each, and the unit of cancellation.
//!
//! Cancelling is out of band: it takes effect at once wherever packets of the turn are queued, since every taker asks
//! [`Turns::is_cancelled`], which is one relaxed load.

use crate::{
    run::Cancelled,
    sync::{
        atomic::{AtomicU32, AtomicU64, Ordering},
        or_modelled,
    },
    time::{Nanos, Stamp},
};

/// One interaction: one utterance, one query.
///
/// One word, so that it is copied by one instruction: the slot below, the generation above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Turn(u64);

impl Turn {
    /// No turn: such packets are never cancelled.
    pub const NONE: Turn = Turn(0);

    fn new(slot: u32, generation: u32) -> Turn {
        Turn(u64::from(generation) << 32 | u64::from(slot))
    }

    fn slot(self) -> u32 {
        self.0 as u32
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The turns of a run count from 1; `None` outside a turn.
    pub fn number(self) -> Option<u64> {
        let round = u64::from(self.generation()).checked_sub(1)?;
        Some(round * SLOTS as u64 + u64::from(self.slot()) + 1)
    }

    #[inline]
    pub(crate) fn is_some(self) -> bool {
        self != Turn::NONE
    }

    pub(crate) fn from_bits(bits: u64) -> Turn {
        Turn(bits)
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }
}

/// Turns alive at the same time; an older one has ended long before its slot comes round again.
const SLOTS: usize = or_modelled(256, 1);

#[derive(Debug, Default)]
struct Slot {
    /// The newest cancelled generation.
    cancelled: AtomicU32,
    cancelled_at: AtomicU64,
    /// The newest generation that reached a sink.
    answered: AtomicU32,
    /// Of the slot's cancelled turns; never set back, since a sink may have seen the cancel before it is through.
    last_effect: AtomicU64,
}

/// The turns of a run.
#[derive(Debug)]
pub struct Turns {
    opened: AtomicU64,
    answered: AtomicU64,
    slots: Box<[Slot]>,
}

impl Default for Turns {
    fn default() -> Self {
        Turns {
            opened: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
        }
    }
}

impl Turns {
    /// Begins an interaction.
    pub fn open(&self) -> Turn {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        Turn::new((number % SLOTS as u64) as u32, (number / SLOTS as u64) as u32 + 1)
    }

    /// Turns begun so far.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Turns that had an effect at a sink so far.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Whether packets of `turn` are void.
    #[inline]
    pub fn is_cancelled(&self, turn: Turn) -> bool {
        turn.is_some()
            && self.slots[turn.slot() as usize].cancelled.load(Ordering::Relaxed) >= turn.generation()
    }

    /// Makes `turn` void from now on. Returns whether it was not void before.
    pub(crate) fn cancel(&self, turn: Turn, now: Stamp) -> bool {
        if turn == Turn::NONE {
            return false;
        }
        let slot = &self.slots[turn.slot() as usize];
        let news = slot.cancelled.fetch_max(turn.generation(), Ordering::AcqRel) < turn.generation();
        if news {
            slot.cancelled_at.store(now.0, Ordering::Release);
        }
        news
    }

    /// A sink had an effect in the name of `turn`.
    pub(crate) fn effect(&self, turn: Turn, now: Stamp) {
        if turn == Turn::NONE {
            return;
        }
        let slot = &self.slots[turn.slot() as usize];
        if slot.answered.fetch_max(turn.generation(), Ordering::Relaxed) < turn.generation() {
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        if self.is_cancelled(turn) {
            slot.last_effect.fetch_max(now.0, Ordering::Relaxed);
        }
    }

    /// The last turns that were cancelled.
    pub fn cancelled(&self) -> Vec<Cancelled> {
        let mut turns: Vec<_> = self
            .slots
            .iter()
            .enumerate()
            .filter_map(|(slot, state)| {
                let generation = state.cancelled.load(Ordering::Acquire);
                let number = Turn::new(slot as u32, generation).number()?;
                let at = state.cancelled_at.load(Ordering::Acquire);
                let last_effect = Nanos(state.last_effect.load(Ordering::Acquire).saturating_sub(at));
                Some(Cancelled { turn: number, last_effect })
            })
            .collect();
        turns.sort_unstable_by_key(|cancelled: &Cancelled| cancelled.turn);
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_void_from_its_cancel_on_and_its_neighbours_are_not() {
        let turns = Turns::default();
        let (first, second) = (turns.open(), turns.open());
        assert!(turns.cancel(first, Stamp(5)));
        assert!(!turns.cancel(first, Stamp(6)), "a second cancel changes nothing");
        assert!(turns.is_cancelled(first) && !turns.is_cancelled(second));
        assert!(!turns.is_cancelled(Turn::NONE) && !turns.cancel(Turn::NONE, Stamp(7)));
    }

    #[test]
    fn a_slot_that_comes_round_again_starts_afresh() {
        let turns = Turns::default();
        let first = turns.open();
        turns.cancel(first, Stamp(5));
        let later = (0..SLOTS).map(|_| turns.open()).last().expect("slots");
        assert_eq!((later.slot(), later.generation()), (first.slot(), first.generation() + 1));
        assert!(!turns.is_cancelled(later));
        assert_eq!((first.number(), later.number()), (Some(1), Some(SLOTS as u64 + 1)));
    }

    #[test]
    fn the_time_from_cancel_to_the_last_effect_is_kept() {
        let turns = Turns::default();
        let turn = turns.open();
        turns.effect(turn, Stamp(3));
        turns.cancel(turn, Stamp(10));
        assert_eq!(turns.cancelled(), [Cancelled { turn: 1, last_effect: Nanos(0) }]);
        turns.effect(turn, Stamp(14));
        assert_eq!(turns.cancelled(), [Cancelled { turn: 1, last_effect: Nanos(4) }]);
        assert_eq!(turns.answered(), 1);
    }
}

#[cfg(all(test, loom))]
mod interleavings {
    use std::sync::Arc;

    use super::*;
    use crate::sync::explore;

    #[test]
    fn of_two_that_cancel_one_brings_news_and_both_find_it_void() {
        explore(3, || {
            let turns = Arc::new(Turns::default());
            let turn = turns.open();
            let cancel = move |turns: &Turns, at| {
                let news = turns.cancel(turn, Stamp(at));
                assert!(turns.is_cancelled(turn));
                u32::from(news)
            };
            let other = loom::thread::spawn({
                let turns = turns.clone();
                move || cancel(&turns, 5)
            });
            let news = cancel(&turns, 6);
            assert_eq!(news + other.join().unwrap(), 1);
        });
    }

    #[test]
    fn an_effect_that_finds_its_turn_cancelled_is_told() {
        explore(3, || {
            let turns = Arc::new(Turns::default());
            let turn = turns.open();
            let sink = loom::thread::spawn({
                let turns = turns.clone();
                move || {
                    let is_late = turns.is_cancelled(turn);
                    turns.effect(turn, Stamp(14));
                    is_late
                }
            });
            turns.cancel(turn, Stamp(10));
            let last_effect = if sink.join().unwrap() { &[4][..] } else { &[0, 4] };
            let told = turns.cancelled()[0].last_effect.0;
            assert!(last_effect.contains(&told), "{told} ns after the cancel");
        });
    }

    #[test]
    fn a_cancel_is_of_its_turn_alone_when_the_slot_has_come_round() {
        explore(3, || {
            let turns = Arc::new(Turns::default());
            let (first, second) = (turns.open(), turns.open());
            let other = loom::thread::spawn({
                let turns = turns.clone();
                move || turns.cancel(first, Stamp(5))
            });
            assert!(!turns.is_cancelled(second));
            other.join().unwrap();
            assert!(turns.is_cancelled(first) && !turns.is_cancelled(second));
        });
    }
}
