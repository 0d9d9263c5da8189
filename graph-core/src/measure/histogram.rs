//! A log-linear histogram of times: fixed in size, exact in count, sum and maximum, within 1 % elsewhere.

use super::counter::{Counter, Sum};
use crate::{budget::Stat, time::Nanos};

/// 64 buckets to each doubling: a bucket is at most 1/64 of its values wide, its midpoint at most 0.8 % off.
const SUB_BITS: u32 = 6;
/// Values from 2^40 ns (18 minutes) up share one last bucket.
const TOP_BITS: u32 = 40;
const OVERFLOW: usize = ((TOP_BITS - SUB_BITS + 1) as usize) << SUB_BITS;

/// Times of one measure. One thread records; any thread takes [snapshots](Histogram::snapshot) meanwhile.
#[derive(Debug)]
pub struct Histogram {
    counts: Box<[Counter; OVERFLOW + 1]>,
    sum: Sum,
    max: Counter,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            // SAFETY: all zeroes is a `Counter` of zero. Writing them would touch 18 KB of pages that are mostly never
            // used, in each measure of each edge.
            counts: unsafe { Box::new_zeroed().assume_init() },
            sum: Sum::default(),
            max: Counter::default(),
        }
    }
}

impl Histogram {
    /// Records one sample. Only one thread may do so.
    #[inline]
    pub fn record(&self, nanos: u64) {
        self.counts[bucket(nanos)].add(1);
        self.sum.add(nanos);
        if nanos > self.max.get() {
            self.max.set(nanos);
        }
    }

    /// Records samples of two measures, whose sums are below 2^64, in turn: counting into one waits for the sample before,
    /// which the other uses. Only one thread may do so. Returns the largest of each.
    #[inline(always)]
    pub(super) fn record_pairs(both: [&Histogram; 2], samples: impl Iterator<Item = [u32; 2]>) -> [u64; 2] {
        let (mut sums, mut largest) = ([0; 2], [0; 2]);
        for pair in samples {
            for (measure, nanos) in pair.into_iter().map(u64::from).enumerate() {
                both[measure].counts[bucket(nanos)].add(1);
                sums[measure] += nanos;
                largest[measure] = nanos.max(largest[measure]);
            }
        }
        for (histogram, (sum, max)) in both.into_iter().zip(sums.into_iter().zip(largest)) {
            histogram.sum.add(sum);
            if max > histogram.max.get() {
                histogram.max.set(max);
            }
        }
        largest
    }

    /// What was recorded so far.
    pub fn snapshot(&self) -> Snapshot {
        let counts: Vec<u64> = self.counts.iter().map(Counter::get).collect();
        Snapshot { n: counts.iter().sum(), counts, sum: self.sum.get(), max: self.max.get(), sorted: None }
    }
}

#[inline]
fn bucket(nanos: u64) -> usize {
    let shift = u64::BITS - 1 - SUB_BITS - (nanos | 1 << SUB_BITS).leading_zeros();
    (((shift as usize) << SUB_BITS) + (nanos >> shift) as usize).min(OVERFLOW)
}

fn midpoint(bucket: usize) -> u64 {
    let shift = (bucket >> SUB_BITS).saturating_sub(1);
    let low = ((bucket - (shift << SUB_BITS)) as u64) << shift;
    low + ((1 << shift) - 1) / 2
}

/// A measure's samples at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    counts: Vec<u64>,
    n: u64,
    sum: u128,
    max: u64,
    /// All samples in order, where they were few enough to be kept.
    sorted: Option<Vec<u64>>,
}

impl Snapshot {
    /// The same, with every sample at hand, so that quantiles are exact.
    pub(crate) fn with_samples(mut self, mut samples: Vec<u64>) -> Snapshot {
        samples.sort_unstable();
        self.sorted = Some(samples).filter(|samples| samples.len() as u64 == self.n);
        self
    }

    /// How many samples.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Their exact sum in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The largest, exactly; `None` without samples.
    pub fn max(&self) -> Option<Nanos> {
        (self.n > 0).then_some(Nanos(self.max))
    }

    /// The mean, rounded to the nanosecond; `None` without samples.
    pub fn mean(&self) -> Option<Nanos> {
        let n = u128::from(self.n);
        (n > 0).then(|| Nanos(u64::try_from((self.sum + n / 2) / n).unwrap_or(u64::MAX)))
    }

