//! Files laid over each other, by key, into one graph.

use std::{collections::HashMap, sync::Arc};

use super::{
    parts::{BenchPart, EdgePart, FilePart, LanePart, NodePart, OverheadPart, Part, PathPart},
    spec::{BenchSpec, EdgeSpec, GraphSpec, LaneSpec, NodeSpec, OverheadSpec, PathSpec, QueueSpec, RawWith},
};
use crate::{
    budget::Measure,
    codes,
    diagnostic::{Diagnostic, Diagnostics, Source, Span, Spanned, near_miss},
    kind::{Arity, KindSpec, Kinds, PortRole, PortSpec},
};

/// Lays each file over those before it. `source` is the one that was asked for; its stem is the graph's name where no file
/// states one.
pub(super) fn merge(
    files: Vec<FilePart>,
    source: Arc<Source>,
    kinds: &dyn Kinds,
) -> (GraphSpec, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let stem = source.path().file_stem().unwrap_or_default();
    let mut graph = GraphSpec {
        name: stem.to_string_lossy().into_owned(),
        source,
        about: None,
        class: None,
        warm_up: Default::default(),
        lanes: Vec::new(),
        nodes: Vec::new(),
        edges: Vec::new(),
        paths: Vec::new(),
        benches: Vec::new(),
        overheads: Vec::new(),
        incomplete: false,
    };
    let (mut lanes, mut nodes, mut edges) = (Layers::default(), Layers::default(), Vec::new());
    let (mut paths, mut benches, mut overheads) = (Layers::default(), Layers::default(), Layers::default());
    for file in files {
        graph.name = file.name.unwrap_or(graph.name);
        graph.about = file.about.or(graph.about);
        graph.class = file.class.or(graph.class);
        graph.warm_up = file.warm_up.unwrap_or(graph.warm_up);
        lanes.lay(file.lanes, &mut diagnostics);
        let removed = nodes.lay(file.nodes, &mut diagnostics);
        edges.push((file.edges, removed));
        paths.lay(file.paths, &mut diagnostics);
        benches.lay(file.benches, &mut diagnostics);
        overheads.lay(file.overheads, &mut diagnostics);
    }

    let ports = Ports::new(&nodes, kinds);
    let mut laid = Layers::default();
    for (mut file, removed) in edges {
        let goes = |edge: &EdgePart| {
            [Some(&edge.from), edge.to.as_ref()].into_iter().flatten().any(|end| removed.contains(&end.node))
        };
        laid.drop_if(goes);
        // To remove an edge together with its node is no mistake.
        file.retain(|edge| !(edge.remove && goes(edge)));
        for edge in &mut file {
            ports.complete(edge);
        }
        laid.lay(file, &mut diagnostics);
    }

    let mut finish = Finish { diagnostics };
    graph.lanes = lanes.parts().map(lane).collect();
    graph.edges = laid.parts().map(edge).collect();
    let names: Vec<String> = nodes.slots.iter().flatten().map(|slot| slot.part.key()).collect();
    graph.nodes = nodes.parts().map(|part| finish.node(part, &names)).collect();
    graph.paths = paths.parts().filter_map(|part| finish.path(part)).collect();
    graph.benches = benches.parts().map(bench).collect();
    graph.overheads = overheads.parts().filter_map(|part| finish.overhead(part)).collect();
    (graph, finish.diagnostics)
}

/// The parts of one sort, in the order in which files first state them.
struct Layers<P> {
    slots: Vec<Option<Slot<P>>>,
    by_key: HashMap<String, usize>,
}

struct Slot<P> {
    part: P,
    /// Where the latest file states it: a second time there is a mistake.
    latest: Span,
}

impl<P> Default for Layers<P> {
    fn default() -> Layers<P> {
        Layers { slots: Vec::new(), by_key: HashMap::new() }
    }
}

