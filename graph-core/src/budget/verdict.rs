//! What a run says of one limit.

use std::fmt;

use serde::Serialize;

use super::{
    Bound, Category, Evidence, Level, Limit, Margin, Pace, Stat,
    confidence::{SIGNIFICANCE, at_least, samples_needed},
};
use crate::{measure::Snapshot, time::Nanos};

/// What is said of a limit. A higher one weighs more where several are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// There is no limit; measured and shown all the same.
    NotBudgeted,
    /// The limit was not to be judged in this run.
    NotJudged,
    /// The limit holds.
    Pass,
    /// A limit of level `warn` does not hold.
    Warn,
    /// The limit failed and held when it was run again.
    Flaky,
    /// Not enough samples to tell.
    TooFewSamples,
    /// Nothing was measured; never a pass.
    NoData,
    /// Stamps were out of order, so that the samples cannot be trusted.
    Uncertain,
    /// The limit does not hold.
    Fail,
}

impl Verdict {
    /// As the reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::NotBudgeted => "not-budgeted",
            Verdict::NotJudged => "not-judged",
            Verdict::Pass => "pass",
            Verdict::Warn => "warn",
            Verdict::Flaky => "flaky",
            Verdict::TooFewSamples => "too-few-samples",
            Verdict::NoData => "no-data",
            Verdict::Uncertain => "uncertain",
            Verdict::Fail => "fail",
        }
    }

    /// Whether the run could not tell.
    pub fn is_undecided(self) -> bool {
        matches!(self, Verdict::TooFewSamples | Verdict::NoData | Verdict::Uncertain)
    }

    /// The weightiest of several; `NotBudgeted` of none.
    pub fn of_all(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        verdicts.into_iter().max().unwrap_or(Verdict::NotBudgeted)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A measured figure, in the unit of its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A time.
    Time(Nanos),
    /// Packets a second.
    Rate(f64),
    /// A share, 0.0 to 1.0.
    Share(f64),
}

/// `5 ms`, `17.2 /s`, `0.3 %`.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = |value: f64, most: usize| {
            let text = format!("{value:.most$}");
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        };
        match *self {
            Figure::Time(time) => time.fmt(f),
            Figure::Rate(rate) => f.pad(&format!("{} /s", decimals(rate, 1))),
            Figure::Share(share) => f.pad(&format!("{} %", decimals(share * 100.0, 3))),
        }
    }
}

/// A limit, what was measured, and what follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The limit, its measure named.
    pub limit: Limit,
    /// What was judged: packets, causes for a limit on `first`, `last` or a rate, gaps for one on `interval`. Packets
    /// dropped or lost are among them where they count.
    pub n: u64,
    /// How many of those are over the limit, exactly; for a limit on drops, how many were dropped or lost.
    pub over: u64,
    /// The figure that the limit bounds, of the packets that arrived. A quantile is within 1 %, and always on its true
    /// side of the limit.
    pub measured: Option<Figure>,
    /// How far that is from the limit; `None` where lost packets alone decide.
    pub margin: Option<Margin>,
    /// What is said of the limit.
    pub verdict: Verdict,
    /// Why, where it is not a plain pass.
    pub reason: Option<String>,
    /// For a quantile, how sure the verdict is, 0.0 to 1.0; where it could not be told, how sure a pass would be.
    pub confidence: Option<f64>,
}

impl Judgement {
    /// The band of the margin.
    pub fn category(&self) -> Option<Category> {
        self.margin.map(Margin::category)
    }

    /// A limit that this run was not to judge.
    pub fn not_judged(limit: &Limit, reason: impl Into<String>) -> Judgement {
        Judgement { reason: Some(reason.into()), ..Judgement::undecided(limit, Verdict::NotJudged) }
    }

    /// The same limit after it failed and was run again: real where it failed in two runs of three, flaky otherwise.
    pub fn confirmed(self, again: &[Verdict]) -> Judgement {
        let failed = |verdict: &Verdict| matches!(verdict, Verdict::Fail | Verdict::Warn);
        if !failed(&self.verdict) || again.is_empty() || again.iter().any(failed) {
            return self;
        }
        let reason = format!("failed once, then held in {} more runs", again.len());
        Judgement { verdict: Verdict::Flaky, reason: Some(reason), ..self }
    }

