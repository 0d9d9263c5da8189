//! The meter of one path.

use super::{
    Hop, Snapshot,
    counter::{Counter, Sum},
    recorder::{Keep, Recorder, Times},
    worst::Worst,
};
use crate::{
    budget::{Budget, Evidence, Limit, Measure},
    time::{Nanos, Stamp},
};

/// What a path's meter is to know of its path.
#[derive(Clone, Copy, Debug)]
pub struct PathSpec<'a> {
    /// The path's budget. With a limit in it, the first 10,000 samples of each measure are kept, and quantiles are
    /// exact as long as there are no more.
    pub budget: &'a Budget,
    /// How many edges it has.
    pub edges: usize,
    /// Whether one cause may have several packets at its end, since an output on the way gives `many`.
    pub many: bool,
    /// How many packets of one cause are measured where `many`; `None` for the first only. The others are counted.
    pub packets: Option<u32>,
}

/// A packet that came all the way along a path.
#[derive(Clone, Copy, Debug)]
pub struct Lineage<'a> {
    /// The packet's number on the last edge.
    pub seq: u64,
    /// The turn it belongs to.
    pub turn: u64,
    /// Whether it is counted only, since the run still warms up.
    pub warm_up: bool,
    /// When the data came to exist on this host.
    pub origin: Stamp,
    /// Its stamps on each edge of the path, in the path's order; each begins where the one before was taken.
    pub hops: &'a [Hop],
}

/// Times the packets that come along a path, and what each edge adds.
///
/// [`completed`](Self::completed), [`left`](Self::left) and [`finish`](Self::finish) belong to one thread, the consumer of
/// the last edge. Any thread may call the rest.
///
/// Latency, held, cost and age are always measured. The work, held and wait of a path are the sums over its edges; a
/// cause is what the first edge's producer took; its packets come one after another.
#[derive(Debug)]
pub struct PathMeter {
    recorder: Recorder,
    parts: Box<[PartSums]>,
    summed: Counter,
    worst: Worst,
    /// Packets of one cause that are measured; `None` where each packet is its own cause.
    per_cause: Option<u64>,
    cause: Counter,
    of_cause: Counter,
    completed: Counter,
    warm_up: Counter,
    beyond: Counter,
    left: Counter,
}

#[derive(Debug, Default)]
struct PartSums {
    work: Sum,
    held: Sum,
    wait: Sum,
}

/// What one edge added to a path's latency, summed over all packets measured, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// What the producing node spent.
    pub work: u128,
    /// What it waited on purpose.
    pub held: u128,
    /// What the queue and the way cost.
    pub wait: u128,
}

impl Part {
    /// All three.
    pub fn latency(&self) -> u128 {
        self.work + self.held + self.wait
    }
}

/// What became of the packets that came to the end of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct PathCounts {
    /// Came all the way, those of the warm-up among them.
    pub completed: u64,
    /// Came along the path, but what they cost is not known: a hop of theirs was forgotten since too many were under way,
    /// or does not begin where the one before it ended.
    pub left: u64,
    /// Of those completed, how many belong to the warm-up; not measured.
    pub warm_up: u64,
    /// Of those completed, how many came after as many of their cause as are measured.
    pub beyond: u64,
}

/// One of the worst packets of a path, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorstLineage {
    /// The packet's number on the last edge.
    pub seq: u64,
    /// The turn it belonged to.
    pub turn: u64,
    /// When the data came to exist on this host.
    pub origin: Stamp,
    /// Its stamps on each edge.
    pub hops: Vec<Hop>,
}

const HOP_WORDS: usize = 4;

impl PathMeter {
    /// A meter with nothing counted.
    pub fn new(spec: &PathSpec) -> PathMeter {
        let &PathSpec { budget, edges, many, packets } = spec;
        let always = &[Measure::Latency, Measure::Held, Measure::Cost, Measure::Age];
        let samples = !budget.limits.is_empty();
        PathMeter {
            recorder: Recorder::new(&Keep { budget, default: Measure::Latency, always, many, samples }),
            parts: (0..edges).map(|_| PartSums::default()).collect(),
            summed: Counter::default(),
            worst: Worst::new(3 + edges * HOP_WORDS),
            per_cause: many.then(|| packets.unwrap_or(1).into()),
            cause: Counter::default(),
            of_cause: Counter::default(),
            completed: Counter::default(),
            warm_up: Counter::default(),
            beyond: Counter::default(),
            left: Counter::default(),
        }
    }

