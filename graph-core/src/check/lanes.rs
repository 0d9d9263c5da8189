//! Which lane runs which node.

use std::collections::{HashMap, HashSet};

use super::{net::Net, plan::PlanLane};
use crate::{
    codes,
    diagnostic::{Diagnostic, Diagnostics, near_miss, one_of},
};

/// Lanes of a graph, and the lane of each node.
pub(super) struct Lanes {
    pub(super) lanes: Vec<PlanLane>,
    pub(super) of: Vec<usize>,
}

/// Complains of lanes that nobody declared and of lanes that nobody uses.
pub(super) fn check(net: &Net<'_>, diagnostics: &mut Diagnostics) {
    let declared: HashSet<&str> = net.graph.lanes.iter().map(|lane| lane.name.as_str()).collect();
    let mut used = HashSet::new();
    for node in &net.graph.nodes {
        let Some(lane) = &node.lane else { continue };
        used.insert(lane.as_str());
        if declared.contains(lane.as_str()) {
            continue;
        }
        let help = match near_miss(lane, declared.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare it: lanes: {{ {:?}: () }}", lane.value),
        };
        let mut diagnostic =
            Diagnostic::new(&codes::UNKNOWN_LANE, format!("there is no lane `{}`", lane.value))
                .at(&lane.span)
                .node(&node.id)
                .found(format!("`{}`", lane.value))
                .help(help);
        if !declared.is_empty() {
            let names = net.graph.lanes.iter().map(|lane| lane.name.as_str());
            diagnostic = diagnostic.expected(one_of(names));
        }
        diagnostics.push(diagnostic);
    }
    for lane in net.graph.lanes.iter().filter(|lane| net.complete && !used.contains(lane.name.as_str())) {
        diagnostics.push(
            Diagnostic::new(&codes::UNUSED_LANE, format!("no node runs in the lane `{}`", lane.name))
                .at(&lane.span)
                .help(format!("give a node lane: {:?}, or remove the lane", lane.name)),
        );
    }
}

/// Gives every node a lane: the file's where it names one; a heavy node gets one of its own; a source, and what follows a
/// heavy node, starts one; the rest join their first producer.
pub(super) fn assign(net: &Net<'_>, order: &[usize]) -> Lanes {
    let mut producers: HashMap<usize, usize> = HashMap::new();
    for (at, from, to) in net.links() {
        let edge = &net.edges[at].0;
        if !edge.feedback && !edge.wire {
            producers.entry(to).or_insert(from);
        }
    }
    let declared: HashMap<&str, usize> =
        net.graph.lanes.iter().enumerate().map(|(at, lane)| (lane.name.as_str(), at)).collect();
    let mut lanes: Vec<PlanLane> = net
        .graph
        .lanes
        .iter()
        .map(|lane| PlanLane { name: lane.name.clone(), spec: Some(lane.clone()), nodes: Vec::new() })
        .collect();
    let heavy = |node: usize| net.kinds[node].is_some_and(|kind| kind.heavy);
    let mut of = vec![0; net.kinds.len()];
    for &node in order {
        let spec = net.node(node);
        let named = spec.lane.as_ref().and_then(|lane| declared.get(lane.as_str())).copied();
        let joined = || {
            let producer = *producers.get(&node)?;
            let alone = heavy(producer) && net.node(producer).lane.is_none();
            (!alone && !heavy(node)).then(|| of[producer])
        };
        let lane = named.or_else(joined).unwrap_or_else(|| {
            lanes.push(PlanLane { name: free_name(&spec.id, &lanes), spec: None, nodes: Vec::new() });
            lanes.len() - 1
        });
        of[node] = lane;
        lanes[lane].nodes.push(node);
    }
    drop_unused(&mut lanes, &mut of);
    Lanes { lanes, of }
}

/// `name`, or with a number behind it where a lane has that name.
fn free_name(name: &str, lanes: &[PlanLane]) -> String {
    let taken = |name: &str| lanes.iter().any(|lane| lane.name == name);
    let numbered = (2..).map(|number| format!("{name} {number}"));
    [name.to_owned()].into_iter().chain(numbered).find(|name| !taken(name)).expect("numbers do not end")
}

fn drop_unused(lanes: &mut Vec<PlanLane>, of: &mut [usize]) {
    let mut kept = 0;
    let moved: Vec<usize> = lanes
        .iter()
        .map(|lane| {
            kept += usize::from(!lane.nodes.is_empty());
            kept.saturating_sub(1)
        })
        .collect();
    lanes.retain(|lane| !lane.nodes.is_empty());
    for lane in of {
        *lane = moved[*lane];
    }
}
