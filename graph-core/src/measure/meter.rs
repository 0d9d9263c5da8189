//! The meter of one edge.

use super::{
    Sample, Snapshot,
    counter::{Counter, Sum, Worst},
    recorder::{Keep, Recorder, Times},
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
/// [`blocked`](Self::blocked)) and the consumer's ([`taken`](Self::taken), [`lost`](Self::lost), [`left`](Self::left),
/// [`finish`](Self::finish)). Drops and cancelled packets say which [`Side`] found them. Any thread may read.
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
    lost: Counter,
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
                lost: Counter::default(),
                left: Counter::default(),
                recorder: Recorder::new(&Keep { budget, default, always: &always, many, samples: false }),
                worst: Worst::new(Sample::WORDS),
            },
        }
    }

    /// Producer: a packet was handed over, also one that is then dropped.
    #[inline]
    pub fn sent(&self) {
        self.producer.sent.add(1);
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

    /// Consumer: so many packets were lost on the way, or with a node that failed.
    pub fn lost(&self, packets: u64) {
        self.consumer.lost.add(packets);
    }

    /// Consumer: so many packets were on the edge when the run ended.
    pub fn left(&self, packets: u64) {
        self.consumer.left.set(packets);
    }

    /// Consumer: a packet was taken.
    ///
    /// Stamps out of order are counted for every measure that they break, and that measure is not recorded.
    #[inline]
    pub fn taken(&self, sample: &Sample) {
        let consumer = &self.consumer;
        consumer.taken.add(1);
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
        let Consumer { taken, warm_up, undone, lost, left, .. } = &self.consumer;
        Counts {
            sent: self.producer.sent.get(),
            taken: taken.get(),
            dropped: undone.dropped.get() + self.producer.undone.dropped.get(),
            cancelled: undone.cancelled.get() + self.producer.undone.cancelled.get(),
            lost: lost.get(),
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
