//! The pages that are made by commands are what the commands give.
#![cfg(all(feature = "audio", feature = "net", feature = "spatial", feature = "speech", feature = "touch"))]

use std::{fs, path::Path, process::Command};

fn page(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_graphrun"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .expect("graphrun runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a page is text")
}

fn same(file: &str, arguments: &[&str]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == page(arguments),
        "{file} is out of date: tools/graphrun {} > {file}",
        arguments.join(" ")
    );
}

#[test]
fn the_node_reference_is_the_registry() {
    same("docs/nodes.md", &["nodes", "--markdown"]);
}

#[test]
fn the_page_of_budgets_is_the_graph_files() {
    same(
        "docs/latency-budget.md",
        &["budgets", "graphs/voice.ron", "graphs/spatial.ron", "graphs/touch.ron"],
    );
}
