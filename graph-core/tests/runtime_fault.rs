//! A panic outside of a node's step, as of a payload that cannot be dropped, ends the run with its words.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use graph_core::{
    Build, BuildError, Clock, Ctx, Cx, Done, Flow, In, Kind, NoAssets, Node, NodeError, Payload, Ports,
    Registry, Source, Stamp, run::prepare, testing::plan,
};
use schemars::JsonSchema;
use serde::Deserialize;

static EMITTED: AtomicBool = AtomicBool::new(false);
static ARMED: AtomicBool = AtomicBool::new(false);

/// The first that is dropped while it is armed panics.
struct Bomb;

impl Payload for Bomb {
    const TYPE: &'static str = "bomb";
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!ARMED.swap(false, Ordering::SeqCst), "it went off");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Emits some at once, and then waits for the end.
struct Armourer {
    left: u32,
}

impl Kind for Armourer {
    const KIND: &'static str = "test/armourer";
    const ABOUT: &'static str = "Emits at once.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Armourer { left: 5 })
    }
}

impl Source for Armourer {
    type Out = Bomb;

    fn poll(&mut self, _: Stamp, cx: &mut Cx<'_, '_, Bomb>) -> Result<Flow, NodeError> {
        for _ in 0..std::mem::take(&mut self.left) {
            cx.emit(Bomb);
        }
        EMITTED.store(true, Ordering::SeqCst);
        Ok(Flow::Idle)
    }
}

/// Takes one and leaves the others.
struct Disposal;

struct DisposalPorts {
    input: In<Bomb>,
    _done: Done,
}

impl Kind for Disposal {
    const KIND: &'static str = "test/disposal";
    const ABOUT: &'static str = "Takes one.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Disposal)
    }
}

impl Node for Disposal {
    type Ports = DisposalPorts;

    fn ports(ports: &mut Ports<'_>) -> DisposalPorts {
        DisposalPorts { input: ports.input("in", "Bombs."), _done: ports.done() }
    }

    fn step(&mut self, ports: &mut DisposalPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        // All of them are queued before the first is taken.
        if !EMITTED.load(Ordering::SeqCst) || ports.input.take(ctx).is_none() {
            return Ok(Flow::Idle);
        }
        ARMED.store(true, Ordering::SeqCst);
        Ok(Flow::Done)
    }
}

#[test]
fn a_lane_that_panics_ends_the_run_and_the_other_lanes_do_not_wait_for_it() {
    let mut registry = Registry::new();
    registry.source::<Armourer>().node::<Disposal>();
    let plan = plan(
        r#"(
            lanes: { "a": (), "b": () },
            nodes: {
                "armourer": (kind: "test/armourer", lane: "a"),
                "disposal": (kind: "test/disposal", lane: "b"),
            },
            edges: [(from: "armourer", to: "disposal")],
        )"#,
        &registry,
    );
    let prepared = prepare(&plan, &registry, Arc::new(NoAssets), Clock::monotonic()).expect("no parameters");
    let outcome = prepared.start().expect("both can be made").wait();
    let [failure] = outcome.failures.as_slice() else { panic!("{:?}", outcome.failures) };
    assert_eq!((failure.node.as_str(), failure.fatal), ("b", true));
    assert!(failure.message.contains("it went off"), "{failure:?}");
}
