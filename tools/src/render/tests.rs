//! A made-up run of a voice graph, and what people are shown of it.

use std::sync::Arc;

use graph_core::{
    Nanos, Stamp,
    budget::{Bench, Bound, Budget, Level, Limit, Measure, Reference, Stat, Verdict},
    check::{Plan, PlanEdge, PlanEnd, PlanPath},
    file::{QueueSpec, WarmUp},
    measure::{EdgeMeter, EdgeSpec, Hop, Lineage, PathMeter, PathSpec, Sample, Side},
    report::{Machine, Note, NoteValue, Report, Run},
    run::{Failure, Interactions},
};
use unicode_width::UnicodeWidthStr;

use super::{Look, human};

fn at_most(measure: Option<Measure>, stat: Stat, micros: u64) -> Limit {
    let bound = Bound::AtMost { measure, stat, limit: Nanos::from_micros(micros) };
    Limit { bound, level: Level::Fail, assumed: false, basis: None }
}

fn limit(bound: Bound) -> Limit {
    Limit { bound, ..at_most(None, Stat::Max, 0) }
}

fn budget(limits: Vec<Limit>, reference: Reference) -> Budget {
    Budget { limits, reference: Some(reference) }
}

fn millis(millis: u64) -> Reference {
    Reference::Time(Nanos::from_millis(millis))
}

/// Each edge: ends, budget, and the microseconds of work, held and wait of an ordinary packet.
fn edges() -> Vec<(&'static str, Option<&'static str>, Budget, [u64; 3])> {
    let max = |millis: u64| vec![at_most(None, Stat::Max, millis * 1_000)];
    let cost = |millis: u64| vec![at_most(Some(Measure::Cost), Stat::Max, millis * 1_000)];
    let drops = limit(Bound::DropsAtMost(0.001));
    let warning = Limit { level: Level::Warn, ..at_most(None, Stat::P99, 400_000) };
    vec![
        ("receive.audio", Some("denoise.audio"), budget(max(5), millis(2)), [14, 0, 21]),
        (
            "denoise.audio",
            Some("vad.audio"),
            budget([max(5), vec![at_most(None, Stat::P99, 1_000), drops]].concat(), millis(1)),
            [210, 0, 8],
        ),
        ("vad.utterance", Some("stt.utterance"), budget(cost(100), millis(50)), [900, 480_000, 60]),
        (
            "stt.text",
            Some("nlu.text"),
            budget([max(500), vec![warning]].concat(), millis(200)),
            [61_000, 0, 40],
        ),
        ("nlu.intent", Some("answer.intent"), budget(max(5), millis(15)), [4_400, 0, 0]),
        ("answer.speech", Some("tts-encoder.speech"), Budget::default(), [30, 0, 0]),
        ("tts-encoder.hidden", Some("tts-decoder.hidden"), budget(max(1_500), millis(800)), [22_000, 0, 700]),
        (
            "tts-decoder.audio",
            Some("speaker.audio"),
            budget(
                vec![at_most(Some(Measure::First), Stat::Max, 2_500_000), limit(Bound::RateAtLeast(15.0))],
                Reference::Range(Nanos::from_millis(300), Nanos::from_millis(500)),
            ),
            [48_000, 0, 2_000],
        ),
        ("speaker.done", None, budget(cost(5), Reference::Below(Nanos::from_millis(1))), [120, 9_400, 0]),
        ("glasses.done", None, budget(max(5), millis(1)), [0, 0, 0]),
    ]
}

fn end(name: &str) -> PlanEnd {
    PlanEnd { node: 0, port: 0, name: name.to_owned() }
}

fn plan() -> Plan {
    let edges = edges().into_iter().map(|(from, to, budget, _)| PlanEdge {
        from: end(from),
        to: to.map(end),
        queue: QueueSpec::default(),
        budget,
        wire: false,
        feedback: false,
        measure_all: false,
        crosses: true,
    });
    let cost = |micros| budget(vec![at_most(Some(Measure::Cost), Stat::Max, micros)], millis(2_700));
    let path = |name: &str, edges: std::ops::Range<usize>, budget| PlanPath {
        name: name.to_owned(),
        edges: edges.collect(),
        budget,
        many: true,
        packets: None,
    };
    Plan {
        name: "voice".to_owned(),
        class: Some("x1e80100".to_owned()),
        warm_up: WarmUp::None,
        nodes: Vec::new(),
        edges: edges.collect(),
        lanes: Vec::new(),
        paths: vec![path("round trip", 0..9, cost(5_000_000)), path("synthesis", 6..8, cost(4_000_000))],
        allocations: Vec::new(),
        quantiles: Vec::new(),
        queues: Vec::new(),
        order: Vec::new(),
    }
}