    /// A packet came all the way. Its lineage has one hop an edge.
    ///
    /// Where stamps are out of order, or a hop does not begin where the one before was taken, only the age is recorded
    /// and every other measure counts a negative.
    pub fn completed(&self, lineage: &Lineage) {
        self.completed.add(1);
        if lineage.warm_up {
            return self.warm_up.add(1);
        }
        let hops = lineage.hops;
        let (Some(first), Some(last)) = (hops.first(), hops.last()) else { return };
        if self.is_beyond(first.began) {
            return self.beyond.add(1);
        }
        let whole = hops.len() == self.parts.len()
            && hops.iter().all(Hop::in_order)
            && hops.is_sorted_by(|hop, next| hop.taken == next.began);
        let total = |part: fn(&Hop) -> Option<Nanos>| {
            hops.iter().try_fold(Nanos::ZERO, |sum, hop| part(hop).map(|nanos| sum + nanos)).filter(|_| whole)
        };
        let times = Times {
            latency: last.taken.since(first.began).filter(|_| whole),
            work: total(Hop::work),
            held: total(|hop| Some(hop.held)),
            wait: total(Hop::wait),
            cost: total(Hop::cost),
            age: last.taken.since(lineage.origin),
        };
        if whole {
            self.summed.add(1);
            for (part, hop) in self.parts.iter().zip(hops) {
                part.work.add(hop.work().expect("stamps in order").0);
                part.held.add(hop.held.0);
                part.wait.add(hop.wait().expect("stamps in order").0);
            }
        }
        let rank = self.recorder.record(&times, [first.began.0, 0], last.taken);
        if let Some(rank) = rank
            && self.worst.wants(rank.0)
        {
            let stamps = hops.iter().flat_map(|hop| [hop.began.0, hop.sent.0, hop.taken.0, hop.held.0]);
            self.worst.keep(rank.0, [lineage.seq, lineage.turn, lineage.origin.0].into_iter().chain(stamps));
        }
    }

    /// Whether as many packets of that cause as are measured have come before.
    fn is_beyond(&self, cause: Stamp) -> bool {
        let Some(measured) = self.per_cause else { return false };
        if self.of_cause.get() == 0 || self.cause.get() != cause.0 {
            self.cause.set(cause.0);
            self.of_cause.set(0);
        }
        self.of_cause.add(1);
        self.of_cause.get() > measured
    }

    /// So many packets came to the end of the path with a lineage that is not whole.
    pub fn left(&self, packets: u64) {
        self.left.add(packets);
    }

    /// The stream has ended, and with it the last cause.
    pub fn finish(&self) {
        self.recorder.finish();
    }

    /// What became of the packets so far.
    pub fn counts(&self) -> PathCounts {
        PathCounts {
            completed: self.completed.get(),
            left: self.left.get(),
            warm_up: self.warm_up.get(),
            beyond: self.beyond.get(),
        }
    }

    /// The samples of a measure so far; `None` where it is not measured.
    pub fn snapshot(&self, measure: Measure) -> Option<Snapshot> {
        self.recorder.snapshot(measure)
    }

    /// Packets of which that measure could not be told, since their stamps are out of order.
    pub fn negative(&self, measure: Measure) -> u64 {
        self.recorder.negative(measure)
    }

    /// The limits of the budget, each with its measure named.
    pub fn limits(&self) -> &[Limit] {
        self.recorder.limits()
    }

    /// What was measured of each limit, in the order of [`limits`](Self::limits).
    pub fn evidence(&self) -> Vec<Evidence> {
        self.recorder.evidence(0, self.completed.get().saturating_sub(self.warm_up.get()))
    }

