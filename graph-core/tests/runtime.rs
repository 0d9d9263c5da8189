//! What a run does, under virtual time: overflow, back-pressure, end of stream, cancelling, failures, verdicts.

mod support;

use graph_core::{
    Nanos,
    budget::{Measure, Stat, Verdict, exit},
    measure::Counts,
    testing::{Simulated, simulate},
};
use support::registry;

fn run(text: &str) -> Simulated {
    simulate(text, &registry())
}

/// A source of 20 numbers, one a millisecond, and a sink that takes 4 ms over each.
fn overload(queue: &str) -> Simulated {
    run(&format!(
        r#"(
            lanes: {{ "a": (), "b": () }},
            nodes: {{
                "every": (kind: "test/every", lane: "a", with: (count: 20, period: "1 ms")),
                "tell": (kind: "test/tell", lane: "b", with: (takes: "4 ms")),
            }},
            edges: [(from: "every", to: "tell", queue: ({queue}), measure: all, budget: (max: "10 s"))],
        )"#
    ))
}

fn counts(run: &Simulated) -> Counts {
    run.edge("every.out -> tell.in").counts()
}

#[test]
fn a_full_edge_that_blocks_keeps_its_producer_and_loses_nothing() {
    let run = overload("capacity: 2, full: block");
    let edge = run.edge("every.out -> tell.in");
    assert_eq!(counts(&run), Counts { sent: 20, taken: 20, ..Counts::default() });
    let (blocked, times) = edge.blocks();
    assert!(blocked > Nanos::from_millis(40) && times > 10, "{blocked} in {times} times");
}

#[test]
fn a_packet_that_was_due_while_its_producer_was_kept_counts_from_its_due_time() {
    // The last of 20 is due at 19 ms and taken when 19 others took 4 ms each: open loop, as lateness counts.
    let age = overload("capacity: 2, full: block").edge("every.out -> tell.in").snapshot(Measure::Age);
    assert_eq!(age.expect("always measured").max(), Some(Nanos::from_millis(4 * 19 - 19)));
}

#[test]
fn the_oldest_makes_room_and_the_newest_wins() {
    let run = overload("capacity: 1, full: drop_oldest");
    let counts = counts(&run);
    assert!(counts.dropped >= 14 && counts.balance(), "{counts:?}");
    let age = run.edge("every.out -> tell.in").snapshot(Measure::Age).expect("always measured");
    assert!(age.max() < Some(Nanos::from_millis(8)), "stale packets were taken: {:?}", age.max());
}

#[test]
fn the_newest_is_dropped_where_the_file_says_so() {
    let counts = counts(&overload("capacity: 4, full: drop_newest"));
    assert!(counts.dropped >= 10 && counts.balance(), "{counts:?}");
}

#[test]
fn an_edge_that_must_not_overflow_ends_the_run() {
    let run = overload("capacity: 2, full: fail");
    let [failure] = run.outcome.failures.as_slice() else { panic!("{:?}", run.outcome.failures) };
    assert!(failure.fatal && failure.message.contains("full: fail"), "{failure:?}");
    assert!(counts(&run).balance());
    assert_eq!(run.report().exit_code(), exit::NODE_FAILED);
}

#[test]
fn a_queue_bound_in_time_holds_no_packet_much_longer() {
    let run = run(r#"(
            lanes: { "a": (), "b": () },
            nodes: {
                "every": (kind: "test/every", lane: "a", with: (count: 400, period: "1 ms")),
                "tell": (kind: "test/tell", lane: "b", with: (takes: "4 ms")),
            },
            edges: [(from: "every", to: "tell", queue: (capacity: "6 ms", full: drop_oldest))],
        )"#);
    // Those that are queued when the source ends wait for those before them.
    let wait = run.edge("every.out -> tell.in").snapshot(Measure::Wait).expect("between lanes");
    assert!(wait.stat(Stat::P90) <= Some(Nanos::from_millis(8)), "{:?}", wait.stat(Stat::P90));
    assert!(counts(&run).balance() && counts(&run).dropped > 250, "{:?}", counts(&run));
}

#[test]
fn a_late_packet_is_dropped_when_its_turn_comes() {
    let run = overload("capacity: 8, late: \"5 ms\"");
    let age = run.edge("every.out -> tell.in").snapshot(Measure::Age).expect("always measured");
    assert!(age.max() <= Some(Nanos::from_millis(5)), "{:?}", age.max());
    assert!(counts(&run).dropped > 0 && counts(&run).balance(), "{:?}", counts(&run));
}

