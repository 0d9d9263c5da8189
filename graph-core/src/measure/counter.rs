//! Numbers that one thread writes and any thread may read, at the price of a plain add.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
}
