//! A checked graph, ready to be built and run.

use crate::{
    budget::Budget,
    file::{LaneSpec, OnError, QueueSpec, RawWith, WarmUp},
};

/// A checked graph: everything is an index into the lists here.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The graph's name.
    pub name: String,
    /// The machine class that the limits hold for.
    pub class: Option<String>,
    /// What is counted apart at the start of a run.
    pub warm_up: WarmUp,
    /// In the order of the file.
    pub nodes: Vec<PlanNode>,
    /// In the order of the file, then the implicit `done` edges of sinks that the file does not state.
    pub edges: Vec<PlanEdge>,
    /// Lanes that run at least one node: declared ones in the order of the file, then derived ones.
    pub lanes: Vec<PlanLane>,
    /// In the order of the file.
    pub paths: Vec<PlanPath>,
    /// Indices of the nodes, every producer before its consumers, feedback edges excepted.
    pub order: Vec<usize>,
}

/// One node of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanNode {
    /// Its name in the file.
    pub id: String,
    /// Its kind, which the registry knows.
    pub kind: String,
    /// Its parameters, which fit the kind.
    pub with: RawWith,
    /// What happens when a step fails or panics.
    pub on_error: OnError,
    /// Index of its lane.
    pub lane: usize,
    /// How many edges away the nearest sink is; 0 for a sink.
    pub to_sink: u32,
    /// Indices of the edges that enter it, feedback and wire edges among them.
    pub inputs: Vec<usize>,
    /// Indices of the edges that leave it, `done` among them.
    pub outputs: Vec<usize>,
}

/// One edge of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanEdge {
    /// The output that feeds it.
    pub from: PlanEnd,
    /// The input that it feeds; `None` for a sink's `done`.
    pub to: Option<PlanEnd>,
    /// The queue, which a wire edge and a `done` do not have in truth.
    pub queue: QueueSpec,
    /// Its limits.
    pub budget: Budget,
    /// Whether it goes through a socket between the two nodes.
    pub wire: bool,
    /// Whether it closes a cycle on purpose.
    pub feedback: bool,
    /// Whether every measure is recorded, not only those with a limit.
    pub measure_all: bool,
    /// Whether its two ends run in different lanes.
    pub crosses: bool,
}

impl PlanEdge {
    /// `denoise.audio -> vad.audio`, or `speaker.done` for the edge to nowhere.
    pub fn name(&self) -> String {
        match &self.to {
            Some(to) => format!("{} -> {}", self.from.name, to.name),
            None => self.from.name.clone(),
        }
    }
}

/// One end of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanEnd {
    /// Index of the node.
    pub node: usize,
    /// Index of the port among the [`ports`](crate::kind::KindSpec::ports) of the node's kind.
    pub port: usize,
    /// `node.port`.
    pub name: String,
}

/// One lane of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanLane {
    /// As declared, or the name of the first node of a derived lane.
    pub name: String,
    /// The declaration; `None` for a derived lane.
    pub spec: Option<LaneSpec>,
    /// Indices of its nodes, in the plan's order.
    pub nodes: Vec<usize>,
}

/// One path of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanPath {
    /// Its name in the file.
    pub name: String,
    /// Indices of its edges, from the first to the last.
    pub edges: Vec<usize>,
    /// Its limits.
    pub budget: Budget,
    /// How many packets of one cause a limit covers; `None` for the first only.
    pub packets: Option<u32>,
}
