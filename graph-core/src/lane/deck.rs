//! What the nodes of a lane and the edges between them share. One thread uses it, so that everything is a plain cell.

use std::cell::Cell;

use crate::time::Stamp;

/// Which nodes of a lane have something to do, and what the edges between them say of each.
///
/// Nodes are numbered by their place in the lane, the nearest to a sink first.
#[derive(Debug)]
pub(crate) struct Deck {
    /// One a node, and one for whoever else has an end of an edge, such as a test.
    places: Box<[Place]>,
    /// One bit a node that has something to do.
    ready: Box<[Cell<u64>]>,
    /// One bit a word of `ready` that is not zero.
    words: Box<[Cell<u64>]>,
    /// Counts the steps of the lane.
    step: Cell<u64>,
}

/// What is known of one node without asking it.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// Packets that wait on trigger inputs from this lane.
    pub(crate) queued: Cell<u32>,
    /// Edges inside the lane that keep the node from stepping.
    pub(crate) full: Cell<u32>,
    /// When its last step ended.
    pub(crate) ended: Cell<Stamp>,
    /// Whether it wanted to step and an output had no room.
    pub(crate) refused: Cell<bool>,
    /// Whether a packet from another lane is no reason to step.
    pub(crate) deaf: Cell<bool>,
    /// Whether an input has ended, so that all of them may have.
    pub(crate) ending: Cell<bool>,
}

impl Deck {
    pub(crate) fn new(nodes: usize) -> Deck {
        let words = nodes.div_ceil(64).max(1);
        Deck {
            places: (0..=nodes).map(|_| Place::default()).collect(),
            ready: (0..words).map(|_| Cell::new(0)).collect(),
            words: (0..words.div_ceil(64)).map(|_| Cell::new(0)).collect(),
            step: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn place(&self, node: usize) -> &Place {
        &self.places[node]
    }

    /// The number of the step that is running, or that ran last.
    #[inline]
    pub(crate) fn step(&self) -> u64 {
        self.step.get()
    }

    #[inline]
    pub(super) fn begin_step(&self) {
        self.step.set(self.step.get() + 1);
    }

    #[inline]
    pub(crate) fn mark(&self, node: usize) {
        let word = node / 64;
        self.ready[word].set(self.ready[word].get() | 1 << (node % 64));
        let words = &self.words[word / 64];
        words.set(words.get() | 1 << (word % 64));
    }

    /// Marks those of the 64 nodes from `word * 64` on whose bits are set, as far as there are such nodes.
    pub(super) fn mark_word(&self, word: usize, bits: u64) {
        let nodes = (self.places.len() - 1).saturating_sub(word * 64);
        let bits = if nodes < 64 { bits & ((1 << nodes) - 1) } else { bits };
        if bits != 0 {
            self.ready[word].set(self.ready[word].get() | bits);
            self.words[word / 64].set(self.words[word / 64].get() | 1 << (word % 64));
        }
    }

    #[inline]
    pub(super) fn unmark(&self, node: usize) {
        let word = node / 64;
        let left = self.ready[word].get() & !(1 << (node % 64));
        self.ready[word].set(left);
        if left == 0 {
            let words = &self.words[word / 64];
            words.set(words.get() & !(1 << (word % 64)));
        }
    }

    pub(super) fn is_marked(&self, node: usize) -> bool {
        self.ready[node / 64].get() & 1 << (node % 64) != 0
    }

    pub(super) fn any(&self) -> bool {
        self.words.iter().any(|words| words.get() != 0)
    }

    /// The marked node that is nearest to a sink.
    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        let (at, words) = self.words.iter().enumerate().find(|(_, words)| words.get() != 0)?;
        let word = at * 64 + words.get().trailing_zeros() as usize;
        Some(word * 64 + self.ready[word].get().trailing_zeros() as usize)
    }

    /// The first marked node at or after `node`, going round.
    pub(super) fn first_from(&self, node: usize) -> Option<usize> {
        let word = node / 64;
        let later = self.ready.get(word)?.get() & (u64::MAX << (node % 64));
        if later != 0 {
            return Some(word * 64 + later.trailing_zeros() as usize);
        }
        let mut after = self.ready.iter().enumerate().skip(word + 1).filter(|(_, bits)| bits.get() != 0);
        after.next().map(|(at, bits)| at * 64 + bits.get().trailing_zeros() as usize).or_else(|| self.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_to_a_sink_comes_first_among_thousands() {
        let deck = Deck::new(5_000);
        assert_eq!(deck.first(), None);
        for node in [4_999, 4_100, 64, 63] {
            deck.mark(node);
            assert_eq!(deck.first(), Some(node));
        }
        for node in [63, 64, 4_100] {
            deck.unmark(node);
            assert!(!deck.is_marked(node));
        }
        assert_eq!((deck.first(), deck.any()), (Some(4_999), true));
        deck.unmark(4_999);
        assert!(!deck.any());
    }

    #[test]
    fn going_round_every_marked_node_has_its_turn() {
        let deck = Deck::new(200);
        for node in [3, 70, 199] {
            deck.mark(node);
        }
        let round: Vec<_> = [0, 4, 71, 200].map(|from| deck.first_from(from)).into();
        assert_eq!(round, [Some(3), Some(70), Some(199), Some(3)]);
    }

    #[test]
    fn a_word_of_marks_marks_no_more_nodes_than_there_are() {
        let deck = Deck::new(66);
        deck.mark_word(0, 0);
        assert!(!deck.any());
        deck.mark_word(1, u64::MAX);
        assert_eq!((deck.first(), deck.first_from(65)), (Some(64), Some(65)));
        deck.unmark(64);
        deck.unmark(65);
        assert!(!deck.any());
    }
}
