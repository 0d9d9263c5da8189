//! What-if on budgets by the real command: a graph with models of its nodes, under virtual time.

#![allow(clippy::unwrap_used, reason = "the helpers of a test may unwrap like the test itself")]

mod desk;

use desk::Desk;
use serde_json::Value;

/// Names nothing that is there: no node is made.
const GRAPH: &str = r#"(
    nodes: {
        "file": (kind: "audio/wav-source", with: (files: ["nowhere.wav"])),
        "convert": (kind: "audio/resample", with: (from: 48000, to: 16000)),
        "out": (kind: "audio/wav-sink", with: (file: "out.wav")),
    },
    edges: [
        (from: "file", to: "convert", budget: (max: "5 ms")),
        (from: "convert", to: "out", budget: (cost: (max: "5 ms"))),
    ],
    paths: [(name: "all", from: "file", to: "out.done", budget: (max: "20 ms"))],
)"#;

const COSTS: &str = r#"(
    nodes: {
        "file": (interval: "10 ms"),
        "convert": (work: lognormal(p50: "200 us", p99: "1 ms")),
        "out": (work: "50 us"),
    },
)"#;

fn desk() -> Desk {
    Desk::new().with("g.ron", GRAPH).with("costs.ron", COSTS)
}

const VIRTUAL: [&str; 4] = ["g.ron", "--virtual", "--costs", "costs.ron"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&VIRTUAL[..], more].concat()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The names of edges and paths whose verdict is `fail`.
fn failed(report: &Value) -> Vec<String> {
    let names = |list: &str, name: fn(&Value) -> String| -> Vec<String> {
        let list = report[list].as_array().unwrap();
        list.iter().filter(|entry| entry["verdict"] == "fail").map(name).collect()
    };
    let edge = |edge: &Value| {
        format!("{} -> {}", edge["from"].as_str().unwrap(), edge["to"].as_str().unwrap_or_default())
    };
    [names("edges", edge), names("paths", |path| path["name"].as_str().unwrap().to_owned())].concat()
}

#[test]
fn a_what_if_fails_the_edge_and_the_path_that_it_breaks_and_no_other() {
    let desk = desk();
    let seen = desk.run(&with(&["--format", "json"]));
    assert_eq!(seen.status, Some(0), "{}{}", seen.stderr, seen.stdout);
    let report = json(&seen.stdout);
    assert_eq!(report["simulation"], serde_json::json!({ "seed": 1, "costs": ["costs.ron"] }));
    assert!(failed(&report).is_empty());
    assert!(seen.stderr.contains("times as fast as real time"), "{}", seen.stderr);

    let slow = desk.run(&with(&["--cost", "out=1us", "--cost", "convert=6 ms", "--format", "json"]));
    assert_eq!(slow.status, Some(1), "{}", slow.stderr);
    let report = json(&slow.stdout);
    assert_eq!(failed(&report), ["convert.out -> out.in"]);
    assert_eq!(report["simulation"]["costs"], serde_json::json!(["costs.ron", "out=1us", "convert=6 ms"]));

    let slower = desk.run(&with(&["--cost", "convert=\"30 ms\"", "--for", "1 s", "--format", "json"]));
    let report = json(&slower.stdout);
    // All three share a lane: while it converts, the source is late.
    assert_eq!(failed(&report), ["file.out -> convert.in", "convert.out -> out.in", "all"]);
    assert!(!desk.path("out.wav").exists(), "nothing has really run");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_people_are_told_that_it_was_simulated() {
    let desk = desk();
    let report = |seed| desk.run(&with(&["--seed", seed, "--format", "json"])).stdout;
    assert_eq!(report("7"), report("7"));
    assert_ne!(report("7"), report("8"));
    let seen = desk.run(&VIRTUAL);
    for words in
        ["simulated: virtual time 60 s", "nothing measured: costs from costs.ron; seed 1", "pass (simulated)"]
    {
        assert!(seen.stdout.contains(words), "{words:?} is not said in: {}", seen.stdout);
    }
}

#[test]
fn nodes_without_a_model_are_refused_and_a_template_is_filled_in() {
    let desk = desk();
    desk.run(&["g.ron", "--virtual", "--cost", "convert=1ms"])
        .refused(5, &["no cost model is known of the nodes `file` and `out`", "--costs-template"]);
    desk.run(&["g.ron", "--virtual", "--costs", "costs.ron", "--cost", "covnert=1ms"])
        .refused(5, &["costs of the node `covnert`", "did you mean `convert`?"]);
    desk.run(&["g.ron", "--virtual", "--costs", "nowhere.ron"]).refused(5, &["nowhere.ron cannot be read"]);
    desk.run(&["g.ron", "--virtual", "--cost", "convert=1"]).refused(5, &["--cost:1:1"]);
    let template = desk.run(&["g.ron", "--costs-template", "--cost", "out=1ms"]);
    assert_eq!(template.status, Some(0), "{}", template.stderr);
    assert!(template.stdout.contains(r#""out": (work: "1 ms"),"#), "{}", template.stdout);
    let filled =
        template.stdout.replace("interval: \"?\"", "interval: \"10 ms\"").replace("\"?\"", "\"2 ms\"");
    let desk = desk.with("filled.ron", filled);
    assert_eq!(desk.run(&["g.ron", "--virtual", "--costs", "filled.ron"]).status, Some(0));
}

#[test]
fn a_report_is_a_costs_file() {
    let desk = desk();
    let without = desk.run(&with(&["--format", "json", "--output", "bare.json"]));
    assert_eq!(without.status, Some(0), "{}", without.stderr);
    desk.run(&["g.ron", "--virtual", "--costs", "bare.json"])
        .refused(5, &["make it by a run with --measure-all"]);
    let measured = desk.run(&with(&["--measure-all", "--format", "json", "--output", "report.json"]));
    assert_eq!(measured.status, Some(0), "{}", measured.stderr);
    let again = desk.run(&["g.ron", "--virtual", "--costs", "report.json", "--cost", "convert=6ms"]);
    assert_eq!(again.status, Some(1), "{}", again.stderr);
    let seen = desk.run(&["g.ron", "--costs", "report.json", "--costs-template"]);
    assert!(seen.stdout.contains(r#""convert": (work: quantiles(min: "#), "{}", seen.stdout);
}

#[cfg(feature = "speech")]
#[test]
fn the_voice_graph_holds_its_budgets_with_its_costs_and_not_with_a_slow_recogniser() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../graphs/");
    let (graph, costs) = (format!("{root}voice.ron"), format!("{root}costs/voice.ron"));
    let desk = Desk::new();
    let voice = |more: &[&str]| {
        let whole = [&[&*graph, "--virtual", "--costs", &*costs, "--format", "json"][..], more].concat();
        let seen = desk.run(&whole);
        (seen.status, json(&seen.stdout))
    };
    let (status, report) = voice(&[]);
    assert_eq!((status, failed(&report)), (Some(0), Vec::new()));
    assert_eq!(report["interactions"]["answered"], report["interactions"]["begun"]);
    assert!(report["interactions"]["begun"].as_u64() >= Some(5));
    let (status, report) = voice(&["--cost", "stt=6 s"]);
    assert_eq!(
        (status, failed(&report)),
        (Some(1), vec!["stt.text -> nlu.in".to_owned(), "round trip".to_owned()])
    );
}
