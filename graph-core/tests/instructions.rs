//! How many instructions a hop inside a lane takes: what can be held to on a machine whose time is shared.
//!
//! `cargo test --release -p graph-core --test instructions -- --ignored --nocapture` counts them with valgrind's callgrind.

use std::{fmt::Write, process::Command, sync::Arc};

use graph_core::{
    Build, BuildError, Clock, Cx, Flow, Kind, NoAssets, NodeError, Registry, Sink, SinkCx, Source, Stamp,
    Transform, payload, run::prepare, testing::plan,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Instructions of a hop with all measuring on, when last measured: x86-64, release profile, Rust 1.95.
///
/// Time stands still, so that the number does not depend on how fast the machine is. The lane looks at what comes from outside
/// after every step then, which is part of the number, and reading the real clock is not.
const KEPT: f64 = 307.0;
/// A hop may take so much more than that.
const MARGIN: f64 = 0.10;

/// 64 bytes.
#[derive(Clone)]
struct Block([u64; 8]);
payload!(Block, "block");

#[derive(Deserialize, JsonSchema)]
struct FeedParams {
    packets: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct Feed(u64);

impl Kind for Feed {
    const KIND: &'static str = "test/feed";
    const ABOUT: &'static str = "Emits packets as fast as they are taken.";
    type Params = FeedParams;

    fn new(params: &FeedParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Feed(params.packets))
    }
}

impl Source for Feed {
    type Out = Block;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Block>) -> Result<Flow, NodeError> {
        let Some(left) = self.0.checked_sub(1) else { return Ok(Flow::Done) };
        self.0 = left;
        cx.emit_from(now, Block([left; 8]));
        Ok(Flow::Again)
    }
}

struct Pass(u64);

impl Kind for Pass {
    const KIND: &'static str = "test/pass";
    const ABOUT: &'static str = "Hands on what it takes, and counts it.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Pass(0))
    }
}

impl Transform for Pass {
    type In = Block;
    type Out = Block;

    fn process(&mut self, block: Block, cx: &mut Cx<'_, '_, Block>) -> Result<(), NodeError> {
        self.0 = self.0.wrapping_add(1);
        cx.emit(block);
        Ok(())
    }
}

struct Forget(u64);

impl Kind for Forget {
    const KIND: &'static str = "test/forget";
    const ABOUT: &'static str = "Takes and forgets.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Forget(0))
    }
}

impl Sink for Forget {
    type In = Block;

    fn consume(&mut self, block: Block, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        self.0 = std::hint::black_box(self.0.wrapping_add(block.0[0]));
        Ok(())
    }
}

/// Runs a chain of so many stages between a source and a sink in one lane.
fn run(stages: usize, packets: u64) {
    let mut nodes = format!("\"n0\": (kind: \"test/feed\", with: (packets: {packets})),");
    let mut edges = String::new();
    for stage in 1..=stages + 1 {
        let kind = if stage <= stages { "pass" } else { "forget" };
        let _ = write!(nodes, "\"n{stage}\": (kind: \"test/{kind}\"),");
        let _ = write!(edges, "(from: \"n{}\", to: \"n{stage}\"),", stage - 1);
    }
    let mut registry = Registry::new();
    registry.source::<Feed>().transform::<Pass>().sink::<Forget>();
    let plan = plan(&format!("(nodes: {{ {nodes} }}, edges: [{edges}])"), &registry);
    let prepared = prepare(&plan, &registry, Arc::new(NoAssets), Clock::new_virtual()).expect("a good graph");
    let outcome = prepared.start().expect("all nodes can be made").wait();
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    assert!(outcome.edges.iter().all(|edge| edge.counts().taken == packets));
}

/// The chain that is counted: by itself, a chain like any other.
#[test]
fn a_chain_carries_its_packets() {
    let chain = std::env::var("CHAIN").unwrap_or_else(|_| "10 1000".to_owned());
    let (stages, packets) = chain.split_once(' ').expect("stages and packets");
    run(stages.parse().expect("stages"), packets.parse().expect("packets"));
}

/// Instructions of this program when it runs such a chain.
fn instructions(stages: usize, packets: u64) -> f64 {
    let dir = tempfile::tempdir().expect("a folder");
    let counts = dir.path().join("counts");
    let counted = Command::new("valgrind")
        .args(["--tool=callgrind", &format!("--callgrind-out-file={}", counts.display())])
        .arg(std::env::current_exe().expect("the path of this test"))
        .args(["--exact", "a_chain_carries_its_packets"])
        .env("CHAIN", format!("{stages} {packets}"))
        .output()
        .expect("valgrind runs");
    assert!(counted.status.success(), "{}", String::from_utf8_lossy(&counted.stderr));
    let counts = std::fs::read_to_string(counts).expect("callgrind's counts");
    let total = counts.lines().find_map(|line| line.strip_prefix("totals:")).expect("their sum");
    total.trim().parse().expect("a number")
}

#[test]
#[ignore = "needs valgrind and the release profile; `tools/test --deep` runs it"]
fn a_hop_inside_a_lane_takes_no_more_instructions_than_it_did() {
    if cfg!(debug_assertions) {
        panic!("the number is of the release profile: run this test with --release");
    }
    let (stages, packets) = ([10, 60], [2_000, 12_000]);
    // Of start-up, source and sink nothing is left in the difference of differences.
    let [short, long] =
        stages.map(|stages| instructions(stages, packets[1]) - instructions(stages, packets[0]));
    let hop = (long - short) / ((stages[1] - stages[0]) as u64 * (packets[1] - packets[0])) as f64;
    println!("{hop:.1} instructions a hop, {KEPT} kept");
    assert!(
        hop <= KEPT * (1.0 + MARGIN),
        "a hop takes {hop:.1} instructions, more than the {KEPT} that are kept and the margin"
    );
    if hop < KEPT * (1.0 - MARGIN) {
        println!("a hop takes less than it did: keep {hop:.0} from now on, so that it stays so");
    }
}
