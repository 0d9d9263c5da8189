//! Whether the edges fit the ports, everything is fed, and nothing runs in a circle or for nothing.

use std::collections::{HashMap, VecDeque};

use petgraph::{
    Direction,
    algo::{tarjan_scc, toposort},
    graph::{DiGraph, NodeIndex},
    visit::{Dfs, EdgeRef, Reversed},
};

use super::net::Net;
use crate::{
    codes,
    diagnostic::{Diagnostic, Diagnostics},
    kind::{Arity, PortRole},
};

/// Complains of every edge and node that does not fit. Returns the nodes in order, producers first, where there is one.
pub(super) fn check(net: &Net<'_>, diagnostics: &mut Diagnostics) -> Option<Vec<usize>> {
    for (at, _) in net.edges.iter().enumerate() {
        edge(net, at, diagnostics);
    }
    feeds(net, diagnostics);
    fan_out(net, diagnostics);
    if net.complete {
        unfed(net, diagnostics);
    }
    let order = order(net, diagnostics);
    feedback(net, diagnostics);
    if net.complete {
        dead(net, diagnostics);
    }
    order
}

/// The two ports of an edge against each other, and against what the edge is marked as.
fn edge(net: &Net<'_>, at: usize, diagnostics: &mut Diagnostics) {
    let (edge, spec) = &net.edges[at];
    let Some(spec) = spec else { return };
    let from = net.port(&edge.from);
    let Some(to) = &edge.to else {
        if spec.wire || spec.feedback || spec.queue != Default::default() {
            diagnostics.push(
                Diagnostic::new(&codes::DONE_EDGE, format!("`{}` leads nowhere", edge.from.name))
                    .at(&spec.span)
                    .node(&spec.from.node)
                    .help("take `queue`, `wire` and `feedback` out; the edge is there to carry a budget"),
            );
        }
        return;
    };
    let into = net.port(to);
    if from.payload_id != into.payload_id {
        diagnostics.push(
            Diagnostic::new(
                &codes::PAYLOADS_DIFFER,
                format!(
                    "`{}` gives {} and `{}` takes {}",
                    edge.from.name, from.payload, to.name, into.payload
                ),
            )
            .at(&spec.span)
            .node(&spec.from.node)
            .expected(format!("the same payload at both ends: {}", into.payload))
            .found(from.payload)
            .help("put a node between them that makes the one of the other, or choose another port"),
        );
    }
    let (a, b) = (&edge.from.name, &to.name);
    let (message, help) = match (from.wire, into.wire) {
        (true, true) if !edge.wire => (
            format!("`{a}` and `{b}` are the ends of a socket, and the edge is not marked as one"),
            "add wire: true to the edge",
        ),
        (false, false) if edge.wire => (
            format!("the edge is marked as a socket, and `{a}` and `{b}` are not ends of one"),
            "take wire: true out, or name ports that are ends of a socket",
        ),
        (true, false) => (format!("`{a}` is one end of a socket, and `{b}` is none"), WIRE_HELP),
        (false, true) => (format!("`{b}` is one end of a socket, and `{a}` is none"), WIRE_HELP),
        _ => return,
    };
    diagnostics.push(Diagnostic::new(&codes::WIRE, message).at(&spec.span).node(&spec.from.node).help(help));
}

const WIRE_HELP: &str = "an end of a socket is wired to the other end only; name another port";

/// An input has one edge.
fn feeds(net: &Net<'_>, diagnostics: &mut Diagnostics) {
    let mut first: HashMap<(usize, usize), usize> = HashMap::new();
    for (at, (edge, _)) in net.edges.iter().enumerate() {
        let Some(to) = &edge.to else { continue };
        let Some(&other) = first.get(&(to.node, to.port)) else {
            first.insert((to.node, to.port), at);
            continue;
        };
        diagnostics.push(
            Diagnostic::new(&codes::FED_TWICE, format!("the input `{}` is fed by two edges", to.name))
                .at(net.edge_span(at))
                .node(&net.node(to.node).id)
                .expected("one edge at an input")
                .found(format!("edges from `{}` and `{}`", net.edges[other].0.from.name, edge.from.name))
                .help("join the two in a node with two inputs, or remove one edge")
                .related(net.edge_span(other), "the other edge"),
        );
    }
}

