//! A graph as its files state it, overlays applied and defaults filled in.

use std::{fmt, sync::Arc};

use crate::{
    budget::{Budget, Level, Limit, Reference, Stat},
    codes,
    diagnostic::{Diagnostic, Source, Span, Spanned},
    kind::{PortSpec, Trigger},
    node::Fault,
    time::Nanos,
};

/// A whole graph, read and merged, not checked yet.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphSpec {
    /// The file that was loaded, without those that it includes and that lie over it.
    pub source: Arc<Source>,
    /// The graph's name, by default the file's stem.
    pub name: String,
    /// One sentence for people.
    pub about: Option<String>,
    /// The machine class that the limits and references hold for.
    pub class: Option<String>,
    /// What is counted apart at the start of a run.
    pub warm_up: WarmUp,
    /// Declared lanes, in the order of the file.
    pub lanes: Vec<LaneSpec>,
    /// Nodes, in the order of the file; overlays add at the end.
    pub nodes: Vec<NodeSpec>,
    /// Edges, in the order of the file; overlays add at the end.
    pub edges: Vec<EdgeSpec>,
    /// Paths that are measured as one.
    pub paths: Vec<PathSpec>,
    /// Budgets of micro-benchmarks.
    pub benches: Vec<BenchSpec>,
    /// Pairs of paths whose difference is limited.
    pub overheads: Vec<OverheadSpec>,
    /// Whether some of the files had errors, so that items may be missing here.
    pub incomplete: bool,
}

/// What a run counts apart before it judges, on every edge and path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarmUp {
    /// Nothing: the first packet is judged.
    #[default]
    None,
    /// The first packets of each edge and path.
    Packets(u64),
    /// Whatever is taken in the first while of the run.
    Time(Nanos),
}

/// One thread and how it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneSpec {
    /// Unique among the lanes.
    pub name: String,
    /// How the kernel schedules it.
    pub priority: Priority,
    /// CPUs that it may run on; empty for all.
    pub cpus: Vec<usize>,
    /// How it waits; `None` leaves that to the runtime.
    pub wait: Option<Wait>,
    /// Whether the process's memory is to be locked for this lane's sake.
    pub lock_memory: bool,
    /// Whether the run ends when the kernel refuses one of these wishes; by default that is only reported.
    pub strict: bool,
    /// One sentence for people.
    pub about: Option<String>,
    /// The lane's entry.
    pub span: Span,
}

/// How the kernel schedules a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// As any thread.
    #[default]
    Normal,
    /// SCHED_FIFO with this priority, 1 to 99.
    Fifo(u8),
    /// SCHED_RR with this priority, 1 to 99.
    RoundRobin(u8),
}

/// How a lane waits for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It never sleeps: the shortest wake-up, a whole core.
    Poll,
    /// It spins for this long, then sleeps.
    Spin(Nanos),
    /// It sleeps at once.
    Park,
}

/// One node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// Unique among the nodes.
    pub id: String,
    /// The node kind; empty where the file states none, which has been reported by then.
    pub kind: Spanned<String>,
    /// The lane that the file asks for.
    pub lane: Option<Spanned<String>>,
    /// Its parameters, not typed yet.
    pub with: RawWith,
    /// What happens when a step fails or panics.
    pub on_error: OnError,
    /// One sentence for people.
    pub about: Option<String>,
    /// The node's name where the file gives it.
    pub span: Span,
}

/// The parameters of a node as text, with the place of each, for `params` to type later.
#[derive(Clone, Debug, PartialEq)]
pub struct RawWith {
    /// The node they belong to.
    pub node: String,
    /// Name and RON text of each parameter; those of an overlay have replaced those they override.
    pub fields: Vec<(Spanned<String>, Spanned<String>)>,
    /// The whole `with`, or the node's name where there is none: where a missing parameter is reported.
    pub span: Span,
}

impl RawWith {
    /// What a kind says of one of its parameters, where that stands; at the node where it is left to its default.
    pub(crate) fn fault(&self, fault: &Fault) -> Diagnostic {
        let value = self.fields.iter().find(|(name, _)| name.value == fault.param).map(|(_, value)| value);
        let diagnostic = Diagnostic::new(
            &codes::BAD_PARAMETER,
            format!("the parameter `{}`: {}", fault.param, fault.message),
        )
        .at(value.map_or(&self.span, |value| &value.span))
        .node(&self.node);
        match value {
            Some(value) => diagnostic.found(value.value.as_str()),
            None => diagnostic,
        }
    }

    /// What is wrong with a file that a parameter names, where its name stands; at the node where it is a default.
    pub(crate) fn file_fault(&self, file: &str, message: String) -> Diagnostic {
        let quoted = format!("\"{file}\"");
        let place = self.fields.iter().find_map(|(_, value)| {
            let start = value.span.range().start + value.span.text().find(&quoted)?;
            Some(Span::new(value.span.source(), start..start + quoted.len()))
        });
        Diagnostic::new(&codes::BAD_PARAMETER, message)
            .at(place.as_ref().unwrap_or(&self.span))
            .node(&self.node)
    }
}

/// What happens when a node's step fails or panics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The run ends.
    #[default]
    Fail,
    /// The node is made anew; the causes it held are lost, and counted.
    Restart(Restart),
    /// The packet in hand is lost, and counted; the node goes on.
    Skip,
}

/// How a failed node is made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The wait before the first restart; it doubles with each failure that follows at once.
    pub first: Nanos,
    /// The longest wait, at least `first`.
    pub max: Nanos,
    /// After so many restarts in a row the run ends; `None` for never.
    pub times: Option<u32>,
}

