//! What must be true of a graph before anything runs, and the plan that comes of it.

mod budget;
#[cfg(test)]
pub(crate) mod fixture;
mod lanes;
mod net;
mod paths;
mod plan;
mod wiring;

use std::{
    collections::{HashSet, VecDeque},
    path::{Path, PathBuf},
};

pub use plan::{Allocation, Plan, PlanEdge, PlanEnd, PlanLane, PlanNode, PlanPath};

use self::net::Net;
use crate::{
    codes,
    diagnostic::{Diagnostic, Diagnostics, Span, all_of, near_miss},
    file::{Disk, GraphSpec, load},
    kind::{Kinds, PortRole},
};

/// A graph file as it was read and checked.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What the files state; `None` where one cannot be read or its syntax is broken.
    pub graph: Option<GraphSpec>,
    /// What to run; `None` where there are errors.
    pub plan: Option<Plan>,
    /// Everything there is to say, in the order of the files.
    pub diagnostics: Diagnostics,
}

/// Reads a graph file and its overlays from the disk, and checks what they state.
pub fn check_file(path: &Path, overlays: &[PathBuf], kinds: &dyn Kinds) -> Checked {
    let (graph, mut diagnostics) = load(&Disk, path, overlays, kinds);
    let plan = graph.as_ref().and_then(|graph| {
        let (plan, found) = check(graph, kinds);
        diagnostics.extend(found);
        plan
    });
    diagnostics.sort();
    Checked { graph, plan, diagnostics }
}

/// Checks a graph. There is a plan unless the graph or the files it was read from have errors.
pub fn check(graph: &GraphSpec, kinds: &dyn Kinds) -> (Option<Plan>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    if graph.nodes.is_empty() && !graph.incomplete {
        diagnostics.push(
            Diagnostic::new(&codes::EMPTY_GRAPH, format!("the graph `{}` has no node", graph.name))
                .at(&Span::new(&graph.source, 0..0))
                .help("add nodes: { \"name\": (kind: \"domain/name\") }; `graphrun nodes` lists the kinds"),
        );
    }
    let net = Net::new(graph, kinds, &mut diagnostics);
    for (node, kind) in graph.nodes.iter().zip(&net.kinds) {
        if let Some(kind) = kind {
            diagnostics.extend(kinds.check_params(kind.kind, &node.with));
        }
    }
    let order = wiring::check(&net, &mut diagnostics);
    lanes::check(&net, &mut diagnostics);
    budget::meaning(&net, &mut diagnostics);
    overheads(graph, &mut diagnostics);
    let plan = order.and_then(|order| {
        let paths = paths::routes(&net, &order, &mut diagnostics);
        let allocations = budget::allocate(&net, &paths, &mut diagnostics);
        let sound = net.complete && !diagnostics.refuse(false);
        sound.then(|| plan(&net, order, paths.into_iter().map(|(_, path)| path).collect(), allocations))
    });
    diagnostics.sort();
    (plan, diagnostics)
}

/// An overhead compares two paths of the graph.
fn overheads(graph: &GraphSpec, diagnostics: &mut Diagnostics) {
    let names = || graph.paths.iter().map(|path| path.name.as_str());
    let known: HashSet<&str> = names().collect();
    for overhead in &graph.overheads {
        for path in [&overhead.path, &overhead.direct] {
            if known.contains(path.as_str()) || graph.incomplete {
                continue;
            }
            let help = match near_miss(path, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => "state both of them in `paths`".to_owned(),
                None => format!("the paths are {}", all_of(names())),
            };
            diagnostics.push(
                Diagnostic::new(&codes::UNKNOWN_PATH, format!("there is no path `{}`", path.value))
                    .at(&path.span)
                    .expected("the name of a path")
                    .found(format!("`{}`", path.value))
                    .help(help),
            );
        }
    }
}

fn plan(net: &Net<'_>, order: Vec<usize>, paths: Vec<PlanPath>, allocations: Vec<Allocation>) -> Plan {
    let lanes::Lanes { lanes, of } = lanes::assign(net, &order);
    let to_sink = to_sink(net);
    let mut nodes: Vec<PlanNode> = net
        .graph
        .nodes
        .iter()
        .enumerate()
        .map(|(at, node)| PlanNode {
            id: node.id.clone(),
            kind: node.kind.value.clone(),
            with: node.with.clone(),
            on_error: node.on_error,
            lane: of[at],
            to_sink: to_sink[at],
            inputs: Vec::new(),
            outputs: Vec::new(),
        })
        .collect();
    let mut edges: Vec<PlanEdge> = Vec::with_capacity(net.edges.len());
    for (at, (edge, _)) in net.edges.iter().enumerate() {
        nodes[edge.from.node].outputs.push(at);
        if let Some(to) = &edge.to {
            nodes[to.node].inputs.push(at);
        }
        let crosses = edge.to.as_ref().is_some_and(|to| of[to.node] != of[edge.from.node]);
        edges.push(PlanEdge { crosses, ..edge.clone() });
    }
    Plan {
        name: net.graph.name.clone(),
        class: net.graph.class.clone(),
        warm_up: net.graph.warm_up,
        nodes,
        edges,
        lanes,
        paths,
        allocations,
        order,
    }
}

/// How many edges each node is away from the nearest node that ends something.
fn to_sink(net: &Net<'_>) -> Vec<u32> {
    let mut before = vec![Vec::new(); net.kinds.len()];
    for (_, from, to) in net.links() {
        before[to].push(from);
    }
    let mut away = vec![u32::MAX; net.kinds.len()];
    let mut queue = VecDeque::new();
    for (node, kind) in net.kinds.iter().enumerate() {
        let kind = kind.expect("the graph is complete");
        let gives = kind.ports.iter().any(|port| matches!(port.role, PortRole::Output { .. }));
        if !gives || kind.ports.iter().any(|port| port.role == PortRole::Done) {
            away[node] = 0;
            queue.push_back(node);
        }
    }
    while let Some(node) = queue.pop_front() {
        for &producer in &before[node] {
            if away[producer] == u32::MAX {
                away[producer] = away[node] + 1;
                queue.push_back(producer);
            }
        }
    }
    away
}
