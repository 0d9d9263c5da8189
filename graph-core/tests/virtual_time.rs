//! Graphs of cost models under virtual time: queues by the formulas of queueing theory, lanes, sockets, and the same
//! report for the same seed.

mod support;

use std::fmt::Write;

use graph_core::{
    Build, BuildError, Ctx, Flow, Kind, Nanos, Node, NodeError, Out, Ports, Registry, WireIn, WireOut,
    budget::{Measure, Stat},
    diagnostic::Source,
    file::costs_of,
    measure::{Counts, EdgeMeter},
    model,
    report::{Report, Simulation},
    testing::{Simulated, plan, simulate_models},
};
use proptest::prelude::*;
use support::{Number, registry};

const HOUR: Nanos = Nanos::from_secs(3600);

fn simulate(graph: &str, costs: &str) -> Simulated {
    simulate_models(graph, &registry(), costs, 1, HOUR)
}

/// A source and a sink, each with a lane of its own and `queue` between them.
fn pair(queue: &str) -> String {
    format!(
        r#"(
            lanes: {{ "a": (), "b": () }},
            nodes: {{
                "every": (kind: "test/every", lane: "a", with: (count: 1, period: "1 ms")),
                "tell": (kind: "test/tell", lane: "b"),
            }},
            edges: [
                (from: "every", to: "tell", queue: ({queue}), measure: all),
                (from: "tell.done", measure: all),
            ],
            paths: [(name: "all", from: "every", to: "tell.done")],
        )"#
    )
}

fn stat(edge: &EdgeMeter, measure: Measure, stat: Stat) -> f64 {
    let snapshot = edge.snapshot(measure).unwrap_or_else(|| panic!("no {}", measure.name()));
    snapshot.stat(stat).expect("there are samples").as_millis_f64()
}

fn mean_wait(costs: &str) -> f64 {
    let run = simulate(&pair("capacity: 100000"), costs);
    stat(run.edge("every.out -> tell.in"), Measure::Wait, Stat::Mean)
}

#[test]
fn the_mean_wait_before_one_server_is_that_of_the_formulas() {
    // Load 0.5, S = 0.5 ms. M/M/1: W = S r / (1 - r). M/D/1 (Pollaczek-Khinchine): half of it. D/D/1: none.
    for (interval, work, wait) in [
        (r#"exponential(mean: "1 ms")"#, r#"exponential(mean: "500 us")"#, 0.5),
        (r#"exponential(mean: "1 ms")"#, r#""500 us""#, 0.25),
        (r#""1 ms""#, r#""500 us""#, 0.0),
    ] {
        let costs = format!(
            r#"(nodes: {{
                "every": (interval: {interval}, work: "0 ms", count: 100000),
                "tell": (work: {work}),
            }})"#
        );
        let measured = mean_wait(&costs);
        assert!(
            (measured - wait).abs() <= 0.05 * wait,
            "{interval}, {work}: {measured} ms instead of {wait}"
        );
    }
}

#[test]
fn an_overloaded_server_drops_exactly_what_it_cannot_serve() {
    let costs = r#"(nodes: { "every": (interval: "1 ms", count: 1000), "tell": (work: "2300001 ns") })"#;
    // Packets come from 1 to 1000 ms, and the server starts at 1 ms and then never waits: 434 more times until the
    // last came, when its queue of four is full.
    let starts = 1 + (999_000_000 / 2_300_001) + 4;
    for queue in ["drop_newest", "drop_oldest"] {
        let run = simulate(&pair(&format!("capacity: 4, full: {queue}")), costs);
        let counts = run.edge("every.out -> tell.in").counts();
        let expected = Counts { sent: 1000, taken: starts, dropped: 1000 - starts, ..Counts::default() };
        assert_eq!(counts, expected, "{queue}");
        assert_eq!(run.edge("tell.done").counts().taken, starts);
    }
}

#[test]
fn a_full_edge_that_blocks_makes_the_source_as_slow_as_the_server() {
    let costs = r#"(nodes: { "every": (interval: "1 ms", count: 100), "tell": (work: "3 ms") })"#;
    let run = simulate(&pair("capacity: 2"), costs);
    let edge = run.edge("every.out -> tell.in");
    assert_eq!(edge.counts(), Counts { sent: 100, taken: 100, ..Counts::default() });
    // 100 packets of 3 ms behind the first, which came after 1 ms.
    assert_eq!(run.outcome.elapsed, Nanos::from_millis(301));
    assert_eq!(stat(edge, Measure::Age, Stat::Max), 1.0 + 99.0 * 3.0 - 100.0);
    assert!(edge.blocks().0 > Nanos::from_millis(150));
}

