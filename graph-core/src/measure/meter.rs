//! The meter of one edge.

use std::cell::Cell;

use super::{
    MEASURED, Sample, Snapshot,
    counter::{Counter, Sum},
    recorder::{Keep, Recorder, Times},
    worst::Worst,
};
use crate::{
    budget::{Budget, Evidence, Limit, Measure},
    time::Nanos,
};

/// What an edge's meter is to know of its edge.
#[derive(Clone, Copy, Debug)]
pub struct EdgeSpec<'a> {
    /// The edge's budget.
    pub budget: &'a Budget,
    /// Whether the producer's port may give several packets a cause.
    pub many: bool,
    /// Whether the edge is a queue between lanes.
    pub queued: bool,
    /// Whether every measure is recorded, limited or not.
    pub all: bool,
}

/// Counts and times the packets of one edge.
///
/// It has two sides, each of which one thread writes: the producer's ([`sent`](Self::sent),
/// [`blocked`](Self::blocked)) and the consumer's ([`taken`](Self::taken), [`left`](Self::left), [`finish`](Self::finish)).
/// Drops, losses and cancelled packets say which [`Side`] found them. Any thread may read.
///
/// Latency and age are always measured, wait on queues, other measures where a limit speaks of them or all are asked.
/// Every limit has an exact counter of the samples over it.
#[derive(Debug)]
pub struct EdgeMeter {
    producer: Producer,
    consumer: Consumer,
}

/// Which end of an edge speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The thread that sends.
    Producer,
    /// The thread that takes.
    Consumer,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Producer {
    sent: Counter,
    undone: Undone,
    blocked: Sum,
    blocks: Counter,
}

#[derive(Debug)]
#[repr(align(128))]
struct Consumer {
    taken: Counter,
    warm_up: Counter,
    undone: Undone,
    left: Counter,
    recorder: Recorder,
    worst: Worst,
}

/// Packets that one side took out.
#[derive(Debug, Default)]
struct Undone {
    dropped: Counter,
    dropped_in_warm_up: Counter,
    cancelled: Counter,
    lost: Counter,
}

/// What became of the packets of an edge. After the run `sent = taken + dropped + cancelled + lost + left`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Handed over by the producer.
    pub sent: u64,
    /// Taken by the consumer, those of the warm-up among them.
    pub taken: u64,
    /// Dropped since the queue was full, or since they were late.
    pub dropped: u64,
    /// Dropped since their turn was cancelled; not judged.
    pub cancelled: u64,
    /// Lost on the way or with a node that failed.
    pub lost: u64,
    /// Still on the edge when the run ended.
    pub left: u64,
    /// Of those taken, how many belong to the warm-up; not measured.
    pub warm_up: u64,
}

impl Counts {
    /// How many are on the edge, while the run lasts.
    pub fn queued(&self) -> u64 {
        self.sent.saturating_sub(self.taken + self.dropped + self.cancelled + self.lost + self.left)
    }

    /// Whether every packet sent is accounted for.
    pub fn balance(&self) -> bool {
        self.sent == self.taken + self.dropped + self.cancelled + self.lost + self.left
    }
}

impl EdgeMeter {
    /// A meter with nothing counted.
    pub fn new(spec: &EdgeSpec) -> EdgeMeter {
        let &EdgeSpec { budget, many, queued, all } = spec;
        let judged = budget.reference.is_some() || !budget.limits.is_empty();
        let always: Vec<Measure> = Measure::ALL
            .into_iter()
            .filter(|measure| match measure {
                Measure::Latency | Measure::Age => true,
                Measure::Wait => queued || all,
                Measure::Work | Measure::Held | Measure::Cost => all,
                Measure::First => many && (judged || all),
                Measure::Last | Measure::Interval => many && all,
            })
            .collect();
        let default = if many { Measure::First } else { Measure::Latency };
        EdgeMeter {
            producer: Producer::default(),
            consumer: Consumer {
                taken: Counter::default(),
                warm_up: Counter::default(),
                undone: Undone::default(),
                left: Counter::default(),
                recorder: Recorder::new(&Keep { budget, default, always: &always, many, samples: false }),
                worst: Worst::new(Sample::WORDS),
            },
        }
    }

    /// Producer: so many packets were handed over, also those that are then dropped.
    #[inline]
    pub fn sent(&self, packets: u64) {
        self.producer.sent.add(packets);
    }

    /// Producer: the edge was full and kept its producer from stepping for so long.
    pub fn blocked(&self, time: Nanos) {
        self.producer.blocked.add(time.0);
        self.producer.blocks.add(1);
    }

