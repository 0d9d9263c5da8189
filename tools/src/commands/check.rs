//! `graphrun check FILE`.

use super::print;
use crate::{
    cli::{CheckArgs, Format},
    exit,
    graph::{self, Findings},
    terminal,
};

/// Checks a graph and its budgets without running it.
pub fn run(args: &CheckArgs) -> u8 {
    let registry = graph_nodes::registry();
    let format = args.report.format;
    let graph = match graph::load(&args.graph, &registry, format) {
        Ok(graph) => graph,
        Err(status) => return status,
    };
    if graph.diagnostics.refuse(args.strict) {
        return graph::refuse(&graph.diagnostics, format);
    }
    match format {
        Format::Json => print(&graph::json(&Findings {
            schema_version: 1,
            exit_code: exit::OK,
            diagnostics: &graph.diagnostics,
        })),
        Format::Human => {
            terminal::say(&graph.diagnostics.render(usize::from(terminal::stderr().width)));
            let plan = &graph.plan;
            let mut text = format!(
                "{}: {} nodes in {} lanes, {} edges, {} paths\n",
                plan.name,
                plan.nodes.len(),
                plan.lanes.len(),
                plan.edges.len(),
                plan.paths.len()
            );
            for allocation in &plan.allocations {
                text += &format!("{}: {allocation}\n", plan.paths[allocation.path].name);
            }
            print(&text)
        }
    }
}