/// A source whose packets go to two workers.
fn fork(lanes: [&str; 2]) -> String {
    let [one, two] = lanes;
    format!(
        r#"(
            lanes: {{ "a": (), "b": (), "c": () }},
            nodes: {{
                "every": (kind: "test/every", lane: "a", with: (count: 1, period: "1 ms")),
                "one": (kind: "test/tell", lane: "{one}"),
                "two": (kind: "test/tell", lane: "{two}"),
            }},
            edges: [
                (from: "every", to: "one", measure: all),
                (from: "every", to: "two", measure: all),
                (from: "one.done", measure: all),
            ],
        )"#
    )
}

#[test]
fn work_occupies_the_whole_lane_and_no_other() {
    let costs = |more: &str| {
        format!(
            r#"(nodes: {{
                "every": (interval: "10 ms", count: 20),
                "one": (work: "4 ms"{more}),
                "two": (work: "3 ms"{more}),
            }})"#
        )
    };
    let waits = |run: &Simulated| {
        let wait = |node| stat(run.edge(&format!("every.out -> {node}.in")), Measure::Wait, Stat::Max);
        [wait("one"), wait("two")]
    };
    let mut shared = waits(&simulate(&fork(["b", "b"]), &costs("")));
    shared.sort_by(f64::total_cmp);
    assert!(shared == [0.0, 3.0] || shared == [0.0, 4.0], "one waits for the other: {shared:?}");
    assert_eq!(waits(&simulate(&fork(["b", "c"]), &costs(""))), [0.0, 0.0]);
    let aside = simulate(&fork(["b", "b"]), &costs(", aside: true"));
    assert_eq!(waits(&aside), [0.0, 0.0], "the work is done on threads of their own");
    assert_eq!(stat(aside.edge("one.done"), Measure::Work, Stat::Max), 4.0);
}

/// A source, a node that gives `many`, and a sink.
fn chain(lane_of_middle: &str) -> String {
    format!(
        r#"(
            lanes: {{ "a": (), "b": () }},
            nodes: {{
                "every": (kind: "test/every", lane: "a", with: (count: 1, period: "1 ms")),
                "thrice": (kind: "test/thrice", lane: "{lane_of_middle}"),
                "tell": (kind: "test/tell", lane: "b"),
            }},
            edges: [
                (from: "every", to: "thrice", queue: (capacity: 64), measure: all),
                (from: "thrice", to: "tell", queue: (capacity: 64), measure: all),
                (from: "tell.done", measure: all),
            ],
            paths: [(name: "all", from: "every", to: "tell.done")],
        )"#
    )
}

#[test]
fn packets_of_one_cause_come_at_their_interval_as_work_or_paced_as_held() {
    let costs = |output: &str| {
        format!(
            r#"(nodes: {{
                "every": (interval: "100 ms", count: 5),
                "thrice": (work: "2 ms", outputs: {{ "out": (ratio: 3, {output}: "10 ms") }}),
                "tell": (work: "0 ms"),
            }})"#
        )
    };
    for (output, work, held) in [("every", 22.0, 0.0), ("pace", 2.0, 20.0)] {
        let run = simulate(&chain("a"), &costs(output));
        let edge = run.edge("thrice.out -> tell.in");
        assert_eq!(edge.counts().taken, 15);
        assert_eq!(
            (stat(edge, Measure::Work, Stat::Max), stat(edge, Measure::Held, Stat::Max)),
            (work, held)
        );
        assert_eq!(stat(edge, Measure::Interval, Stat::Max), 10.0);
    }
}

#[test]
fn between_two_packets_of_one_cause_those_nearer_to_a_sink_have_their_turn() {
    let costs = r#"(nodes: {
        "every": (interval: "100 ms", count: 5),
        "thrice": (work: "2 ms", outputs: { "out": (ratio: 3, every: "10 ms") }),
        "tell": (work: "1 ms"),
    })"#;
    let run = simulate(&chain("b"), costs);
    let edge = run.edge("thrice.out -> tell.in");
    assert_eq!(stat(edge, Measure::Wait, Stat::Max), 0.0);
    // The second and the third are made after the sink's step with the one before.
    assert_eq!(stat(edge, Measure::Work, Stat::Max), 2.0 + 2.0 * 11.0);
}

