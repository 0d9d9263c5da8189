//! Nobody starves in a lane: not those far from a sink, not those that wait for a descriptor.

mod support;

use graph_core::{
    Build, BuildError, Cx, Flow, Kind, Nanos, NodeError, Registry, Source, Stamp,
    budget::{Measure, Stat},
    testing::{Simulated, simulate},
};
use support::{Nothing, Number, registry};

/// Always has more to do, ten microseconds a step, for two seconds.
struct Greedy {
    steps: u64,
}

impl Kind for Greedy {
    const KIND: &'static str = "test/greedy";
    const ABOUT: &'static str = "Always has more to do.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Greedy { steps: 0 })
    }
}

impl Source for Greedy {
    type Out = Number;

    fn poll(&mut self, _: Stamp, cx: &mut Cx<'_, '_, Number>) -> Result<Flow, NodeError> {
        cx.clock().advance(Nanos::from_micros(10));
        cx.emit(Number(self.steps));
        self.steps += 1;
        Ok(if self.steps == 200_000 { Flow::Done } else { Flow::Again })
    }
}

/// The greedy node and its sink in one lane with `others`.
fn beside_greed(nodes: &str, edges: &str) -> Simulated {
    let mut registry: Registry = registry();
    registry.source::<Greedy>();
    simulate(
        &format!(
            r#"(
                lanes: {{ "one": () }},
                nodes: {{
                    "greedy": (kind: "test/greedy", lane: "one"),
                    "swallow": (kind: "test/tell", lane: "one"),
                    {nodes}
                }},
                edges: [(from: "greedy", to: "swallow"), {edges}],
            )"#
        ),
        &registry,
    )
}

#[test]
fn a_node_near_a_sink_that_always_has_work_starves_no_chain_of_its_lane() {
    let run = beside_greed(
        r#"
            "every": (kind: "test/every", lane: "one", with: (count: 100, period: "10 ms")),
            "first": (kind: "test/slow", lane: "one"),
            "second": (kind: "test/slow", lane: "one"),
            "tell": (kind: "test/tell", lane: "one"),
        "#,
        r#"(from: "every", to: "first"), (from: "first", to: "second"), (from: "second", to: "tell")"#,
    );
    let end = run.edge("tell.done");
    assert_eq!(end.counts().taken, 100);
    let age = end.snapshot(Measure::Age).and_then(|ages| ages.stat(Stat::Max)).expect("measured");
    // Each of the four is at most some rounds of 64 steps behind.
    assert!(age <= Nanos::from_millis(10), "{age}");
}

#[test]
fn a_node_that_always_has_work_keeps_no_descriptor_waiting() {
    let run = beside_greed(
        r#""echo": (kind: "test/echo", lane: "one"), "tell": (kind: "test/tell", lane: "one"),"#,
        r#"(from: "echo", to: "tell")"#,
    );
    let [echo] = run.edge("echo.out -> tell.in").worst()[..] else { panic!("one packet comes back") };
    let last = run.edge("greedy.out -> swallow.in").worst().into_iter().map(|sample| sample.taken).max();
    let first = Stamp(1_000_000_000);
    let waited = echo.taken.since(first).expect("after the start");
    assert!(waited <= Nanos::from_millis(20) && last > Some(first), "{waited}");
}