/// A payload that only moves has one receiver.
fn fan_out(net: &Net<'_>, diagnostics: &mut Diagnostics) {
    let mut first: HashMap<(usize, usize), usize> = HashMap::new();
    for (at, _, _) in net.links() {
        let from = &net.edges[at].0.from;
        let port = net.port(from);
        let Some(&other) = first.get(&(from.node, from.port)) else {
            first.insert((from.node, from.port), at);
            continue;
        };
        if !port.shares {
            diagnostics.push(
                Diagnostic::new(
                    &codes::NOT_SHARED,
                    format!(
                        "`{}` feeds two inputs, and its payload, {}, cannot be shared",
                        from.name, port.payload
                    ),
                )
                .at(net.edge_span(at))
                .node(&net.node(from.node).id)
                .expected("one edge, or a payload that several may read")
                .help(format!(
                    "its author can make {} Clone; until then put a node between that copies it",
                    port.payload
                ))
                .related(net.edge_span(other), "the other edge"),
            );
        }
    }
}

/// A required input has an edge.
fn unfed(net: &Net<'_>, diagnostics: &mut Diagnostics) {
    let fed: std::collections::HashSet<(usize, usize)> =
        net.edges.iter().filter_map(|(edge, _)| edge.to.as_ref()).map(|to| (to.node, to.port)).collect();
    for (node, kind) in net.kinds.iter().enumerate() {
        let ports = kind.iter().flat_map(|kind| kind.ports.iter().enumerate());
        for (at, port) in ports {
            if !matches!(port.role, PortRole::Input { required: true, .. }) || fed.contains(&(node, at)) {
                continue;
            }
            let spec = net.node(node);
            let givers = givers(net, node, port.payload_id);
            let help = match givers.as_slice() {
                [] => format!("no node here gives {}: `graphrun nodes` tells which kinds do", port.payload),
                [one, ..] => {
                    let wire = if port.wire { ", wire: true" } else { "" };
                    format!("add the edge (from: \"{one}\", to: \"{}.{}\"{wire})", spec.id, port.name)
                }
            };
            diagnostics.push(
                Diagnostic::new(
                    &codes::UNFED,
                    format!("the input `{}.{}` is fed by no edge", spec.id, port.name),
                )
                .at(&spec.span)
                .node(&spec.id)
                .expected(format!("an edge that brings {}", port.payload))
                .help(help),
            );
        }
    }
}

/// Outputs of other nodes that give the payload.
fn givers(net: &Net<'_>, taker: usize, payload: std::any::TypeId) -> Vec<String> {
    let nodes = net.kinds.iter().enumerate().filter(|(node, _)| *node != taker);
    let ports = nodes
        .flat_map(|(node, kind)| kind.iter().flat_map(|kind| kind.outputs()).map(move |port| (node, port)));
    ports
        .filter(|(_, port)| port.payload_id == payload && matches!(port.role, PortRole::Output { .. }))
        .map(|(node, port)| format!("{}.{}", net.node(node).id, port.name))
        .collect()
}

/// Producers before consumers; a circle without a feedback edge is complained of.
fn order(net: &Net<'_>, diagnostics: &mut Diagnostics) -> Option<Vec<usize>> {
    let graph = net.digraph(|edge| !edge.feedback);
    if let Ok(order) = toposort(&graph, None) {
        return Some(order.into_iter().map(NodeIndex::index).collect());
    }
    let mut components: Vec<Vec<NodeIndex>> = tarjan_scc(&graph);
    components.sort_by_key(|nodes| nodes.iter().copied().min());
    for nodes in components {
        let start = nodes.iter().copied().min().expect("a component has a node");
        let Some(circle) = circle(&graph, start) else { continue };
        let names: Vec<&str> = [start]
            .into_iter()
            .chain(circle.iter().filter_map(|edge| graph.edge_endpoints(*edge)).map(|(_, to)| to))
            .map(|node| net.node(node.index()).id.as_str())
            .collect();
        let closing = *circle.last().expect("a circle has an edge");
        diagnostics.push(
            Diagnostic::new(&codes::CYCLE, format!("the edges run in a circle: {}", names.join(" -> ")))
                .at(net.edge_span(graph[closing]))
                .node(names[0])
                .help("add feedback: true to the edge that closes it, such as this one"),
        );
    }
    None
}

