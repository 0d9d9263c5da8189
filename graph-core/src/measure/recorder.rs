//! What edges and paths measure alike: a histogram for each measure, and a counter for each limit.

use std::cell::Cell;

use super::{
    Histogram, Snapshot,
    causes::{Causes, Ended, Place},
    counter::Counter,
};
use crate::{
    budget::{Bound, Budget, Evidence, Limit, Measure, Pace},
    time::{Nanos, Stamp},
};

/// Samples of a measure that are kept one by one, where that is asked.
pub(crate) const KEPT: usize = 10_000;

/// What a recorder is to keep.
pub(crate) struct Keep<'a> {
    pub(crate) budget: &'a Budget,
    /// What a limit speaks of that names no measure.
    pub(crate) default: Measure,
    /// Measured without being asked.
    pub(crate) always: &'a [Measure],
    /// Whether a cause may have several packets.
    pub(crate) many: bool,
    /// Whether the first samples are kept one by one.
    pub(crate) samples: bool,
}

/// The times of one packet; `None` where stamps are out of order.
pub(crate) struct Times {
    pub(crate) latency: Option<Nanos>,
    pub(crate) work: Option<Nanos>,
    pub(crate) held: Option<Nanos>,
    pub(crate) wait: Option<Nanos>,
    pub(crate) cost: Option<Nanos>,
    pub(crate) age: Option<Nanos>,
}

#[derive(Debug)]
pub(crate) struct Recorder {
    /// Those of the budget, each with its measure named.
    limits: Box<[Limit]>,
    series: [Option<Series>; Measure::ALL.len()],
    negative: [Counter; Measure::ALL.len()],
    /// Whether more than latency and age is measured of each packet.
    more: bool,
    causes: Option<Causes>,
    rates: Rates,
    worst_by: Measure,
}

impl Recorder {
    pub(crate) fn new(keep: &Keep) -> Recorder {
        let mut limits: Box<[Limit]> = keep.budget.limits.iter().cloned().collect();
        for limit in &mut limits {
            if let Bound::AtMost { measure, .. } = &mut limit.bound {
                measure.get_or_insert(keep.default);
            }
        }
        let judged = limits.iter().find_map(|limit| limit.measure());
        let series = Measure::ALL.map(|measure| {
            let bounds: Box<[_]> =
                limits.iter().filter_map(|limit| limit.at_most(measure)).map(Over::new).collect();
            let wanted = keep.always.contains(&measure) || !bounds.is_empty();
            wanted.then(|| Series::new(bounds, keep.samples))
        });
        let rates = Rates::new(&limits);
        let by_cause = [Measure::First, Measure::Last, Measure::Interval];
        let causes =
            !rates.under.is_empty() || by_cause.iter().any(|measure| series[*measure as usize].is_some());
        let more = [Measure::Work, Measure::Held, Measure::Wait, Measure::Cost];
        Recorder {
            limits,
            more: more.iter().any(|measure| series[*measure as usize].is_some()),
            series,
            negative: Default::default(),
            causes: causes.then(|| Causes::new(keep.many)),
            rates,
            worst_by: judged
                .filter(|judged| matches!(judged, Measure::Cost | Measure::First))
                .unwrap_or(Measure::Latency),
        }
    }

    /// Records a packet. Gives what it ranks by among the worst: the judged measure where that is `cost` or `first`,
    /// the latency otherwise.
    #[inline(always)]
    pub(crate) fn record(&self, times: &Times, cause: [u64; 2], taken: Stamp) -> Option<Nanos> {
        self.put(Measure::Latency, times.latency);
        self.put(Measure::Age, times.age);
        let in_order = times.work.is_some() && times.wait.is_some();
        if self.more || !in_order {
            self.put(Measure::Wait, times.wait);
            self.put(Measure::Work, times.work);
            self.put(Measure::Held, times.held);
            self.put(Measure::Cost, times.cost);
        }
        let first = match &self.causes {
            Some(causes) => self.place(causes.packet(cause, taken, times.latency), times.latency),
            None => true,
        };
        match self.worst_by {
            Measure::Cost => times.cost,
            Measure::First if !first => None,
            _ => times.latency,
        }
    }

    /// Whether a packet is recorded by latency and age alone, and ranks by latency.
    pub(crate) fn is_plain(&self) -> bool {
        !self.more && self.causes.is_none() && self.worst_by == Measure::Latency
    }

    /// Records packets by latency and age.
    pub(crate) fn record_plainly(&self, times: &[Cell<[u32; 2]>]) {
        if let [Some(latency), Some(age)] =
            [Measure::Latency, Measure::Age].map(|measure| &self.series[measure as usize])
        {
            let both = [latency, age];
            let largest =
                Histogram::record_pairs(both.map(|series| &series.histogram), times.iter().map(Cell::get));
            for (place, series) in both.into_iter().enumerate() {
                series.recorded(largest[place], times.iter().map(|times| u64::from(times.get()[place])));
            }
        }
    }

    #[inline(always)]
    fn put(&self, measure: Measure, value: Option<Nanos>) {
        match (value, &self.series[measure as usize]) {
            (Some(value), Some(series)) => series.record(value.0),
            (Some(_), None) => {}
            (None, _) => self.negative[measure as usize].add(1),
        }
    }

    fn place(&self, place: Place, latency: Option<Nanos>) -> bool {
        match place {
            Place::First(ended) => {
                self.end(ended);
                self.put(Measure::First, latency);
                true
            }
            Place::Next(interval) => {
                self.put(Measure::Interval, interval);
                false
            }
        }
    }

