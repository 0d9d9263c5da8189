//! `graphrun budgets FILE ..`.

use std::fmt::Write;

use graph_core::{
    check::Plan,
    file::{BudgetSpec, GraphSpec},
};

use super::print;
use crate::{
    cli::{BudgetsArgs, Format, GraphArgs},
    graph,
};

/// Writes the budgets of graphs as a page of Markdown.
pub fn run(args: &BudgetsArgs) -> u8 {
    let registry = graph_nodes::registry();
    let mut page = String::from(
        "# Latency budget\n\nMade by `graphrun budgets` from the graph files, where the numbers live. A reference is what \
         somebody measured elsewhere; it is compared, never judged. A stage is the edge that leaves it.\n",
    );
    for file in &args.files {
        let graph = GraphArgs { file: file.clone(), overlays: Vec::new() };
        match graph::load(&graph, &registry, Format::Human) {
            Ok(graph) => section(&mut page, &graph.spec, &graph.plan),
            Err(status) => return status,
        }
    }
    print(&page)
}

fn section(page: &mut String, spec: &GraphSpec, plan: &Plan) {
    let class = spec.class.as_deref().unwrap_or("none named");
    let about = spec.about.as_deref().unwrap_or_default();
    let _ = write!(page, "\n## {}\n\n{about}\n\nMachine class of the figures: {class}.\n", spec.name);
    let edges = spec.edges.iter().map(|edge| (format!("`{}`", edge.name()), &edge.budget));
    table(page, "edge", edges);
    let paths = spec.paths.iter().map(|path| {
        (format!("{} (`{}` to `{}`)", path.name.value, path.from.value, path.to.value), &path.budget)
    });
    table(page, "path", paths);
    for allocation in &plan.allocations {
        let _ = write!(page, "\n{}: {allocation}.\n", plan.paths[allocation.path].name);
    }
    table(
        page,
        "benchmark",
        spec.benches.iter().map(|bench| (format!("`{}`", bench.id.value), &bench.budget)),
    );
}

fn table<'a>(page: &mut String, what: &str, rows: impl Iterator<Item = (String, &'a BudgetSpec)>) {
    let budgeted =
        |(_, budget): &(String, &BudgetSpec)| !budget.limits.is_empty() || budget.reference.is_some();
    let mut rows = rows.filter(budgeted).peekable();
    if rows.peek().is_none() {
        return;
    }
    let _ = write!(page, "\n| {what} | limits | reference | basis |\n|---|---|---|---|\n");
    for (name, budget) in rows {
        let limits: Vec<String> = budget.limits.iter().map(|limit| limit.value.bound.to_string()).collect();
        let basis = budget.limits.iter().filter_map(|limit| {
            let assumed = if limit.value.assumed { "assumed: " } else { "" };
            limit.value.basis.as_ref().map(|basis| format!("{assumed}{basis}"))
        });
        let basis: Vec<String> = basis.collect();
        // The file's own words: a reference may be a bound, a range or a fraction of a nanosecond.
        let reference = budget.reference.as_ref().map(|reference| reference.span.text().trim_matches('"'));
        let _ = writeln!(
            page,
            "| {name} | {} | {} | {} |",
            limits.join(", "),
            reference.unwrap_or_default(),
            basis.join("; ")
        );
    }
}
