//! `graphrun report --criterion` on folders such as criterion writes.

#![allow(clippy::unwrap_used, reason = "the helpers of a test may unwrap like the test itself")]

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::{Value, json};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A graph with these benches and nothing else; it could not run.
    fn graph(&self, name: &str, benches: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("(name: \"micro\", benches: [{benches}])")).unwrap();
    }

    /// What criterion keeps of a benchmark whose samples took these times, each of ten iterations.
    fn measured(&self, id: &str, samples: &[f64]) {
        let new = self.path("criterion").join(id.replace('/', "_")).join("deep/new");
        fs::create_dir_all(&new).unwrap();
        let write = |name: &str, value: Value| fs::write(new.join(name), value.to_string()).unwrap();
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        let estimate = |value: f64| {
            json!({
                "confidence_interval": { "confidence_level": 0.95, "lower_bound": value, "upper_bound": value },
                "point_estimate": value,
                "standard_error": 0.1,
            })
        };
        write("benchmark.json", json!({ "group_id": "g", "function_id": null, "full_id": id, "title": id }));
        write(
            "estimates.json",
            json!({ "mean": estimate(mean), "median": estimate(sorted[samples.len() / 2]), "slope": null }),
        );
        let times: Vec<f64> = samples.iter().map(|sample| sample * 10.0).collect();
        write(
            "sample.json",
            json!({ "sampling_mode": "Flat", "iters": vec![10.0; samples.len()], "times": times }),
        );
    }

    fn report(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_graphrun"))
            .args(["report", "--criterion", "criterion"])
            .args(arguments)
            .current_dir(self.0.path())
            .env("COLUMNS", "120")
            .env("LC_ALL", "C")
            .output()
            .unwrap()
    }

    fn json(&self, file: &str) -> (Value, i32) {
        let output = self.report(&[file, "--format", "json"]);
        let json =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (json, output.status.code().unwrap())
    }
}

fn steady(nanos: f64) -> Vec<f64> {
    vec![nanos; 100]
}

/// 95 samples of `usual` and five of `high`.
fn spiky(usual: f64, high: f64) -> Vec<f64> {
    (0..100).map(|n| if n % 20 == 7 { high } else { usual }).collect()
}

#[test]
fn what_holds_passes_with_its_margin_and_beside_its_reference() {
    let folder = Folder::new();
    folder.graph(
        "micro.ron",
        r#"(id: "ipc/from_bytes", budget: (mean: "100 ns", p50: "100 ns", reference: "2.9 ns")),
           (id: "rtp/parse", budget: (mean: "100 ns", reference: "< 100 ns"))"#,
    );
    folder.measured("ipc/from_bytes", &steady(3.2));
    folder.measured("rtp/parse", &steady(40.0));
    let (report, status) = folder.json("micro.ron");
    assert_eq!((status, &report["verdict"], &report["exit_code"]), (0, &json!("pass"), &json!(0)));
    let benches = &report["graphs"][0]["benches"];
    assert_eq!(benches[0]["mean_ps"], 3_200);
    assert_eq!(benches[0]["limits"][0]["category"], "safe");
    assert_eq!(benches[0]["limits"][1]["stat"], "p50");
    assert_eq!(benches[1]["reference"], json!({ "below_ns": 100 }));
    assert_eq!(benches[1]["against_reference"], "under", "a bound has no ratio");
    assert_eq!(benches[1]["limits"][0]["category"], "monitor");
    let text = String::from_utf8(folder.report(&["micro.ron"]).stdout).unwrap();
    let row = text.lines().find(|line| line.starts_with("ipc/from_bytes")).unwrap();
    assert!(row.contains("3.2 ns") && row.contains("31x") && row.ends_with("pass"), "{text}");
    assert!(text.contains("< 100 ns") && text.contains("3 limits, 3 pass"), "{text}");
}

