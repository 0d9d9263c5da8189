//! A plan as a drawing: nodes in their lanes, limits on the edges, paths listed.

use std::fmt::Write;

use crate::{
    budget::Budget,
    check::{Plan, PlanEdge, PlanPath},
};

/// As a Mermaid flowchart, which Markdown viewers show. A dotted edge is a feedback, a thick one goes over a wire.
pub fn mermaid(plan: &Plan) -> String {
    let mut text = String::from("flowchart LR\n");
    for (at, lane) in plan.lanes.iter().enumerate() {
        _ = writeln!(text, "    subgraph lane{at}[\"lane {}\"]", html(&lane.name));
        for &node in &lane.nodes {
            let node_ = &plan.nodes[node];
            _ = writeln!(text, "        n{node}[\"{}<br/>{}\"]", html(&node_.id), html(&node_.kind));
        }
        text.push_str("    end\n");
    }
    for (at, edge) in drawn(plan) {
        let arrow = match (edge.feedback, edge.wire) {
            (true, _) => "-.->",
            (_, true) => "==>",
            _ => "-->",
        };
        let label = html(&label(edge));
        let label = if label.is_empty() { String::new() } else { format!("|\"{label}\"|") };
        let end = match &edge.to {
            Some(to) => format!("n{}", to.node),
            None => format!("done{at}((\"done\"))"),
        };
        _ = writeln!(text, "    n{} {arrow}{label} {end}", edge.from.node);
    }
    if !plan.paths.is_empty() {
        text.push_str("    subgraph paths[\"paths\"]\n");
        for (at, path) in plan.paths.iter().enumerate() {
            _ = writeln!(text, "        path{at}[\"{}\"]", html(&route(plan, path)));
        }
        text.push_str("    end\n");
    }
    text
}

/// As a Graphviz graph, for `dot -Tsvg`. A dashed edge is a feedback, a bold one goes over a wire.
pub fn dot(plan: &Plan) -> String {
    let mut text = format!("digraph {} {{\n    rankdir=LR;\n    node [shape=box];\n", quoted(&plan.name));
    for (at, lane) in plan.lanes.iter().enumerate() {
        _ = writeln!(
            text,
            "    subgraph cluster_{at} {{\n        label={};",
            quoted(&format!("lane {}", lane.name))
        );
        for &node in &lane.nodes {
            let label = quoted(&format!("{}\n{}", plan.nodes[node].id, plan.nodes[node].kind));
            _ = writeln!(text, "        n{node} [label={label}];");
        }
        text.push_str("    }\n");
    }
    for (at, edge) in drawn(plan) {
        let style = match (edge.feedback, edge.wire) {
            (true, _) => ", style=dashed, constraint=false",
            (_, true) => ", style=bold",
            _ => "",
        };
        let end = match &edge.to {
            Some(to) => format!("n{}", to.node),
            None => {
                _ = writeln!(text, "    done{at} [label=\"done\", shape=circle];");
                format!("done{at}")
            }
        };
        _ = writeln!(text, "    n{} -> {end} [label={}{style}];", edge.from.node, quoted(&label(edge)));
    }
    if !plan.paths.is_empty() {
        let paths: Vec<String> = plan.paths.iter().map(|path| route(plan, path)).collect();
        _ = writeln!(text, "    label={};\n    labelloc=b;", quoted(&paths.join("\n")));
    }
    text.push_str("}\n");
    text
}

/// The edges worth a line: a sink's `done` is one only where it has limits.
fn drawn(plan: &Plan) -> impl Iterator<Item = (usize, &PlanEdge)> {
    plan.edges.iter().enumerate().filter(|(_, edge)| edge.to.is_some() || !edge.budget.limits.is_empty())
}

fn label(edge: &PlanEdge) -> String {
    let wire = edge.wire.then(|| "wire".to_owned());
    wire.into_iter().chain(limits(&edge.budget)).collect::<Vec<_>>().join(", ")
}

