//! `graphrun FILE`.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use graph_core::{
    AssetRef, Assets, Clock, Registry,
    budget::Bench,
    diagnostic::Severity,
    report::{Machine, Report, Run, Simulation},
    run::{Outcome, Running, Stopper, prepare},
};

use super::{fail, output::Output, simulate};
use crate::{
    assets::{self, Cache, Progress},
    cli::{Format, RunArgs},
    exit,
    graph::{self, Graph},
    live::Live,
    render, terminal,
};

/// How often the live view looks at the meters.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Checks a graph, fetches what it needs, runs it and judges its budgets.
pub fn run(args: &RunArgs) -> u8 {
    let registry = graph_nodes::registry();
    let mut graph = match graph::load(&args.graph, &registry, args.report.format) {
        Ok(graph) => graph,
        Err(status) => return status,
    };
    // Notes are for `check`: they do not call for anything.
    if graph.diagnostics.count(Severity::Warning) > 0 {
        terminal::say(&graph.diagnostics.render(usize::from(terminal::stderr().width)));
    }
    if args.measure_all {
        graph.plan.edges.iter_mut().for_each(|edge| edge.measure_all = true);
    }
    if args.simulation.is_virtual || args.simulation.costs_template {
        return simulate::run(args, &graph, &registry);
    }
    if let Err(error) = fetch(&graph, &registry) {
        fail(&error);
        return exit::NODE_FAILED;
    }
    let output = match Output::open(args.report.output.as_deref()) {
        Ok(output) => output,
        Err(status) => return status,
    };
    let machine = Machine::read();
    let base = args.graph.file.parent().map(Path::to_owned).unwrap_or_default();
    let assets: Arc<dyn Assets> = Arc::new(Cache { base });
    let prepared = match prepare(&graph.plan, &registry, assets, Clock::monotonic()) {
        Ok(prepared) => prepared,
        Err(diagnostics) => return graph::refuse(&diagnostics, args.report.format),
    };
    let interrupted = stop_on_interrupt(prepared.stopper());
    let running = match prepared.start() {
        Ok(running) => running,
        Err(error) => {
            fail(&error);
            if args.report.format == Format::Json {
                output.write(&graph::json(&graph::NotStarted::new(&error)));
            }
            return exit::NODE_FAILED;
        }
    };
    let outcome = watch(&graph, args, running);
    let interrupted = interrupted.load(Ordering::Relaxed);
    let report = report(&graph, &outcome, Circumstances { machine, interrupted, simulation: None });
    let written = write(&report, args.report.format, output);
    exit::combine([report.exit_code(), written])
}

/// Fetches the assets that the graph's nodes name.
fn fetch(graph: &Graph, registry: &Registry) -> Result<(), assets::AssetError> {
    let needed =
        graph.plan.nodes.iter().flat_map(|node| registry.assets(&node.kind, &node.with).unwrap_or_default());
    let mut names: Vec<String> =
        needed.filter_map(|asset: AssetRef| asset.name().map(str::to_owned)).collect();
    names.sort_unstable();
    names.dedup();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut progress = Progress::on_stderr();
    assets::ensure(&names, &mut |event| progress.show(event)).map(drop)
}

/// The first interrupt ends the sources, the third the process.
fn stop_on_interrupt(stopper: Stopper) -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let (flag, times) = (interrupted.clone(), AtomicU32::new(0));
    let handler = move || match times.fetch_add(1, Ordering::Relaxed) {
        0 => {
            flag.store(true, Ordering::Relaxed);
            terminal::say(&"\ngraphrun: ending; interrupt twice more to end at once\n");
            stopper.stop();
        }
        1 => {}
        _ => std::process::exit(i32::from(exit::INTERRUPTED)),
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        tracing::warn!("an interrupt will end the run without a report: {error}");
    }
    interrupted
}

/// Shows the run while it goes on, and ends its sources when the arguments say so.
fn watch(graph: &Graph, args: &RunArgs, running: Running) -> Outcome {
    let mut live = Live::on_stderr();
    let stopper = running.stopper();
    while !running.is_finished() {
        if let Ok(event) = running.events().recv_timeout(LOOK_EVERY) {
            live.event(&event);
            running.events().try_iter().for_each(|event| live.event(&event));
        }
        live.state(&graph.plan, &running);
        let over = args.duration.is_some_and(|limit| running.elapsed() >= limit);
        if over || args.turns.is_some_and(|turns| running.turns().1 >= turns) {
            stopper.stop();
        }
    }
    running.events().try_iter().for_each(|event| live.event(&event));
    live.end();
    running.wait()
}

/// What a report tells of a run beside what was measured.
pub(super) struct Circumstances {
    pub(super) machine: Machine,
    pub(super) interrupted: bool,
    pub(super) simulation: Option<Simulation>,
}

pub(super) fn report(graph: &Graph, outcome: &Outcome, circumstances: Circumstances) -> Report {
    let Circumstances { machine, interrupted, simulation } = circumstances;
    let benches: Vec<Bench> = graph
        .spec
        .benches
        .iter()
        .map(|bench| Bench { id: bench.id.value.clone(), budget: bench.budget.to_budget() })
        .collect();
    let overheads: Vec<String> =
        graph.spec.overheads.iter().map(|overhead| overhead.name.value.clone()).collect();
    Run {
        plan: &graph.plan,
        edges: &outcome.edges,
        paths: &outcome.paths,
        benches: &benches,
        overheads: &overheads,
        machine,
        elapsed: outcome.elapsed,
        interactions: outcome.interactions.clone(),
        interrupted,
        simulation,
        notes: outcome.notes.iter().cloned().map(Into::into).collect(),
        failures: outcome.failures.clone(),
    }
    .report()
}

pub(super) fn write(report: &Report, format: Format, output: Output) -> u8 {
    let text = match format {
        Format::Json => graph::json(report),
        Format::Human => render::human(report, &output.look()),
    };
    output.write(&text)
}