impl<P: Part> Layers<P> {
    /// Lays the parts of one file over those of the files before it. Returns the keys of what it removes.
    fn lay(&mut self, parts: Vec<P>, diagnostics: &mut Diagnostics) -> Vec<String> {
        let mut removed = Vec::new();
        for part in parts {
            let key = part.key();
            let latest = part.span().clone();
            let Some(&at) = self.by_key.get(&key) else {
                if part.removes() {
                    diagnostics.push(self.nothing_to_remove(&key, &latest));
                } else {
                    self.by_key.insert(key, self.slots.len());
                    self.slots.push(Some(Slot { part, latest }));
                }
                continue;
            };
            let slot = self.slots[at].as_mut().expect("a key leads to a part that is not removed");
            if Arc::ptr_eq(slot.latest.source(), latest.source()) {
                diagnostics.push(
                    Diagnostic::new(&codes::DUPLICATE, format!("the {} `{key}` is stated twice", P::WHAT))
                        .at(&latest)
                        .help("rename or remove one of the two")
                        .related(&slot.latest, "stated here first"),
                );
            } else if part.removes() {
                self.slots[at] = None;
                self.by_key.remove(&key);
                removed.push(key);
            } else {
                slot.part.lay(part);
                slot.latest = latest;
            }
        }
        removed
    }

    fn drop_if(&mut self, goes: impl Fn(&P) -> bool) {
        for slot in &mut self.slots {
            if let Some(Slot { part, .. }) = slot
                && goes(part)
            {
                self.by_key.remove(&part.key());
                *slot = None;
            }
        }
    }

    fn nothing_to_remove(&self, key: &str, span: &Span) -> Diagnostic {
        let what = P::WHAT;
        let diagnostic = Diagnostic::new(
            &codes::NOTHING_TO_REMOVE,
            format!("there is no {what} `{key}` to remove in the files before this one"),
        )
        .at(span);
        match near_miss(key, self.by_key.keys().map(String::as_str)) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help(
                "`remove: true` takes away what an included file, or the graph below an overlay, states",
            ),
        }
    }

    fn parts(self) -> impl Iterator<Item = P> {
        self.slots.into_iter().flatten().map(|slot| slot.part)
    }
}

/// The kinds of the nodes, to complete ports that are left out.
struct Ports<'a>(HashMap<String, &'a KindSpec>);

impl<'a> Ports<'a> {
    fn new(nodes: &Layers<NodePart>, kinds: &'a dyn Kinds) -> Ports<'a> {
        let kind = |slot: &Slot<NodePart>| {
            let kind = kinds.get(&slot.part.kind.as_ref()?.value)?;
            Some((slot.part.key(), kind))
        };
        Ports(nodes.slots.iter().flatten().filter_map(kind).collect())
    }

    /// Fills in the ports that are left out where only one fits.
    fn complete(&self, edge: &mut EdgePart) {
        if let Some(kind) = self.0.get(&edge.from.node) {
            let leads_on = edge.to.is_some();
            let fits = |port: &&PortSpec| match port.role {
                PortRole::Output { .. } => leads_on,
                PortRole::Done => !leads_on,
                PortRole::Input { .. } => false,
            };
            fill(&mut edge.from.value.port, edge.wire, kind.ports.iter().filter(fits));
            let port = edge.from.port.as_ref().and_then(|port| kind.port(port));
            if port.is_some_and(|port| port.role == PortRole::Output { arity: Arity::Many }) {
                edge.default_measure = Measure::First;
            }
        }
        if let Some(to) = &mut edge.to
            && let Some(kind) = self.0.get(&to.node)
        {
            fill(&mut to.value.port, edge.wire, kind.inputs());
        }
    }
}

/// The name of the only one of `ports` that fits, where none is given. An edge that does not say whether it goes over a
/// wire gets a wire port only where there is no other, since an overlay need not repeat `wire: true`.
fn fill<'a>(port: &mut Option<String>, wire: Option<bool>, ports: impl Iterator<Item = &'a PortSpec>) {
    if port.is_some() {
        return;
    }
    let (wires, plain): (Vec<&PortSpec>, Vec<&PortSpec>) = ports.partition(|port| port.wire);
    let fitting = match wire {
        Some(true) => wires,
        Some(false) => plain,
        None if plain.is_empty() => wires,
        None => plain,
    };
    if let [only] = fitting.as_slice() {
        *port = Some(only.name.to_owned());
    }
}

