//! The command itself, quickly: that everything runs and comes out whole. Its figures mean nothing.

use std::process::Command;

use graph_benches::figures::TABLE;
use serde_json::Value;

#[test]
fn every_figure_is_printed_and_written_and_no_difference_is_negative() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("figures.json");
    let done =
        Command::new(env!("CARGO_BIN_EXE_figures")).args(["--quick", "--json"]).arg(&json).output().unwrap();
    let (said, printed) = (String::from_utf8_lossy(&done.stderr), String::from_utf8_lossy(&done.stdout));
    assert!(done.status.success(), "{said}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!((report["schema_version"].as_u64(), report["negative"].as_u64()), (Some(1), Some(0)));
    assert!(report["machine"]["kernel"].is_string(), "{report}");
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), TABLE.len());
    for (def, row) in TABLE.iter().zip(rows) {
        assert!(printed.contains(&format!("| {} |", def.name)), "{} is missing in {printed}", def.name);
        assert_eq!(row["id"], def.id);
        // Those want a second build.
        let alone = !def.id.starts_with("measuring");
        assert_eq!(row["measured"]["median"].is_f64(), alone, "{row}");
        assert_eq!(row["met"].is_boolean(), alone && def.at_most.is_some(), "{row}");
    }
}

#[test]
fn a_build_that_measures_is_no_build_to_compare_with() {
    let program = env!("CARGO_BIN_EXE_figures");
    let done = Command::new(program).args(["--quick", "--against", program]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && said.contains("build it with GRAPHRUN_UNMEASURED=1"), "{said}");
}