/// The shortest way from `start` back to it.
fn circle(graph: &DiGraph<usize, usize>, start: NodeIndex) -> Option<Vec<petgraph::graph::EdgeIndex>> {
    let mut came_by = HashMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for edge in graph.edges(node) {
            if edge.target() == start {
                let mut way = vec![edge.id()];
                let mut at = node;
                while at != start {
                    let by = came_by[&at];
                    way.push(by);
                    at = graph.edge_endpoints(by).expect("the edge is of this graph").0;
                }
                way.reverse();
                return Some(way);
            }
            came_by.entry(edge.target()).or_insert_with(|| {
                queue.push_back(edge.target());
                edge.id()
            });
        }
    }
    None
}

/// A feedback edge closes a circle.
fn feedback(net: &Net<'_>, diagnostics: &mut Diagnostics) {
    let graph = net.digraph(|_| true);
    for (at, from, to) in net.links().filter(|(at, _, _)| net.edges[*at].0.feedback) {
        let closes = from == to
            || petgraph::algo::has_path_connecting(&graph, NodeIndex::new(to), NodeIndex::new(from), None);
        if !closes {
            diagnostics.push(
                Diagnostic::new(
                    &codes::NO_FEEDBACK,
                    format!("the edge {} is marked as feedback and closes no circle", net.edges[at].0.name()),
                )
                .at(net.edge_span(at))
                .node(&net.node(from).id)
                .help("take feedback: true out: the end of the stream does not wait for such an edge"),
            );
        }
    }
}

/// Every node has a source before it and an effect behind it.
fn dead(net: &Net<'_>, diagnostics: &mut Diagnostics) {
    let graph = net.digraph(|_| true);
    let starts =
        graph.node_indices().filter(|node| graph.edges_directed(*node, Direction::Incoming).next().is_none());
    let ends = graph.node_indices().filter(|node| {
        let kind = net.kinds[node.index()].expect("the graph is complete");
        let gives = kind.ports.iter().any(|port| matches!(port.role, PortRole::Output { .. }));
        !gives || kind.ports.iter().any(|port| port.role == PortRole::Done)
    });
    let mut driven = vec![false; net.kinds.len()];
    let mut useful = vec![false; net.kinds.len()];
    let mut walk = Dfs::empty(&graph);
    for start in starts {
        walk.move_to(start);
        while let Some(node) = walk.next(&graph) {
            driven[node.index()] = true;
        }
    }
    let mut walk = Dfs::empty(Reversed(&graph));
    for end in ends {
        walk.move_to(end);
        while let Some(node) = walk.next(Reversed(&graph)) {
            useful[node.index()] = true;
        }
    }
    let dead: Vec<usize> = (0..net.kinds.len()).filter(|node| !useful[*node]).collect();
    let leads_on = |node: &usize| graph.edges(NodeIndex::new(*node)).next().is_some();
    // The last of a row of dead nodes is the one to connect; the others follow.
    let last: Vec<usize> = dead.iter().copied().filter(|node| !leads_on(node)).collect();
    for &node in if last.is_empty() { &dead } else { &last } {
        let spec = net.node(node);
        diagnostics.push(
            Diagnostic::new(
                &codes::DEAD_NODE,
                format!("nothing comes of the node `{}`: no edge leads on to a sink", spec.id),
            )
            .at(&spec.span)
            .node(&spec.id)
            .help("connect an output of it, or remove the node"),
        );
    }
    for node in (0..net.kinds.len()).filter(|node| !driven[*node]) {
        let spec = net.node(node);
        diagnostics.push(
            Diagnostic::new(
                &codes::DEAD_NODE,
                format!("nothing drives the node `{}`: no source leads to it", spec.id),
            )
            .at(&spec.span)
            .node(&spec.id)
            .help("connect it to a source, or remove it"),
        );
    }
}