#[test]
fn dropped_packets_are_over_every_limit_unless_drops_are_limited() {
    let lossy = |budget: &str| {
        run(&format!(
            r#"(
                lanes: {{ "a": (), "b": () }},
                nodes: {{
                    "every": (kind: "test/every", lane: "a", with: (count: 20, period: "1 ms")),
                    "tell": (kind: "test/tell", lane: "b", with: (takes: "4 ms")),
                }},
                edges: [(from: "every", to: "tell", queue: (capacity: 1, full: drop_oldest), budget: ({budget}))],
            )"#
        ))
    };
    assert_eq!(lossy("max: \"1 s\"").report().verdict, Verdict::Fail);
    assert_eq!(lossy("max: \"1 s\", drops: \"90 %\"").report().verdict, Verdict::Pass);
    assert_eq!(lossy("max: \"1 s\", drops: \"1 %\"").report().verdict, Verdict::Fail);
}

#[test]
fn a_stream_ends_in_band_and_everything_before_the_end_arrives() {
    let run = run(r#"(
            lanes: { "a": (), "b": () },
            nodes: {
                "every": (kind: "test/every", lane: "a", with: (count: 1000, period: "1 us")),
                "one": (kind: "test/slow", lane: "b", with: (takes: "3 us")),
                "two": (kind: "test/slow", lane: "a", with: (takes: "1 us")),
                "tell": (kind: "test/tell", lane: "b"),
            },
            edges: [(from: "every", to: "one"), (from: "one", to: "two"), (from: "two", to: "tell")],
            paths: [(name: "all", from: "every", to: "tell.done", budget: (max: "1 s"))],
        )"#);
    assert!(run.outcome.failures.is_empty());
    assert_eq!(run.edge("tell.done").counts().taken, 1000);
    assert_eq!(run.path("all").counts().completed, 1000);
    let (parts, n) = run.path("all").parts();
    let latency = run.path("all").snapshot(Measure::Latency).expect("always measured");
    assert_eq!(
        (parts.iter().map(graph_core::measure::Part::latency).sum::<u128>(), n),
        (latency.sum(), 1000)
    );
}

#[test]
fn a_node_ends_the_work_it_has_begun_before_it_is_told_that_its_inputs_have_ended() {
    let run = run(r#"(
            lanes: { "a": (), "b": () },
            nodes: {
                "every": (kind: "test/every", lane: "a", with: (count: 5, period: "0 ns")),
                "thrice": (kind: "test/thrice", lane: "b"),
                "tell": (kind: "test/tell", lane: "b"),
            },
            edges: [(from: "every", to: "thrice"), (from: "thrice", to: "tell")],
        )"#);
    assert_eq!(run.edge("tell.done").counts().taken, 15);
}

/// Five turns, 10 ms apart; each cancels the one before, while the sink takes 25 ms over each.
fn barge_in() -> Simulated {
    run(r#"(
            lanes: { "a": (), "b": () },
            nodes: {
                "every": (kind: "test/every", lane: "a", with: (count: 5, period: "10 ms", turns: true)),
                "barge": (kind: "test/barge-in", lane: "a"),
                "tell": (kind: "test/tell", lane: "b", with: (takes: "25 ms")),
            },
            edges: [(from: "every", to: "barge"), (from: "barge", to: "tell", budget: (max: "100 ms"))],
        )"#)
}

#[test]
fn a_cancel_overtakes_what_is_queued() {
    let run = barge_in();
    let counts = run.edge("barge.out -> tell.in").counts();
    assert_eq!((counts.sent, counts.balance()), (5, true));
    assert!(counts.cancelled >= 2, "{counts:?}");
    assert_eq!(run.outcome.interactions.cancelled.len(), 4, "all but the last turn were cancelled");
}

#[test]
fn cancelled_packets_are_counted_apart_and_not_judged() {
    assert_eq!(barge_in().report().verdict, Verdict::Pass);
}

#[test]
fn the_time_from_a_cancel_to_its_last_effect_is_told() {
    let run = barge_in();
    // The first turn was with the sink when the second cancelled it.
    let first = run.outcome.interactions.cancelled[0];
    assert_eq!((first.turn, first.last_effect), (1, Nanos::from_millis(15)));
}

fn failing(on_error: &str, with: &str) -> Simulated {
    run(&format!(
        r#"(
            nodes: {{
                "every": (kind: "test/every", with: (count: 10, period: "10 ms")),
                "slow": (kind: "test/slow", on_error: {on_error}, with: ({with})),
                "tell": (kind: "test/tell"),
            }},
            edges: [(from: "every", to: "slow"), (from: "slow", to: "tell", budget: (max: "1 s"))],
        )"#
    ))
}

