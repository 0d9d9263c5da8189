//! What a frame of ten moving contacts costs in the touch pipeline. Budgets stand in `graphs/touch.ron`.
//!
//! `cargo bench -p graph-benches --features touch --bench touch`. Besides criterion's means it prints the quantiles of single
//! frames, each timed on its own (which adds the two clock reads), since a frame that is late is felt and a mean is not.

use std::{hint::black_box, time::Duration};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use graph_core::{Clock, Nanos, Stamp};
use graph_nodes::touch::{
    engine::Engine,
    evemu,
    event::Event,
    frame::{DeviceId, Frame},
    fusion::FusionParams,
    parser::Parser,
    script,
    surface::Orientation,
};

/// A parser and an engine that follow ten fingers, and the frames that come next.
struct Ten {
    parser: Parser,
    engine: Engine,
    frames: Vec<Vec<Event>>,
    next: usize,
    now: Stamp,
}

impl Ten {
    fn new() -> Ten {
        let recording = script::ten_fingers(Nanos::from_secs(1));
        let about = recording.device.expect("a script has a device");
        let events: Vec<Event> = recording.events.into_iter().map(|(_, event)| event).collect();
        let mut frames: Vec<Vec<Event>> =
            events.split_inclusive(|event| event.is_report()).map(<[Event]>::to_vec).collect();
        // The last lifts them.
        frames.pop();
        let parser = Parser::new(DeviceId(0), &about, &Orientation::default()).expect("it is a touchscreen");
        let engine = FusionParams::default().engine().expect("the defaults are good");
        let mut ten = Ten { parser, engine, frames, next: 0, now: Stamp(1_000_000_000) };
        ten.parse_and_fuse();
        ten
    }

    /// The next frame, parsed.
    fn parse(&mut self) -> &Frame {
        let events = &self.frames[self.next];
        // To the end and back to the second, so that ten fingers always touch and always move.
        self.next = if self.next + 1 < self.frames.len() { self.next + 1 } else { 1 };
        let (report, events) = events.split_last().expect("a frame ends with a report");
        for event in events {
            assert!(self.parser.push(*event).is_none());
        }
        self.parser.push(*report).expect("every frame moves")
    }

    fn fuse(&mut self, frame: &Frame) -> usize {
        self.now = self.now + script::FRAME;
        let mut told = 0;
        self.engine.frame(frame, self.now, |_| told += 1);
        told
    }

    /// The two stages, with the frame handed over as a packet is.
    fn parse_and_fuse(&mut self) -> usize {
        let frame = self.parse().clone();
        self.fuse(black_box(&frame))
    }
}

fn frames(criterion: &mut Criterion) {
    let mut ten = Ten::new();
    criterion.bench_function("touch/parse/ten_contacts", |bencher| {
        bencher.iter(|| black_box(ten.parse()).contacts.len());
    });
    let frame = ten.parse().clone();
    criterion
        .bench_function("touch/fuse/ten_contacts", |bencher| bencher.iter(|| ten.fuse(black_box(&frame))));
    criterion
        .bench_function("touch/parse_and_fuse/ten_contacts", |bencher| bencher.iter(|| ten.parse_and_fuse()));
    quantiles(&mut ten);
}

/// Times single frames.
fn quantiles(ten: &mut Ten) {
    let clock = Clock::monotonic();
    let mut times: Vec<u64> = (0..200_000)
        .map(|_| {
            let began = clock.now();
            black_box(ten.parse_and_fuse());
            clock.now().since(began).unwrap_or_default().0
        })
        .collect();
    times.sort_unstable();
    let quantile = |share: f64| Nanos(times[(times.len() as f64 * share) as usize]);
    println!(
        "touch, single frames of ten contacts: p50 {}, p99 {}, p99.9 {} (n = {})",
        quantile(0.5),
        quantile(0.99),
        quantile(0.999),
        times.len()
    );
}

fn text(criterion: &mut Criterion) {
    let text = evemu::text(&script::ten_fingers(Nanos::from_millis(100)));
    criterion.bench_function("touch/evemu/ten_contacts_100ms", |bencher| {
        bencher.iter_batched(|| text.clone(), |text| evemu::parse(&text), BatchSize::SmallInput);
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = frames, text
}
criterion_main!(benches);
