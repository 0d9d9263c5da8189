//! Cycles of full queues: each node waits for the next one to take, and none ever will.

use std::{collections::HashMap, fmt::Write, sync::Arc};

use petgraph::{algo::tarjan_scc, graph::DiGraph};

use crate::{
    check::Plan,
    edge::EdgeState,
    file::Capacity,
    time::{Nanos, Stamp},
};

/// An edge that has kept its producer for so long may be part of a deadlock.
pub(crate) const SUSPICION: Nanos = Nanos::from_millis(200);

/// An edge whose producer waits for room in it.
pub(crate) struct Waits {
    pub(crate) edge: String,
    pub(crate) capacity: Capacity,
    /// By their place in the plan.
    pub(crate) producer: usize,
    pub(crate) consumer: usize,
    /// How many packets the producer must have room for.
    pub(crate) burst: usize,
    pub(crate) state: Arc<EdgeState>,
}

/// For each node of the plan the number of its circle: nodes that lead to each other over queues have the same. An edge
/// between two circles cannot be part of a deadlock.
pub(crate) fn circles(plan: &Plan) -> Vec<usize> {
    let queues = plan.edges.iter().filter(|edge| !edge.wire);
    let ends = queues.filter_map(|edge| Some((edge.from.node as u32, edge.to.as_ref()?.node as u32)));
    let mut graph = DiGraph::<(), ()>::from_edges(ends);
    while graph.node_count() < plan.nodes.len() {
        graph.add_node(());
    }
    let mut circles = vec![0; plan.nodes.len()];
    for (number, circle) in tarjan_scc(&graph).into_iter().enumerate() {
        circle.into_iter().for_each(|node| circles[node.index()] = number);
    }
    circles
}

/// The cycle of full queues, if there is one, in words.
///
/// A node that is kept does not step, so it takes nothing, and the edges to it stay as full as they are. So when every
/// producer of a cycle was kept before and after all its edges were seen to be full, nobody in it can ever step again.
pub(crate) fn find(edges: &[Waits], now: Stamp) -> Option<String> {
    let kept = |edge: &&Waits| {
        edge.state.kept_since().is_some_and(|since| now.since(since).is_some_and(|kept| kept >= SUSPICION))
    };
    let suspects: Vec<(&Waits, Option<Stamp>)> =
        edges.iter().filter(kept).map(|edge| (edge, edge.state.kept_since())).collect();
    let full: Vec<_> =
        suspects.into_iter().filter(|(edge, _)| edge.state.seems_full(edge.burst, now)).collect();
    let still = full.iter().filter(|(edge, since)| edge.state.kept_since() == *since).map(|(edge, _)| *edge);
    cycle(&still.collect::<Vec<_>>()).map(|cycle| words(&cycle))
}

/// A cycle among edges, in its order.
fn cycle<'a>(edges: &[&'a Waits]) -> Option<Vec<&'a Waits>> {
    let mut from: HashMap<usize, Vec<&Waits>> = HashMap::new();
    for edge in edges {
        from.entry(edge.producer).or_default().push(edge);
    }
    edges.iter().find_map(|start| {
        // The way to each node that `start` leads to, breadth first.
        let mut ways = vec![vec![*start]];
        let mut seen = vec![start.consumer];
        while let Some(way) = (!ways.is_empty()).then(|| ways.remove(0)) {
            let at = way.last().expect("a way has an edge").consumer;
            if at == start.producer {
                return Some(way);
            }
            for next in from.get(&at).into_iter().flatten() {
                if !seen.contains(&next.consumer) {
                    seen.push(next.consumer);
                    ways.push(way.iter().copied().chain([*next]).collect());
                }
            }
        }
        None
    })
}

fn words(cycle: &[&Waits]) -> String {
    let mut text =
        "deadlock: each of these queues is full, and its producer waits for the next one to have room: "
            .to_owned();
    for (index, edge) in cycle.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let queued = edge.state.meter.counts().queued();
        let _ = match edge.capacity {
            Capacity::Packets(packets) => write!(text, "{comma}{} ({queued} of {packets})", edge.edge),
            Capacity::Time(time) => write!(text, "{comma}{} ({queued} in {time})", edge.edge),
        };
    }
    text += "; give one of them room for all that comes of a packet in the cycle, or let it drop";
    text
}