#[test]
fn a_node_that_fails_ends_the_run_with_its_name_and_words() {
    let run = failing("fail", "fails_at: 3");
    let [failure] = run.outcome.failures.as_slice() else { panic!("{:?}", run.outcome.failures) };
    assert_eq!((failure.node.as_str(), failure.message.as_str()), ("slow", "the number is cursed"));
    assert_eq!((failure.fatal, failure.lost), (true, 1));
    assert_eq!(run.edge("slow.out -> tell.in").counts().taken, 3);
    assert!(run.outcome.edges.iter().all(|edge| edge.counts().balance()));
    assert_eq!(run.report().exit_code(), exit::NODE_FAILED);
}

#[test]
fn a_node_that_panics_fails_like_any_other() {
    let run = failing("fail", "panics_at: 3");
    assert!(run.outcome.failures[0].message.contains("the number is doomed"), "{:?}", run.outcome.failures);
    assert_eq!(run.report().exit_code(), exit::NODE_FAILED);
}

#[test]
fn a_node_may_lose_the_packet_in_hand_and_go_on() {
    let run = failing("skip", "fails_at: 3");
    assert_eq!(run.edge("slow.out -> tell.in").counts().taken, 9);
    assert_eq!((run.outcome.failures[0].fatal, run.outcome.failures[0].lost), (false, 1));
    assert_eq!(run.report().exit_code(), exit::OK);
}

#[test]
fn a_node_may_be_made_anew_after_a_wait() {
    let run = failing("restart(first: \"15 ms\")", "panics_at: 3");
    assert_eq!(run.edge("slow.out -> tell.in").counts().taken, 9);
    // The number that came next waited for the restart.
    let wait = run.edge("every.out -> slow.in").snapshot(Measure::Latency).expect("always measured");
    assert_eq!(wait.max(), Some(Nanos::from_millis(5)));
}

#[test]
fn a_node_that_fails_too_often_in_a_row_ends_the_run() {
    let run = failing("restart(first: \"1 ms\", times: 2)", "fails_from: 3");
    let told: Vec<_> = run.outcome.failures.iter().map(|failure| (failure.times, failure.fatal)).collect();
    assert_eq!(told, [(2, false), (1, true)]);
}

#[test]
fn a_source_that_waits_for_its_restart_does_not_keep_the_run_from_ending() {
    let run = run(r#"(
            nodes: {
                "every": (
                    kind: "test/every",
                    on_error: restart(first: "1000 s", max: "1000 s"),
                    with: (count: 10, period: "1 ms", fails_at: 3),
                ),
                "other": (kind: "test/every", with: (count: 10, period: "1 ms")),
                "slow": (kind: "test/slow", with: (fails_at: 5)),
                "one": (kind: "test/tell"),
                "two": (kind: "test/tell"),
            },
            edges: [(from: "every", to: "one"), (from: "other", to: "slow"), (from: "slow", to: "two")],
        )"#);
    assert!(run.outcome.elapsed < Nanos::from_secs(1), "{}", run.outcome.elapsed);
}

#[test]
fn a_latch_gives_the_latest_value_and_is_never_a_cause() {
    let run = run(r#"(
            nodes: {
                "fast": (kind: "test/every", with: (count: 100, period: "1 ms")),
                "every": (kind: "test/every", with: (count: 10, period: "10 ms")),
                "mix": (kind: "test/mix"),
                "tell": (kind: "test/tell"),
            },
            edges: [
                (from: "every", to: "mix.in"),
                (from: "fast", to: "mix.latest", queue: (capacity: 1)),
                (from: "mix", to: "tell", measure: all),
            ],
        )"#);
    assert_eq!(run.edge("mix.out -> tell.in").counts().taken, 10);
    let latch = run.edge("fast.out -> mix.latest").counts();
    assert!(latch.balance() && latch.dropped >= 80, "the newest wins, and every drop is counted: {latch:?}");
    let steps = run.outcome.notes.iter().find(|note| note.name == "steps").expect("it counts them").value;
    assert!((10..20).contains(&steps), "a value makes no step: {steps}");
}

#[test]
fn a_feedback_edge_does_not_keep_the_graph_from_ending() {
    let run = run(r#"(
            nodes: {
                "every": (kind: "test/every", with: (count: 10, period: "1 ms")),
                "mix": (kind: "test/mix"),
                "slow": (kind: "test/slow"),
                "tell": (kind: "test/tell"),
            },
            edges: [
                (from: "every", to: "mix.in"),
                (from: "mix", to: "slow"),
                (from: "slow", to: "mix.back", feedback: true),
                (from: "slow", to: "tell"),
            ],
        )"#);
    assert!(run.outcome.failures.is_empty(), "{:?}", run.outcome.failures);
    assert_eq!(run.edge("slow.out -> tell.in").counts().taken, 10);
    assert!(run.edge("slow.out -> mix.back").counts().balance());
}

