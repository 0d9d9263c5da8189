//! What the nodes of a lane and the edges between them share. One thread uses it, so that everything is a plain cell.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use crate::time::Stamp;

/// Which nodes of a lane have something to do, and what the edges between them say of each.
///
/// Nodes are numbered by their place in the lane, the nearest to a sink first.
#[derive(Debug)]
pub(crate) struct Deck {
    /// The node that was marked first in this step; no bit is set for it.
    next: Cell<usize>,
    /// No node before this one has its bit set, and none steps without a look at the bits from this one on.
    lowest: Cell<usize>,
    /// One bit for so many words of `ready`, set where one of them is not zero.
    summary: Cell<u64>,
    words_a_bit: usize,
    /// One bit a node that has something to do.
    ready: Box<[Cell<u64>]>,
    /// One a node, and one for whoever else has an end of an edge, such as a test.
    places: Box<[Rc<Place>]>,
    /// Edges with something that their meters do not know of yet.
    unpublished: RefCell<Vec<usize>>,
}

const NOBODY: usize = usize::MAX;

/// What is known of one node without asking it.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// What the lane has to see to before or after a step, and seldom has: the constants below.
    flags: Cell<u16>,
    /// Packets that wait on trigger inputs from this lane.
    queued: Cell<u32>,
    /// Edges inside the lane that keep the node from stepping.
    full: Cell<u32>,
    /// Packets that it has sent within the lane and that do not know yet when its step ended.
    unsent: Cell<u32>,
    /// When its last step ended.
    ended: Cell<Stamp>,
}

impl Place {
    /// It is a source, or not running, or has failed.
    pub(crate) const SPECIAL: u16 = 1;
    /// An edge inside the lane keeps it from stepping.
    pub(crate) const FULL: u16 = 1 << 1;
    /// It wanted to step and an output had no room.
    pub(crate) const REFUSED: u16 = 1 << 2;
    /// Outputs must be asked whether they have room.
    pub(crate) const ASKS_OUTPUTS: u16 = 1 << 3;
    /// Inputs must be asked whether they hold packets.
    pub(crate) const ASKS_INPUTS: u16 = 1 << 4;
    /// An input has ended, so that all of them may have.
    pub(crate) const ENDING: u16 = 1 << 5;
    /// A push of its step overflowed a `full: fail` edge.
    pub(crate) const OVERFLOWED: u16 = 1 << 6;
    /// A packet from another lane is no reason to step.
    pub(crate) const DEAF: u16 = 1 << 7;

    /// Packets wait on trigger inputs from this lane.
    const QUEUED: u16 = 1 << 8;
    /// Packets that it has sent do not know yet when its step ended.
    const UNSENT: u16 = 1 << 9;

    #[inline]
    pub(crate) fn is_any(&self, flags: u16) -> bool {
        self.flags.get() & flags != 0
    }

    /// Whether there is nothing to see to before a step.
    #[inline]
    pub(super) fn may_step(&self) -> bool {
        !self.is_any(!Place::QUEUED)
    }

    /// Whether there is nothing to see to after one.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        !self.is_any(!Place::UNSENT)
    }

    /// Whether there is nothing to see to after one but that more packets wait.
    pub(super) fn is_done_with_one(&self) -> bool {
        !self.is_any(!(Place::UNSENT | Place::QUEUED))
    }

    #[inline]
    pub(crate) fn set(&self, flags: u16, on: bool) {
        let others = self.flags.get() & !flags;
        self.flags.set(if on { others | flags } else { others });
    }

    /// When its last step ended.
    #[inline]
    pub(crate) fn ended(&self) -> Stamp {
        self.ended.get()
    }

    /// A packet that it sent does not know yet when the step ended.
    pub(crate) fn is_unsent(&self) {
        self.count(&self.unsent, Place::UNSENT, 1);
    }

    /// One of them does now.
    pub(crate) fn is_sent(&self) {
        self.count(&self.unsent, Place::UNSENT, -1);
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.is_any(Place::UNSENT)
    }

    #[inline]
    pub(crate) fn end_step(&self, now: Stamp) {
        self.ended.set(now);
    }

    pub(crate) fn queue_one(&self) {
        self.count(&self.queued, Place::QUEUED, 1);
    }

    pub(crate) fn take_one(&self) {
        self.count(&self.queued, Place::QUEUED, -1);
    }

    fn count(&self, counter: &Cell<u32>, flag: u16, by: i32) {
        counter.set(counter.get().wrapping_add_signed(by));
        self.set(flag, counter.get() > 0);
    }

    /// An edge inside the lane keeps the node from stepping from now on, or does not any more.
    #[inline(never)]
    pub(crate) fn is_kept(&self, by_one_more: bool) {
        let full = self.full.get();
        let full = if by_one_more { full + 1 } else { full - 1 };
        self.full.set(full);
        self.set(Place::FULL, full > 0);
    }
}

