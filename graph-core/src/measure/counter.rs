//! Numbers that one thread writes and any thread may read, at the price of a plain add.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

/// A count with a single writer.
///
/// A load and a store, not a locked add: with one writer nothing can come in between, and it costs a fifth.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.set(self.get().wrapping_add(n));
    }

    #[inline]
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// An exact sum with a single writer, of any number of `u64`.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    low: Counter,
    carried: Counter,
}

impl Sum {
    #[inline]
    pub(crate) fn add(&self, value: u64) {
        let (low, carry) = self.low.get().overflowing_add(value);
        self.low.set(low);
        if carry {
            self.carried.add(1);
        }
    }

    pub(crate) fn get(&self) -> u128 {
        u128::from(self.carried.get()) << 64 | u128::from(self.low.get())
    }
}

/// How many of the worst packets are kept.
pub(crate) const WORST: usize = 3;

/// The rows with the largest ranks seen so far, largest first, each of the same number of words.
///
/// One thread offers; any thread reads whole rows (a sequence lock: the version is odd while rows move).
#[derive(Debug)]
pub(crate) struct Worst {
    version: AtomicU64,
    /// Rank + 1 of each row; 0 where there is none yet.
    keys: [Counter; WORST],
    width: usize,
    words: Box<[Counter]>,
}

impl Worst {
    pub(crate) fn new(width: usize) -> Worst {
        Worst {
            version: AtomicU64::new(0),
            keys: Default::default(),
            width,
            words: (0..width * WORST).map(|_| Counter::default()).collect(),
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
        self.keys[WORST - 1].get()
    }

    /// Keeps a row that is [wanted](Self::wants); of equal ranks the first stays.
    #[cold]
    pub(crate) fn keep(&self, rank: u64, row: impl Iterator<Item = u64>) {
        let key = rank.saturating_add(1);
        let Some(place) = self.keys.iter().position(|kept| key > kept.get()) else { return };
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        fence(Release);
        for to in (place + 1..WORST).rev() {
            self.keys[to].set(self.keys[to - 1].get());
            for word in 0..self.width {
                self.words[to * self.width + word].set(self.words[(to - 1) * self.width + word].get());
            }
        }
        self.keys[place].set(key);
        for (word, value) in self.words[place * self.width..][..self.width].iter().zip(row) {
            word.set(value);
        }
        self.version.store(version.wrapping_add(2), Release);
    }

    /// The rows kept, largest rank first.
    pub(crate) fn rows(&self) -> Vec<Vec<u64>> {
        loop {
            let before = self.version.load(Acquire);
            let used = self.keys.iter().filter(|key| key.get() > 0).count();
            let rows = self.words.chunks(self.width.max(1)).take(used);
            let rows = rows.map(|row| row.iter().map(Counter::get).collect()).collect();
            fence(Acquire);
            if before.is_multiple_of(2) && self.version.load(Relaxed) == before {
                return rows;
            }
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_goes_on_beyond_64_bits() {
        let sum = Sum::default();
        for _ in 0..3 {
            sum.add(u64::MAX);
        }
        assert_eq!(sum.get(), 3 * u128::from(u64::MAX));
    }

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