    /// A limit of which nothing was measured, and why.
    pub fn no_data(limit: &Limit, reason: impl Into<String>) -> Judgement {
        Judgement { reason: Some(reason.into()), ..Judgement::undecided(limit, Verdict::NoData) }
    }

    pub(super) fn undecided(limit: &Limit, verdict: Verdict) -> Judgement {
        Judgement {
            limit: limit.clone(),
            n: 0,
            over: 0,
            measured: None,
            margin: None,
            verdict,
            reason: None,
            confidence: None,
        }
    }

    pub(super) fn decide(mut self, holds: bool, why_not: String) -> Judgement {
        self.verdict = match (holds, self.limit.level) {
            (true, _) => Verdict::Pass,
            (false, Level::Fail) => Verdict::Fail,
            (false, Level::Warn) => Verdict::Warn,
        };
        self.reason = (!holds).then_some(why_not);
        self
    }
}

/// Judges one limit by what was measured of it.
pub fn judge(limit: &Limit, evidence: &Evidence) -> Judgement {
    let blank = Judgement::undecided(limit, Verdict::NoData);
    match (limit.bound, evidence) {
        (Bound::AtMost { stat, limit, .. }, Evidence::Times { samples, over, missing, negative }) => {
            let times = Times { stat, limit, samples, over: over + missing, missing: *missing };
            times.judge(blank, *negative)
        }
        (Bound::RateAtLeast(floor), &Evidence::Rate { causes, under, slowest, missing, negative }) => {
            Rates { floor, n: causes + missing, under: under + missing, slowest, missing }
                .judge(blank, negative)
        }
        (Bound::DropsAtMost(share), &Evidence::Losses { lost, outcomes }) => {
            judge_drops(blank, share, lost, outcomes)
        }
        _ => Judgement { reason: Some("the evidence is of another kind than the limit".to_owned()), ..blank },
    }
}

struct Times<'a> {
    stat: Stat,
    limit: Nanos,
    samples: &'a Snapshot,
    over: u64,
    missing: u64,
}

impl Times<'_> {
    fn judge(&self, blank: Judgement, negative: u64) -> Judgement {
        let n = self.samples.n() + self.missing;
        let blank = Judgement { n, over: self.over, ..blank };
        // A sample over a maximum is one too many, whatever the others were.
        let has_failed = self.stat == Stat::Max && self.over > 0;
        if negative > 0 && !has_failed {
            return Judgement {
                measured: self.figure(self.samples.stat(self.stat)),
                ..out_of_order(blank, negative)
            };
        }
        if n == 0 {
            return Judgement { reason: Some("nothing was measured".to_owned()), ..blank };
        }
        match self.stat {
            Stat::Max => self.judge_max(blank),
            Stat::Mean => self.judge_mean(blank),
            Stat::P50 | Stat::P90 | Stat::P99 | Stat::P999 => self.judge_quantile(blank),
        }
    }

    fn judge_max(&self, blank: Judgement) -> Judgement {
        let measured = self.samples.max();
        let margin = measured.filter(|_| self.missing == 0).and_then(|max| Margin::of_time(max, self.limit));
        let judgement = Judgement { measured: self.figure(measured), margin, ..blank };
        judgement.decide(self.over == 0, self.count_over())
    }

    fn judge_mean(&self, blank: Judgement) -> Judgement {
        let allowed = u128::from(self.limit.0) * u128::from(self.samples.n());
        let within = self.samples.sum() <= allowed;
        let margin = (self.missing == 0).then(|| Margin::new(allowed, self.samples.sum())).flatten();
        let measured = self.samples.mean().map(|mean| self.on_its_side(mean, within));
        let median_holds = self.within(Stat::P50, blank.n);
        let why_not = if median_holds {
            format!("outliers: the mean fails, the median holds; {}", self.count_over())
        } else {
            self.count_over()
        };
        Judgement { measured: self.figure(measured), margin, ..blank }
            .decide(within && self.missing == 0, why_not)
    }

    fn judge_quantile(&self, blank: Judgement) -> Judgement {
        let Judgement { n, over, .. } = blank;
        let holds = self.within(self.stat, n);
        let beyond = 1.0 - self.stat.permille().expect("a quantile") as f64 / 1e3;
        let chance = at_least(n, over, beyond);
        let needed = samples_needed(self.stat);
        // Lost packets rank above all that arrived, so the rank is among those that arrived or there is no figure.
        let measured = self.stat.rank(n).and_then(|rank| self.samples.at_rank(rank));
        let measured = measured.map(|figure| self.on_its_side(figure, holds));
        let judgement = Judgement {
            measured: self.figure(measured),
            margin: measured.and_then(|figure| Margin::of_time(figure, self.limit)),
            ..blank
        };
        if n >= needed || chance < SIGNIFICANCE {
            let sure = if holds { at_least(n, over + 1, beyond) } else { 1.0 - chance };
            return Judgement { confidence: Some(sure), ..judgement.decide(holds, self.count_over()) };
        }
        let (stat, sure) = (self.stat.name(), at_least(n, over + 1, beyond));
        Judgement {
            verdict: Verdict::TooFewSamples,
            reason: Some(format!("{n} of the {needed} samples that a {stat} needs, {over} of them over")),
            confidence: Some(sure),
            ..judgement
        }
    }

    /// Whether so few of `n` are over the limit that the quantile is not.
    fn within(&self, stat: Stat, n: u64) -> bool {
        stat.rank(n).is_some_and(|rank| self.over <= n - rank)
    }

    /// A bucket's figure, moved to the side of the limit where the exact counter says it is.
    fn on_its_side(&self, figure: Nanos, within: bool) -> Nanos {
        if within { figure.min(self.limit) } else { figure.max(self.limit + Nanos(1)) }
    }

    fn figure(&self, time: Option<Nanos>) -> Option<Figure> {
        time.map(Figure::Time)
    }

    fn count_over(&self) -> String {
        count_over(self.over, self.samples.n() + self.missing, self.missing)
    }
}