/// Utterances of the run, and how many frames of 10 ms each has before and after.
const TURNS: u64 = 5;
const FRAMES: u64 = 60;

fn voice() -> Report {
    let plan = plan();
    let meters: Vec<_> = plan
        .edges
        .iter()
        .map(|edge| {
            let many = edge.from.name == "tts-decoder.audio";
            Arc::new(EdgeMeter::new(&EdgeSpec { budget: &edge.budget, many, queued: true, all: false }))
        })
        .collect();
    let paths: Vec<_> = plan
        .paths
        .iter()
        .map(|path| {
            let spec = PathSpec { budget: &path.budget, edges: path.edges.len(), many: true, packets: None };
            Arc::new(PathMeter::new(&spec))
        })
        .collect();
    let mut now = 1_000_000_000;
    for turn in 0..TURNS {
        for frame in 0..FRAMES {
            now += 10_000_000;
            speak(&meters, &paths, now, turn, frame);
        }
    }
    meters[0].dropped(Side::Producer, false);
    meters[0].sent(1);
    for _ in 0..3 {
        meters[7].sent(1);
        meters[7].cancelled(Side::Consumer);
    }
    meters[6].blocked(Nanos::from_micros(12_400));
    let machine = Machine {
        cpu: Some("AMD EPYC".to_owned()),
        cores: Some(2),
        kernel: Some("6.1.0-18-amd64".to_owned()),
        load: Some(0.8),
        profile: "release",
        ..Machine::default()
    };
    let note = |node: &str, name: &str, value| Note { node: node.to_owned(), name: name.to_owned(), value };
    let bench = Bench {
        id: "voice_tts/ssml_plain".to_owned(),
        budget: budget(vec![at_most(None, Stat::Mean, 1)], millis(1)),
    };
    Run {
        plan: &plan,
        edges: &meters,
        paths: &paths,
        benches: &[bench],
        overheads: &[],
        machine,
        elapsed: Nanos::from_millis(18_340),
        interactions: Interactions { begun: 4, answered: 3, cancelled: Vec::new() },
        interrupted: false,
        simulation: None,
        notes: vec![
            note("receive", "late", NoteValue::Count(2)),
            note(
                "audio lane",
                "priority",
                NoteValue::Text("fifo(40) was refused; it runs as any thread".to_owned()),
            ),
        ],
        failures: Vec::new(),
    }
    .report()
}

/// One frame in; the last of an utterance goes all the way, and its answer comes back in eight frames.
fn speak(meters: &[Arc<EdgeMeter>], paths: &[Arc<PathMeter>], origin: u64, turn: u64, frame: u64) {
    let last = frame == FRAMES - 1;
    let mut hops: Vec<Hop> = Vec::new();
    let stages = if last { edges().len() - 1 } else { 2 };
    for (place, (_, _, _, parts)) in edges().into_iter().take(stages).enumerate() {
        let began = hops.last().map_or(Stamp(origin), |hop| hop.taken);
        let slow = 100 + (turn * 37 + frame * 11) % 60 + if place == 4 && turn == 3 { 70 } else { 0 };
        let [work, held, wait] = parts.map(|micros| Nanos::from_micros(micros * 10));
        let scaled = |time: Nanos| Nanos(time.0 * slow / 1_000);
        let held = Nanos(held.0 / 10);
        let sent = began + scaled(work) + held;
        hops.push(Hop { began, sent, taken: sent + scaled(wait), held });
    }
    let answers = if last { 8 } else { 1 };
    for answer in 0..answers {
        for (place, (meter, hop)) in meters.iter().zip(&hops).enumerate() {
            let many = place >= 7;
            if answer > 0 && !many {
                continue;
            }
            let later = Nanos::from_millis(if many { answer * 9 } else { 0 });
            let began = if place > 7 { hop.began + later } else { hop.began };
            let Hop { sent, taken, held, .. } = *hop;
            meter.sent(1);
            meter.taken(&Sample {
                seq: turn * 8 + answer,
                turn,
                origin: Stamp(origin),
                began,
                sent: sent + later,
                taken: taken + later,
                held,
                ..Sample::default()
            });
        }
    }
    if last {
        for (path, hops) in paths.iter().zip([&hops[0..9], &hops[6..8]]) {
            path.completed(&Lineage { seq: turn * 8, turn, warm_up: false, origin: Stamp(origin), hops });
        }
    }
}