    /// What each edge added over all packets measured, and how many those were.
    ///
    /// The parts' latencies add up to the sum of the path's latency, to the nanosecond.
    pub fn parts(&self) -> (Vec<Part>, u64) {
        let parts = self.parts.iter();
        let parts =
            parts.map(|part| Part { work: part.work.get(), held: part.held.get(), wait: part.wait.get() });
        (parts.collect(), self.summed.get())
    }

    /// The worst packets, worst first: by `cost` or `first` where that is judged, else by latency.
    pub fn worst(&self) -> Vec<WorstLineage> {
        let lineage = |row: &Vec<u64>| {
            let (&[seq, turn, origin], stamps) = row.split_first_chunk()?;
            let hop = |words: &[u64; HOP_WORDS]| {
                let &[began, sent, taken, held] = words;
                Hop { began: Stamp(began), sent: Stamp(sent), taken: Stamp(taken), held: Nanos(held) }
            };
            let hops = stamps.as_chunks().0.iter().map(hop).collect();
            Some(WorstLineage { seq, turn, origin: Stamp(origin), hops })
        };
        self.worst.rows().iter().filter_map(lineage).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::budget::{Bound, Level, Stat, Verdict, judge};

    fn budget(measure: Measure, nanos: u64) -> Budget {
        let bound = Bound::AtMost { measure: Some(measure), stat: Stat::Max, limit: Nanos(nanos) };
        Budget {
            limits: vec![Limit { bound, level: Level::Fail, assumed: false, basis: None }],
            reference: None,
        }
    }

    fn meter(budget: &Budget, edges: usize) -> PathMeter {
        PathMeter::new(&PathSpec { budget, edges, many: false, packets: None })
    }

    /// A lineage without a gap, from (work, held, wait) of each edge.
    fn hops(began: u64, parts: &[(u64, u64, u64)]) -> Vec<Hop> {
        let mut now = began;
        let hop = |&(work, held, wait): &(u64, u64, u64)| {
            let (began, sent) = (now, now + work + held);
            now = sent + wait;
            Hop { began: Stamp(began), sent: Stamp(sent), taken: Stamp(now), held: Nanos(held) }
        };
        parts.iter().map(hop).collect()
    }

    fn lineage(hops: &[Hop]) -> Lineage<'_> {
        Lineage { seq: 0, turn: 0, warm_up: false, origin: hops[0].began, hops }
    }

    fn verdict(meter: &PathMeter) -> Verdict {
        judge(&meter.limits()[0], &meter.evidence()[0]).verdict
    }

    #[test]
    fn the_cost_of_a_path_leaves_out_what_is_held_on_any_edge() {
        let meter = meter(&budget(Measure::Cost, 100), 2);
        meter.completed(&lineage(&hops(1_000, &[(60, 500, 10), (20, 0, 10)])));
        assert_eq!(meter.snapshot(Measure::Latency).unwrap().max(), Some(Nanos(600)));
        assert_eq!(meter.snapshot(Measure::Held).unwrap().max(), Some(Nanos(500)));
        assert_eq!(verdict(&meter), Verdict::Pass);
        meter.completed(&lineage(&hops(2_000, &[(61, 500, 10), (20, 0, 10)])));
        assert_eq!(verdict(&meter), Verdict::Fail);
    }

    #[test]
    fn a_gap_in_a_lineage_makes_the_path_uncertain() {
        let meter = meter(&budget(Measure::Latency, 1_000), 2);
        let mut broken = hops(1_000, &[(1, 0, 1), (1, 0, 1)]);
        broken[1].began = broken[1].began + Nanos(1);
        meter.completed(&lineage(&broken));
        assert_eq!((meter.negative(Measure::Latency), meter.parts().1), (1, 0));
        assert_eq!(verdict(&meter), Verdict::Uncertain);
    }

