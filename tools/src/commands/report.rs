//! `graphrun report --criterion DIR FILE ..`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use graph_core::{
    diagnostic::{Diagnostics, Severity},
    file::{Disk, GraphSpec, load},
    report::Machine,
};

use super::{fail, output::Output};
use crate::{
    cli::{CriterionArgs, Format},
    criterion::{Criterion, Report},
    exit, graph, render, terminal,
};

/// Judges what criterion measured by the budgets of benchmarks in graph files.
pub fn run(args: &CriterionArgs) -> u8 {
    let files = match files(args) {
        Ok(files) => files,
        Err(status) => return status,
    };
    let graphs = match graphs(&files, &args.overlays) {
        Ok(graphs) => graphs,
        Err(diagnostics) => return graph::refuse(&diagnostics, args.report.format),
    };
    let criterion = match Criterion::open(&args.criterion) {
        Ok(criterion) => Some(criterion),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = args.criterion.display();
            terminal::say(&format_args!(
                "graphrun: there is no folder {folder}: run `cargo bench`, or name criterion's folder\n"
            ));
            None
        }
        Err(error) => {
            fail(&format_args!("{} cannot be listed: {error}", args.criterion.display()));
            return exit::USAGE;
        }
    };
    let output = match Output::open(args.report.output.as_deref()) {
        Ok(output) => output,
        Err(status) => return status,
    };
    let report = Report::new(&args.criterion, criterion.as_ref(), &graphs, Machine::read());
    let text = match args.report.format {
        Format::Json => graph::json(&report),
        Format::Human => render::criterion(&report, &output.look()),
    };
    exit::combine([report.exit_code, output.write(&text)])
}

/// The files of the arguments, or those of the folder `graphs` that have `benches`.
fn files(args: &CriterionArgs) -> Result<Vec<PathBuf>, u8> {
    if !args.files.is_empty() {
        return Ok(args.files.clone());
    }
    let files = with_benches(Path::new("graphs"));
    if files.is_empty() {
        fail(&"no graph is named, and no file in the folder graphs has `benches`: name a graph file");
        return Err(exit::USAGE);
    }
    Ok(files)
}

fn with_benches(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let has_benches = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "ron")
            && fs::read_to_string(path).is_ok_and(|text| text.contains("benches:"))
    };
    let mut files: Vec<_> = entries.filter(has_benches).collect();
    files.sort();
    files
}

/// What the files state. They are not checked as graphs that are to run: a build without a kind of theirs judges
/// benchmarks all the same.
fn graphs(files: &[PathBuf], overlays: &[PathBuf]) -> Result<Vec<GraphSpec>, Diagnostics> {
    let registry = graph_nodes::registry();
    let (mut graphs, mut all) = (Vec::new(), Diagnostics::new());
    for file in files {
        let (graph, diagnostics) = load(&Disk, file, overlays, &registry);
        all.extend(diagnostics);
        graphs.extend(graph);
    }
    if all.count(Severity::Error) > 0 { Err(all) } else { Ok(graphs) }
}