#[test]
fn a_packet_that_nothing_is_due_to_costs_what_is_said_of_it() {
    let costs = r#"(nodes: {
        "every": (interval: "10 ms", count: 100, turns: 0.1),
        "thrice": (work: "5 ms", quiet: "1 ms", held: "480 ms", outputs: { "out": (ratio: 0.25) }),
        "tell": (work: "0 ms"),
    })"#;
    let run = simulate(&chain("b"), costs);
    let edge = run.edge("thrice.out -> tell.in");
    assert_eq!((edge.counts().taken, run.outcome.interactions.begun), (25, 10));
    assert_eq!(stat(edge, Measure::Latency, Stat::Max), 485.0);
    // 25 of 5 ms and 75 of 1 ms, never at the same time.
    assert_eq!(stat(edge, Measure::Cost, Stat::Max), 5.0);
    assert_eq!(stat(run.edge("every.out -> thrice.in"), Measure::Wait, Stat::Max), 0.0);
}

#[test]
fn an_endless_source_ends_when_the_time_is_over() {
    let costs = r#"(nodes: { "every": (interval: "1 ms"), "tell": (work: "10 us") })"#;
    let run = simulate_models(&pair(""), &registry(), costs, 1, Nanos::from_secs(60));
    assert_eq!(run.edge("every.out -> tell.in").counts().taken, 60_000);
    assert!(run.outcome.failures.is_empty());
}

#[test]
fn what_comes_back_by_a_feedback_edge_is_taken_and_gives_nothing() {
    let graph = r#"(
        nodes: {
            "every": (kind: "test/every", with: (count: 1, period: "1 ms")),
            "side": (kind: "test/every", with: (count: 1, period: "1 ms")),
            "mix": (kind: "test/mix"),
            "slow": (kind: "test/slow"),
            "tell": (kind: "test/tell"),
        },
        edges: [
            (from: "every", to: "mix.in"),
            (from: "side", to: "mix.latest"),
            (from: "mix", to: "slow"),
            (from: "slow", to: "mix.back", feedback: true),
            (from: "slow", to: "tell"),
        ],
    )"#;
    let costs = r#"(nodes: {
        "every": (interval: "5 ms", count: 50), "side": (interval: "3 ms", count: 50),
        "mix": (work: "1 ms"), "slow": (work: "1 ms"), "tell": (work: "0 ms"),
    })"#;
    let run = simulate(graph, costs);
    assert!(run.outcome.failures.is_empty(), "{:?}", run.outcome.failures);
    let taken = |edge: &str| run.edge(edge).counts().taken;
    assert_eq!((taken("mix.out -> slow.in"), taken("slow.out -> tell.in")), (50, 50));
    assert!(taken("side.out -> mix.latest") > 40);
}

/// Sends what it takes through a socket.
struct Sender;

/// Gives what comes through a socket.
struct Receiver;

macro_rules! end_of_a_socket {
    ($node:ident, $kind:literal, $ports:ty, $declare:expr) => {
        impl Kind for $node {
            const KIND: &'static str = $kind;
            const ABOUT: &'static str = "One end of a socket.";
            type Params = support::Nothing;

            fn new(_: &support::Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
                Err(BuildError::new("only its model is ever made"))
            }
        }

        impl Node for $node {
            type Ports = $ports;

            fn ports(ports: &mut Ports<'_>) -> $ports {
                let declare: fn(&mut Ports<'_>) -> $ports = $declare;
                declare(ports)
            }

            fn step(&mut self, _: &mut $ports, _: &mut Ctx<'_>) -> Result<Flow, NodeError> {
                Ok(Flow::Done)
            }
        }
    };
}

end_of_a_socket!(Sender, "test/sender", (graph_core::In<Number>, WireOut), |ports| {
    (ports.input("in", "Numbers."), ports.wire_out("wire", "The other end."))
});
end_of_a_socket!(Receiver, "test/receiver", (WireIn, Out<Number>), |ports| {
    (ports.wire_in("wire", "The other end."), ports.output("out", "Numbers."))
});

const WIRED: &str = r#"(
    nodes: {
        "every": (kind: "test/every", with: (count: 1, period: "1 ms")),
        "sender": (kind: "test/sender"),
        "receiver": (kind: "test/receiver"),
        "tell": (kind: "test/tell"),
    },
    edges: [
        (from: "every", to: "sender"),
        (from: "sender.wire", to: "receiver.wire", wire: true, measure: all),
        (from: "receiver", to: "tell"),
    ],
    paths: [(name: "all", from: "every", to: "tell.done")],
)"#;

