//! What nodes and sockets cost, as files, reports and the command line state it.

use std::{fmt, sync::Arc};

use super::{
    Distribution,
    node::{InputModel, NodeModel, OutputModel, Role},
    ports::Socket,
};
use crate::{
    check::Plan,
    codes,
    diagnostic::{Diagnostic, Diagnostics, Span, Spanned, all_of, near_miss},
    file::RawCost,
    kind::{Kinds, PortRole, Trigger},
    registry::Registry,
};

/// What the nodes of a graph cost, and the sockets between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// Where the figures are from, one sentence.
    pub about: Option<String>,
    pub(crate) nodes: Vec<(Name, NodeCosts)>,
    /// Wire edges by name, `player.wire -> receive.wire`, and how long a packet is under way.
    pub(crate) wires: Vec<(Name, Distribution)>,
    /// Waits on edges of an earlier run, of which those of wire edges are delays too.
    pub(crate) waits: Vec<(String, Distribution)>,
}

/// A name, and where a file states it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Option<Span>,
}

impl From<Spanned<String>> for Name {
    fn from(name: Spanned<String>) -> Name {
        Name { text: name.value, span: Some(name.span) }
    }
}

/// What a node costs. What is not stated is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NodeCosts {
    /// What a packet costs that output is due to.
    pub(crate) work: Option<Distribution>,
    /// What a packet costs that no output is due to.
    pub(crate) quiet: Option<Distribution>,
    /// What output waits on purpose.
    pub(crate) held: Option<Distribution>,
    /// The time between two packets of a source.
    pub(crate) interval: Option<Distribution>,
    /// After so many packets a source ends.
    pub(crate) count: Option<u64>,
    /// Whether the work is done on a thread of the node's own, so that its lane goes on.
    pub(crate) aside: Option<bool>,
    /// How many turns a packet begins.
    pub(crate) turns: Option<f64>,
    pub(crate) outputs: Vec<(Name, OutputCosts)>,
}

/// What is special about an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OutputCosts {
    /// Packets for each that the node takes, or for each tick of a source.
    pub(crate) ratio: Option<f64>,
    /// Work between the packets of one cause.
    pub(crate) every: Option<Distribution>,
    /// The least time between two packets; waiting for it is `held`.
    pub(crate) pace: Option<Distribution>,
    /// Instead of the node's.
    pub(crate) work: Option<Distribution>,
    /// Instead of the node's.
    pub(crate) held: Option<Distribution>,
}

/// Takes what `over` states, field by field.
macro_rules! lay_over {
    ($under:expr, $over:expr, $($field:ident),+) => {
        $(if $over.$field.is_some() { $under.$field = $over.$field; })+
    };
}

impl Costs {
    /// Lays other costs over these, field by field: what they state wins.
    pub fn lay_over(&mut self, over: Costs) {
        for (name, costs) in over.nodes {
            let node = entry(&mut self.nodes, name);
            lay_over!(node, costs, work, quiet, held, interval, count, aside, turns);
            for (name, costs) in costs.outputs {
                let output = entry(&mut node.outputs, name);
                lay_over!(output, costs, ratio, every, pace, work, held);
            }
        }
        for (name, delay) in over.wires {
            match self.wires.iter_mut().find(|(known, _)| known.text == name.text) {
                Some(known) => known.1 = delay,
                None => self.wires.push((name, delay)),
            }
        }
        if !over.waits.is_empty() {
            self.waits = over.waits;
        }
        if over.about.is_some() {
            self.about = over.about;
        }
    }

