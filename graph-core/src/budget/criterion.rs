//! What a run of criterion says of the limit of a micro-benchmark.

use super::{Bound, Figure, Judgement, Limit, Margin, Stat, Verdict, samples_needed};
use crate::time::Nanos;

/// What criterion measured of one benchmark, in ns an iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchTimes {
    /// Its estimate of the mean.
    pub mean: f64,
    /// Its estimate of the median.
    pub median: f64,
    /// Each sample, divided by its iterations.
    pub samples: Vec<f64>,
}

impl BenchTimes {
    /// Samples far above the others: by more than 1.5 times the distance of the quartiles above the upper one (J. W.
    /// Tukey, "Exploratory Data Analysis", 1977).
    pub fn outliers(&self) -> u64 {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else { return 0 };
        let quartile = |share: f64| {
            let place = share * last as f64;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        let (lower, upper) = (quartile(0.25), quartile(0.75));
        let fence = upper + 1.5 * (upper - lower);
        sorted.iter().filter(|sample| **sample > fence).count() as u64
    }
}

/// Judges a limit on the mean or the median of a benchmark, to the picosecond: many take less than ten ns.
///
/// A mean that fails while the median holds points at outliers, thermal or of scheduling, and not at the code; the
/// reason says so.
pub fn judge_bench(limit: &Limit, times: &BenchTimes) -> Judgement {
    let Bound::AtMost { stat, limit: bound, .. } = limit.bound else { return not_of_benches(limit) };
    let measured = match stat {
        Stat::Mean => times.mean,
        Stat::P50 => times.median,
        Stat::P90 | Stat::P99 | Stat::P999 | Stat::Max => return not_of_benches(limit),
    };
    let (n, allowed) = (times.samples.len() as u64, picos(bound.0 as f64));
    let over = times.samples.iter().filter(|sample| picos(**sample) > allowed).count() as u64;
    let holds = picos(measured) <= allowed;
    // A whole number of ns, on its side of the limit.
    let rounded = Nanos(measured.round() as u64);
    let rounded = if holds { rounded.min(bound) } else { rounded.max(bound + Nanos(1)) };
    let blank = Judgement {
        n,
        over,
        measured: Some(Figure::Time(rounded)),
        margin: Margin::new(allowed, picos(measured)),
        ..Judgement::undecided(limit, Verdict::TooFewSamples)
    };
    let needed = samples_needed(stat);
    if n < needed {
        let reason = format!("{n} of the {needed} samples that a {} needs", stat.name());
        return Judgement { reason: Some(reason), ..blank };
    }
    let mut why_not = format!("{over} of {n} samples over");
    if stat == Stat::Mean && picos(times.median) <= allowed {
        why_not = format!(
            "outliers: the mean fails, the median holds; {why_not}, {} of them far above the rest",
            times.outliers()
        );
    }
    blank.decide(holds, why_not)
}

fn not_of_benches(limit: &Limit) -> Judgement {
    Judgement::not_judged(limit, "a benchmark has a mean and a median (p50), and no other figure")
}

fn picos(nanos: f64) -> u128 {
    (nanos * 1e3).round() as u128
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Category, Level};

    fn limit(stat: Stat, nanos: u64) -> Limit {
        let bound = Bound::AtMost { measure: None, stat, limit: Nanos(nanos) };
        Limit { bound, level: Level::Fail, assumed: false, basis: None }
    }

    /// 95 samples of `usual` and five of `high` ns.
    fn times(usual: f64, high: f64) -> BenchTimes {
        let samples: Vec<f64> = (0..100).map(|n| if n % 20 == 7 { high } else { usual }).collect();
        BenchTimes { mean: samples.iter().sum::<f64>() / 100.0, median: usual, samples }
    }

    #[test]
    fn a_mean_is_judged_to_the_picosecond_and_shown_on_its_side() {
        let holds = judge_bench(&limit(Stat::Mean, 100), &times(2.9, 2.9));
        assert_eq!((holds.verdict, holds.category()), (Verdict::Pass, Some(Category::Safe)));
        assert_eq!(holds.margin.unwrap().to_string(), "34x");
        let fails = judge_bench(&limit(Stat::Mean, 100), &times(100.2, 100.2));
        assert_eq!((fails.verdict, fails.measured), (Verdict::Fail, Some(Figure::Time(Nanos(101)))));
        assert_eq!((fails.n, fails.over), (100, 100));
        assert_eq!(judge_bench(&limit(Stat::Mean, 100), &times(100.0, 100.0)).verdict, Verdict::Pass);
    }

    #[test]
    fn a_mean_that_fails_while_the_median_holds_points_at_outliers() {
        let times = times(90.0, 900.0);
        let mean = judge_bench(&limit(Stat::Mean, 100), &times);
        assert_eq!(mean.verdict, Verdict::Fail);
        assert_eq!(
            mean.reason.as_deref(),
            Some(
                "outliers: the mean fails, the median holds; 5 of 100 samples over, 5 of them far above the rest"
            )
        );
        assert_eq!(judge_bench(&limit(Stat::P50, 100), &times).verdict, Verdict::Pass);
        let both = judge_bench(&limit(Stat::Mean, 50), &times);
        assert_eq!(both.reason.as_deref(), Some("100 of 100 samples over"));
    }

    #[test]
    fn a_limit_of_level_warn_warns() {
        let limit = Limit { level: Level::Warn, ..limit(Stat::Mean, 1) };
        assert_eq!(judge_bench(&limit, &times(2.0, 2.0)).verdict, Verdict::Warn);
    }

    #[test]
    fn a_median_needs_its_samples() {
        let few = BenchTimes { mean: 1.0, median: 1.0, samples: vec![1.0; 4] };
        assert_eq!(judge_bench(&limit(Stat::P50, 100), &few).verdict, Verdict::TooFewSamples);
        assert_eq!(judge_bench(&limit(Stat::Max, 100), &few).verdict, Verdict::NotJudged);
    }

    #[test]
    fn outliers_are_those_beyond_the_fence() {
        assert_eq!(times(10.0, 11.0).outliers(), 5, "the quartiles are one");
        let even = BenchTimes { mean: 0.0, median: 0.0, samples: (0..100).map(f64::from).collect() };
        assert_eq!(even.outliers(), 0);
        assert_eq!(BenchTimes { samples: Vec::new(), ..even }.outliers(), 0);
    }
}