    /// A packet was dropped: the edge was full, or the packet late.
    pub fn dropped(&self, side: Side, warm_up: bool) {
        let undone = self.undone(side);
        undone.dropped.add(1);
        if warm_up {
            undone.dropped_in_warm_up.add(1);
        }
    }

    /// A packet was dropped since its turn was cancelled.
    pub fn cancelled(&self, side: Side) {
        self.undone(side).cancelled.add(1);
    }

    /// So many packets were lost on the way, or since nobody takes them any more.
    pub fn lost(&self, side: Side, packets: u64) {
        self.undone(side).lost.add(packets);
    }

    /// Consumer: so many more packets were on the edge when it stopped taking.
    pub fn left(&self, packets: u64) {
        self.consumer.left.add(packets);
    }

    /// Consumer: a packet was taken.
    ///
    /// Stamps out of order are counted for every measure that they break, and that measure is not recorded.
    #[inline]
    pub fn taken(&self, sample: &Sample) {
        let consumer = &self.consumer;
        consumer.taken.add(1);
        if !MEASURED {
            return;
        }
        if sample.warm_up {
            consumer.warm_up.add(1);
            return;
        }
        let hop = sample.hop();
        if !hop.in_order() || sample.taken < sample.origin {
            return self.taken_out_of_order(sample);
        }
        let latency = sample.taken.0 - sample.began.0;
        self.record(
            sample,
            &Times {
                latency: Some(Nanos(latency)),
                work: Some(Nanos(sample.sent.0 - sample.began.0 - sample.held.0)),
                held: Some(sample.held),
                wait: Some(Nanos(sample.taken.0 - sample.sent.0)),
                cost: Some(Nanos(latency - sample.held.0)),
                age: Some(Nanos(sample.taken.0 - sample.origin.0)),
            },
        );
    }

    /// Whether no more than latency and age is measured of a packet that is not among the worst.
    pub(crate) fn is_plain(&self) -> bool {
        self.consumer.recorder.is_plain()
    }

    /// From which latency on a packet is among the worst of an edge that [is plain](Self::is_plain).
    #[inline]
    pub(crate) fn worst_from(&self) -> u64 {
        self.consumer.worst.from()
    }

    /// Consumer: packets were taken, none of them among the worst, with these latencies and ages in nanoseconds; on an edge
    /// that [is plain](Self::is_plain).
    pub(crate) fn taken_plainly(&self, times: &[Cell<[u32; 2]>]) {
        self.consumer.taken.add(times.len() as u64);
        if MEASURED {
            self.consumer.recorder.record_plainly(times);
        }
    }

    #[cold]
    fn taken_out_of_order(&self, sample: &Sample) {
        let hop = sample.hop();
        self.record(
            sample,
            &Times {
                latency: hop.latency(),
                work: hop.work(),
                held: Some(hop.held),
                wait: hop.wait(),
                cost: hop.cost(),
                age: sample.taken.since(sample.origin),
            },
        );
    }

    #[inline(always)]
    fn record(&self, sample: &Sample, times: &Times) {
        let Consumer { recorder, worst, .. } = &self.consumer;
        let rank = recorder.record(times, [sample.began.0, sample.trail.into()], sample.taken);
        if let Some(rank) = rank
            && worst.wants(rank.0)
        {
            worst.keep(rank.0, sample.words().into_iter());
        }
    }

    /// Consumer, or anyone once the lanes have stopped: the stream has ended, and with it the last cause.
    pub fn finish(&self) {
        self.consumer.recorder.finish();
    }

    /// What became of the packets so far.
    pub fn counts(&self) -> Counts {
        let Consumer { taken, warm_up, undone, left, .. } = &self.consumer;
        Counts {
            sent: self.producer.sent.get(),
            taken: taken.get(),
            dropped: undone.dropped.get() + self.producer.undone.dropped.get(),
            cancelled: undone.cancelled.get() + self.producer.undone.cancelled.get(),
            lost: undone.lost.get() + self.producer.undone.lost.get(),
            left: left.get(),
            warm_up: warm_up.get(),
        }
    }

    /// How long the edge kept its producer from stepping in all, and how often.
    pub fn blocks(&self) -> (Nanos, u64) {
        let sum = u64::try_from(self.producer.blocked.get()).unwrap_or(u64::MAX);
        (Nanos(sum), self.producer.blocks.get())
    }

    /// The samples of a measure so far; `None` where it is not measured.
    pub fn snapshot(&self, measure: Measure) -> Option<Snapshot> {
        self.consumer.recorder.snapshot(measure)
    }

    /// Packets of which that measure could not be told, since their stamps are out of order.
    pub fn negative(&self, measure: Measure) -> u64 {
        self.consumer.recorder.negative(measure)
    }

