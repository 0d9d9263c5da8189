//! A checked graph, ready to be built and run.

use std::fmt;

use crate::{
    budget::{Budget, Measure, Stat},
    file::{LaneSpec, OnError, QueueSpec, RawWith, WarmUp},
    time::Nanos,
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
    /// How far each limit of a path on a maximum or a mean is used up by the limits of its edges.
    pub allocations: Vec<Allocation>,
    /// What the quantiles that edges are to keep guarantee of the paths on which a quantile is limited.
    pub quantiles: Vec<QuantileSum>,
    /// How long a packet may wait in each queue, wires and latches excepted.
    pub queues: Vec<QueueBound>,
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

impl Plan {
    /// The nodes of a lane as it serves them: nearest to a sink first; of equals the one further down the graph.
    pub fn served(&self, lane: &PlanLane) -> Vec<usize> {
        let mut order: Vec<usize> = lane.nodes.iter().rev().copied().collect();
        order.sort_by_key(|&node| self.nodes[node].to_sink);
        order
    }
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
    /// Whether an output on the way gives `many`, so that one cause may have several packets at the end.
    pub many: bool,
    /// How many packets of one cause a limit covers, where `many`; `None` for the first only.
    pub packets: Option<u32>,
}

/// How far the limits of a path's edges use up a limit of the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Index of the path.
    pub path: usize,
    /// `Latency` or `Cost`.
    pub measure: Measure,
    /// `Max` or `Mean`; quantiles do not add.
    pub stat: Stat,
    /// The limit of the path.
    pub limit: Nanos,
    /// What the edges may take together.
    pub sum: Nanos,
    /// What each edge that has a limit may take, in the order of the path.
    pub parts: Vec<(usize, Nanos)>,
    /// What the packets after the first may take, where the path's limit covers more than one.
    pub intervals: Option<Nanos>,
    /// Indices of the edges without a limit that counts here: the sum is open.
    pub open: Vec<usize>,
}

impl Allocation {
    /// What is left of the limit; zero where the edges may take more than there is.
    pub fn slack(&self) -> Nanos {
        self.limit.saturating_sub(self.sum)
    }

    /// By how much the edges' limits exceed the path's.
    pub fn excess(&self) -> Nanos {
        self.sum.saturating_sub(self.limit)
    }
}

/// `4,665 ms of 5,000 ms, 335 ms of slack`, all in the one unit that shows the smallest of them.
impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (slack, excess) = (self.slack(), self.excess());
        let all = [self.sum, self.limit, slack.max(excess)];
        let smallest = all.into_iter().filter(|time| time.0 > 0).min().unwrap_or_default();
        let (unit, name) = match smallest.0 {
            1_000_000_000.. => (1e9, "s"),
            1_000_000.. => (1e6, "ms"),
            1_000.. => (1e3, "us"),
            _ => (1.0, "ns"),
        };
        let text = |time: Nanos| format!("{} {name}", figure(time.0 as f64 / unit));
        write!(f, "{} of {}, ", text(self.sum), text(self.limit))?;
        match (excess.0, slack.0) {
            (0, 0) => f.write_str("nothing left"),
            (0, _) => write!(f, "{} of slack", text(slack)),
            _ => write!(f, "{} over", text(excess)),
        }
    }
}

/// What the limits of a path's edges on quantiles come to, and which quantile of the path that guarantees.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileSum {
    /// Index of the path.
    pub path: usize,
    /// `Latency` or `Cost`.
    pub measure: Measure,
    /// What the limits come to.
    pub sum: Nanos,
    /// The limit of each edge that counts: on the highest quantile that it limits, else on its maximum.
    pub parts: Vec<(usize, Stat, Nanos)>,
    /// The share of the path's packets, in thousandths, that keeps the sum when each edge keeps its limit; or why none is
    /// known to.
    pub guaranteed: Result<u64, String>,
}

/// `40 ms, kept by p92`.
impl fmt::Display for QuantileSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.guaranteed {
            Ok(1000) => write!(f, "{}, kept by all packets", self.sum),
            Ok(permille) if permille % 10 == 0 => write!(f, "{}, kept by p{}", self.sum, permille / 10),
            Ok(permille) => write!(f, "{}, kept by p{}.{}", self.sum, permille / 10, permille % 10),
            Err(reason) => write!(f, "{}, no quantile guaranteed: {reason}", self.sum),
        }
    }
}

/// How long a packet may wait in the queue of an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueBound {
    /// Index of the edge.
    pub edge: usize,
    /// How many packets the queue holds; one that is bound in time, at most.
    pub packets: usize,
    /// What the consumer may spend on one packet, by the limits of the edges that leave it, with the nodes of its lane that
    /// step next.
    pub service: Option<Nanos>,
    /// Indices of the edges whose missing limit leaves the service open.
    pub open: Vec<usize>,
    /// The longest wait in a full queue; `None` where it is open.
    pub worst: Option<Nanos>,
    /// The edge's own tightest limit on a maximum of which the wait is all or a part.
    pub limit: Option<(Measure, Nanos)>,
}

impl QueueBound {
    /// Whether a full queue alone breaks the edge's own limit; `None` where one of the two is not known.
    pub fn is_over(&self) -> Option<bool> {
        Some(self.worst? > self.limit?.1)
    }
}

/// `8 x 3 ms = 24 ms at worst, within its latency of 100 ms`.
impl fmt::Display for QueueBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.service, self.worst) {
            (Some(service), Some(worst)) => write!(f, "{} x {service} = {worst} at worst", self.packets)?,
            (None, Some(worst)) => write!(f, "{worst} at worst, later ones are dropped")?,
            (_, None) => return write!(f, "{} x an open service", self.packets),
        }
        match (self.limit, self.is_over()) {
            (Some((measure, limit)), Some(over)) => {
                let how = if over { "over" } else { "within" };
                write!(f, ", {how} its {} of {limit}", measure.name())
            }
            _ => Ok(()),
        }
    }
}

/// Whole, with thousands apart, from 10 on; under it with one decimal unless that is zero.
fn figure(value: f64) -> String {
    let tenths = (value * 10.0).round();
    if tenths < 100.0 && tenths % 10.0 != 0.0 {
        return format!("{:.1}", tenths / 10.0);
    }
    let digits = format!("{value:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
