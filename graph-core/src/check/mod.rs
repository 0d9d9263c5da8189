//! What must be true of a graph before anything runs, and the plan that comes of it.

mod budget;
#[cfg(test)]
pub(crate) mod fixture;
mod floor;
mod lanes;
mod layout;
mod net;
mod paths;
mod plan;
mod quantile;
mod queue;
mod wiring;

use std::{
    collections::{HashSet, VecDeque},
    path::{Path, PathBuf},
};

pub use floor::floors;
pub use layout::{EdgeLayout, LaneLayout, Layout};
pub use plan::{Allocation, Plan, PlanEdge, PlanEnd, PlanLane, PlanNode, PlanPath, QuantileSum, QueueBound};

use self::net::Net;
use crate::{
    asset::AssetRef,
    codes,
    diagnostic::{Diagnostic, Diagnostics, Span, all_of, near_miss},
    file::{Disk, GraphSpec, load},
    kind::{Kinds, PortRole},
    registry::Registry,
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
        sound.then(|| {
            let quantiles = quantile::sums(&net, &paths);
            let lanes = lanes::assign(&net, &order);
            let queues = queue::bounds(&net, &lanes.of, &mut diagnostics);
            let paths = paths.into_iter().map(|(_, path)| path).collect();
            Plan { paths, allocations, quantiles, queues, ..plan(&net, order, lanes) }
        })
    });
    diagnostics.sort();
    (plan, diagnostics)
}

