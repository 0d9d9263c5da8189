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

#[cfg(test)]
mod tests {
    use crate::check::{Plan, fixture};

    fn lanes(plan: &Plan) -> Vec<(&str, Vec<&str>)> {
        let names = |nodes: &[usize]| nodes.iter().map(|node| plan.nodes[*node].id.as_str()).collect();
        plan.lanes.iter().map(|lane| (lane.name.as_str(), names(&lane.nodes))).collect()
    }

    #[test]
    fn a_source_starts_a_lane_a_heavy_node_is_alone_and_the_rest_join_their_producer() {
        let plan = fixture::plan(
            r#"(
                nodes: {
                    "in": (kind: "audio/wav-source"), "gain": (kind: "audio/gain"), "stt": (kind: "speech/stt"),
                    "answer": (kind: "text/answer"), "out": (kind: "text/sink"),
                },
                edges: [
                    (from: "in", to: "gain"), (from: "gain", to: "stt"), (from: "stt", to: "answer"),
                    (from: "answer", to: "out"),
                ],
            )"#,
        );
        assert_eq!(
            lanes(&plan),
            [("in", vec!["in", "gain"]), ("stt", vec!["stt"]), ("answer", vec!["answer", "out"])]
        );
        let crosses: Vec<bool> = plan.edges.iter().map(|edge| edge.crosses).collect();
        assert_eq!(crosses, [false, true, true, false, false]);
    }

    #[test]
    fn a_join_is_in_the_lane_of_its_first_producer_and_a_wire_does_not_join_lanes() {
        let plan = fixture::plan(
            r#"(
                nodes: {
                    "one": (kind: "audio/wav-source"), "two": (kind: "audio/wav-source"), "mix": (kind: "audio/mix"),
                    "send": (kind: "net/rtp-audio-out"), "back": (kind: "net/udp-audio"), "out": (kind: "audio/wav-sink"),
                },
                edges: [
                    (from: "two", to: "mix.a"), (from: "one", to: "mix.b"), (from: "mix", to: "send"),
                    (from: "send", to: "back", wire: true), (from: "back", to: "out"),
                ],
            )"#,
        );
        let mut lanes = lanes(&plan);
        lanes.sort();
        assert_eq!(
            lanes,
            [("back", vec!["back", "out"]), ("one", vec!["one"]), ("two", vec!["two", "mix", "send"])]
        );
    }

    #[test]
    fn the_files_lane_is_taken_and_others_follow_into_it() {
        let plan = fixture::plan(
            r#"(
                lanes: { "idle": (), "gain": (priority: fifo(40), cpus: [1]) },
                nodes: {
                    "in": (kind: "audio/wav-source"), "gain": (kind: "audio/gain"),
                    "stt": (kind: "speech/stt", lane: "gain"), "out": (kind: "text/sink"),
                },
                edges: [(from: "in", to: "gain"), (from: "gain", to: "stt"), (from: "stt", to: "out")],
            )"#,
        );
        assert_eq!(lanes(&plan), [("gain", vec!["stt", "out"]), ("in", vec!["in", "gain"])]);
        assert_eq!(plan.nodes.iter().map(|node| node.lane).collect::<Vec<_>>(), [1, 1, 0, 0]);
    }

    #[test]
    fn a_derived_lane_does_not_take_a_declared_name() {
        let plan = fixture::plan(
            r#"(
                lanes: { "in": () },
                nodes: { "in": (kind: "audio/wav-source"), "out": (kind: "audio/wav-sink", lane: "in") },
                edges: [(from: "in", to: "out")],
            )"#,
        );
        assert_eq!(lanes(&plan), [("in", vec!["out"]), ("in 2", vec!["in"])]);
    }
}