    /// Lays one cost over these: `stt="300 ms"`, `vad.held="480 ms"`, `player.interval="10 ms"`, or the delay of a
    /// socket, `"speaker -> glasses"="2 ms"`. A distribution is written as in a file:
    /// `stt=exponential(mean: "300 ms")`.
    ///
    /// A node's work or held stated here is that of all its outputs.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn set(&mut self, text: &str) -> Result<(), Diagnostics> {
        let RawCost { target, field, time } = RawCost::parse(text)?;
        let name = Name { text: target, span: None };
        if name.text.contains("->") {
            self.lay_over(Costs { wires: vec![(name, time)], ..Costs::default() });
            return Ok(());
        }
        let node = entry(&mut self.nodes, name);
        match field {
            "work" => {
                node.work = Some(time);
                node.outputs.iter_mut().for_each(|(_, output)| output.work = None);
            }
            "held" => {
                node.held = Some(time);
                node.outputs.iter_mut().for_each(|(_, output)| output.held = None);
            }
            "quiet" => node.quiet = Some(time),
            _ => node.interval = Some(time),
        }
        Ok(())
    }

    /// The model of each node of a plan.
    ///
    /// # Errors
    /// Nodes, ports and sockets that the plan does not have, and those of the plan that have no model, all at once.
    pub(crate) fn models(
        &self,
        plan: &Plan,
        registry: &Registry,
        seed: u64,
    ) -> Result<Vec<NodeModel>, Diagnostics> {
        let mut wrong = Diagnostics::new();
        for (name, _) in &self.nodes {
            if plan.nodes.iter().all(|node| node.id != name.text) {
                let ids = plan.nodes.iter().map(|node| node.id.as_str());
                let help = match near_miss(&name.text, ids) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "remove it, or add the node to the graph".to_owned(),
                };
                let message = format!("costs of the node `{}`, which the graph does not have", name.text);
                wrong.push(placed(Diagnostic::new(&codes::UNKNOWN_NODE, message).help(help), name));
            }
        }
        let sockets = self.sockets(plan, &mut wrong);
        let models: Vec<_> = (0..plan.nodes.len())
            .map(|node| self.model(plan, registry, node, &sockets, seed, &mut wrong))
            .collect();
        self.complain_of_missing(plan, &mut wrong);
        if wrong.is_empty() { Ok(models) } else { Err(wrong) }
    }

    /// The socket of each edge of the plan that is one.
    fn sockets(&self, plan: &Plan, wrong: &mut Diagnostics) -> Vec<Option<Arc<Socket>>> {
        for (name, _) in &self.wires {
            if plan.edges.iter().all(|edge| !edge.wire || !is_named(&edge.name(), &name.text)) {
                let wires: Vec<_> =
                    plan.edges.iter().filter(|edge| edge.wire).map(|edge| edge.name()).collect();
                let help = match wires.is_empty() {
                    true => "remove it: the graph has no wire edge".to_owned(),
                    false => format!("the graph's wire edges are {}", all_of(&wires)),
                };
                let message =
                    format!("costs of the wire edge `{}`, which the graph does not have", name.text);
                wrong.push(placed(Diagnostic::new(&codes::WIRE, message).help(help), name));
            }
        }
        let socket = |edge: &crate::check::PlanEdge| {
            let delay = self.wire(&edge.name()).filter(|_| edge.wire)?;
            Some(Arc::new(Socket::new(delay.clone())))
        };
        plan.edges.iter().map(socket).collect()
    }

    fn of(&self, node: &str) -> Option<&NodeCosts> {
        self.nodes.iter().find(|(name, _)| name.text == node).map(|(_, costs)| costs)
    }

    fn model(
        &self,
        plan: &Plan,
        registry: &Registry,
        at: usize,
        sockets: &[Option<Arc<Socket>>],
        seed: u64,
        wrong: &mut Diagnostics,
    ) -> NodeModel {
        let node = &plan.nodes[at];
        let kind = registry.get(&node.kind).expect("the check found the kind");
        let costs = self.of(&node.id).cloned().unwrap_or_default();
        for (name, _) in &costs.outputs {
            let outputs: Vec<_> =
                kind.ports.iter().filter(|port| !matches!(port.role, PortRole::Input { .. })).collect();
            if outputs.iter().all(|port| port.name != name.text) {
                let names = all_of(outputs.iter().map(|port| port.name));
                let message = format!("`{}` has no output `{}`", node.id, name.text);
                let diagnostic = Diagnostic::new(&codes::UNKNOWN_PORT, message).node(&node.id);
                wrong.push(placed(diagnostic.help(format!("its outputs are {names}")), name));
            }
        }
        let inputs = kind.ports.iter().filter_map(|port| {
            let PortRole::Input { trigger, .. } = port.role else { return None };
            let edge = edge_at(plan, at, &node.inputs, port.name, false)?;
            Some(InputModel {
                name: port.name,
                trigger,
                socket: port.wire.then(|| sockets[edge].clone()).flatten(),
            })
        });
        let inputs: Vec<_> = inputs.collect();
        let feeds_back =
            |name| edge_at(plan, at, &node.inputs, name, false).is_some_and(|edge| plan.edges[edge].feedback);
        let feedback = inputs.iter().map(|input| input.name).filter(|name| feeds_back(name)).collect();
        let outputs = kind.ports.iter().filter_map(|port| {
            if matches!(port.role, PortRole::Input { .. }) {
                return None;
            }
            let edge = edge_at(plan, at, &node.outputs, port.name, true)?;
            let special = costs.outputs.iter().find(|(name, _)| name.text == port.name);
            let special = special.map(|(_, special)| special.clone()).unwrap_or_default();
            Some(OutputModel {
                name: port.name,
                role: port.role,
                ratio: special.ratio.unwrap_or(1.0),
                every: special.every,
                pace: special.pace,
                work: special.work,
                held: special.held.or_else(|| costs.held.clone()).unwrap_or(Distribution::ZERO),
                socket: port.wire.then(|| sockets[edge].clone()).flatten(),
            })
        });
        let interval = costs.interval.unwrap_or(Distribution::ZERO);
        let role = if is_source(plan, registry, at) {
            Role::Source { interval, count: costs.count }
        } else {
            Role::Fed
        };
        NodeModel {
            outputs: outputs.collect(),
            inputs,
            feedback,
            role,
            work: costs.work.unwrap_or(Distribution::ZERO),
            quiet: costs.quiet.unwrap_or(Distribution::ZERO),
            aside: costs.aside.unwrap_or_default(),
            turns: costs.turns.unwrap_or_default(),
            seed,
            stream: at as u64,
        }
    }

    /// One complaint that names every node and socket without a model.
    fn complain_of_missing(&self, plan: &Plan, wrong: &mut Diagnostics) {
        let nodes = plan.nodes.iter().filter(|node| !self.of(&node.id).is_some_and(NodeCosts::is_a_model));
        let nodes: Vec<_> = nodes.map(|node| node.id.clone()).collect();
        let wires = plan.edges.iter().filter(|edge| edge.wire).map(|edge| edge.name());
        let wires: Vec<_> = wires.filter(|wire| self.wire(wire).is_none()).collect();
        let what = match (nodes.is_empty(), wires.is_empty()) {
            (true, true) => return,
            (false, true) => format!("the nodes {}", all_of(&nodes)),
            (true, false) => format!("the wire edges {}", all_of(&wires)),
            (false, false) => format!("the nodes {} and the wire edges {}", all_of(&nodes), all_of(&wires)),
        };
        let diagnostic = Diagnostic::new(&codes::MISSING_FIELD, format!("no cost model is known of {what}"));
        wrong.push(diagnostic.expected("work or an interval of every node, and the delay of every wire edge").help(
            "name a file or an earlier run's JSON report with --costs; --costs-template writes such a file to be filled \
             in",
        ));
    }

    /// A costs file with what is known of a plan's nodes, and `"?"` where something is to be filled in.
    pub fn template<'a>(&'a self, plan: &'a Plan, registry: &'a Registry) -> impl fmt::Display + 'a {
        super::template::Template { costs: self, plan, registry }
    }

    pub(super) fn node(&self, node: &str) -> NodeCosts {
        self.of(node).cloned().unwrap_or_default()
    }

    /// The delay of a wire edge.
    pub(super) fn wire(&self, edge: &str) -> Option<&Distribution> {
        let stated = self.wires.iter().find(|(name, _)| is_named(edge, &name.text)).map(|(_, delay)| delay);
        stated.or_else(|| self.waits.iter().find(|(name, _)| name == edge).map(|(_, delay)| delay))
    }
}

