//! `graphrun FILE --virtual`: the graph with models of its nodes, under virtual time.

use std::time::Instant;

use graph_core::{
    Nanos, Registry,
    diagnostic::Diagnostics,
    file,
    model::{self, Costs},
    report::{Machine, Simulation},
};

use super::{
    fail,
    output::Output,
    print,
    run::{Circumstances, report, write},
};
use crate::{
    cli::{RunArgs, SimulationArgs},
    exit,
    graph::{self, Graph},
    terminal,
};

/// How much virtual time a run takes unless it is told.
const DURATION: Nanos = Nanos::from_secs(60);

/// Simulates a checked graph and judges its budgets, or writes a costs file for it.
pub(super) fn run(args: &RunArgs, graph: &Graph, registry: &Registry) -> u8 {
    let format = args.report.format;
    let costs = match costs(&args.simulation) {
        Ok(costs) => costs,
        Err(diagnostics) => return graph::refuse(&diagnostics, format),
    };
    if args.simulation.costs_template {
        return print(&costs.template(&graph.plan, registry).to_string());
    }
    let prepared = match model::prepare(&graph.plan, registry, &costs, args.simulation.seed) {
        Ok(prepared) => prepared,
        Err(diagnostics) => return graph::refuse(&diagnostics, format),
    };
    let output = match Output::open(args.report.output.as_deref()) {
        Ok(output) => output,
        Err(status) => return status,
    };
    let began = Instant::now();
    let outcome = match prepared.simulate(args.duration.unwrap_or(DURATION)) {
        Ok(outcome) => outcome,
        Err(error) => {
            fail(&error);
            return exit::NODE_FAILED;
        }
    };
    let took = Nanos::from(began.elapsed());
    let times = outcome.elapsed.0 / took.0.max(1);
    terminal::say(&format_args!(
        "simulated {} in {took}, {times} times as fast as real time\n",
        outcome.elapsed
    ));
    // Nothing here was measured on a machine, and the same seed gives the same report anywhere.
    let circumstances = Circumstances {
        machine: Machine::default(),
        interrupted: false,
        simulation: Some(simulation(&args.simulation)),
    };
    let report = report(graph, &outcome, circumstances);
    let written = write(&report, format, output);
    exit::combine([report.exit_code(), written])
}

/// All costs that the command line names, the last ones on top.
fn costs(args: &SimulationArgs) -> Result<Costs, Diagnostics> {
    let mut costs = Costs::default();
    let mut wrong = Diagnostics::new();
    for path in &args.costs {
        match file::costs(path) {
            Ok(read) => costs.lay_over(read),
            Err(diagnostics) => wrong.extend(diagnostics),
        }
    }
    for cost in &args.cost {
        if let Err(diagnostics) = costs.set(cost) {
            wrong.extend(diagnostics);
        }
    }
    if wrong.is_empty() { Ok(costs) } else { Err(wrong) }
}

fn simulation(args: &SimulationArgs) -> Simulation {
    let files = args.costs.iter().map(|path| path.display().to_string());
    Simulation { seed: args.seed, costs: files.chain(args.cost.iter().cloned()).collect() }
}
