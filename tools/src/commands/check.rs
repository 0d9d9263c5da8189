//! `graphrun check FILE`.

use std::{fs, path::Path};

use graph_core::{
    AssetRef,
    check::{self, Layout},
    floors::Floors,
};

use super::{fail, print};
use crate::{
    analysis::Analysis,
    assets::Catalogue,
    cli::{CheckArgs, Format},
    exit,
    graph::{self, Graph},
    live::look,
    render, terminal,
};

/// Checks a graph and its budgets without running it.
pub fn run(args: &CheckArgs) -> u8 {
    let registry = graph_nodes::registry();
    let format = args.report.format;
    let mut graph = match graph::load(&args.graph, &registry, format) {
        Ok(graph) => graph,
        Err(status) => return status,
    };
    let base = args.graph.file.parent().unwrap_or(Path::new(""));
    graph.diagnostics.extend(check::files(&graph.plan, &registry, &|file| missing(file, base)));
    let floors = floors(&mut graph);
    graph.diagnostics.sort();
    if graph.diagnostics.refuse(args.strict) {
        return graph::refuse(&graph.diagnostics, format);
    }
    let layout = args.plan.then(|| Layout::of(&graph.plan, &registry));
    let text = match format {
        Format::Json => graph::json(&Analysis::of(&graph, floors.as_ref(), layout.as_ref())),
        Format::Human => {
            terminal::say(&graph.diagnostics.render(usize::from(terminal::stderr().width)));
            let mut look = look(&terminal::stdout());
            look.colour &= args.report.output.is_none();
            render::plan(&graph.plan, floors.as_ref(), layout.as_ref(), &look)
        }
    };
    match &args.report.output {
        None => print(&text),
        Some(path) => match fs::write(path, text) {
            Ok(()) => exit::OK,
            Err(error) => fail(&format_args!("cannot write {}: {error}", path.display())),
        },
    }
}

/// Measures this machine, and complains of limits that it cannot keep.
fn floors(graph: &mut Graph) -> Option<Floors> {
    match Floors::measure() {
        Ok(floors) => {
            graph.diagnostics.extend(check::floors(&graph.spec, &graph.plan, &floors));
            Some(floors)
        }
        Err(error) => {
            tracing::warn!("limits are not compared with this machine's floors: {error}");
            None
        }
    }
}

/// What is wrong with a file that a node needs. An asset that is not here yet is fetched before the run.
fn missing(file: &AssetRef, base: &Path) -> Option<String> {
    match file.name() {
        Some(name) => Catalogue::shipped().find(name).err().map(|error| error.to_string()),
        None => {
            let path = base.join(file.as_str());
            (!path.exists()).then(|| format!("there is no file {}", path.display()))
        }
    }
}