/// Whether the edge's output may give more than one packet a cause.
pub(super) fn gives_many(net: &Net<'_>, at: usize) -> bool {
    net.port(&net.edges[at].0.from).role == PortRole::Output { arity: Arity::Many }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture;

    #[test]
    fn one_slip_gives_one_complaint() {
        let good = r#"(
            nodes: {
                "in": (kind: "audio/wav-source"), "gain": (kind: "audio/gain"), "out": (kind: "audio/wav-sink"),
            },
            edges: [(from: "in", to: "gain"), (from: "gain", to: "out")],
            paths: [(name: "whole", from: "in", to: "out.done")],
        )"#;
        assert!(fixture::check(good).1.is_empty());
        for (right, wrong, code) in [
            ("audio/gain", "audio/gian", "GR0201"),
            ("(from: \"gain\"", "(from: \"gian\"", "GR0203"),
            ("to: \"gain\"", "to: \"gain.on\"", "GR0204"),
            ("(from: \"gain\", to: \"out\")", "(from: \"gain.in\", to: \"out\")", "GR0204"),
            ("kind: \"audio/gain\"", "kind: audio", "GR0106"),
            ("kind: \"audio/gain\"", "knid: \"audio/gain\"", "GR0103"),
            ("(from: \"gain\", to: \"out\")", "(from: \"gain\")", "GR0214"),
            ("\"out\": (kind", "\"out \": (kind", "GR0111"),
        ] {
            let text = good.replacen(right, wrong, 1);
            assert_ne!(text, good);
            let codes = fixture::codes(&text);
            assert_eq!(codes.first(), Some(&code), "{text}");
            // A node whose name cannot be used is not known by it either.
            let most = if code == "GR0111" { 3 } else { 1 };
            assert!(codes.len() <= most, "{}", fixture::check(&text).1);
        }
    }

    #[test]
    fn ends_that_do_not_fit_say_what_they_are() {
        let told = |edge: &str| {
            let (_, diagnostics) = fixture::check(&format!(
                r#"(
                    nodes: {{
                        "in": (kind: "audio/wav-source"), "mix": (kind: "audio/mix"), "out": (kind: "audio/wav-sink"),
                    }},
                    edges: [{edge}],
                )"#
            ));
            let first = &diagnostics[0];
            format!("{}: {}", first.message, first.help.as_deref().unwrap_or_default())
        };
        for (edge, words) in [
            (
                r#"(from: "out", to: "mix.a")"#,
                "`out` (audio/wav-sink) has no output: `graphrun nodes audio/wav-sink` describes its ports",
            ),
            (
                r#"(from: "in", to: "in")"#,
                "`in` (audio/wav-source) has no input: `graphrun nodes audio/wav-source` describes its ports",
            ),
            (
                r#"(from: "mix.a", to: "out")"#,
                "`mix.a` is an input, where an output is wanted: its output is `mix.out`",
            ),
            (
                r#"(from: "in", to: "mix.out")"#,
                "`mix.out` is an output, where an input is wanted: name one of `mix.a` or `mix.b`",
            ),
            (
                r#"(from: "in", to: "out.done")"#,
                "`out.done` is a sink's `done`, where an input is wanted: its input is `out.in`",
            ),
            (
                r#"(from: "out.dune")"#,
                "`out` (audio/wav-sink) has no output `dune`: did you mean `out.done`?",
            ),
            (
                r#"(from: "in")"#,
                "the edge from `in` has no `to`: add to: \"node\"; only an edge from a sink's `done` is without",
            ),
        ] {
            assert_eq!(told(edge), words);
        }
    }

    #[test]
    fn mistakes_of_every_sort_are_told_together() {
        let codes = fixture::codes(
            r#"(
                nodes: {
                    "in": (kind: "audio/wav-source", lane: "fast"),
                    "gain": (kind: "audio/gain", with: (gain_db: true)),
                    "mix": (kind: "audio/mixer"),
                    "out": (kind: "audio/wav-sink"),
                },
                edges: [
                    (from: "in", to: "gain", budget: (max: "5")),
                    (from: "gain", to: "out", budget: (rate: "5 /s")),
                    (from: "in", to: "out"),
                ],
                overheads: [(name: "o", path: "p", direct: "q", budget: (p50: "1 ms"))],
            )"#,
        );
        assert_eq!(codes, ["GR0501", "GR0602", "GR0201", "GR0108", "GR0404", "GR0208"]);
    }

    #[test]
    fn a_circle_is_shown_from_its_first_node_round_to_it() {
        let text = r#"(
            nodes: {
                "in": (kind: "audio/wav-source"), "mix": (kind: "audio/mix"), "a": (kind: "audio/gain"),
                "b": (kind: "audio/gain"), "out": (kind: "audio/wav-sink"),
            },
            edges: [
                (from: "in", to: "mix.a"), (from: "mix", to: "a"), (from: "a", to: "b"), (from: "b", to: "mix.b"),
                (from: "mix", to: "out"),
            ],
        )"#;
        let (plan, diagnostics) = fixture::check(text);
        assert!(plan.is_none());
        assert_eq!(diagnostics[0].message, "the edges run in a circle: mix -> a -> b -> mix");
        assert_eq!(diagnostics[0].span.as_ref().unwrap().text(), "(from: \"b\", to: \"mix.b\")");
        let plan = fixture::plan(&text.replace("to: \"mix.b\"", "to: \"mix.b\", feedback: true"));
        assert_eq!(plan.nodes.iter().map(|node| node.to_sink).collect::<Vec<_>>(), [2, 1, 3, 2, 0]);
        let rank = |id: &str| plan.order.iter().position(|node| plan.nodes[*node].id == id).unwrap();
        assert!(rank("in") < rank("mix") && rank("mix") < rank("a") && rank("a") < rank("b"));
    }

    #[test]
    fn a_loop_that_no_source_leads_to_is_dead() {
        let text = r#"(
            nodes: {
                "in": (kind: "audio/wav-source"), "out": (kind: "audio/wav-sink"),
                "a": (kind: "audio/gain"), "b": (kind: "audio/gain"), "end": (kind: "audio/wav-sink"),
            },
            edges: [
                (from: "in", to: "out"), (from: "a", to: "b"), (from: "b", to: "a", feedback: true), (from: "b", to: "end"),
            ],
        )"#;
        let (_, diagnostics) = fixture::check(text);
        let told: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(
            told,
            [
                "nothing drives the node `a`: no source leads to it",
                "nothing drives the node `b`: no source leads to it",
                "nothing drives the node `end`: no source leads to it",
            ]
        );
    }

    #[test]
    fn a_sink_has_its_done_whether_stated_or_not() {
        let text = r#"(
            nodes: { "in": (kind: "audio/wav-source"), "out": (kind: "audio/wav-sink") },
            edges: [(from: "in", to: "out"), (from: "out", budget: (max: "1 ms"))],
        )"#;
        let plan = fixture::plan(text);
        assert_eq!(
            plan.edges.iter().map(|edge| edge.name()).collect::<Vec<_>>(),
            ["in.out -> out.in", "out.done"]
        );
        assert_eq!(plan.edges[1].budget.limits.len(), 1);
        assert_eq!((plan.nodes[1].inputs.as_slice(), plan.nodes[1].outputs.as_slice()), (&[0][..], &[1][..]));
        let plan = fixture::plan(&text.replace(", (from: \"out\", budget: (max: \"1 ms\"))", ""));
        assert_eq!(plan.edges[1].name(), "out.done");
        let codes = fixture::codes(&text.replace("(from: \"out\",", "(from: \"out\", queue: (capacity: 1),"));
        assert_eq!(codes, ["GR0214"]);
    }
}
