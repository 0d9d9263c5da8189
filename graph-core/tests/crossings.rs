//! Packets over ten edges that each lead to another lane: none is lost, none overtakes another, none leaks, none is stamped
//! out of order.
//!
//! `CROSSINGS=100000000 cargo test --release -p graph-core --test crossings -- --nocapture` is the long run.

#[path = "support/allocations.rs"]
mod allocations;

use std::{
    fmt::Write,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use allocations::ALLOCATIONS;
use graph_core::{
    Build, BuildError, Clock, Cx, Flow, Kind, NoAssets, NodeError, Payload, Registry, Sink, SinkCx, Source,
    Stamp, Transform, budget::Measure, run::prepare, testing::plan,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Packets of a run, unless `CROSSINGS` says otherwise.
const PACKETS: u64 = 100_000;
/// Edges that each lead to another lane.
const EDGES: usize = 10;
/// By then everything that grows has grown.
const WARM: u64 = 10_000;

/// A number, and a claim on something shared that is given back when the packet is dropped.
struct Token {
    number: u64,
    _claim: Arc<()>,
}

impl Payload for Token {
    const TYPE: &'static str = "token";
}

static SHARED: LazyLock<Arc<()>> = LazyLock::new(Arc::default);

#[derive(Deserialize, JsonSchema)]
struct CountParams {
    packets: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Counts from 0 as fast as it is let.
struct Count {
    next: u64,
    end: u64,
}

impl Kind for Count {
    const KIND: &'static str = "test/count";
    const ABOUT: &'static str = "Counts.";
    type Params = CountParams;

    fn new(params: &CountParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Count { next: 0, end: params.packets })
    }
}

impl Source for Count {
    type Out = Token;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Token>) -> Result<Flow, NodeError> {
        if self.next == self.end {
            return Ok(Flow::Done);
        }
        cx.emit_from(now, Token { number: self.next, _claim: SHARED.clone() });
        self.next += 1;
        Ok(Flow::Again)
    }
}

struct Pass;

impl Kind for Pass {
    const KIND: &'static str = "test/pass";
    const ABOUT: &'static str = "Hands on.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Pass)
    }
}

impl Transform for Pass {
    type In = Token;
    type Out = Token;

    fn process(&mut self, token: Token, cx: &mut Cx<'_, '_, Token>) -> Result<(), NodeError> {
        cx.emit(token);
        Ok(())
    }
}

/// Fails when a number is not the next one.
struct Check {
    next: u64,
}

static WHEN_WARM: AtomicU64 = AtomicU64::new(0);
static AT_THE_END: AtomicU64 = AtomicU64::new(0);

impl Kind for Check {
    const KIND: &'static str = "test/check";
    const ABOUT: &'static str = "Expects numbers in order.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Check { next: 0 })
    }
}

impl Sink for Check {
    type In = Token;

    fn consume(&mut self, token: Token, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        if token.number != self.next {
            return Err(NodeError::new(format!("{} came where {} was due", token.number, self.next)));
        }
        self.next += 1;
        let last = if self.next <= WARM { &WHEN_WARM } else { &AT_THE_END };
        last.store(ALLOCATIONS.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(())
    }
}

/// A chain of ten edges over so many lanes, taken in turn.
fn chain(packets: u64, lanes: usize, wait: &str) -> String {
    let (mut nodes, mut edges) = (String::new(), String::new());
    for node in 0..=EDGES {
        let (kind, with) = match node {
            0 => ("count", format!("with: (packets: {packets})")),
            EDGES => ("check", String::new()),
            _ => ("pass", String::new()),
        };
        let lane = node % lanes;
        let _ = write!(nodes, "\"n{node}\": (kind: \"test/{kind}\", lane: \"l{lane}\", {with}),");
        if node > 0 {
            let _ = write!(edges, "(from: \"n{}\", to: \"n{node}\", measure: all),", node - 1);
        }
    }
    let lanes: String =
        (0..lanes).fold(String::new(), |lanes, lane| lanes + &format!("\"l{lane}\": ({wait}),"));
    let path = format!("(name: \"all\", from: \"n0\", to: \"n{EDGES}\", budget: (max: \"1000 s\"))");
    format!("(lanes: {{ {lanes} }}, nodes: {{ {nodes} }}, edges: [{edges}], paths: [{path}])")
}

/// Kilobytes of memory that the process holds.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn cross(lanes: usize, wait: &str) {
    let packets = match std::env::var("CROSSINGS") {
        Ok(packets) => packets.parse().expect("CROSSINGS is a number of packets"),
        Err(_) => PACKETS,
    };
    assert!(packets > WARM, "more than {WARM} packets are needed");
    let mut registry = Registry::new();
    registry.source::<Count>().transform::<Pass>().sink::<Check>();
    let plan = plan(&chain(packets, lanes, wait), &registry);
    let prepared = prepare(&plan, &registry, Arc::new(NoAssets), Clock::monotonic()).expect("a good graph");
    let before = resident();
    let outcome = prepared.start().expect("all nodes can be made").wait();

    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    let mut negative = 0;
    let crossing: Vec<_> =
        plan.edges.iter().zip(&outcome.edges).filter(|(edge, _)| !edge.name().ends_with(".done")).collect();
    assert_eq!(crossing.len(), EDGES);
    for (edge, meter) in crossing {
        let counts = meter.counts();
        assert_eq!(
            (counts.sent, counts.taken, counts.balance()),
            (packets, packets, true),
            "{}",
            edge.name()
        );
        negative += Measure::ALL.iter().map(|measure| meter.negative(*measure)).sum::<u64>();
    }
    let path = &outcome.paths[0];
    negative += Measure::ALL.iter().map(|measure| path.negative(*measure)).sum::<u64>();
    assert_eq!((path.counts().completed, path.counts().left), (packets, 0));
    assert_eq!(negative, 0, "negative differences");
    assert_eq!(Arc::strong_count(&SHARED), 1, "every packet was dropped, and once");
    let allocations = AT_THE_END.load(Ordering::Relaxed) - WHEN_WARM.load(Ordering::Relaxed);
    assert_eq!(allocations, 0, "allocations while packets flowed");
    println!(
        "{packets} packets over {EDGES} edges between {lanes} lanes in {} ({} ns a crossing): none lost, none out of order, {negative} negative differences, {allocations} allocations, {before} kB resident before and {} kB after",
        outcome.elapsed,
        outcome.elapsed.0 / (packets * EDGES as u64),
        resident(),
    );
}

/// One test, since what is counted is counted for the whole process.
#[test]
fn packets_cross_lanes_in_order_without_loss_leak_or_allocation() {
    cross(2, "wait: spin(\"20 us\")");
    if std::env::var_os("CROSSINGS").is_none() {
        cross(EDGES + 1, "");
    }
}
