//! After warm-up the runtime allocates nothing per packet: inside a lane, between lanes, with paths, a fan-out and
//! every overflow policy.

#[path = "support/allocations.rs"]
mod allocations;

use std::sync::atomic::{AtomicU64, Ordering};

use allocations::ALLOCATIONS;
use graph_core::{
    Build, BuildError, Cx, Flow, Kind, NodeError, Registry, Sink, SinkCx, Source, Stamp, Transform, payload,
    testing,
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Clone)]
struct Number(u64);
payload!(Number, "number");

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

const WARM: u64 = 5_000;
const PACKETS: u64 = 50_000;

/// Counts up, and notes how many allocations there were before and after the packets that count.
struct Count(u64);
static BEFORE: AtomicU64 = AtomicU64::new(0);
static AFTER: AtomicU64 = AtomicU64::new(0);

impl Kind for Count {
    const KIND: &'static str = "test/count";
    const ABOUT: &'static str = "Counts.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Count(0))
    }
}

impl Source for Count {
    type Out = Number;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Number>) -> Result<Flow, NodeError> {
        let allocations = ALLOCATIONS.load(Ordering::Relaxed);
        if self.0 == WARM {
            BEFORE.store(allocations, Ordering::Relaxed);
        } else if self.0 == WARM + PACKETS {
            AFTER.store(allocations, Ordering::Relaxed);
            return Ok(Flow::Done);
        }
        self.0 += 1;
        cx.emit_from(now, Number(self.0));
        Ok(Flow::Again)
    }
}

struct Increment;

impl Kind for Increment {
    const KIND: &'static str = "test/increment";
    const ABOUT: &'static str = "Adds one.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Increment)
    }
}

impl Transform for Increment {
    type In = Number;
    type Out = Number;

    fn process(&mut self, number: Number, cx: &mut Cx<'_, '_, Number>) -> Result<(), NodeError> {
        cx.emit(Number(number.0 + 1));
        Ok(())
    }
}

struct Forget;

impl Kind for Forget {
    const KIND: &'static str = "test/forget";
    const ABOUT: &'static str = "Takes and forgets.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Forget)
    }
}

impl Sink for Forget {
    type In = Number;

    fn consume(&mut self, _: Number, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        Ok(())
    }
}

#[test]
fn nothing_is_allocated_per_packet() {
    let mut registry = Registry::new();
    registry.source::<Count>().transform::<Increment>().sink::<Forget>();
    let run = testing::simulate(
        r#"(
            lanes: { "a": (), "b": (), "c": () },
            nodes: {
                "count": (kind: "test/count", lane: "a"),
                "one": (kind: "test/increment", lane: "a"),
                "two": (kind: "test/increment", lane: "b"),
                "three": (kind: "test/increment", lane: "b"),
                "end": (kind: "test/forget", lane: "b"),
                "side": (kind: "test/forget", lane: "a"),
                "lossy": (kind: "test/forget", lane: "c"),
            },
            edges: [
                (from: "count", to: "one", measure: all, budget: (p99: "1 s", cost: (max: "1 s"))),
                (from: "one", to: "two", budget: (max: "1 s", drops: "0 %")),
                (from: "two", to: "three"),
                (from: "three", to: "end"),
                (from: "one", to: "side", queue: (capacity: 1, full: drop_newest)),
                (from: "one", to: "lossy", queue: (capacity: 2, full: drop_oldest)),
            ],
            paths: [(name: "all", from: "count", to: "end.done", budget: (max: "1 s"))],
        )"#,
        &registry,
    );
    assert!(run.outcome.failures.is_empty(), "{:?}", run.outcome.failures);
    assert_eq!(run.edge("count.out -> one.in").counts().taken, WARM + PACKETS);
    assert_eq!(run.outcome.paths[0].counts().completed, WARM + PACKETS);
    assert_eq!(
        AFTER.load(Ordering::Relaxed) - BEFORE.load(Ordering::Relaxed),
        0,
        "allocations in {PACKETS} packets"
    );
}