#[test]
fn a_mean_that_fails_while_the_median_holds_is_put_down_to_outliers() {
    let folder = Folder::new();
    folder.graph("micro.ron", r#"(id: "a", budget: (mean: "100 ns", p50: "100 ns"))"#);
    folder.measured("a", &spiky(90.0, 900.0));
    let (report, status) = folder.json("micro.ron");
    assert_eq!((status, &report["verdict"]), (1, &json!("fail")));
    let [mean, median] = [0, 1].map(|at| report["graphs"][0]["benches"][0]["limits"][at].clone());
    assert_eq!((&mean["verdict"], &median["verdict"]), (&json!("fail"), &json!("pass")));
    assert!(mean["reason"].as_str().unwrap().starts_with("outliers: "), "{mean}");
    assert_eq!(report["graphs"][0]["benches"][0]["outliers"], 5);
    let text = String::from_utf8(folder.report(&["micro.ron"]).stdout).unwrap();
    assert!(text.contains("FAIL") && text.contains("outliers: the mean fails, the median holds"), "{text}");
}

#[test]
fn a_limit_without_figures_is_undecided_and_one_that_fails_outweighs_it() {
    let folder = Folder::new();
    folder.graph("gone.ron", r#"(id: "gone", budget: (mean: "1 us"))"#);
    let (report, status) = folder.json("gone.ron");
    assert_eq!((status, &report["verdict"]), (4, &json!("no-data")), "the folder is not there at all");

    folder.measured("slow", &steady(2_000.0));
    let (report, status) = folder.json("gone.ron");
    let bench = &report["graphs"][0]["benches"][0];
    assert_eq!((status, &bench["limits"][0]["verdict"]), (4, &json!("no-data")));
    assert_eq!(bench["reason"], "criterion has no `gone`; `cargo bench` measures it");

    folder.graph("both.ron", r#"(id: "gone", budget: (mean: "1 us")), (id: "slow", budget: (mean: "1 us"))"#);
    assert_eq!(folder.json("both.ron").1, 1);
    folder.graph("warn.ron", r#"(id: "slow", budget: (mean: (limit: "1 us", level: warn)))"#);
    let (report, status) = folder.json("warn.ron");
    assert_eq!((status, &report["verdict"]), (0, &json!("warn")));
}

#[test]
fn a_reference_alone_is_shown_and_not_judged() {
    let folder = Folder::new();
    folder.graph(
        "micro.ron",
        r#"(id: "a", budget: (reference: "50 ns")), (id: "gone", budget: (reference: "300..500 ns"))"#,
    );
    folder.measured("a", &steady(75.0));
    let (report, status) = folder.json("micro.ron");
    assert_eq!((status, &report["verdict"]), (0, &json!("not-budgeted")));
    let benches = &report["graphs"][0]["benches"];
    assert_eq!(benches[0]["against_reference"], json!({ "times": 1.5 }));
    assert_eq!((&benches[0]["verdict"], &benches[1]["verdict"]), (&json!("not-budgeted"), &json!("no-data")));
}

#[test]
fn damaged_figures_are_no_figures_and_named_with_their_file() {
    let folder = Folder::new();
    folder.graph("micro.ron", r#"(id: "a", budget: (mean: "1 us"))"#);
    folder.measured("a", &steady(75.0));
    let file = folder.path("criterion/a/deep/new/sample.json");
    for damaged in ["{", r#"{"iters":[0.0],"times":[1.0]}"#, r#"{"iters":[1.0],"times":[]}"#] {
        fs::write(&file, damaged).unwrap();
        let (report, status) = folder.json("micro.ron");
        let reason = report["graphs"][0]["benches"][0]["reason"].as_str().unwrap();
        assert!(status == 4 && reason.contains("sample.json cannot be read"), "{damaged}: {reason}");
    }
}

#[test]
fn without_a_file_the_graphs_that_have_benches_are_taken_and_wrong_ones_are_told() {
    let folder = Folder::new();
    let output = folder.report(&[]);
    assert_eq!(output.status.code(), Some(2));
    folder.graph("graphs/micro.ron", r#"(id: "a", budget: (mean: "1 us"))"#);
    fs::write(folder.path("graphs/words.ron"), "no graph").unwrap();
    folder.measured("a", &steady(75.0));
    let output = folder.report(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));

    folder.graph("wrong.ron", r#"(id: "a", budget: (mean: 100))"#);
    let output = folder.report(&["wrong.ron"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(5) && told.contains("wrong.ron"), "{told}");
}
