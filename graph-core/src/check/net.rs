//! The graph with its names resolved: nodes to kinds, ends of edges to ports.

use std::collections::HashMap;

use petgraph::graph::{DiGraph, NodeIndex};

use super::plan::{PlanEdge, PlanEnd};
use crate::{
    codes,
    diagnostic::{Diagnostic, Diagnostics, Span, Spanned, all_of, near_miss, one_of},
    file::{EdgeSpec, Endpoint, GraphSpec, NodeSpec},
    kind::{KindSpec, Kinds, PortRole, PortSpec},
};

/// A graph whose names are resolved as far as they can be.
pub(super) struct Net<'a> {
    pub(super) graph: &'a GraphSpec,
    /// The kind of each node; `None` where it is unknown, which has been reported.
    pub(super) kinds: Vec<Option<&'a KindSpec>>,
    pub(super) index: HashMap<&'a str, usize>,
    /// The edges whose ends are known, with the edge of the file, which an implicit `done` does not have.
    pub(super) edges: Vec<(PlanEdge, Option<&'a EdgeSpec>)>,
    /// Whether everything the files state is here, so that what is missing may be complained of.
    pub(super) complete: bool,
}

/// What an end of an edge or of a path is to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Input,
    Output,
    Done,
}

impl Side {
    fn of(port: &PortSpec) -> Side {
        match port.role {
            PortRole::Input { .. } => Side::Input,
            PortRole::Output { .. } => Side::Output,
            PortRole::Done => Side::Done,
        }
    }
}