    /// The limits of the budget, each with its measure named.
    pub fn limits(&self) -> &[Limit] {
        self.consumer.recorder.limits()
    }

    /// What was measured of each limit, in the order of [`limits`](Self::limits).
    ///
    /// A packet dropped or lost counts as over every limit, unless the edge limits its drops.
    pub fn evidence(&self) -> Vec<Evidence> {
        let Counts { taken, warm_up, dropped, lost, .. } = self.counts();
        let unjudged =
            self.producer.undone.dropped_in_warm_up.get() + self.consumer.undone.dropped_in_warm_up.get();
        let missing = dropped.saturating_sub(unjudged) + lost;
        self.consumer.recorder.evidence(missing, taken.saturating_sub(warm_up) + missing)
    }

    /// The worst packets, worst first: by `cost` or `first` where that is judged, else by latency.
    pub fn worst(&self) -> Vec<Sample> {
        self.consumer.worst.rows().iter().filter_map(|row| Sample::from_words(row)).collect()
    }

    fn undone(&self, side: Side) -> &Undone {
        match side {
            Side::Producer => &self.producer.undone,
            Side::Consumer => &self.consumer.undone,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        budget::{Bound, Figure, Level, Stat, Verdict, judge},
        time::Stamp,
    };

    fn limit(bound: Bound) -> Limit {
        Limit { bound, level: Level::Fail, assumed: false, basis: None }
    }

    fn at_most(measure: Option<Measure>, stat: Stat, nanos: u64) -> Limit {
        limit(Bound::AtMost { measure, stat, limit: Nanos(nanos) })
    }

    fn meter(limits: Vec<Limit>, many: bool) -> EdgeMeter {
        EdgeMeter::new(&EdgeSpec {
            budget: &Budget { limits, reference: None },
            many,
            queued: true,
            all: false,
        })
    }

    fn packet(began: u64, sent: u64, taken: u64) -> Sample {
        let (began, sent, taken) = (Stamp(began), Stamp(sent), Stamp(taken));
        Sample { origin: began, began, sent, taken, ..Sample::default() }
    }

    fn verdicts(meter: &EdgeMeter) -> Vec<Verdict> {
        meter
            .limits()
            .iter()
            .zip(meter.evidence())
            .map(|(limit, evidence)| judge(limit, &evidence).verdict)
            .collect()
    }

    #[test]
    fn latency_age_and_the_wait_of_a_queue_are_always_measured_and_the_rest_where_a_limit_asks() {
        let cost = meter(vec![at_most(Some(Measure::Cost), Stat::Max, 5)], false);
        let measured = |meter: &EdgeMeter| {
            Measure::ALL.into_iter().filter(|measure| meter.snapshot(*measure).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(measured(&cost), [Measure::Latency, Measure::Wait, Measure::Cost, Measure::Age]);
        let spec = EdgeSpec { budget: &Budget::default(), many: true, queued: false, all: false };
        assert_eq!(measured(&EdgeMeter::new(&spec)), [Measure::Latency, Measure::Age]);
        assert_eq!(measured(&EdgeMeter::new(&EdgeSpec { all: true, ..spec })), Measure::ALL);
        assert_eq!(
            measured(&EdgeMeter::new(&EdgeSpec { many: false, all: true, ..spec })),
            Measure::ALL[..6]
        );
    }

    #[test]
    fn a_limit_without_a_measure_speaks_of_the_latency_and_of_the_first_packet_on_a_many_port() {
        let bare = || vec![at_most(None, Stat::Max, 10)];
        assert_eq!(meter(bare(), false).limits()[0].measure(), Some(Measure::Latency));
        let many = meter(bare(), true);
        assert_eq!(many.limits()[0].measure(), Some(Measure::First));
        many.taken(&packet(100, 105, 109));
        many.taken(&packet(100, 150, 151));
        many.taken(&packet(200, 201, 203));
        assert_eq!(verdicts(&many), [Verdict::Pass]);
        assert_eq!(many.snapshot(Measure::First).unwrap().n(), 2);
    }

    #[test]
    fn every_limit_counts_its_own_samples_exactly() {
        let limits = vec![
            at_most(None, Stat::Max, 1_000),
            at_most(Some(Measure::Wait), Stat::Max, 3),
            at_most(None, Stat::P50, 1_001),
            at_most(Some(Measure::Wait), Stat::Mean, 2),
        ];
        let meter = meter(limits, false);
        for (latency, wait) in [(1_000, 3), (1_001, 4), (1_002, 4)] {
            meter.taken(&packet(5_000, 5_000 + latency - wait, 5_000 + latency));
        }
        let over = meter.evidence().into_iter().map(|evidence| match evidence {
            Evidence::Times { over, .. } => over,
            other => panic!("{other:?}"),
        });
        assert_eq!(over.collect::<Vec<_>>(), [2, 2, 1, 3]);
    }

    #[test]
    fn stamps_out_of_order_are_counted_for_the_measures_that_they_break_and_for_no_other() {
        let meter = meter(
            vec![at_most(None, Stat::Max, 1_000), at_most(Some(Measure::Wait), Stat::Max, 1_000)],
            false,
        );
        meter.taken(&packet(100, 130, 120));
        assert_eq!((meter.negative(Measure::Wait), meter.snapshot(Measure::Wait).unwrap().n()), (1, 0));
        assert_eq!((meter.negative(Measure::Latency), meter.snapshot(Measure::Latency).unwrap().n()), (0, 1));
        assert_eq!(verdicts(&meter), [Verdict::Pass, Verdict::Uncertain]);
        meter.taken(&Sample { held: Nanos(50), ..packet(100, 130, 140) });
        assert_eq!((meter.negative(Measure::Work), meter.negative(Measure::Cost)), (1, 1));
        meter.taken(&Sample { origin: Stamp(200), ..packet(100, 130, 140) });
        assert_eq!((meter.negative(Measure::Age), meter.negative(Measure::Latency)), (1, 0));
    }

    #[test]
    fn the_warm_up_is_counted_and_not_measured() {
        let meter = meter(vec![at_most(None, Stat::Max, 10), limit(Bound::DropsAtMost(0.0))], false);
        meter.sent(1);
        meter.taken(&Sample { warm_up: true, ..packet(0, 500, 900) });
        meter.sent(1);
        meter.dropped(Side::Producer, true);
        assert_eq!(verdicts(&meter), [Verdict::NoData, Verdict::NoData]);
        assert_eq!((meter.counts().warm_up, meter.counts().taken), (1, 1));
        assert!(meter.counts().balance());
    }

    #[test]
    fn what_was_dropped_or_lost_counts_as_over_unless_drops_are_limited() {
        let max = at_most(None, Stat::Max, 10);
        for side in [Side::Producer, Side::Consumer] {
            let strict = meter(vec![max.clone()], false);
            let lenient = meter(vec![max.clone(), limit(Bound::DropsAtMost(0.5))], false);
            for meter in [&strict, &lenient] {
                meter.taken(&packet(100, 101, 102));
                meter.dropped(side, false);
            }
            assert_eq!(verdicts(&strict), [Verdict::Fail]);
            assert_eq!(verdicts(&lenient), [Verdict::Pass, Verdict::Pass]);
            lenient.lost(Side::Consumer, 2);
            assert_eq!(verdicts(&lenient), [Verdict::Pass, Verdict::Fail]);
        }
    }

    #[test]
    fn cancelled_packets_are_not_judged() {
        let meter = meter(vec![at_most(None, Stat::Max, 10), limit(Bound::DropsAtMost(0.0))], false);
        meter.taken(&packet(100, 101, 102));
        meter.cancelled(Side::Consumer);
        meter.cancelled(Side::Producer);
        assert_eq!(verdicts(&meter), [Verdict::Pass, Verdict::Pass]);
        assert_eq!(meter.counts().cancelled, 2);
    }

    #[test]
    fn first_last_interval_and_rate_are_taken_within_a_cause() {
        let limits = vec![
            at_most(Some(Measure::First), Stat::Max, 50),
            at_most(Some(Measure::Last), Stat::Max, 250),
            at_most(Some(Measure::Interval), Stat::Max, 100),
            limit(Bound::RateAtLeast(1e7)),
        ];
        let meter = meter(limits, true);
        for taken in [150, 250, 350] {
            meter.taken(&packet(100, taken, taken));
        }
        meter.taken(&packet(1_000, 1_020, 1_020));
        assert_eq!(meter.snapshot(Measure::Last).unwrap().n(), 1);
        meter.finish();
        meter.finish();
        let n = |measure| meter.snapshot(measure).unwrap().n();
        assert_eq!((n(Measure::First), n(Measure::Last), n(Measure::Interval)), (2, 2, 2));
        assert_eq!(verdicts(&meter), [Verdict::Pass; 4]);
        let rate = judge(&meter.limits()[3], &meter.evidence()[3]);
        assert_eq!((rate.n, rate.measured), (1, Some(Figure::Rate(1e7))));
    }

    #[test]
    fn two_causes_begun_at_once_are_told_apart_by_their_trail() {
        let meter = meter(vec![at_most(Some(Measure::First), Stat::Max, 50)], true);
        meter.taken(&packet(100, 110, 110));
        meter.taken(&Sample { trail: 7, ..packet(100, 120, 120) });
        assert_eq!(meter.snapshot(Measure::First).unwrap().n(), 2);
    }

    #[test]
    fn the_worst_packets_are_kept_with_their_stamps() {
        let meter = meter(vec![], false);
        for (seq, latency) in [10, 90, 30, 70, 20].into_iter().enumerate() {
            let seq = seq as u64;
            meter.taken(&Sample { seq, turn: 40 + seq, held: Nanos(5), ..packet(100, 106, 100 + latency) });
        }
        let worst = meter.worst();
        assert_eq!(worst.iter().map(|sample| sample.seq).collect::<Vec<_>>(), [1, 3, 2]);
        assert_eq!(worst[0].turn, 41);
        let hop = worst[0].hop();
        assert_eq!((hop.work(), hop.held, hop.wait()), (Some(Nanos(1)), Nanos(5), Some(Nanos(84))));
    }

    #[test]
    fn where_cost_is_judged_the_worst_are_those_of_the_highest_cost() {
        let meter = meter(vec![at_most(Some(Measure::Cost), Stat::Max, 50)], false);
        meter.taken(&Sample { seq: 1, held: Nanos(900), ..packet(0, 901, 902) });
        meter.taken(&Sample { seq: 2, ..packet(0, 30, 40) });
        assert_eq!(meter.worst()[0].seq, 2);
    }

    #[test]
    fn time_that_a_full_edge_kept_its_producer_is_summed() {
        let meter = meter(vec![], false);
        meter.blocked(Nanos(30));
        meter.blocked(Nanos(12));
        assert_eq!(meter.blocks(), (Nanos(42), 2));
    }

    #[derive(Clone, Copy, Debug)]
    enum Fate {
        Taken,
        WarmUp,
        Dropped(bool),
        Cancelled(bool),
        Lost,
        Left,
    }

    fn fate() -> impl Strategy<Value = Fate> {
        prop_oneof![
            Just(Fate::Taken),
            Just(Fate::WarmUp),
            any::<bool>().prop_map(Fate::Dropped),
            any::<bool>().prop_map(Fate::Cancelled),
            Just(Fate::Lost),
            Just(Fate::Left),
        ]
    }

    fn side(producer: bool) -> Side {
        if producer { Side::Producer } else { Side::Consumer }
    }

    proptest! {
        #[test]
        fn every_packet_sent_is_accounted_for(fates in prop::collection::vec(fate(), 0..200)) {
            let meter = meter(vec![], false);
            let mut left = 0;
            for fate in &fates {
                meter.sent(1);
                match *fate {
                    Fate::Taken => meter.taken(&packet(100, 110, 120)),
                    Fate::WarmUp => meter.taken(&Sample { warm_up: true, ..packet(100, 110, 120) }),
                    Fate::Dropped(at) => meter.dropped(side(at), false),
                    Fate::Cancelled(at) => meter.cancelled(side(at)),
                    Fate::Lost => meter.lost(Side::Consumer, 1),
                    Fate::Left => left += 1,
                }
            }
            prop_assert_eq!(meter.counts().balance(), left == 0);
            meter.left(left);
            let counts = meter.counts();
            prop_assert!(counts.balance(), "{counts:?}");
            prop_assert_eq!(counts.sent, fates.len() as u64);
            prop_assert_eq!(meter.snapshot(Measure::Latency).unwrap().n(), counts.taken - counts.warm_up);
        }

        #[test]
        fn latency_is_work_and_held_and_wait_to_the_nanosecond(
            packets in prop::collection::vec((0..1_u64 << 40, 0..1_u64 << 40, 0..1_u64 << 40, 0..1_u64 << 40), 1..50),
        ) {
            let meter = EdgeMeter::new(&EdgeSpec { budget: &Budget::default(), many: false, queued: true, all: true });
            for (began, work, held, wait) in packets {
                let sent = began + work + held;
                let sample = Sample { held: Nanos(held), ..packet(began, sent, sent + wait) };
                let hop = sample.hop();
                prop_assert_eq!((hop.work(), hop.wait()), (Some(Nanos(work)), Some(Nanos(wait))));
                meter.taken(&sample);
            }
            let sum = |measure| meter.snapshot(measure).unwrap().sum();
            prop_assert_eq!(sum(Measure::Latency), sum(Measure::Work) + sum(Measure::Held) + sum(Measure::Wait));
            prop_assert_eq!(sum(Measure::Cost), sum(Measure::Work) + sum(Measure::Wait));
        }
    }
}
