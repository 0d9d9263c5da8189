//! The worst packets, written by one thread and read by any.

use crate::sync::{
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
        fence,
    },
    or_modelled, spin_loop,
};

/// How many of the worst packets are kept.
pub(crate) const WORST: usize = or_modelled(3, 2);

/// The rows with the largest ranks seen so far, largest first, each of the same number of words.
///
/// One thread offers; any thread reads whole rows (a sequence lock: the version is odd while rows move).
#[derive(Debug)]
pub(crate) struct Worst {
    version: AtomicU64,
    /// Rank + 1 of each row; 0 where there is none yet.
    keys: [AtomicU64; WORST],
    width: usize,
    words: Box<[AtomicU64]>,
}

impl Worst {
    pub(crate) fn new(width: usize) -> Worst {
        Worst {
            version: AtomicU64::new(0),
            keys: Default::default(),
            width,
            words: (0..width * WORST).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Whether a row of that rank would be kept.
    #[inline]
    pub(crate) fn wants(&self, rank: u64) -> bool {
        rank >= self.from()
    }

    /// The lowest rank that would be kept.
    #[inline]
    pub(crate) fn from(&self) -> u64 {
        self.keys[WORST - 1].load(Relaxed)
    }

    /// Keeps a row that is [wanted](Self::wants); of equal ranks the first stays.
    #[cold]
    pub(crate) fn keep(&self, rank: u64, row: impl Iterator<Item = u64>) {
        let key = rank.saturating_add(1);
        let Some(place) = self.keys.iter().position(|kept| key > kept.load(Relaxed)) else { return };
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        fence(Release);
        for to in (place + 1..WORST).rev() {
            self.keys[to].store(self.keys[to - 1].load(Relaxed), Relaxed);
            for word in 0..self.width {
                let from = &self.words[(to - 1) * self.width + word];
                self.words[to * self.width + word].store(from.load(Relaxed), Relaxed);
            }
        }
        self.keys[place].store(key, Relaxed);
        for (word, value) in self.words[place * self.width..][..self.width].iter().zip(row) {
            word.store(value, Relaxed);
        }
        self.version.store(version.wrapping_add(2), Release);
    }

    /// The rows kept, largest rank first.
    pub(crate) fn rows(&self) -> Vec<Vec<u64>> {
        loop {
            let before = self.version.load(Acquire);
            let used = self.keys.iter().filter(|key| key.load(Relaxed) > 0).count();
            let rows = self.words.chunks(self.width.max(1)).take(used);
            let rows = rows.map(|row| row.iter().map(|word| word.load(Relaxed)).collect()).collect();
            fence(Acquire);
            if before.is_multiple_of(2) && self.version.load(Relaxed) == before {
                return rows;
            }
            spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_largest_are_kept_in_order_and_the_first_of_equals_stays() {
        let worst = Worst::new(2);
        assert!(worst.rows().is_empty());
        for (seq, rank) in [5, 0, 9, 9, 7, 1, 8].into_iter().enumerate() {
            if worst.wants(rank) {
                worst.keep(rank, [rank, seq as u64].into_iter());
            }
        }
        assert_eq!(worst.rows(), [[9, 2], [9, 3], [8, 6]]);
    }

    #[test]
    fn a_rank_of_zero_is_kept_while_there_is_room() {
        let worst = Worst::new(1);
        assert!(worst.wants(0));
        worst.keep(0, [42].into_iter());
        assert_eq!(worst.rows(), [[42]]);
    }

    #[test]
    fn a_reader_never_sees_half_a_row() {
        let worst = Worst::new(4);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (0..20_000).for_each(|rank| worst.keep(rank, [rank; 4].into_iter())));
            while !writer.is_finished() {
                for row in worst.rows() {
                    assert!(row.iter().all(|word| *word == row[0]), "torn: {row:?}");
                }
            }
        });
    }
}

#[cfg(all(test, loom))]
mod interleavings {
    use std::sync::Arc;

    use super::*;
    use crate::sync::explore;

    #[test]
    fn a_reader_never_sees_half_a_row() {
        explore(3, || {
            let worst = Arc::new(Worst::new(2));
            worst.keep(1, [1, 1].into_iter());
            let kept = worst.clone();
            let writer = loom::thread::spawn(move || kept.keep(2, [2, 2].into_iter()));
            let rows = worst.rows();
            let (before, after) = (vec![vec![1, 1]], vec![vec![2, 2], vec![1, 1]]);
            assert!([before, after].contains(&rows), "torn: {rows:?}");
            writer.join().unwrap();
            assert_eq!(worst.rows(), [[2, 2], [1, 1]]);
        });
    }
}