#[test]
fn a_later_step_of_the_producer_does_not_move_the_time_at_which_a_packet_was_sent() {
    let run = run(r#"(
            lanes: { "a": (), "b": () },
            nodes: {
                "every": (kind: "test/every", lane: "a", with: (count: 5, period: "10 ms")),
                "slow": (kind: "test/slow", lane: "a"),
                "tell": (kind: "test/tell", lane: "b", with: (takes: "100 ms")),
            },
            edges: [
                (from: "every", to: "slow", measure: all),
                (from: "slow", to: "tell", queue: (capacity: 1)),
            ],
        )"#);
    let edge = run.edge("every.out -> slow.in");
    let most = |measure| edge.snapshot(measure).expect("measured").stat(Stat::Max).expect("samples");
    assert!(most(Measure::Wait) > Nanos::from_millis(50), "the last packets wait");
    assert_eq!(most(Measure::Work), Nanos::ZERO, "and their producer did not work meanwhile");
}

/// A cycle in which each packet becomes three, and room for one.
fn cycle_without_room(lanes: [&str; 2]) -> String {
    format!(
        r#"(
            lanes: {{ "a": (), "b": (), "c": () }},
            nodes: {{
                "every": (kind: "test/every", lane: "c", with: (count: 1000, period: "0 ns")),
                "mix": (kind: "test/mix", lane: "{}"),
                "thrice": (kind: "test/thrice", lane: "{}"),
                "tell": (kind: "test/tell", lane: "a"),
            }},
            edges: [
                (from: "every", to: "mix.in"),
                (from: "mix", to: "thrice", queue: (capacity: 1)),
                (from: "thrice", to: "mix.back", feedback: true, queue: (capacity: 1)),
                (from: "thrice", to: "tell"),
            ],
        )"#,
        lanes[0], lanes[1]
    )
}

fn is_that_cycle(failure: &graph_core::run::Failure) -> bool {
    let message = &failure.message;
    failure.fatal
        && message.starts_with("deadlock")
        && message.contains("mix.out -> thrice.in (1 of 1)")
        && message.contains("thrice.out -> mix.back (1 of 1)")
        && !message.contains("tell")
}

#[test]
fn a_cycle_of_full_queues_is_named_instead_of_waited_for() {
    for lanes in [["a", "a"], ["a", "b"]] {
        let run = run(&cycle_without_room(lanes));
        assert!(run.outcome.failures.iter().any(is_that_cycle), "{:?}", run.outcome.failures);
    }
}

#[test]
fn a_cycle_of_full_queues_ends_a_run_of_threads() {
    for lanes in [["a", "a"], ["a", "b"]] {
        let plan = graph_core::testing::plan(&cycle_without_room(lanes), &registry());
        let assets = std::sync::Arc::new(graph_core::NoAssets);
        let prepared = graph_core::run::prepare(&plan, &registry(), assets, graph_core::Clock::monotonic());
        let outcome = prepared.expect("prepared").start().expect("started").wait();
        assert!(outcome.failures.iter().any(is_that_cycle), "{:?}", outcome.failures);
        assert!(outcome.edges.iter().all(|edge| edge.counts().balance()));
    }
}

#[test]
fn no_data_never_passes() {
    let run = run(r#"(
            nodes: {
                "every": (kind: "test/every", with: (count: 0, period: "1 ms")),
                "tell": (kind: "test/tell"),
            },
            edges: [(from: "every", to: "tell", budget: (max: "1 s"))],
        )"#);
    let report = run.report();
    assert_eq!((report.verdict, report.exit_code()), (Verdict::NoData, exit::UNDECIDED));
}

#[test]
fn the_warm_up_is_counted_apart() {
    let run = run(r#"(
            warm_up: "5500 us",
            nodes: {
                "every": (kind: "test/every", with: (count: 10, period: "1 ms")),
                "tell": (kind: "test/tell"),
            },
            edges: [(from: "every", to: "tell", budget: (max: "1 s"))],
        )"#);
    let edge = run.edge("every.out -> tell.in");
    assert_eq!((edge.counts().taken, edge.counts().warm_up), (10, 6));
    assert_eq!(edge.snapshot(Measure::Latency).expect("always measured").n(), 4);
}