fn wired() -> Registry {
    let mut registry = registry();
    registry.node::<Sender>().node::<Receiver>();
    registry
}

#[test]
fn a_socket_is_a_hop_with_a_delay_that_carries_the_lineage_and_the_end() {
    let costs = |delay: &str| {
        format!(
            r#"(
                nodes: {{
                    "every": (interval: "10 ms", count: 100), "sender": (work: "1 ms"),
                    "receiver": (work: "1 ms"), "tell": (work: "0 ms"),
                }},
                wires: {{ "sender -> receiver": {delay} }},
            )"#
        )
    };
    let run = simulate_models(WIRED, &wired(), &costs(r#""25 ms""#), 1, HOUR);
    let wire = run.edge("sender.wire -> receiver.wire");
    assert_eq!(wire.counts(), Counts { sent: 100, taken: 100, ..Counts::default() });
    assert_eq!(
        (stat(wire, Measure::Wait, Stat::Mean), stat(wire, Measure::Latency, Stat::Max)),
        (25.0, 26.0)
    );
    let whole = run.path("all").snapshot(Measure::Latency).expect("measured");
    assert_eq!((whole.n(), whole.stat(Stat::Max)), (100, Some(Nanos::from_millis(27))));
    let drawn = simulate_models(WIRED, &wired(), &costs(r#"exponential(mean: "20 ms")"#), 1, HOUR);
    assert_eq!(drawn.edge("tell.done").counts().taken, 100);
}

#[test]
fn everything_without_a_model_is_named_at_once_and_a_template_says_what_to_fill_in() {
    let costs = r#"(nodes: { "every": (interval: "1 ms"), "sneder": (work: "1 ms"), "tell": (work: "1 ms", outputs: { "odne": () }) })"#;
    let costs = costs_of(&Source::new("costs.ron", costs)).expect("it can be read");
    let (plan, registry) = (plan(WIRED, &wired()), wired());
    let wrong = model::prepare(&plan, &registry, &costs, 1).err().expect("it is refused");
    let wrong: Vec<_> = wrong.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(
        wrong,
        [
            "costs of the node `sneder`, which the graph does not have",
            "`tell` has no output `odne`",
            "no cost model is known of the nodes `sender` and `receiver` and the wire edges `sender.wire -> \
             receiver.wire`",
        ]
    );
    let template = costs.template(&plan, &registry).to_string();
    for line in [
        r#""every": (interval: "1 ms"),"#,
        r#""sender": (work: "?"),"#,
        r#""sender.wire -> receiver.wire": "?","#,
    ] {
        assert!(template.contains(line), "{template}");
    }
    let filled = template.replace("\"?\"", "\"1 ms\"").replace("outputs: { \"odne\": () }", "");
    let filled = costs_of(&Source::new("filled.ron", filled)).expect("a template filled in is a costs file");
    assert!(model::prepare(&plan, &registry, &filled, 1).is_ok());
}

fn json(run: &Simulated) -> String {
    let report = Report { simulation: Some(Simulation { seed: 1, costs: Vec::new() }), ..run.report() };
    serde_json::to_string(&report).expect("a report is JSON")
}

const DRAWN: &str = r#"(nodes: {
    "every": (interval: exponential(mean: "4 ms"), count: 500),
    "thrice": (work: lognormal(p50: "1 ms", p99: "9 ms"), outputs: { "out": (ratio: 2.5) }),
    "tell": (work: pareto(least: "100 us", shape: 1.5)),
})"#;

#[test]
fn the_same_seed_gives_the_same_report_to_the_nanosecond_and_another_seed_another() {
    let report = |seed| json(&simulate_models(&chain("b"), &registry(), DRAWN, seed, HOUR));
    assert_eq!(report(7), report(7));
    assert_ne!(report(7), report(8));
}

#[test]
fn a_run_of_models_taken_from_a_report_is_like_the_run_that_was_reported() {
    // A lane each, so that work is work and no waiting for others of the lane.
    let lanes = chain("b").replace(r#""b": ()"#, r#""b": (), "c": ()"#);
    let graph = lanes.replace(r#"(kind: "test/tell", lane: "b")"#, r#"(kind: "test/tell", lane: "c")"#);
    let first = simulate_models(&graph, &registry(), DRAWN, 7, HOUR);
    let again = simulate_models(&graph, &registry(), &json(&first), 8, first.outcome.elapsed);
    for edge in ["every.out -> thrice.in", "thrice.out -> tell.in", "tell.done"] {
        let [was, is] = [&first, &again].map(|run| {
            let edge = run.edge(edge);
            (edge.counts().taken as f64, stat(edge, Measure::Latency, Stat::P50))
        });
        assert!((is.0 / was.0 - 1.0).abs() < 0.02, "{edge}: {was:?} {is:?}");
    }
    let work = |run: &Simulated| stat(run.edge("thrice.out -> tell.in"), Measure::Work, Stat::Mean);
    // Straight lines between quantiles lie above the tail of such a distribution.
    assert!((work(&again) / work(&first) - 1.0).abs() < 0.25, "{} {}", work(&first), work(&again));
}

/// A random costs file and lanes for the chain.
fn cases() -> impl Strategy<Value = (String, String, bool, u64)> {
    let time = prop_oneof![
        (0..5_000_u64).prop_map(|us| format!("\"{us} us\"")),
        (1..5_000_u64).prop_map(|us| format!("exponential(mean: \"{us} us\")")),
        (1..2_000_u64, 2_000..9_000_u64)
            .prop_map(|(from, to)| format!("uniform(from: \"{from} us\", to: \"{to} us\")")),
    ];
    let queue = prop_oneof![Just("block"), Just("drop_oldest"), Just("drop_newest")];
    let output = prop_oneof![Just(""), Just("every: \"700 us\""), Just("pace: \"2 ms\"")];
    let bound = prop_oneof![Just("capacity: 3"), Just("capacity: \"5 ms\""), Just("capacity: 64")];
    let shape = (queue, output, bound, 0..9_u64, any::<bool>(), any::<bool>());
    (prop::collection::vec(time, 5), shape, any::<u64>()).prop_map(
        |(times, (queue, output, bound, quarters, aside, shared), seed)| {
            let mut costs = String::new();
            let _ = write!(
                costs,
                r#"(nodes: {{
                    "every": (interval: {}, work: {}, count: 60),
                    "thrice": (work: {}, held: {}, aside: {aside}, turns: 0.1,
                               outputs: {{ "out": (ratio: {}, {output}) }}),
                    "tell": (work: {}),
                }})"#,
                times[0].replace("\"0 us\"", "\"1 us\""),
                times[1],
                times[2],
                times[3],
                quarters as f64 / 4.0,
                times[4]
            );
            let graph = chain(if shared { "a" } else { "b" });
            (graph.replace("capacity: 64", &format!("{bound}, full: {queue}")), costs, quarters > 4, seed)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn ages_are_the_sums_of_latencies_and_no_stamp_is_out_of_order((graph, costs, many, seed) in cases()) {
        let run = simulate_models(&graph, &registry(), &costs, seed, HOUR);
        prop_assert!(run.outcome.failures.is_empty(), "{:?}", run.outcome.failures);
        for (edge, meter) in run.plan.edges.iter().zip(&run.outcome.edges) {
            prop_assert!(meter.counts().balance(), "{}: {:?}", edge.name(), meter.counts());
            for measure in Measure::ALL {
                prop_assert_eq!(meter.negative(measure), 0, "{} {}", edge.name(), measure.name());
            }
        }
        let path = run.path("all");
        prop_assert_eq!(path.counts().left, 0);
        for lineage in path.worst() {
            prop_assert!(lineage.hops.windows(2).all(|pair| pair[0].taken == pair[1].began));
            prop_assert!(lineage.hops.iter().all(|hop| hop.work().is_some() && hop.wait().is_some()));
        }
        // At the end of a path from a source, the age is the path's latency: of each packet, so of the largest and
        // the mean. Of several packets of one cause the path has the first.
        let (whole, age) = (path.snapshot(Measure::Latency), run.edge("tell.done").snapshot(Measure::Age));
        let (whole, age) = (whole.expect("measured"), age.expect("measured"));
        prop_assert!(whole.stat(Stat::Max) <= age.stat(Stat::Max));
        if !many {
            prop_assert_eq!(whole.stat(Stat::Max), age.stat(Stat::Max));
            prop_assert_eq!(whole.stat(Stat::Mean), age.stat(Stat::Mean));
        }
    }
}
