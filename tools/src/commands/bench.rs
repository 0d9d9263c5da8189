//! `graphrun bench KIND|FILE`.

use std::path::Path;

use graph_core::{
    Registry,
    bench::NotBenched,
    budget::{Bound, Measure},
    diagnostic::near_miss,
    kind::Kinds,
    report::Machine,
};
use serde::Serialize;

use super::{fail, output::Output};
use crate::{
    bench::{self, Benched, Compared, Effort},
    cli::{BenchArgs, Format, GraphArgs},
    exit, graph,
    render::{self, Share},
    terminal,
};

/// Times one kind, every node of a graph, or every kind.
///
/// The exit status is 0 though a node alone be over a limit: figures of one node are said, not judged. It is 6 where a
/// node fails with its sample.
pub fn run(args: &BenchArgs) -> u8 {
    let registry = graph_nodes::registry();
    let format = args.report.format;
    let output = match Output::open(args.report.output.as_deref()) {
        Ok(output) => output,
        Err(status) => return status,
    };
    let machine = Machine::read();
    let effort = Effort::default();
    let begins = |what: &str| terminal::say(&format_args!("graphrun: timing {what}\n"));
    let (graph, benched) = match &args.target {
        None => {
            let kinds = registry.kinds().map(|kind| {
                begins(kind.kind);
                bench::kind(&registry, kind.kind, &effort)
            });
            (None, kinds.collect())
        }
        Some(target) => match bench::is_file(target) {
            Some(file) => {
                let base = file.parent().map(Path::to_owned).unwrap_or_default();
                let graph_args = GraphArgs { file, overlays: args.overlays.clone() };
                let graph = match graph::load(&graph_args, &registry, format) {
                    Ok(graph) => graph,
                    Err(status) => return status,
                };
                let benched = bench::graph(&registry, &graph.plan, &base, &effort, begins);
                (Some(graph.plan.name), benched)
            }
            None if registry.get(target).is_none() => return unknown(&registry, target),
            None => (None, vec![bench::kind(&registry, target, &effort)]),
        },
    };
    let exit_code = if benched.iter().any(has_failed) { exit::NODE_FAILED } else { exit::OK };
    let text = match format {
        Format::Json => graph::json(&document(graph.as_deref(), exit_code, &machine, &benched)),
        Format::Human => {
            let look = output.look();
            render::bench(graph.as_deref(), &machine, &benched, &look)
        }
    };
    exit::combine([exit_code, output.write(&text)])
}

fn unknown(registry: &Registry, target: &str) -> u8 {
    match registry.missing_feature(target) {
        Some(feature) => {
            fail(&format_args!("`{target}` needs the cargo feature `{feature}`, which this build lacks"))
        }
        None => {
            let near = near_miss(target, registry.names());
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            fail(&format_args!(
                "`{target}` is no kind and no graph file{near}; `graphrun nodes` lists the kinds"
            ))
        }
    };
    exit::USAGE
}

/// Whether a node failed, which one that cannot be benched here did not.
fn has_failed(benched: &Benched) -> bool {
    matches!(&benched.figures, Err(error) if !matches!(error, NotBenched::NoSample(_)))
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    exit_code: u8,
    graph: Option<&'a str>,
    machine: &'a Machine,
    nodes: Vec<NodeDocument<'a>>,
}

#[derive(Serialize)]
struct NodeDocument<'a> {
    node: Option<&'a str>,
    kind: &'a str,
    /// Why there are no figures.
    reason: Option<String>,
    samples: Option<usize>,
    steps_per_sample: Option<u64>,
    mean_ns: Option<u64>,
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    p999_ns: Option<u64>,
    max_ns: Option<u64>,
    /// Between two steps in a running graph.
    every_ns: Option<u64>,
    real_time_factor: Option<f64>,
    /// Of one step of each node of the graph, 0.0 to 1.0.
    share: Option<f64>,
    limits: Vec<LimitDocument<'a>>,
}

#[derive(Serialize)]
struct LimitDocument<'a> {
    edge: &'a str,
    /// `None` where the file names none: the first packet of a cause on a `many` output, else the latency.
    measure: Option<Measure>,
    stat: Option<&'static str>,
    limit: Option<u64>,
    unit: &'static str,
    alone_ns: u64,
    standing: &'static str,
}

fn document<'a>(
    graph: Option<&'a str>,
    exit_code: u8,
    machine: &'a Machine,
    benched: &'a [Benched],
) -> Document<'a> {
    let share = Share::of(benched);
    let nodes = benched.iter().map(|node| {
        let figures = node.figures.as_ref().ok();
        let nanos = |figure: Option<f64>| figure.map(|nanos| nanos.round() as u64);
        NodeDocument {
            node: node.node.as_deref(),
            kind: &node.kind,
            reason: node.figures.as_ref().err().map(ToString::to_string),
            samples: figures.map(|figures| figures.samples),
            steps_per_sample: figures.map(|figures| figures.steps_per_sample),
            mean_ns: nanos(figures.map(|figures| figures.mean)),
            p50_ns: nanos(figures.map(|figures| figures.p50)),
            p90_ns: nanos(figures.map(|figures| figures.p90)),
            p99_ns: nanos(figures.map(|figures| figures.p99)),
            p999_ns: nanos(figures.map(|figures| figures.p999)),
            max_ns: nanos(figures.map(|figures| figures.max)),
            every_ns: node.every.map(|every| every.0),
            real_time_factor: node.real_time_factor(),
            share: graph.and_then(|_| share.of_node(node)),
            limits: node.limits.iter().map(limit).collect(),
        }
    });
    Document { schema_version: 1, exit_code, graph, machine, nodes: nodes.collect() }
}

fn limit(compared: &Compared) -> LimitDocument<'_> {
    let (measure, stat, limit) = match compared.limit.bound {
        Bound::AtMost { measure, stat, limit } => (measure, Some(stat.name()), Some(limit.0)),
        Bound::RateAtLeast(_) | Bound::DropsAtMost(_) => (None, None, None),
    };
    LimitDocument {
        edge: &compared.edge,
        measure,
        stat,
        limit,
        unit: "ns",
        alone_ns: compared.alone.round() as u64,
        standing: compared.standing.name(),
    }
}