impl<'a> Net<'a> {
    pub(super) fn new(graph: &'a GraphSpec, kinds: &'a dyn Kinds, diagnostics: &mut Diagnostics) -> Net<'a> {
        let mut net = Net {
            graph,
            kinds: graph.nodes.iter().map(|node| kind(node, kinds, diagnostics)).collect(),
            index: graph.nodes.iter().enumerate().map(|(at, node)| (node.id.as_str(), at)).collect(),
            edges: Vec::with_capacity(graph.edges.len()),
            complete: !graph.incomplete,
        };
        net.complete &= net.kinds.iter().all(Option::is_some);
        for spec in &graph.edges {
            match net.edge(spec, diagnostics) {
                Some(edge) => net.edges.push((edge, Some(spec))),
                None => net.complete = false,
            }
        }
        net.implicit_done();
        net
    }

    pub(super) fn node(&self, node: usize) -> &'a NodeSpec {
        &self.graph.nodes[node]
    }

    pub(super) fn port(&self, end: &PlanEnd) -> &'a PortSpec {
        let kind = self.kinds[end.node].expect("ends are made of known kinds only");
        &kind.ports[end.port]
    }

    /// The edges that lead from node to node, `done` excepted.
    pub(super) fn links(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let link =
            |(at, (edge, _)): (usize, &(PlanEdge, _))| Some((at, edge.from.node, edge.to.as_ref()?.node));
        self.edges.iter().enumerate().filter_map(link)
    }

    /// Nodes and the edges that `keep` keeps, for petgraph. Weights are indices of nodes and of edges.
    pub(super) fn digraph(&self, keep: impl Fn(&PlanEdge) -> bool) -> DiGraph<usize, usize> {
        let mut graph = DiGraph::with_capacity(self.kinds.len(), self.edges.len());
        for node in 0..self.kinds.len() {
            graph.add_node(node);
        }
        for (at, from, to) in self.links().filter(|(at, _, _)| keep(&self.edges[*at].0)) {
            graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), at);
        }
        graph
    }

    /// The node that an endpoint names.
    pub(super) fn find(&self, end: &Spanned<Endpoint>, diagnostics: &mut Diagnostics) -> Option<usize> {
        let found = self.index.get(end.node.as_str()).copied();
        if found.is_none() {
            let names = || self.graph.nodes.iter().map(|node| node.id.as_str());
            let help = match near_miss(&end.node, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if (1..=12).contains(&self.graph.nodes.len()) => {
                    format!("the nodes are {}", all_of(names()))
                }
                None => "add it to `nodes`".to_owned(),
            };
            diagnostics.push(
                Diagnostic::new(&codes::UNKNOWN_NODE, format!("there is no node `{}`", end.node))
                    .at(&end.span)
                    .expected("the name of a node")
                    .found(format!("`{}`", end.node))
                    .help(help),
            );
        }
        found
    }

    fn edge(&self, spec: &EdgeSpec, diagnostics: &mut Diagnostics) -> Option<PlanEdge> {
        let from = self.find(&spec.from, diagnostics);
        let to = spec.to.as_ref().map(|to| self.find(to, diagnostics));
        let from = self.output(&spec.from, from?, spec, diagnostics);
        let to = match (&spec.to, to) {
            (Some(end), Some(node)) => Some(self.end(end, node?, Side::Input, diagnostics)?),
            _ => None,
        };
        Some(PlanEdge {
            from: from?,
            to,
            queue: spec.queue,
            budget: spec.budget.to_budget(),
            wire: spec.wire,
            feedback: spec.feedback,
            measure_all: spec.measure_all,
            crosses: false,
        })
    }

    /// The output that an edge leaves: a sink's `done` where it has no `to`, and another one where it has.
    fn output(
        &self,
        end: &Spanned<Endpoint>,
        node: usize,
        spec: &EdgeSpec,
        diagnostics: &mut Diagnostics,
    ) -> Option<PlanEnd> {
        let kind = self.kinds[node]?;
        let named = end.port.as_deref().and_then(|name| kind.port(name)).map(Side::of);
        let complaint = match (&spec.to, named) {
            (Some(to), Some(Side::Done)) => Diagnostic::new(
                &codes::DONE_EDGE,
                format!("`{}` leads nowhere: it tells when a sink is done", end.value),
            )
            .at(&to.span)
            .help("leave `to` out; the edge is there to carry a budget"),
            (None, side) if side == Some(Side::Output) || end.port.is_none() => {
                Diagnostic::new(&codes::DONE_EDGE, format!("the edge from `{}` has no `to`", end.value))
                    .at(&spec.span)
                    .expected("`to`")
                    .help("add to: \"node\"; only an edge from a sink's `done` is without")
            }
            (Some(_), _) => return self.end(end, node, Side::Output, diagnostics),
            (None, _) => return self.end(end, node, Side::Done, diagnostics),
        };
        diagnostics.push(complaint.node(&end.node));
        None
    }

    /// The port that an end names, which is to be of that side.
    pub(super) fn end(
        &self,
        end: &Spanned<Endpoint>,
        node: usize,
        side: Side,
        diagnostics: &mut Diagnostics,
    ) -> Option<PlanEnd> {
        let kind = self.kinds[node]?;
        let wanted = if side == Side::Input { "input" } else { "output" };
        let fits = |port: &&PortSpec| Side::of(port) == side;
        let names: Vec<&str> = kind.ports.iter().filter(fits).map(|port| port.name).collect();
        let whole = |port: &&str| format!("{}.{port}", end.node);
        let of_kind = format!("`{}` ({})", end.node, kind.kind);
        let found =
            end.port.as_ref().map(|name| (name, kind.ports.iter().position(|port| port.name == name)));
        let complaint = match found {
            Some((_, Some(at))) if fits(&&kind.ports[at]) => {
                let name = format!("{}.{}", end.node, kind.ports[at].name);
                return Some(PlanEnd { node, port: at, name });
            }
            Some((_, Some(at))) => {
                let is = match Side::of(&kind.ports[at]) {
                    Side::Input => "an input",
                    Side::Output => "an output",
                    Side::Done => "a sink's `done`",
                };
                let message = format!("`{}` is {is}, where an {wanted} is wanted", end.value);
                Diagnostic::new(&codes::UNKNOWN_PORT, message)
            }
            Some((name, None)) => {
                Diagnostic::new(&codes::UNKNOWN_PORT, format!("{of_kind} has no {wanted} `{name}`"))
            }
            None if names.is_empty() => {
                Diagnostic::new(&codes::UNKNOWN_PORT, format!("{of_kind} has no {wanted}"))
            }
            None => Diagnostic::new(&codes::AMBIGUOUS_PORT, format!("{of_kind} has several {wanted}s")),
        };
        let near = end.port.as_ref().and_then(|port| near_miss(port, names.iter().copied()));
        let help = match (near, names.as_slice()) {
            (Some(near), _) => format!("did you mean `{}`?", whole(&near)),
            (None, []) => format!("`graphrun nodes {}` describes its ports", kind.kind),
            (None, [only]) => format!("its {wanted} is `{}`", whole(only)),
            (None, names) => {
                format!("name one of {}", one_of(names.iter().map(whole)))
            }
        };
        let mut complaint =
            complaint.at(&end.span).found(format!("`{}`", end.value)).help(help).node(&end.node);
        if !names.is_empty() {
            complaint = complaint.expected(one_of(names.iter().map(whole)));
        }
        diagnostics.push(complaint);
        None
    }

    /// The edge that every sink's `done` is, where the file states none.
    fn implicit_done(&mut self) {
        for (node, kind) in self.kinds.iter().enumerate() {
            let Some(kind) = kind else { continue };
            for (port, _) in kind.ports.iter().enumerate().filter(|(_, port)| port.role == PortRole::Done) {
                if self.edges.iter().any(|(edge, _)| edge.to.is_none() && edge.from.node == node) {
                    continue;
                }
                let name = format!("{}.{}", self.graph.nodes[node].id, kind.ports[port].name);
                let edge = PlanEdge {
                    from: PlanEnd { node, port, name },
                    to: None,
                    queue: Default::default(),
                    budget: Default::default(),
                    wire: false,
                    feedback: false,
                    measure_all: false,
                    crosses: false,
                };
                self.edges.push((edge, None));
            }
        }
    }

    /// Where an edge stands in the file; for an implicit `done`, its node.
    pub(super) fn edge_span(&self, at: usize) -> &'a Span {
        let (edge, spec) = &self.edges[at];
        spec.map_or(&self.node(edge.from.node).span, |spec| &spec.span)
    }
}

/// What is known of a node's kind.
fn kind<'a>(node: &NodeSpec, kinds: &'a dyn Kinds, diagnostics: &mut Diagnostics) -> Option<&'a KindSpec> {
    let name = node.kind.as_str();
    let found = kinds.get(name);
    if found.is_none() && !name.is_empty() {
        let diagnostic = match kinds.missing_feature(name) {
            Some(feature) => {
                Diagnostic::new(&codes::KIND_NOT_BUILT, format!("the kind `{name}` is not in this build")).help(format!(
                    "it comes with the cargo feature `{feature}`: build with --features {feature}, or start the graph by \
                     tools/graphrun, which builds what a graph needs"
                ))
            }
            None => {
                let diagnostic = Diagnostic::new(&codes::UNKNOWN_KIND, format!("there is no node kind `{name}`"));
                match near_miss(name, kinds.names()) {
                    Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                    None => diagnostic.help("`graphrun nodes` lists the kinds"),
                }
            }
        };
        let diagnostic = diagnostic.at(&node.kind.span).node(&node.id);
        diagnostics.push(diagnostic.expected("the kind of a node").found(format!("`{name}`")));
    }
    found
}