/// Looks at the files that nodes need: `wrong` says what is the matter with one, if anything is.
pub fn files(plan: &Plan, registry: &Registry, wrong: &dyn Fn(&AssetRef) -> Option<String>) -> Diagnostics {
    let mut diagnostics: Diagnostics = plan
        .nodes
        .iter()
        .flat_map(|node| {
            // Parameters without a type have been reported, and then there is no plan.
            let needed = registry.assets(&node.kind, &node.with).unwrap_or_default();
            needed.into_iter().filter_map(|file| Some(node.with.file_fault(file.as_str(), wrong(&file)?)))
        })
        .collect();
    diagnostics.sort();
    diagnostics
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

/// Nodes, edges and lanes of a plan.
fn plan(net: &Net<'_>, order: Vec<usize>, lanes: lanes::Lanes) -> Plan {
    let lanes::Lanes { lanes, of } = lanes;
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
        paths: Vec::new(),
        allocations: Vec::new(),
        quantiles: Vec::new(),
        queues: Vec::new(),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{diagnostic::Severity, file::Files};
    use fixture::{Memory, TestKinds};

    /// A graph with something of everything.
    const WHOLE: &str = r#"(
        name: "voice", class: "ci", warm_up: 10,
        lanes: { "audio": (priority: fifo(40), cpus: [0, 1], wait: spin("20 us")) },
        nodes: {
            "in":   (kind: "audio/wav-source", lane: "audio"),
            "gain": (kind: "audio/gain", with: (gain_db: -6.5, ramp: "5 ms", over: Wrap, bands: [(hertz: 440)])),
            "mix":  (kind: "audio/mix", on_error: restart(first: "1 s", times: 3)),
            "stt":  (kind: "speech/stt"),
            "out":  (kind: "text/sink"),
        },
        edges: [
            (from: "in", to: "gain", queue: (capacity: "200 ms", full: drop_oldest, late: "50 ms"), measure: all),
            (from: "gain", to: "mix.a", budget: (max: "5 ms", cost: (p99: (limit: "1 ms", level: warn)), drops: "0 %")),
            (from: "in", to: "mix.b", budget: (max: "5 ms", reference: "300..500 us")),
            (from: "mix", to: "stt", budget: (max: "5 ms")),
            (from: "stt", to: "out"), // the words
        ],
        paths: [(name: "whole", from: "in", to: "out.done", via: ["gain"], budget: (max: "5 s"))],
        benches: [(id: "b", budget: (mean: "100 ns", reference: "< 100 ns"))],
    )"#;

    fn check_bytes(bytes: Vec<u8>, overlay: Vec<u8>) -> Diagnostics {
        let mut files = Memory::new([]);
        files.0.insert("graph.ron".into(), bytes);
        files.0.insert("over.ron".into(), overlay);
        let kinds = TestKinds::new();
        let (graph, mut diagnostics) = load(&files, Path::new("graph.ron"), &["over.ron".into()], &kinds);
        let plan = graph.as_ref().and_then(|graph| {
            let (plan, found) = check(graph, &kinds);
            diagnostics.extend(found);
            plan
        });
        assert_eq!(plan.is_none(), diagnostics.refuse(false), "{diagnostics}");
        for diagnostic in diagnostics.iter() {
            assert!(diagnostic.span.is_some(), "{diagnostic}");
        }
        serde_json::to_string(&diagnostics).unwrap();
        diagnostics
    }

    #[test]
    fn the_graph_to_be_spoilt_is_sound() {
        let diagnostics = check_bytes(WHOLE.into(), "()".into());
        assert_eq!(diagnostics.count(Severity::Error), 0, "{diagnostics}");
    }

    #[test]
    fn deep_nesting_ends_in_an_error() {
        for (open, close) in [("(", ")"), ("[", "]"), ("{1:", "}"), ("Some(", ")"), ("(a:", ")")] {
            for depth in [1_000, 100_000] {
                let text = format!("(nodes: {}{})", open.repeat(depth), close.repeat(depth));
                assert!(check_bytes(text.into(), "()".into()).refuse(false));
                assert!(check_bytes(open.repeat(depth).into(), "()".into()).refuse(false));
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_places_and_not_in_a_panic(bytes: Vec<u8>, overlay: Vec<u8>) {
            check_bytes(bytes, overlay);
        }

        #[test]
        fn any_ron_like_text_ends_in_places(text in "[(){}\\[\\]:,\"a-z0-9 .#r\\\\/*\n-]{0,80}") {
            check_bytes(text.clone().into_bytes(), b"()".to_vec());
            check_bytes(WHOLE.into(), text.into_bytes());
        }

        #[test]
        fn a_spoilt_graph_ends_in_places(
            cuts in prop::collection::vec((0..WHOLE.len(), 0..12_usize, "[(){}\\[\\]:,\"a-z0-9 .ä/-]{0,6}"), 1..4),
            as_overlay: bool,
        ) {
            let mut text = WHOLE.as_bytes().to_vec();
            for (at, length, instead) in cuts {
                let start = at.min(text.len());
                let end = (start + length).min(text.len());
                text.splice(start..end, instead.into_bytes());
            }
            if as_overlay {
                check_bytes(WHOLE.into(), text);
            } else {
                check_bytes(text, b"()".to_vec());
            }
        }

        #[test]
        fn a_word_moved_elsewhere_ends_in_places(from in 0..WHOLE.len(), length in 1..30_usize, to in 0..WHOLE.len()) {
            let piece: String = WHOLE.chars().skip(from).take(length).collect();
            let mut text: String = WHOLE.chars().take(to).collect();
            text.push_str(&piece);
            text.extend(WHOLE.chars().skip(to));
            check_bytes(text.into_bytes(), b"()".to_vec());
        }
    }

    #[test]
    fn a_file_of_the_disk_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tone.ron");
        std::fs::write(&path, WHOLE).unwrap();
        let checked = check_file(&path, &[], &TestKinds::new());
        assert_eq!(checked.plan.unwrap().name, "voice");
        let checked = check_file(&folder.path().join("none.ron"), &[], &TestKinds::new());
        assert!(checked.graph.is_none() && checked.diagnostics.refuse(false));
        assert_eq!(Disk.read(folder.path()).unwrap_err().kind(), std::io::ErrorKind::IsADirectory);
    }

    #[test]
    fn a_thousand_nodes_are_checked_in_order() {
        let nodes: String = (0..1_000).map(|at| format!("\"n{at}\": (kind: \"audio/gain\"),")).collect();
        let edges: String = (1..1_000)
            .map(|at| format!("(from: \"n{}\", to: \"n{at}\", budget: (max: \"1 us\")),", at - 1))
            .collect();
        let text = format!(
            r#"(nodes: {{ "in": (kind: "audio/wav-source"), {nodes} "out": (kind: "audio/wav-sink") }},
                edges: [(from: "in", to: "n0"), {edges} (from: "n999", to: "out")],
                paths: [(name: "p", from: "in", to: "out.done", budget: (max: "1 s"))])"#
        );
        let plan = fixture::plan(&text);
        assert_eq!((plan.order.len(), plan.paths[0].edges.len()), (1_002, 1_002));
        assert_eq!(plan.nodes[0].to_sink, 1_001);
    }
}
