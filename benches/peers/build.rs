//! Writes the graphs that copper compiles in, and says which versions are built.

use std::{env, error::Error, fmt::Write, fs, path::Path};

/// As `main` knows them.
const STAGES: [usize; 4] = [1, 4, 10, 100];

/// Whose versions the table shows.
const CRATES: [&str; 7] =
    ["graph-core", "rtrb", "crossbeam-channel", "tokio", "cu29", "futuresdr", "gstreamer"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.lock");
    cu29_build::setup();
    let out = env::var("OUT_DIR")?;
    let mut apps = String::new();
    for (app, payload, log) in
        [("Small", "Small", false), ("Large", "Large", false), ("Logged", "Small", true)]
    {
        for stages in STAGES {
            let path = Path::new(&out).join(format!("{app}{stages}.ron"));
            fs::write(&path, copper(stages, payload, log))?;
            let name = format!("{app}{stages}");
            // A module each: the names that the macro makes up are the same every time.
            let _ = writeln!(
                apps,
                "mod {} {{ use super::*; #[copper_runtime(config = {path:?})] struct {name} {{}} iterate!({name}); }}",
                name.to_lowercase(),
            );
        }
    }
    fs::write(Path::new(&out).join("copper.rs"), apps)?;
    versions()
}

/// A chain as copper's configuration has it.
fn copper(stages: usize, payload: &str, log: bool) -> String {
    let mut tasks = format!("(id: \"n0\", type: \"First{payload}\"),\n");
    let mut edges = String::new();
    for node in 1..=stages + 1 {
        let task = if node <= stages { "Middle" } else { "Last" };
        let _ = writeln!(tasks, "(id: \"n{node}\", type: \"{task}{payload}\"),");
        let _ = writeln!(edges, "(src: \"n{}\", dst: \"n{node}\", msg: \"{payload}Message\"),", node - 1);
    }
    format!(
        "(\nlogging: (enable_task_logging: {log}, enable_keyframe_logging: {log}),\ntasks: [\n{tasks}],\ncnx: [\n{edges}],\n)\n"
    )
}

/// Of the locked versions, the one that this crate itself depends on: a peer may bring another one for its own use.
fn versions() -> Result<(), Box<dyn Error>> {
    let lock = fs::read_to_string("Cargo.lock")?;
    let own = lock
        .split("[[package]]")
        .find(|package| package.contains("name = \"graph-peers\""))
        .unwrap_or_default();
    for name in CRATES {
        // A dependency is listed with its version only where there are several.
        let version = own
            .split_once(&format!("\"{name} "))
            .or_else(|| lock.split_once(&format!("name = \"{name}\"\nversion = \"")))
            .and_then(|(_, version)| version.split('"').next())
            .unwrap_or("-");
        println!("cargo::rustc-env=VERSION_{}={version}", name.to_uppercase().replace('-', "_"));
    }
    Ok(())
}