    fn end(&self, ended: Option<Ended>) {
        if let Some(Ended { last, pace }) = ended {
            self.put(Measure::Last, last);
            if let Some(pace) = pace {
                self.rates.record(pace);
            }
        }
    }

    /// Ends the last cause.
    pub(crate) fn finish(&self) {
        if let Some(causes) = &self.causes {
            self.end(causes.end());
        }
    }

    /// The limits, each with its measure named.
    pub(crate) fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// The samples of a measure; `None` where it is not measured.
    pub(crate) fn snapshot(&self, measure: Measure) -> Option<Snapshot> {
        self.series[measure as usize].as_ref().map(Series::snapshot)
    }

    /// Packets of which that measure could not be told, since their stamps are out of order.
    pub(crate) fn negative(&self, measure: Measure) -> u64 {
        self.negative[measure as usize].get()
    }

    /// What was measured of each limit, in their order. `lost` of `outcomes` packets were dropped or lost.
    pub(crate) fn evidence(&self, lost: u64, outcomes: u64) -> Vec<Evidence> {
        let forgiven = self.limits.iter().any(|limit| matches!(limit.bound, Bound::DropsAtMost(_)));
        let missing = if forgiven { 0 } else { lost };
        let mut seen = [0; Measure::ALL.len()];
        let mut rates = 0;
        let evidence = self.limits.iter().map(|limit| match limit.bound {
            Bound::AtMost { .. } => {
                let measure = limit.measure().expect("every limit on a time was given its measure");
                let series = self.series[measure as usize].as_ref().expect("a limited measure is measured");
                let place = seen[measure as usize];
                seen[measure as usize] += 1;
                Evidence::Times {
                    samples: series.snapshot(),
                    over: series.limits[place].over.get(),
                    missing,
                    negative: self.negative(measure),
                }
            }
            Bound::RateAtLeast(_) => {
                rates += 1;
                Evidence::Rate {
                    causes: self.rates.causes.get(),
                    under: self.rates.under[rates - 1].1.get(),
                    slowest: self.rates.slowest(),
                    missing,
                    negative: self.negative(Measure::Interval),
                }
            }
            Bound::DropsAtMost(_) => Evidence::Losses { lost, outcomes },
        });
        evidence.collect()
    }
}

/// The samples of one measure.
#[derive(Debug)]
struct Series {
    histogram: Histogram,
    limits: Box<[Over]>,
    first_samples: Box<[Counter]>,
    kept: Counter,
}

/// How many samples were over a limit, exactly.
#[derive(Debug)]
struct Over {
    limit: u64,
    over: Counter,
}

impl Over {
    fn new(limit: Nanos) -> Over {
        Over { limit: limit.0, over: Counter::default() }
    }
}

impl Series {
    fn new(limits: Box<[Over]>, samples: bool) -> Series {
        let kept = if samples { KEPT } else { 0 };
        Series {
            histogram: Histogram::default(),
            limits,
            first_samples: (0..kept).map(|_| Counter::default()).collect(),
            kept: Counter::default(),
        }
    }

    #[inline]
    fn record(&self, nanos: u64) {
        self.histogram.record(nanos);
        for limit in &self.limits {
            if nanos > limit.limit {
                limit.over.add(1);
            }
        }
        if !self.first_samples.is_empty() {
            self.keep(nanos);
        }
    }

    /// The histogram was told of these samples; the largest is `max`.
    #[inline(always)]
    fn recorded(&self, max: u64, nanos: impl Iterator<Item = u64> + Clone) {
        for limit in self.limits.iter().filter(|limit| max > limit.limit) {
            limit.over.add(nanos.clone().filter(|nanos| *nanos > limit.limit).count() as u64);
        }
        if !self.first_samples.is_empty() {
            nanos.for_each(|nanos| self.keep(nanos));
        }
    }

    fn keep(&self, nanos: u64) {
        if let Some(free) = self.first_samples.get(self.kept.get() as usize) {
            free.set(nanos);
            self.kept.add(1);
        }
    }

    fn snapshot(&self) -> Snapshot {
        let snapshot = self.histogram.snapshot();
        if self.first_samples.is_empty() {
            return snapshot;
        }
        let kept = &self.first_samples[..self.kept.get() as usize];
        snapshot.with_samples(kept.iter().map(Counter::get).collect())
    }
}

/// The rates of causes, against every limit on a rate.
#[derive(Debug)]
struct Rates {
    /// Causes with a rate, so of two packets or more.
    causes: Counter,
    slowest_gaps: Counter,
    slowest_span: Counter,
    /// Each limit, and the causes under it.
    under: Box<[(f64, Counter)]>,
}

impl Rates {
    fn new(limits: &[Limit]) -> Rates {
        let rate = |limit: &Limit| match limit.bound {
            Bound::RateAtLeast(rate) => Some((rate, Counter::default())),
            _ => None,
        };
        Rates {
            causes: Counter::default(),
            slowest_gaps: Counter::default(),
            slowest_span: Counter::default(),
            under: limits.iter().filter_map(rate).collect(),
        }
    }

    fn record(&self, pace: Pace) {
        if self.slowest().is_none_or(|slowest| pace.slower_than(slowest)) {
            self.slowest_gaps.set(pace.gaps);
            self.slowest_span.set(pace.span.0);
        }
        self.causes.add(1);
        for (limit, under) in &self.under {
            if pace.is_under(*limit) {
                under.add(1);
            }
        }
    }

    fn slowest(&self) -> Option<Pace> {
        let slowest = Pace { gaps: self.slowest_gaps.get(), span: Nanos(self.slowest_span.get()) };
        (self.causes.get() > 0).then_some(slowest)
    }
}