impl Default for Restart {
    /// 100 ms, doubling up to 10 s, for ever.
    fn default() -> Restart {
        Restart { first: Nanos::from_millis(100), max: Nanos::from_secs(10), times: None }
    }
}

/// A port, or a node whose only fitting port is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The node.
    pub node: String,
    /// The port; `None` where it was left out and the node has no single one that fits, or is unknown.
    pub port: Option<String>,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.port {
            Some(port) => write!(f, "{}.{port}", self.node),
            None => f.write_str(&self.node),
        }
    }
}

/// One edge.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeSpec {
    /// The output that feeds it.
    pub from: Spanned<Endpoint>,
    /// The input that it feeds; `None` for a sink's `done`, which leads nowhere and carries a budget.
    pub to: Option<Spanned<Endpoint>>,
    /// The queue.
    pub queue: QueueSpec,
    /// Its limits.
    pub budget: BudgetSpec,
    /// Whether it goes through a socket between the two nodes.
    pub wire: bool,
    /// Whether it closes a cycle on purpose.
    pub feedback: bool,
    /// Whether every measure is recorded, not only those with a limit.
    pub measure_all: bool,
    /// One sentence for people.
    pub about: Option<String>,
    /// The edge's entry.
    pub span: Span,
}

impl EdgeSpec {
    /// `denoise.audio -> vad.audio`, or `speaker.done` for the edge to nowhere.
    pub fn name(&self) -> String {
        match &self.to {
            Some(to) => format!("{} -> {}", self.from.value, to.value),
            None => self.from.to_string(),
        }
    }
}

/// The queue of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSpec {
    /// How much it holds.
    pub capacity: Capacity,
    /// What happens when it is full.
    pub full: Full,
    /// Packets whose age is above this when they are to be taken are dropped.
    pub late: Option<Nanos>,
}

impl QueueSpec {
    /// The queue before that input: a latch keeps the newest, whatever the file says.
    pub(crate) fn before(self, input: &PortSpec) -> QueueSpec {
        if input.trigger() == Trigger::Latch { QueueSpec { full: Full::DropOldest, ..self } } else { self }
    }
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// So many packets, at least one.
    Packets(usize),
    /// Packets sent within this time of each other.
    Time(Nanos),
}

impl Default for Capacity {
    fn default() -> Capacity {
        Capacity::Packets(8)
    }
}

/// What happens to a packet that meets a full queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Full {
    /// The producer is not stepped until there is room.
    #[default]
    Block,
    /// The packet that waited longest is dropped.
    DropOldest,
    /// The new packet is dropped.
    DropNewest,
    /// The run ends.
    Fail,
}

/// The budget of an edge or a path, with the place of each limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BudgetSpec {
    /// In the order of the file.
    pub limits: Vec<Spanned<Limit>>,
    /// What somebody measured elsewhere.
    pub reference: Option<Spanned<Reference>>,
}

impl BudgetSpec {
    /// The budget without places.
    pub fn to_budget(&self) -> Budget {
        Budget {
            limits: self.limits.iter().map(|limit| limit.value.clone()).collect(),
            reference: self.reference.as_ref().map(|reference| reference.value),
        }
    }
}

/// A path: a route through the graph, measured as one.
#[derive(Clone, Debug, PartialEq)]
pub struct PathSpec {
    /// Unique among the paths.
    pub name: Spanned<String>,
    /// The node or output that its first edge leaves.
    pub from: Spanned<Endpoint>,
    /// The node or input that its last edge enters, or a sink's `done`.
    pub to: Spanned<Endpoint>,
    /// Nodes or ports that it passes, in this order; needed where routes differ.
    pub via: Vec<Spanned<Endpoint>>,
    /// Its limits.
    pub budget: BudgetSpec,
    /// How many packets of one cause a limit on the path covers, where an output on the way gives `many`: the sum then
    /// ends with the last of them. By default it ends with the first.
    pub packets: Option<Spanned<u32>>,
    /// One sentence for people.
    pub about: Option<String>,
    /// The path's entry.
    pub span: Span,
}

/// The budget of a micro-benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchSpec {
    /// Criterion's id, such as `rtp_encode/header_to_bytes`; unique among the benches.
    pub id: Spanned<String>,
    /// Limits on `mean` or `p50`.
    pub budget: BudgetSpec,
    /// One sentence for people.
    pub about: Option<String>,
}

/// Limits on what a path may cost above another that does the same directly.
#[derive(Clone, Debug, PartialEq)]
pub struct OverheadSpec {
    /// Unique among the overheads.
    pub name: Spanned<String>,
    /// The path that is judged.
    pub path: Spanned<String>,
    /// The path it is compared with.
    pub direct: Spanned<String>,
    /// Each judged on its own.
    pub limits: Vec<Spanned<OverheadLimit>>,
    /// The share is judged only where the direct path's median is at least this.
    pub share_from: Option<Nanos>,
    /// What somebody measured elsewhere.
    pub reference: Option<Spanned<Reference>>,
    /// One sentence for people.
    pub about: Option<String>,
}

/// One limit of an overhead.
#[derive(Clone, Debug, PartialEq)]
pub struct OverheadLimit {
    /// What is bounded, and by how much.
    pub bound: OverheadBound,
    /// What follows when it does not hold.
    pub level: Level,
    /// Whether the figure is an assumption.
    pub assumed: bool,
    /// Where the figure comes from, in words.
    pub basis: Option<String>,
}

/// What a limit of an overhead bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OverheadBound {
    /// The difference of this figure of the two series is at most `limit`.
    Difference {
        /// `P50` or `P99`.
        stat: Stat,
        /// The limit.
        limit: Nanos,
    },
    /// The difference of the medians is at most this share of the direct median, 0.0 to 1.0.
    Share(f64),
}