/// Defaults filled in, and complaints of what no file states.
struct Finish {
    diagnostics: Diagnostics,
}

impl Finish {
    fn missing(&mut self, owner: String, field: &str, span: &Span, example: &str) -> Diagnostic {
        Diagnostic::new(&codes::MISSING_FIELD, format!("{owner} has no `{field}`"))
            .at(span)
            .expected(format!("`{field}`"))
            .help(format!("add {example}"))
    }

    fn node(&mut self, part: NodePart, names: &[String]) -> NodeSpec {
        let id = part.id.value.clone();
        if part.kind.is_none() && !part.broken {
            let mut complaint = self
                .missing(format!("the node `{id}`"), "kind", &part.id.span, "kind: \"domain/name\"")
                .node(&id);
            let others = names.iter().map(String::as_str).filter(|name| *name != id);
            if let Some(near) = near_miss(&id, others) {
                complaint =
                    complaint.help(format!("add kind: \"domain/name\", or did you mean the node `{near}`?"));
            }
            self.diagnostics.push(complaint);
        }
        NodeSpec {
            kind: part.kind.unwrap_or_else(|| Spanned::new(String::new(), part.id.span.clone())),
            lane: part.lane,
            with: part.with.unwrap_or_else(|| RawWith {
                node: id.clone(),
                fields: Vec::new(),
                span: part.id.span.clone(),
            }),
            on_error: part.on_error.unwrap_or_default(),
            about: part.about,
            span: part.id.span,
            id,
        }
    }

    fn path(&mut self, part: PathPart) -> Option<PathSpec> {
        let owner = || format!("the path `{}`", part.name.value);
        for (field, end) in [("from", &part.from), ("to", &part.to)] {
            if end.is_none() {
                let complaint = self.missing(owner(), field, &part.name.span, &format!("{field}: \"node\""));
                self.diagnostics.push(complaint);
            }
        }
        Some(PathSpec {
            from: part.from?,
            to: part.to?,
            name: part.name,
            via: part.via.unwrap_or_default(),
            budget: part.budget,
            packets: part.packets,
            about: part.about,
            span: part.span,
        })
    }

    fn overhead(&mut self, part: OverheadPart) -> Option<OverheadSpec> {
        let owner = || format!("the overhead `{}`", part.name.value);
        for (field, path) in [("path", &part.path), ("direct", &part.direct)] {
            if path.is_none() {
                let complaint =
                    self.missing(owner(), field, &part.name.span, &format!("{field}: \"name of a path\""));
                self.diagnostics.push(complaint);
            }
        }
        Some(OverheadSpec {
            path: part.path?,
            direct: part.direct?,
            name: part.name,
            limits: part.limits,
            share_from: part.share_from,
            reference: part.reference,
            about: part.about,
        })
    }
}

fn lane(part: LanePart) -> LaneSpec {
    LaneSpec {
        name: part.name.value,
        priority: part.priority.unwrap_or_default(),
        cpus: part.cpus.unwrap_or_default(),
        wait: part.wait,
        lock_memory: part.lock_memory.unwrap_or_default(),
        strict: part.strict.unwrap_or_default(),
        about: part.about,
        span: part.name.span,
    }
}

fn edge(part: EdgePart) -> EdgeSpec {
    EdgeSpec {
        from: part.from,
        to: part.to,
        queue: QueueSpec {
            capacity: part.queue.capacity.unwrap_or_default(),
            full: part.queue.full.unwrap_or_default(),
            late: part.queue.late,
        },
        budget: part.budget,
        wire: part.wire.unwrap_or_default(),
        feedback: part.feedback.unwrap_or_default(),
        measure_all: part.measure_all.unwrap_or_default(),
        about: part.about,
        span: part.span,
    }
}

fn bench(part: BenchPart) -> BenchSpec {
    BenchSpec { id: part.id, budget: part.budget, about: part.about }
}
