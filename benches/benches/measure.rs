//! What measuring costs: one record, and everything an edge or a path does with a packet.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use graph_core::{
    Nanos, Stamp,
    budget::{Bound, Budget, Level, Limit, Measure, Stat},
    measure::{EdgeMeter, EdgeSpec, Histogram, Hop, Lineage, PathMeter, PathSpec, Sample},
};

fn budget(limits: &[(Measure, Stat, u64)]) -> Budget {
    let limit = |&(measure, stat, millis): &(Measure, Stat, u64)| Limit {
        bound: Bound::AtMost { measure: Some(measure), stat, limit: Nanos::from_millis(millis) },
        level: Level::Fail,
        assumed: false,
        basis: None,
    };
    Budget { limits: limits.iter().map(limit).collect(), reference: None }
}

/// A stream of packets whose times spread over some buckets, as in a real lane.
struct Packets {
    now: u64,
    sample: Sample,
}

impl Packets {
    fn new() -> Packets {
        Packets { now: 1_000_000_000, sample: Sample::default() }
    }

    #[inline]
    fn next(&mut self) -> &Sample {
        self.now += 40;
        let spread = self.now.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        let sample = &mut self.sample;
        sample.seq += 1;
        sample.origin = Stamp(self.now - 5_000 - spread * 16);
        sample.began = Stamp(self.now - 100 - spread);
        sample.sent = Stamp(self.now - 40);
        sample.taken = Stamp(self.now);
        sample
    }
}

fn edge(c: &mut Criterion) {
    let mut group = c.benchmark_group("measure_edge");
    let mut packets = Packets::new();
    group.bench_function("nothing", |b| b.iter(|| _ = black_box(packets.next())));
    let histogram = Histogram::default();
    let mut packets = Packets::new();
    group.bench_function("one_histogram", |b| {
        b.iter(|| {
            let sample = black_box(packets.next());
            histogram.record(sample.taken.0 - sample.began.0);
        });
    });
    let one = budget(&[(Measure::Latency, Stat::Max, 5)]);
    let two = budget(&[(Measure::Latency, Stat::Max, 5), (Measure::Latency, Stat::P99, 1)]);
    let cost = budget(&[(Measure::Cost, Stat::Max, 5)]);
    for (name, budget, queued, all) in [
        ("no_limit", &Budget::default(), false, false),
        ("one_limit", &one, false, false),
        ("two_limits", &two, false, false),
        ("cost_limit", &cost, false, false),
        ("queued_two_limits", &two, true, false),
        ("all_measures", &two, true, true),
    ] {
        let meter = EdgeMeter::new(&EdgeSpec { budget, many: false, queued, all });
        let mut packets = Packets::new();
        group.bench_function(name, |b| {
            b.iter(|| {
                let sample = black_box(packets.next());
                meter.sent(1);
                meter.taken(sample);
            });
        });
    }
    group.finish();
}

fn path(c: &mut Criterion) {
    let mut group = c.benchmark_group("measure_path");
    for edges in [2, 10] {
        let budget = budget(&[(Measure::Cost, Stat::Max, 5_000)]);
        let meter = PathMeter::new(&PathSpec { budget: &budget, edges, many: false, packets: None });
        let mut hops = vec![Hop::default(); edges];
        let mut now = 1_000_000_000;
        group.bench_function(format!("{edges}_edges"), |b| {
            b.iter(|| {
                let origin = Stamp(now);
                for hop in &mut hops {
                    *hop = Hop {
                        began: Stamp(now),
                        sent: Stamp(now + 100),
                        taken: Stamp(now + 130),
                        held: Nanos::ZERO,
                    };
                    now += 130;
                }
                meter.completed(&Lineage { seq: 0, turn: 0, warm_up: false, origin, hops: black_box(&hops) });
            });
        });
    }
    group.finish();
}

criterion_group!(benches, edge, path);
criterion_main!(benches);
