//! The touch graph from end to end: a recording is played into it in real time, and what it measured and meant is looked at.
#![cfg(feature = "touch")]

use std::{fs, path::Path, process::Command};

use graph_nodes::touch::{evemu, script};
use serde_json::Value;

fn graphs() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../graphs")
}

#[test]
fn the_recording_that_ships_is_the_scripts() {
    let there =
        fs::read_to_string(graphs().join("recordings/ten-fingers.events")).expect("the recording is there");
    assert!(
        there == evemu::text(&script::demonstration()),
        "out of date: cargo run -p graph-nodes --features touch --example ten_fingers > graphs/recordings/ten-fingers.events"
    );
}

#[test]
fn a_recording_is_understood_and_every_edge_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let overlay = folder.path().join("log.ron");
    let log = folder.path().join("touch.log");
    fs::write(&overlay, format!("(nodes: {{ \"virtual\": (with: (file: {log:?})) }})")).expect("written");
    let report = folder.path().join("report.json");
    let output = Command::new(env!("CARGO_BIN_EXE_graphrun"))
        .arg(graphs().join("touch.ron"))
        .args(["--format", "json", "--with"])
        .arg(&overlay)
        .arg("--output")
        .arg(&report)
        .output()
        .expect("graphrun runs");
    let told = String::from_utf8_lossy(&output.stderr);
    let status = output.status.code();
    assert!(
        matches!(status, Some(0 | 1)),
        "a budget may fail on a busy machine, nothing else: {status:?}\n{told}"
    );
    let report: Value = serde_json::from_str(&fs::read_to_string(&report).expect("a report")).expect("JSON");
    for edge in report["edges"].as_array().expect("edges") {
        let counts = &edge["counts"];
        let count = |what: &str| counts[what].as_u64().unwrap_or_else(|| panic!("{edge} has no {what}"));
        assert!(count("taken") > 0, "{edge}");
        let gone = count("dropped") + count("cancelled") + count("lost") + count("left");
        assert_eq!(count("sent"), count("taken") + gone, "{edge}");
    }
    assert!(report["paths"][0]["cost"]["n"].as_u64() > Some(20), "{}", report["paths"]);

    let log = fs::read_to_string(log).expect("the log is written");
    let lines: Vec<&str> = log.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
    let pressed = lines.iter().filter(|line| line.starts_with("press ") && line.ends_with(" 1")).count();
    let released = lines.iter().filter(|line| line.starts_with("press ") && line.ends_with(" 0")).count();
    assert_eq!(pressed, released, "{log}");
    // H, E, L, L, O by the kernel's numbers.
    let typed: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("press ")?.strip_suffix(" 1")).collect();
    assert!(typed.windows(5).any(|keys| keys == ["35", "18", "38", "38", "24"]), "{typed:?}");
}