fn limits(budget: &Budget) -> impl Iterator<Item = String> {
    budget.limits.iter().map(|limit| limit.bound.to_string())
}

/// `round trip: receive -> denoise -> speaker.done (cost max 5 s)`.
fn route(plan: &Plan, path: &PlanPath) -> String {
    let first = path.edges.first().map(|at| plan.nodes[plan.edges[*at].from.node].id.clone());
    let rest = path.edges.iter().map(|at| {
        let edge = &plan.edges[*at];
        edge.to.as_ref().map_or_else(|| "done".to_owned(), |to| plan.nodes[to.node].id.clone())
    });
    let nodes: Vec<String> = first.into_iter().chain(rest).collect();
    let limits: Vec<String> = limits(&path.budget).collect();
    let limits = if limits.is_empty() { String::new() } else { format!(" ({})", limits.join(", ")) };
    format!("{}: {}{limits}", path.name, nodes.join(" -> "))
}

/// Text in a Mermaid label.
fn html(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' => "#quot;".to_owned(),
        '#' => "#35;".to_owned(),
        '<' => "#lt;".to_owned(),
        '>' => "#gt;".to_owned(),
        other => other.to_string(),
    });
    escaped.collect()
}

/// Text in a Graphviz string.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fixture;

    fn plan() -> Plan {
        fixture::plan(
            r#"(
                name: "say \"hello\"",
                lanes: { "audio": () },
                nodes: {
                    "in":   (kind: "audio/wav-source", lane: "audio"),
                    "send": (kind: "net/rtp-audio-out", lane: "audio"),
                    "back": (kind: "net/udp-audio"),
                    "out":  (kind: "audio/wav-sink"),
                },
                edges: [
                    (from: "in", to: "send", budget: (max: "5 ms", drops: "0.5 %")),
                    (from: "send", to: "back", wire: true, budget: (rate: "100 /s")),
                    (from: "back", to: "out"),
                    (from: "out.done", budget: (cost: (max: "1 ms"))),
                ],
                paths: [(name: "whole", from: "in", to: "out.done", budget: (p50: "20 ms"))],
            )"#,
        )
    }

    #[test]
    fn mermaid_shows_lanes_limits_and_paths() {
        assert_eq!(
            mermaid(&plan()),
            r#"flowchart LR
    subgraph lane0["lane audio"]
        n0["in<br/>audio/wav-source"]
        n1["send<br/>net/rtp-audio-out"]
    end
    subgraph lane1["lane back"]
        n2["back<br/>net/udp-audio"]
        n3["out<br/>audio/wav-sink"]
    end
    n0 -->|"max 5 ms, drops at most 0.5 %"| n1
    n1 ==>|"wire, at least 100 /s"| n2
    n2 --> n3
    n3 -->|"cost max 1 ms"| done3(("done"))
    subgraph paths["paths"]
        path0["whole: in -#gt; send -#gt; back -#gt; out -#gt; done (p50 20 ms)"]
    end
"#
        );
    }

    #[test]
    fn dot_shows_the_same() {
        assert_eq!(
            dot(&plan()),
            r#"digraph "say \"hello\"" {
    rankdir=LR;
    node [shape=box];
    subgraph cluster_0 {
        label="lane audio";
        n0 [label="in\naudio/wav-source"];
        n1 [label="send\nnet/rtp-audio-out"];
    }
    subgraph cluster_1 {
        label="lane back";
        n2 [label="back\nnet/udp-audio"];
        n3 [label="out\naudio/wav-sink"];
    }
    n0 -> n1 [label="max 5 ms, drops at most 0.5 %"];
    n1 -> n2 [label="wire, at least 100 /s", style=bold];
    n2 -> n3 [label=""];
    done3 [label="done", shape=circle];
    n3 -> done3 [label="cost max 1 ms"];
    label="whole: in -> send -> back -> out -> done (p50 20 ms)";
    labelloc=b;
}
"#
        );
    }
}