struct Rates {
    floor: f64,
    n: u64,
    under: u64,
    slowest: Option<Pace>,
    missing: u64,
}

impl Rates {
    fn judge(&self, blank: Judgement, negative: u64) -> Judgement {
        let &Rates { floor, n, under, slowest, missing } = self;
        let measured = slowest.map(|pace| Figure::Rate(pace.per_second()));
        let blank = Judgement { n, over: under, measured, ..blank };
        if negative > 0 && under == 0 {
            return out_of_order(blank, negative);
        }
        if n == 0 {
            return Judgement {
                reason: Some("no cause had two packets, and one has no rate".to_owned()),
                ..blank
            };
        }
        let margin = slowest.filter(|_| missing == 0).and_then(|pace| Margin::of_rate(pace, floor));
        Judgement { margin, ..blank }.decide(under == 0, count_over(under, n, missing))
    }
}

fn judge_drops(blank: Judgement, share: f64, lost: u64, outcomes: u64) -> Judgement {
    const BILLIONTHS: f64 = 1e9;
    let blank = Judgement { n: outcomes, over: lost, ..blank };
    if outcomes == 0 {
        return Judgement { reason: Some("nothing was measured".to_owned()), ..blank };
    }
    let allowed = (share * BILLIONTHS).round() as u128 * u128::from(outcomes);
    let dropped = u128::from(lost) * BILLIONTHS as u128;
    let judgement = Judgement {
        measured: Some(Figure::Share(lost as f64 / outcomes as f64)),
        margin: Margin::new(allowed, dropped),
        ..blank
    };
    judgement.decide(dropped <= allowed, format!("{lost} of {outcomes} packets were dropped or lost"))
}

fn out_of_order(blank: Judgement, negative: u64) -> Judgement {
    Judgement {
        verdict: Verdict::Uncertain,
        reason: Some(format!("the stamps of {negative} packets are out of order")),
        ..blank
    }
}