fn look(width: usize) -> Look {
    Look { width, colour: false, unicode: true }
}

#[test]
fn at_80_columns_what_matters_least_is_left_out() {
    assert_eq!(human(&voice(), &look(80)), include_str!("snapshots/voice-80.txt"));
}

#[test]
fn at_120_columns_everything_has_its_column() {
    assert_eq!(human(&voice(), &look(120)), include_str!("snapshots/voice-120.txt"));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let report = voice();
    for unicode in [true, false] {
        for width in 48..=200 {
            for line in human(&report, &Look { unicode, ..look(width) }).lines() {
                assert!(line.width() <= width, "{width} columns: {line}");
                assert_eq!(line, line.trim_end());
            }
        }
    }
}

#[test]
fn colour_only_repeats_what_the_words_say() {
    let report = voice();
    let coloured = human(&report, &Look { colour: true, ..look(100) });
    assert!(coloured.contains('\u{1b}'));
    let mut bare = String::new();
    let mut inside = false;
    for c in coloured.chars() {
        match c {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            c if !inside => bare.push(c),
            _ => {}
        }
    }
    let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(trimmed(&bare), trimmed(&human(&report, &look(100))));
}

#[test]
fn without_utf8_only_ascii_is_shown() {
    assert!(human(&voice(), &Look { unicode: false, ..look(80) }).is_ascii());
}

#[test]
fn every_verdict_is_told_in_words() {
    let mut report = voice();
    for verdict in [
        Verdict::NotJudged,
        Verdict::Pass,
        Verdict::Warn,
        Verdict::Flaky,
        Verdict::TooFewSamples,
        Verdict::NoData,
        Verdict::Uncertain,
        Verdict::Fail,
    ] {
        report.edges.truncate(1);
        report.edges[0].limits[0].verdict = verdict;
        let row =
            human(&report, &look(80)).lines().find(|line| line.starts_with("receive")).unwrap().to_owned();
        let word = if verdict == Verdict::TooFewSamples { "too-few" } else { verdict.name() };
        assert!(row.to_lowercase().ends_with(word), "{row}");
    }
    report.edges[0].limits.clear();
    assert!(human(&report, &look(80)).contains("no-budget"));
}

#[test]
fn a_node_that_failed_is_named_with_what_happened() {
    let mut report = voice();
    report.failures.push(Failure {
        node: "stt".to_owned(),
        message: "the model\nis gone".to_owned(),
        times: 1,
        lost: 1,
        fatal: true,
    });
    assert!(human(&report, &look(80)).contains("stt failed: the model is gone\n"));
}

#[test]
fn two_edges_between_the_same_nodes_are_told_apart_by_their_ports() {
    let mut report = voice();
    let mut partial = report.edges[3].clone();
    partial.from = "stt.partial".to_owned();
    report.edges.push(partial);
    let text = human(&report, &look(120));
    assert!(text.contains("stt.text → nlu.text") && text.contains("stt.partial → nlu.text"), "{text}");
}

#[test]
fn a_run_without_packets_paths_or_limits_says_so() {
    let mut report = voice();
    report.edges.truncate(1);
    report.edges[0].limits.clear();
    (report.paths, report.turns, report.notes, report.benches) = Default::default();
    report.verdict = Verdict::NotBudgeted;
    report.exit_code = 0;
    let text = human(&report, &look(80));
    assert!(
        text.ends_with("not-budgeted: no limits; exit 0, every judged limit of level fail holds\n"),
        "{text}"
    );
}
