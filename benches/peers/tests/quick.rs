//! The command itself, quickly: that everything runs and comes out whole. Its figures mean nothing.
#![expect(clippy::unwrap_used, reason = "what the tests share is a test too")]

use std::{collections::BTreeSet, path::Path, process::Command};

use serde_json::Value;

fn peers(json: &Path, arguments: &[&str]) -> Value {
    let done = Command::new(env!("CARGO_BIN_EXE_graph-peers"))
        .args(arguments)
        .args(["--quick", "--json"])
        .arg(json)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap()
}

fn is_spread(value: &Value) -> bool {
    let [min, median, max] = ["min", "median", "max"].map(|part| value[part].as_f64());
    min > Some(0.0) && min <= median && median <= max
}

#[test]
fn every_peer_has_every_figure_of_its_chains() {
    let directory = tempfile::tempdir().unwrap();
    let report = peers(&directory.path().join("peers.json"), &["--stages", "1,4"]);
    assert_eq!((report["schema_version"].as_u64(), report["rounds"].as_u64()), (Some(1), Some(2)));
    assert!(report["machine"]["kernel"].is_string(), "{report}");
    let rows = report["rows"].as_array().unwrap();
    let names: BTreeSet<&str> = rows.iter().map(|row| row["peer"].as_str().unwrap()).collect();
    let expected = [
        "ours",
        "dyn",
        "vecdeque",
        "rtrb",
        "crossbeam",
        "tokio",
        "copper",
        "copper-log",
        "futuresdr-message",
        "futuresdr-stream",
    ];
    for name in expected {
        assert!(names.contains(name), "{name} is missing in {names:?}");
    }
    for row in rows {
        assert!(row["configuration"].as_str().is_some_and(|words| words.len() > 10), "{row}");
        for figure in ["cpu_ns_per_hop", "hop_p50_ns", "hop_p99_ns", "e2e_p50_ns"] {
            assert!(is_spread(&row[figure]), "{figure} in {row}");
        }
    }
    // One thread and two, both payloads, both lengths.
    let ours = rows.iter().filter(|row| row["peer"] == "ours");
    assert_eq!(ours.count(), 8);
}

#[test]
fn floors_are_measured_and_written() {
    let directory = tempfile::tempdir().unwrap();
    let report = peers(&directory.path().join("floors.json"), &["floors"]);
    let floors = report["floors"].as_array().unwrap();
    assert_eq!(floors.len(), 12);
    for floor in floors {
        assert!(is_spread(&floor["p50_ns"]) && is_spread(&floor["p99_ns"]), "{floor}");
    }
}

#[test]
fn a_peer_that_is_not_there_is_an_error_that_says_so() {
    let done = Command::new(env!("CARGO_BIN_EXE_graph-peers")).args(["--peers", "nobody"]).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("no peer is called nobody: `graph-peers list` shows them"), "{said}");
}