    /// The sample that has `rank - 1` samples before it in order, within 1 %; the last one exactly.
    /// `None` where there are not so many.
    ///
    /// Above 18 minutes only the largest is known, and it stands for all.
    pub fn at_rank(&self, rank: u64) -> Option<Nanos> {
        if rank == 0 || rank > self.n {
            return None;
        }
        if let Some(sorted) = &self.sorted {
            return Some(Nanos(sorted[rank as usize - 1]));
        }
        let mut before = 0;
        let bucket = self.counts.iter().position(|count| {
            before += count;
            before >= rank
        })?;
        Some(Nanos(if rank == self.n || bucket == OVERFLOW {
            self.max
        } else {
            midpoint(bucket).min(self.max)
        }))
    }

    /// A figure of the samples; `None` without any. A quantile is the nearest rank.
    pub fn stat(&self, stat: Stat) -> Option<Nanos> {
        match stat {
            Stat::Max => self.max(),
            Stat::Mean => self.mean(),
            quantile => self.at_rank(quantile.rank(self.n)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn snapshot(samples: &[u64]) -> Snapshot {
        let histogram = Histogram::default();
        samples.iter().for_each(|sample| histogram.record(*sample));
        histogram.snapshot()
    }

    /// Spread over all magnitudes up to the overflow.
    fn times() -> impl Strategy<Value = u64> {
        (0..u64::from(TOP_BITS), any::<u64>()).prop_map(|(bits, value)| value >> (63 - bits))
    }

    const QUANTILES: [Stat; 4] = [Stat::P50, Stat::P90, Stat::P99, Stat::P999];

    proptest! {
        #[test]
        fn quantiles_are_within_one_percent_of_the_sorted_samples(mut samples in prop::collection::vec(times(), 1..500)) {
            let snapshot = snapshot(&samples);
            samples.sort_unstable();
            for stat in QUANTILES {
                let exact = samples[stat.rank(snapshot.n()).unwrap() as usize - 1];
                let shown = snapshot.stat(stat).unwrap().0;
                prop_assert!(shown.abs_diff(exact) as f64 <= exact as f64 * 0.01, "{stat:?}: {shown} for {exact}");
            }
        }

        #[test]
        fn count_sum_and_maximum_are_exact(samples in prop::collection::vec(any::<u64>(), 1..200)) {
            let snapshot = snapshot(&samples);
            prop_assert_eq!(snapshot.n(), samples.len() as u64);
            prop_assert_eq!(snapshot.sum(), samples.iter().map(|sample| u128::from(*sample)).sum::<u128>());
            prop_assert_eq!(snapshot.max(), samples.iter().max().map(|max| Nanos(*max)));
        }

        #[test]
        fn quantiles_never_fall_as_the_rank_rises(samples in prop::collection::vec(any::<u64>(), 1..200)) {
            let snapshot = snapshot(&samples);
            let all: Vec<_> = (1..=snapshot.n()).map(|rank| snapshot.at_rank(rank)).collect();
            prop_assert!(all.is_sorted());
            prop_assert_eq!(all.last().copied().flatten(), snapshot.max());
        }

        #[test]
        fn with_the_samples_kept_quantiles_are_exact(mut samples in prop::collection::vec(any::<u64>(), 1..200)) {
            let snapshot = snapshot(&samples).with_samples(samples.clone());
            samples.sort_unstable();
            for (place, sample) in samples.iter().enumerate() {
                prop_assert_eq!(snapshot.at_rank(place as u64 + 1), Some(Nanos(*sample)));
            }
        }
    }

    #[test]
    fn every_value_lies_in_the_bucket_whose_midpoint_stands_for_it() {
        for value in
            (0..400).chain((8..TOP_BITS).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]))
        {
            let shown = midpoint(bucket(value));
            assert!(shown.abs_diff(value) as f64 <= value as f64 / 128.0, "{shown} for {value}");
        }
    }

    #[test]
    fn eighteen_minutes_are_still_told_apart_and_more_is_kept_by_its_maximum() {
        let eighteen_minutes = 18 * 60 * 1_000_000_000;
        assert!(bucket(eighteen_minutes) < OVERFLOW);
        let longer = snapshot(&[1, 1 << 41, 1 << 50]);
        assert_eq!(longer.stat(Stat::P50), Some(Nanos(1 << 50)));
        assert_eq!(longer.n(), 3);
    }

    #[test]
    fn without_samples_there_is_no_figure() {
        let empty = Histogram::default().snapshot();
        for stat in QUANTILES.into_iter().chain([Stat::Max, Stat::Mean]) {
            assert_eq!(empty.stat(stat), None);
        }
        assert_eq!(Snapshot::default().max(), None);
    }
}