impl Deck {
    /// A deck for so many nodes and edges.
    pub(crate) fn new(nodes: usize, edges: usize) -> Deck {
        let words = nodes.div_ceil(64).max(1);
        Deck {
            next: Cell::new(NOBODY),
            lowest: Cell::new(NOBODY),
            summary: Cell::new(0),
            words_a_bit: words.div_ceil(64),
            ready: (0..words).map(|_| Cell::new(0)).collect(),
            places: (0..=nodes).map(|_| Rc::default()).collect(),
            unpublished: RefCell::new(Vec::with_capacity(edges)),
        }
    }

    pub(crate) fn place(&self, node: usize) -> &Rc<Place> {
        &self.places[node]
    }

    /// Whether no packet has come to any node in this step.
    #[inline(always)]
    pub(crate) fn is_free(&self) -> bool {
        self.next.get() == NOBODY
    }

    /// Marks the first node that a packet has come to in this step.
    #[inline(always)]
    pub(crate) fn hand_over_at_once(&self, node: usize) {
        self.next.set(node);
    }

    /// Marks a node that a packet has come to.
    pub(crate) fn hand_over_to(&self, node: usize) {
        if self.is_free() {
            self.next.set(node);
        } else if self.next.get() != node {
            self.mark(node);
        }
    }

    #[inline(never)]
    pub(crate) fn mark(&self, node: usize) {
        self.mark_word(node / 64, 1 << (node % 64));
    }

    /// Marks those of the 64 nodes from `word * 64` on whose bits are set, as far as there are such nodes.
    pub(super) fn mark_word(&self, word: usize, bits: u64) {
        let nodes = (self.places.len() - 1).saturating_sub(word * 64);
        let bits = if nodes < 64 { bits & ((1 << nodes) - 1) } else { bits };
        if bits != 0 {
            self.ready[word].set(self.ready[word].get() | bits);
            self.summary.set(self.summary.get() | 1 << (word / self.words_a_bit));
            self.lowest.set(self.lowest.get().min(word * 64 + bits.trailing_zeros() as usize));
        }
    }

    fn unmark(&self, node: usize) {
        let word = node / 64;
        self.ready[word].set(self.ready[word].get() & !(1 << (node % 64)));
        let bit = word / self.words_a_bit;
        let words = self.ready[bit * self.words_a_bit..].iter().take(self.words_a_bit);
        if words.into_iter().all(|word| word.get() == 0) {
            self.summary.set(self.summary.get() & !(1 << bit));
        }
    }

    pub(super) fn is_marked(&self, node: usize) -> bool {
        self.next.get() == node || self.ready[node / 64].get() & 1 << (node % 64) != 0
    }

    pub(super) fn any(&self) -> bool {
        self.next.get() != NOBODY || self.summary.get() != 0
    }

    /// The node that was marked first in this step.
    pub(super) fn next(&self) -> Option<usize> {
        (!self.is_free()).then_some(self.next.get())
    }

    /// Takes the mark off the node that was marked first in this step, where it is the nearest to a sink.
    #[inline(always)]
    pub(super) fn take_next(&self) -> Option<usize> {
        let next = self.next.get();
        if next < self.lowest.get() {
            self.next.set(NOBODY);
            return Some(next);
        }
        None
    }

