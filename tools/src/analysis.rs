//! What `check --format json` gives.

use graph_core::{
    Nanos,
    check::{Allocation, Layout, Plan, QuantileSum, QueueBound},
    floors::Floors,
};
use serde::Serialize;

use crate::{
    exit,
    graph::{Findings, Graph},
};

/// A sound graph, analysed.
#[derive(Serialize)]
pub struct Analysis<'a> {
    #[serde(flatten)]
    findings: Findings<'a>,
    graph: &'a str,
    /// Each limit of a path on a maximum or a mean.
    sums: Vec<Sum<'a>>,
    /// Each path on which a quantile is limited.
    quantiles: Vec<Quantile<'a>>,
    /// Each queue, latches and wires excepted.
    queues: Vec<Queue>,
    /// What this machine takes for a hop; null where it was not measured.
    floors: Option<&'a Floors>,
    /// What the graph runs as, where that was asked for.
    plan: Option<&'a Layout>,
}

#[derive(Serialize)]
struct Sum<'a> {
    path: &'a str,
    measure: &'static str,
    stat: &'static str,
    limit_ns: u64,
    sum_ns: u64,
    slack_ns: u64,
    over_ns: u64,
    /// What packets after the first may take, where the limit covers several.
    intervals_ns: Option<u64>,
    parts: Vec<Part>,
    /// Edges without a limit that counts.
    open: Vec<String>,
}

#[derive(Serialize)]
struct Part {
    edge: String,
    stat: &'static str,
    limit_ns: u64,
}

#[derive(Serialize)]
struct Quantile<'a> {
    path: &'a str,
    measure: &'static str,
    sum_ns: u64,
    /// The share of packets that keeps the sum, 0 to 1; null where none is guaranteed.
    guaranteed: Option<f64>,
    /// Why none is.
    reason: Option<&'a str>,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Queue {
    edge: String,
    packets: usize,
    service_ns: Option<u64>,
    worst_wait_ns: Option<u64>,
    /// The edge's own tightest limit that the wait is a part of.
    limit: Option<Limit>,
    /// Whether a full queue alone breaks it.
    over: Option<bool>,
    /// Edges whose missing limit leaves the service open.
    open: Vec<String>,
}

#[derive(Serialize)]
struct Limit {
    measure: &'static str,
    limit_ns: u64,
}

impl<'a> Analysis<'a> {
    /// From a checked graph.
    pub fn of(graph: &'a Graph, floors: Option<&'a Floors>, layout: Option<&'a Layout>) -> Analysis<'a> {
        let plan = &graph.plan;
        Analysis {
            findings: Findings { schema_version: 1, exit_code: exit::OK, diagnostics: &graph.diagnostics },
            graph: &plan.name,
            sums: plan.allocations.iter().map(|sum| Sum::of(plan, sum)).collect(),
            quantiles: plan.quantiles.iter().map(|sum| Quantile::of(plan, sum)).collect(),
            queues: plan.queues.iter().map(|queue| Queue::of(plan, queue)).collect(),
            floors,
            plan: layout,
        }
    }
}

fn names(plan: &Plan, edges: &[usize]) -> Vec<String> {
    edges.iter().map(|edge| plan.edges[*edge].name()).collect()
}

fn nanos(time: Option<Nanos>) -> Option<u64> {
    time.map(|time| time.0)
}

impl<'a> Sum<'a> {
    fn of(plan: &'a Plan, sum: &Allocation) -> Sum<'a> {
        let stat = sum.stat.name();
        let part =
            |(edge, time): &(usize, Nanos)| Part { edge: plan.edges[*edge].name(), stat, limit_ns: time.0 };
        Sum {
            path: &plan.paths[sum.path].name,
            measure: sum.measure.name(),
            stat,
            limit_ns: sum.limit.0,
            sum_ns: sum.sum.0,
            slack_ns: sum.slack().0,
            over_ns: sum.excess().0,
            intervals_ns: nanos(sum.intervals),
            parts: sum.parts.iter().map(part).collect(),
            open: names(plan, &sum.open),
        }
    }
}

impl<'a> Quantile<'a> {
    fn of(plan: &'a Plan, sum: &'a QuantileSum) -> Quantile<'a> {
        let parts = sum.parts.iter().map(|(edge, stat, time)| Part {
            edge: plan.edges[*edge].name(),
            stat: stat.name(),
            limit_ns: time.0,
        });
        Quantile {
            path: &plan.paths[sum.path].name,
            measure: sum.measure.name(),
            sum_ns: sum.sum.0,
            guaranteed: sum.guaranteed.as_ref().ok().map(|permille| *permille as f64 / 1000.0),
            reason: sum.guaranteed.as_ref().err().map(String::as_str),
            parts: parts.collect(),
        }
    }
}

impl Queue {
    fn of(plan: &Plan, queue: &QueueBound) -> Queue {
        Queue {
            edge: plan.edges[queue.edge].name(),
            packets: queue.packets,
            service_ns: nanos(queue.service),
            worst_wait_ns: nanos(queue.worst),
            limit: queue.limit.map(|(measure, limit)| Limit { measure: measure.name(), limit_ns: limit.0 }),
            over: queue.is_over(),
            open: names(plan, &queue.open),
        }
    }
}