impl NodeCosts {
    fn is_a_model(&self) -> bool {
        self.interval.is_some()
            || self.work.is_some()
            || self.outputs.iter().any(|(_, output)| output.work.is_some())
    }
}

/// Whether nothing makes the node step but time.
pub(super) fn is_source(plan: &Plan, registry: &Registry, node: usize) -> bool {
    let plan_node = &plan.nodes[node];
    let kind = registry.get(&plan_node.kind).expect("the check found the kind");
    plan_node.inputs.iter().all(|&edge| {
        let edge = &plan.edges[edge];
        let port = edge.to.as_ref().map(|to| kind.ports[to.port].role);
        edge.feedback || matches!(port, Some(PortRole::Input { trigger: Trigger::Latch, .. }))
    })
}

/// The first of a node's edges at the port of that name.
fn edge_at(plan: &Plan, node: usize, edges: &[usize], port: &str, leaves: bool) -> Option<usize> {
    edges.iter().copied().find(|&edge| {
        let edge = &plan.edges[edge];
        let end = if leaves { Some(&edge.from) } else { edge.to.as_ref() };
        end.is_some_and(|end| {
            end.node == node && end.name.rsplit_once('.').is_some_and(|(_, name)| name == port)
        })
    })
}

/// Whether `name` means the edge `edge`: `a.out -> b.in`, or `a -> b` for it.
fn is_named(edge: &str, name: &str) -> bool {
    let ends = |text: &str| {
        let (from, to) = text.split_once("->")?;
        Some((from.trim().to_owned(), to.trim().to_owned()))
    };
    let (Some((from, to)), Some((a, b))) = (ends(edge), ends(name)) else { return false };
    let means = |end: &str, name: &str| end == name || end.split('.').next() == Some(name);
    means(&from, &a) && means(&to, &b)
}

fn entry<T: Default>(list: &mut Vec<(Name, T)>, name: Name) -> &mut T {
    let at = list.iter().position(|(known, _)| known.text == name.text).unwrap_or_else(|| {
        list.push((name, T::default()));
        list.len() - 1
    });
    &mut list[at].1
}

fn placed(diagnostic: Diagnostic, name: &Name) -> Diagnostic {
    match &name.span {
        Some(span) => diagnostic.at(span),
        None => diagnostic.node(&name.text),
    }
}