    /// No node is to step without a look at the bits.
    pub(super) fn hold(&self) {
        self.lowest.set(0);
    }

    /// Takes the mark off the node that is nearest to a sink.
    pub(super) fn take_first(&self) -> Option<usize> {
        let next = self.next.replace(NOBODY);
        let first = self.first_bit();
        self.lowest.set(first);
        if next < first {
            return Some(next);
        }
        if next != NOBODY {
            self.mark(next);
        }
        if first == NOBODY {
            return None;
        }
        self.unmark(first);
        Some(first)
    }

    fn first_bit(&self) -> usize {
        if self.summary.get() == 0 {
            return NOBODY;
        }
        let mut word = self.summary.get().trailing_zeros() as usize * self.words_a_bit;
        while self.ready[word].get() == 0 {
            word += 1;
        }
        word * 64 + self.ready[word].get().trailing_zeros() as usize
    }

    /// Takes the mark off the first marked node at or after `node`, going round.
    pub(super) fn take_from(&self, node: usize) -> Option<usize> {
        let next = self.next.replace(NOBODY);
        if next != NOBODY {
            self.mark(next);
        }
        let from = |start: usize| {
            let words = self.ready.iter().enumerate().skip(start / 64);
            let mut left = words.map(|(at, word)| {
                let before = if at == start / 64 { (1 << (start % 64)) - 1 } else { 0 };
                (at, word.get() & !before)
            });
            let (at, bits) = left.find(|(_, bits)| *bits != 0)?;
            Some(at * 64 + bits.trailing_zeros() as usize)
        };
        let found = from(node).or_else(|| from(0))?;
        self.unmark(found);
        Some(found)
    }

    /// Takes the mark off `node`.
    pub(super) fn take(&self, node: usize) {
        if self.next.get() == node {
            self.next.set(NOBODY);
        }
        self.unmark(node);
    }

    /// The edge of that number has something that its meter does not know of.
    pub(crate) fn is_unpublished(&self, edge: usize) {
        self.unpublished.borrow_mut().push(edge);
    }

    /// Calls `publish` with every edge that has something to publish.
    pub(super) fn publish(&self, publish: impl FnMut(usize)) {
        self.unpublished.borrow_mut().drain(..).for_each(publish);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_to_a_sink_comes_first_among_thousands() {
        let deck = Deck::new(9_000, 0);
        assert_eq!(deck.take_first(), None);
        let nodes = [8_999, 4_100, 64, 63];
        nodes.into_iter().for_each(|node| deck.mark(node));
        deck.hand_over_to(4_101);
        let order: Vec<_> = std::iter::from_fn(|| deck.take_first()).collect();
        assert_eq!(order, [63, 64, 4_100, 4_101, 8_999]);
        assert!(!deck.any());
    }

    #[test]
    fn going_round_every_marked_node_has_its_turn() {
        let deck = Deck::new(200, 0);
        let round = [0, 4, 71, 200].map(|from| {
            [3, 70, 199].into_iter().for_each(|node| deck.mark(node));
            deck.take_from(from)
        });
        assert_eq!(round, [Some(3), Some(70), Some(199), Some(3)]);
    }

    #[test]
    fn a_word_of_marks_marks_no_more_nodes_than_there_are() {
        let deck = Deck::new(66, 0);
        deck.mark_word(0, 0);
        assert!(!deck.any());
        deck.mark_word(1, u64::MAX);
        let order: Vec<_> = std::iter::from_fn(|| deck.take_first()).collect();
        assert_eq!(order, [64, 65]);
    }

    #[test]
    fn a_node_is_handed_over_to_once_and_before_those_further_from_a_sink() {
        let deck = Deck::new(10, 0);
        deck.mark(9);
        for node in [5, 5, 7] {
            deck.hand_over_to(node);
        }
        assert!(deck.is_marked(5) && deck.is_marked(7) && !deck.is_marked(6));
        let order: Vec<_> = std::iter::from_fn(|| deck.take_first()).collect();
        assert_eq!(order, [5, 7, 9]);
    }
}