#[test]
fn all_nodes_that_cannot_be_made_are_named_at_once() {
    let registry = registry();
    let plan = graph_core::testing::plan(
        r#"(
            lanes: { "a": (), "b": () },
            nodes: {
                "every": (kind: "test/every", with: (count: 1, period: "1 ms")),
                "one": (kind: "test/slow", lane: "a", with: (unmakeable: true)),
                "two": (kind: "test/slow", lane: "b", with: (unmakeable: true)),
                "tell": (kind: "test/tell"),
            },
            edges: [(from: "every", to: "one"), (from: "one", to: "two"), (from: "two", to: "tell")],
        )"#,
        &registry,
    );
    let assets = std::sync::Arc::new(graph_core::NoAssets);
    let prepared = graph_core::run::prepare(&plan, &registry, assets, graph_core::Clock::monotonic());
    let error = prepared.expect("parameters fit").start().err().expect("two nodes cannot be made");
    let nodes: Vec<&str> = error.0.iter().map(|failure| failure.node.as_str()).collect();
    assert_eq!(nodes, ["one", "two"]);
    assert!(error.to_string().contains("order one"), "{error}");
}

/// Runs the graph on threads.
fn run_on_threads(text: &str) -> Simulated {
    let registry = registry();
    let plan = graph_core::testing::plan(text, &registry);
    let assets = std::sync::Arc::new(graph_core::NoAssets);
    let prepared = graph_core::run::prepare(&plan, &registry, assets, graph_core::Clock::monotonic());
    let outcome = prepared.expect("parameters fit").start().expect("all nodes can be made").wait();
    Simulated { plan, outcome }
}

#[test]
fn threads_carry_the_same_packets_as_a_simulation() {
    let Simulated { plan, outcome } = run_on_threads(
        r#"(
            lanes: { "a": (), "b": (), "c": () },
            nodes: {
                "every": (kind: "test/every", lane: "a", with: (count: 20000, period: "0 ns")),
                "one": (kind: "test/slow", lane: "b"),
                "two": (kind: "test/slow", lane: "a"),
                "tell": (kind: "test/tell", lane: "c"),
            },
            edges: [(from: "every", to: "one"), (from: "one", to: "two"), (from: "two", to: "tell", measure: all)],
            paths: [(name: "all", from: "every", to: "tell.done", budget: (max: "10 s"))],
        )"#,
    );
    for (edge, meter) in plan.edges.iter().zip(&outcome.edges) {
        assert_eq!((meter.counts().taken, meter.counts().balance()), (20_000, true), "{}", edge.name());
        for measure in Measure::ALL {
            assert_eq!(meter.negative(measure), 0, "{} {measure:?}", edge.name());
        }
    }
    let counts = outcome.paths[0].counts();
    assert_eq!(counts.completed, 20_000, "{counts:?}");
}

#[test]
fn threads_hand_over_through_queues_of_one_packet_without_stopping() {
    let run = run_on_threads(
        r#"(
            lanes: { "a": (), "b": (), "c": () },
            nodes: {
                "every": (kind: "test/every", lane: "a", with: (count: 20000, period: "0 ns")),
                "slow": (kind: "test/slow", lane: "b"),
                "tell": (kind: "test/tell", lane: "c"),
            },
            edges: [
                (from: "every", to: "slow", queue: (capacity: 1)),
                (from: "slow", to: "tell", queue: (capacity: 1)),
            ],
        )"#,
    );
    assert_eq!(run.edge("tell.done").counts().taken, 20_000);
}

#[test]
fn a_consumer_that_fails_does_not_keep_a_producer_for_whom_there_was_no_room() {
    let run = run_on_threads(
        r#"(
            lanes: { "a": (), "b": () },
            nodes: {
                "every": (kind: "test/every", lane: "a", with: (count: 20000, period: "0 ns")),
                "slow": (kind: "test/slow", lane: "b", with: (fails_at: 100)),
                "tell": (kind: "test/tell", lane: "b"),
            },
            edges: [(from: "every", to: "slow", queue: (capacity: 1)), (from: "slow", to: "tell")],
        )"#,
    );
    let counts = run.edge("every.out -> slow.in").counts();
    assert_eq!((counts.taken, counts.balance()), (101, true), "{counts:?}");
}

#[test]
fn a_lane_that_spins_and_never_sleeps_hears_of_its_descriptors() {
    let run = run_on_threads(
        r#"(
            lanes: { "a": (wait: poll) },
            nodes: {
                "echo": (kind: "test/echo", lane: "a"),
                "tell": (kind: "test/tell", lane: "a"),
            },
            edges: [(from: "echo", to: "tell")],
        )"#,
    );
    assert_eq!(run.edge("echo.out -> tell.in").counts().taken, 1);
}