fn count_over(over: u64, n: u64, missing: u64) -> String {
    let lost = if missing > 0 { format!(", {missing} of them dropped or lost") } else { String::new() };
    format!("{over} of {n} over{lost}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{budget::Measure, measure::Histogram};

    const LIMIT: Nanos = Nanos(1_000);

    fn at_most(stat: Stat) -> Limit {
        let bound = Bound::AtMost { measure: Some(Measure::Latency), stat, limit: LIMIT };
        Limit { bound, level: Level::Fail, assumed: false, basis: None }
    }

    fn bound(bound: Bound) -> Limit {
        Limit { bound, ..at_most(Stat::Max) }
    }

    fn times(samples: &[u64]) -> Evidence {
        let histogram = Histogram::default();
        samples.iter().for_each(|sample| histogram.record(*sample));
        let over = samples.iter().filter(|sample| **sample > LIMIT.0).count() as u64;
        Evidence::Times { samples: histogram.snapshot(), over, missing: 0, negative: 0 }
    }

    /// So many samples under the limit and so many over it.
    fn mixed(under: usize, over: usize) -> Evidence {
        times(&[vec![500; under], vec![2_000; over]].concat())
    }

    fn with_missing(evidence: Evidence, missing: u64) -> Evidence {
        match evidence {
            Evidence::Times { samples, over, negative, .. } => {
                Evidence::Times { samples, over, missing, negative }
            }
            other => other,
        }
    }

    fn verdict(stat: Stat, evidence: &Evidence) -> Verdict {
        judge(&at_most(stat), evidence).verdict
    }

    #[test]
    fn a_limit_passes_when_no_sample_is_over_it() {
        let judgement = judge(&at_most(Stat::Max), &times(&[100, 1_000]));
        assert_eq!(judgement.verdict, Verdict::Pass);
        assert_eq!(judgement.measured, Some(Figure::Time(LIMIT)));
        assert_eq!((judgement.n, judgement.over, judgement.reason), (2, 0, None));
        assert_eq!(judgement.margin.unwrap().to_string(), "1.0x");
    }

    #[test]
    fn a_limit_on_the_maximum_fails_by_one_sample_and_one_nanosecond() {
        let judgement = judge(&at_most(Stat::Max), &times(&[100, 1_001]));
        assert_eq!(judgement.verdict, Verdict::Fail);
        assert_eq!(judgement.category(), Some(Category::Critical));
        assert_eq!(judgement.reason.unwrap(), "1 of 2 over");
    }

    #[test]
    fn a_limit_of_level_warn_warns_instead_of_failing() {
        let limit = Limit { level: Level::Warn, ..at_most(Stat::Max) };
        assert_eq!(judge(&limit, &mixed(1, 1)).verdict, Verdict::Warn);
        assert_eq!(judge(&limit, &mixed(1, 0)).verdict, Verdict::Pass);
    }

    #[test]
    fn without_samples_there_is_no_data_and_never_a_pass() {
        let rate = Evidence::Rate { causes: 0, under: 0, slowest: None, missing: 0, negative: 0 };
        let drops = Evidence::Losses { lost: 0, outcomes: 0 };
        for (limit, evidence) in [
            (at_most(Stat::Max), times(&[])),
            (at_most(Stat::Mean), times(&[])),
            (at_most(Stat::P99), times(&[])),
            (bound(Bound::RateAtLeast(15.0)), rate),
            (bound(Bound::DropsAtMost(0.0)), drops),
        ] {
            let judgement = judge(&limit, &evidence);
            assert_eq!(judgement.verdict, Verdict::NoData, "{limit:?}");
            assert!(judgement.reason.is_some());
            assert_eq!((judgement.measured, judgement.margin), (None, None));
        }
    }

    #[test]
    fn a_quantile_needs_its_number_of_samples() {
        for (stat, needed) in [(Stat::P50, 5), (Stat::P90, 29), (Stat::P99, 299), (Stat::P999, 2995)] {
            assert_eq!(verdict(stat, &mixed(needed - 1, 0)), Verdict::TooFewSamples, "{stat:?}");
            assert_eq!(verdict(stat, &mixed(needed, 0)), Verdict::Pass, "{stat:?}");
        }
        let few = judge(&at_most(Stat::P99), &mixed(12, 0));
        assert_eq!(few.reason.unwrap(), "12 of the 299 samples that a p99 needs, 0 of them over");
    }

    #[test]
    fn too_few_samples_fail_all_the_same_when_so_many_over_are_no_chance() {
        // One of ten over a p99 comes by chance in 9.6 % of runs, two in 0.4 %.
        assert_eq!(verdict(Stat::P99, &mixed(9, 1)), Verdict::TooFewSamples);
        let judgement = judge(&at_most(Stat::P99), &mixed(8, 2));
        assert_eq!(judgement.verdict, Verdict::Fail);
        assert!((judgement.confidence.unwrap() - 0.9957).abs() < 1e-4);
    }

    #[test]
    fn the_confidence_of_the_least_number_of_samples_is_95_percent() {
        for (stat, needed) in [(Stat::P50, 5), (Stat::P90, 29), (Stat::P99, 299), (Stat::P999, 2995)] {
            let sure = judge(&at_most(stat), &mixed(needed, 0)).confidence.unwrap();
            assert!((0.95..0.97).contains(&sure), "{stat:?}: {sure}");
        }
    }

    #[test]
    fn a_quantile_is_decided_by_the_count_over_the_limit_and_not_by_a_bucket() {
        // 1,000 and 1,001 ns share a bucket.
        let close = |over: usize| times(&[vec![1_000; 1_000 - over], vec![1_001; over]].concat());
        let holds = judge(&at_most(Stat::P99), &close(10));
        assert_eq!((holds.verdict, holds.measured), (Verdict::Pass, Some(Figure::Time(Nanos(1_000)))));
        let fails = judge(&at_most(Stat::P99), &close(11));
        assert_eq!(fails.verdict, Verdict::Fail);
        assert!(matches!(fails.measured, Some(Figure::Time(time)) if time > LIMIT));
        assert_eq!(fails.margin.unwrap().to_string(), "0.9x");
    }

    #[test]
    fn a_mean_that_fails_by_few_samples_speaks_of_outliers() {
        let judgement = judge(&at_most(Stat::Mean), &times(&[100, 100, 100, 100, 90_000]));
        assert_eq!(judgement.verdict, Verdict::Fail);
        assert_eq!(judgement.reason.unwrap(), "outliers: the mean fails, the median holds; 1 of 5 over");
        let all = judge(&at_most(Stat::Mean), &times(&[1_500, 1_600, 1_700]));
        assert_eq!(all.reason.unwrap(), "3 of 3 over");
    }

    #[test]
    fn a_mean_is_compared_before_it_is_rounded() {
        let judgement = judge(&at_most(Stat::Mean), &times(&[1_000, 1_000, 1_001]));
        assert_eq!(judgement.verdict, Verdict::Fail);
        assert_eq!(judgement.measured, Some(Figure::Time(Nanos(1_001))));
    }

    #[test]
    fn a_lost_packet_counts_as_over_every_limit() {
        let one_lost = with_missing(times(&[100; 998]), 1);
        let max = judge(&at_most(Stat::Max), &one_lost);
        assert_eq!(max.verdict, Verdict::Fail);
        assert_eq!(max.reason.unwrap(), "1 of 999 over, 1 of them dropped or lost");
        assert_eq!((max.n, max.over, max.margin), (999, 1, None));
        assert_eq!(verdict(Stat::Mean, &one_lost), Verdict::Fail);
        assert_eq!(verdict(Stat::P99, &one_lost), Verdict::Pass);
        let many_lost = judge(&at_most(Stat::P50), &with_missing(times(&[100; 10]), 30));
        assert_eq!((many_lost.verdict, many_lost.measured), (Verdict::Fail, None));
        assert_eq!(verdict(Stat::Max, &with_missing(times(&[]), 3)), Verdict::Fail);
    }

    #[test]
    fn stamps_out_of_order_make_a_limit_uncertain() {
        let Evidence::Times { samples, over, missing, .. } = times(&[100, 200]) else { unreachable!() };
        let judgement = judge(&at_most(Stat::Max), &Evidence::Times { samples, over, missing, negative: 3 });
        assert_eq!(judgement.verdict, Verdict::Uncertain);
        assert_eq!(judgement.reason.unwrap(), "the stamps of 3 packets are out of order");
        let pace = Some(Pace { gaps: 1, span: Nanos(1) });
        let rate = Evidence::Rate { causes: 1, under: 0, slowest: pace, missing: 0, negative: 1 };
        assert_eq!(judge(&bound(Bound::RateAtLeast(1.0)), &rate).verdict, Verdict::Uncertain);
    }

    #[test]
    fn a_sample_over_the_maximum_fails_it_whatever_the_stamps_of_others() {
        let Evidence::Times { samples, over, missing, .. } = times(&[100, 2_000]) else { unreachable!() };
        let evidence = Evidence::Times { samples, over, missing, negative: 3 };
        assert_eq!(verdict(Stat::Max, &evidence), Verdict::Fail);
        assert_eq!(verdict(Stat::Mean, &evidence), Verdict::Uncertain);
    }

    #[test]
    fn a_rate_is_judged_by_its_slowest_cause() {
        let floor = bound(Bound::RateAtLeast(15.0));
        let rate = |under, gaps| Evidence::Rate {
            causes: 4,
            under,
            slowest: Some(Pace { gaps, span: Nanos::from_secs(1) }),
            missing: 0,
            negative: 0,
        };
        let holds = judge(&floor, &rate(0, 30));
        assert_eq!((holds.verdict, holds.measured), (Verdict::Pass, Some(Figure::Rate(30.0))));
        assert_eq!(holds.margin.unwrap().to_string(), "2.0x");
        let fails = judge(&floor, &rate(1, 14));
        assert_eq!((fails.verdict, fails.reason.unwrap().as_str()), (Verdict::Fail, "1 of 4 over"));
    }

    #[test]
    fn drops_are_judged_by_their_share() {
        let none = bound(Bound::DropsAtMost(0.0));
        let tenth = bound(Bound::DropsAtMost(0.1));
        let lost = |lost| Evidence::Losses { lost, outcomes: 30 };
        assert_eq!(judge(&none, &lost(0)).verdict, Verdict::Pass);
        assert_eq!(judge(&none, &lost(0)).margin, None);
        assert_eq!(judge(&none, &lost(1)).verdict, Verdict::Fail);
        assert_eq!(judge(&tenth, &lost(3)).verdict, Verdict::Pass);
        let over = judge(&tenth, &lost(4));
        assert_eq!(over.verdict, Verdict::Fail);
        assert_eq!(over.reason.unwrap(), "4 of 30 packets were dropped or lost");
        assert_eq!(over.measured.unwrap().to_string(), "13.333 %");
    }

    #[test]
    fn a_bench_is_not_judged_by_a_run() {
        let judgement = Judgement::not_judged(&at_most(Stat::Mean), "a micro-benchmark, measured by `bench`");
        assert_eq!(judgement.verdict, Verdict::NotJudged);
        assert!(judgement.reason.is_some());
    }

    #[test]
    fn what_has_no_limit_is_not_budgeted() {
        assert_eq!(Verdict::of_all([]), Verdict::NotBudgeted);
    }

    #[test]
    fn a_failure_is_real_when_it_comes_twice_in_three_runs_and_flaky_otherwise() {
        let failed = judge(&at_most(Stat::Max), &mixed(1, 1));
        let again = |verdicts: [Verdict; 2]| failed.clone().confirmed(&verdicts).verdict;
        assert_eq!(again([Verdict::Pass, Verdict::Fail]), Verdict::Fail);
        assert_eq!(again([Verdict::Pass, Verdict::Pass]), Verdict::Flaky);
        let passed = judge(&at_most(Stat::Max), &mixed(1, 0));
        assert_eq!(passed.confirmed(&[Verdict::Fail, Verdict::Fail]).verdict, Verdict::Pass);
    }

    #[test]
    fn the_weightiest_verdict_stands_for_several() {
        let mixed = [Verdict::Pass, Verdict::NoData, Verdict::NotJudged, Verdict::Warn];
        assert_eq!(Verdict::of_all(mixed), Verdict::NoData);
        assert_eq!(Verdict::of_all(mixed.into_iter().chain([Verdict::Fail])), Verdict::Fail);
        assert_eq!(Verdict::of_all([Verdict::NotJudged, Verdict::Pass]), Verdict::Pass);
    }

    #[test]
    fn figures_print_in_the_unit_of_their_limit() {
        for (figure, text) in [
            (Figure::Time(Nanos::from_millis(5)), "5 ms"),
            (Figure::Rate(17.25), "17.2 /s"),
            (Figure::Rate(30.0), "30 /s"),
            (Figure::Share(0.003), "0.3 %"),
            (Figure::Share(0.0), "0 %"),
        ] {
            assert_eq!(figure.to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn the_measured_figure_and_the_verdict_never_contradict_each_other(
            samples in prop::collection::vec(900_u64..1_100, 1..400),
            stat in prop::sample::select(vec![Stat::P50, Stat::P90, Stat::P99, Stat::Max, Stat::Mean]),
        ) {
            let judgement = judge(&at_most(stat), &times(&samples));
            let Some(Figure::Time(measured)) = judgement.measured else { panic!("no figure") };
            match judgement.verdict {
                Verdict::Pass => prop_assert!(measured <= LIMIT),
                Verdict::Fail => prop_assert!(measured > LIMIT),
                other => prop_assert_eq!(other, Verdict::TooFewSamples),
            }
        }
    }
}