    #[test]
    fn only_the_first_packets_of_a_cause_are_measured_as_many_as_the_limit_covers() {
        for (packets, measured) in [(None, 1), (Some(2), 2), (Some(9), 3)] {
            let budget = budget(Measure::Latency, 1_000);
            let meter = PathMeter::new(&PathSpec { budget: &budget, edges: 1, many: true, packets });
            for cause in [1_000, 2_000] {
                for wait in [10, 20, 30] {
                    meter.completed(&lineage(&hops(cause, &[(1, 0, wait)])));
                }
            }
            assert_eq!(meter.snapshot(Measure::Latency).unwrap().n(), 2 * measured);
            assert_eq!(meter.counts().beyond, 6 - 2 * measured);
        }
    }

    #[test]
    fn quantiles_of_a_judged_path_are_exact_while_it_has_few_samples() {
        let judged = meter(&budget(Measure::Cost, 1), 1);
        let shown = meter(&Budget::default(), 1);
        for meter in [&judged, &shown] {
            for wait in [1_000_001, 1_000_003, 1_000_009] {
                meter.completed(&lineage(&hops(0, &[(0, 0, wait)])));
            }
        }
        let median = |meter: &PathMeter| meter.snapshot(Measure::Latency).unwrap().stat(Stat::P50).unwrap();
        assert_eq!(median(&judged), Nanos(1_000_003));
        assert_ne!(median(&shown), Nanos(1_000_003));
    }

    #[test]
    fn beyond_the_samples_kept_a_path_goes_on_in_its_histogram() {
        let meter = meter(&budget(Measure::Cost, 1), 1);
        for wait in 0..10_001 {
            meter.completed(&lineage(&hops(0, &[(0, 0, wait)])));
        }
        let latency = meter.snapshot(Measure::Latency).unwrap();
        assert_eq!((latency.n(), latency.max()), (10_001, Some(Nanos(10_000))));
        assert!(latency.stat(Stat::P50).unwrap().0.abs_diff(5_000) <= 50);
    }

    #[test]
    fn the_worst_lineages_are_kept_whole() {
        let meter = meter(&Budget::default(), 2);
        for (seq, wait) in [5, 50, 20, 40].into_iter().enumerate() {
            let hops = hops(1_000, &[(1, 2, wait), (3, 0, 4)]);
            meter.completed(&Lineage { seq: seq as u64, turn: 9, ..lineage(&hops) });
        }
        let worst = meter.worst();
        assert_eq!(worst.iter().map(|worst| worst.seq).collect::<Vec<_>>(), [1, 3, 2]);
        assert_eq!((worst[0].turn, worst[0].origin), (9, Stamp(1_000)));
        assert_eq!(worst[0].hops, hops(1_000, &[(1, 2, 50), (3, 0, 4)]));
    }

    #[test]
    fn lineages_that_leave_are_counted_and_those_of_the_warm_up_not_measured() {
        let meter = meter(&budget(Measure::Latency, 10), 1);
        meter.completed(&Lineage { warm_up: true, ..lineage(&hops(0, &[(99, 0, 0)])) });
        meter.left(3);
        assert_eq!(meter.counts(), PathCounts { completed: 1, left: 3, warm_up: 1, beyond: 0 });
        assert_eq!(verdict(&meter), Verdict::NoData);
    }

    proptest! {
        #[test]
        fn the_parts_of_a_path_add_up_to_its_latency_to_the_nanosecond(
            lineages in prop::collection::vec(
                prop::collection::vec((0..1_u64 << 40, 0..1_u64 << 40, 0..1_u64 << 40), 4), 1..40),
        ) {
            let meter = meter(&Budget::default(), 4);
            for parts in &lineages {
                meter.completed(&lineage(&hops(1_000, parts)));
            }
            let (parts, n) = meter.parts();
            prop_assert_eq!(n, lineages.len() as u64);
            let latency = meter.snapshot(Measure::Latency).unwrap();
            prop_assert_eq!(parts.iter().map(Part::latency).sum::<u128>(), latency.sum());
            let held = parts.iter().map(|part| part.held).sum::<u128>();
            prop_assert_eq!(held, meter.snapshot(Measure::Held).unwrap().sum());
            prop_assert_eq!(latency.sum() - held, meter.snapshot(Measure::Cost).unwrap().sum());
        }
    }
}
