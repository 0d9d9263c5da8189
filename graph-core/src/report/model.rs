//! The report of a run; as JSON it is an interface, and `schema_version` counts its changes.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::Machine;
use crate::{
    budget::{Bound, Category, Figure, Judgement, Level, Measure, Reference, Stat, Verdict},
    measure::{Counts, PathCounts, Snapshot},
    run::{self, Failure, Interactions},
    time::Nanos,
};

/// The version of the report's JSON; additions do not change it.
pub const SCHEMA_VERSION: u32 = 1;

/// What a run found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The graph's name.
    pub graph: String,
    /// The weightiest verdict of all limits; `fail` where a node or the runtime failed.
    pub verdict: Verdict,
    /// The [exit status](crate::budget::exit) of the run.
    pub exit_code: u8,
    /// How long the graph ran.
    #[serde(rename = "elapsed_ns", serialize_with = "nanos")]
    pub elapsed: Nanos,
    /// The interactions: how many began, were answered, were cancelled.
    pub interactions: Interactions,
    /// Whether the run was interrupted.
    pub interrupted: bool,
    /// How the run was simulated; `None` where it was real.
    pub simulation: Option<Simulation>,
    /// The machine class that the limits hold for.
    pub class: Option<String>,
    /// The machine that it ran on.
    pub machine: Machine,
    /// Every edge, in the order of the graph.
    pub edges: Vec<EdgeReport>,
    /// Every path, in the order of the graph.
    pub paths: Vec<PathReport>,
    /// Budgets of benchmarks, which a run does not judge.
    pub benches: Vec<BenchReport>,
    /// Budgets of overheads, which this version does not judge.
    pub overheads: Vec<OverheadReport>,
    /// The slowest packets of each path taken apart, slowest first within a path.
    pub turns: Vec<TurnReport>,
    /// What nodes and the runtime counted or want to say.
    pub notes: Vec<Note>,
    /// Nodes that failed.
    pub failures: Vec<Failure>,
}

/// A run under virtual time whose nodes were cost models: nothing in its report was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Simulation {
    /// What the models drew from: the same seed gives the same report.
    pub seed: u64,
    /// Where the models are from: files, and single costs as the command line states them; later ones won.
    pub costs: Vec<String>,
}

/// Each measure's figures; `None` where it was not measured.
pub type Times = BTreeMap<Measure, Option<Figures>>;

/// One edge.
#[derive(Clone, Debug, Serialize)]
pub struct EdgeReport {
    /// The output, `node.port`.
    pub from: String,
    /// The input; `None` for the edge that stands for a sink's effect.
    pub to: Option<String>,
    /// The weightiest verdict of its limits.
    pub verdict: Verdict,
    /// What became of its packets.
    pub counts: Counts,
    /// Figures by measure.
    #[serde(flatten)]
    pub times: Times,
    /// How long it kept its producer from stepping, being full.
    pub blocked: Blocked,
    /// Packets whose stamps are out of order, by the measure that this broke.
    pub negative: BTreeMap<Measure, u64>,
    /// What somebody measured elsewhere.
    #[serde(serialize_with = "reference")]
    pub reference: Option<Reference>,
    /// Its limits and what is said of them.
    pub limits: Vec<Judgement>,
    /// The worst packets, worst first.
    pub worst: Vec<PacketReport>,
}

/// One path.
#[derive(Clone, Debug, Serialize)]
pub struct PathReport {
    /// Its name.
    pub name: String,
    /// The output that its first edge leaves.
    pub from: String,
    /// The input that its last edge enters, or a sink's `done`.
    pub to: String,
    /// The weightiest verdict of its limits.
    pub verdict: Verdict,
    /// What became of the packets that came to its end.
    pub counts: PathCounts,
    /// Figures by measure.
    #[serde(flatten)]
    pub times: Times,
    /// Packets whose stamps are out of order, by the measure that this broke.
    pub negative: BTreeMap<Measure, u64>,
    /// What somebody measured elsewhere.
    #[serde(serialize_with = "reference")]
    pub reference: Option<Reference>,
    /// Its limits and what is said of them.
    pub limits: Vec<Judgement>,
    /// What each edge adds to the latency, on average; the parts add up to it.
    pub parts: Vec<PartReport>,
}

/// Figures of one measure, in nanoseconds; `None` without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// How many samples.
    pub n: u64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Largest, exactly.
    pub max_ns: Option<u64>,
    /// Mean, exact before it was rounded.
    pub mean_ns: Option<u64>,
}

impl Figures {
    pub(super) fn of(samples: &Snapshot) -> Figures {
        let stat = |stat| samples.stat(stat).map(|nanos| nanos.0);
        Figures {
            n: samples.n(),
            p50_ns: stat(Stat::P50),
            p90_ns: stat(Stat::P90),
            p99_ns: stat(Stat::P99),
            p999_ns: stat(Stat::P999),
            max_ns: stat(Stat::Max),
            mean_ns: stat(Stat::Mean),
        }
    }
}

/// How long an edge kept its producer from stepping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Blocked {
    /// In all.
    #[serde(rename = "sum_ns", serialize_with = "nanos")]
    pub sum: Nanos,
    /// How often.
    pub n: u64,
}

/// What one edge adds to a path, on average over the path's packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartReport {
    /// The edge.
    pub edge: String,
    /// Work, held and wait.
    pub mean_ns: u64,
    /// What the producing node spent.
    pub work_ns: u64,
    /// What it waited on purpose.
    pub held_ns: u64,
    /// What the queue and the way cost.
    pub wait_ns: u64,
}

/// One of the worst packets of an edge. A time is `None` where the stamps are out of order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PacketReport {
    /// The packet's number on the edge.
    pub seq: u64,
    /// The turn it belonged to.
    pub turn: u64,
    /// Work, held and wait.
    pub latency_ns: Option<u64>,
    /// What the producing node spent.
    pub work_ns: Option<u64>,
    /// What it waited on purpose.
    pub held_ns: u64,
    /// What the queue and the way cost.
    pub wait_ns: Option<u64>,
}

/// One of the slowest packets of a path, taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnReport {
    /// The path.
    pub path: String,
    /// The turn.
    pub turn: u64,
    /// The packet's number on the last edge.
    pub seq: u64,
    /// From the path's begin to its end.
    pub latency_ns: u64,
    /// How much of that was waited on purpose.
    pub held_ns: u64,
    /// The rest.
    pub cost_ns: u64,
    /// Each edge, in the path's order; one begins where the one before ends.
    pub parts: Vec<TurnPart>,
}

/// What one edge added to a packet's way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnPart {
    /// The edge.
    pub edge: String,
    /// What the producing node spent.
    pub work_ns: u64,
    /// What it waited on purpose.
    pub held_ns: u64,
    /// What the queue and the way cost.
    pub wait_ns: u64,
}

impl TurnPart {
    /// All three.
    pub fn latency_ns(&self) -> u64 {
        self.work_ns + self.held_ns + self.wait_ns
    }
}

/// The budget of a benchmark, which a run does not judge.
#[derive(Clone, Debug, Serialize)]
pub struct BenchReport {
    /// Criterion's id.
    pub id: String,
    /// `not-judged`.
    pub verdict: Verdict,
    /// What somebody measured elsewhere.
    #[serde(serialize_with = "reference")]
    pub reference: Option<Reference>,
    /// Its limits, none of them judged.
    pub limits: Vec<Judgement>,
}

/// The budget of an overhead, which this version does not judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverheadReport {
    /// Its name.
    pub name: String,
    /// `not-judged`.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// Something that a node or the runtime counted or wants to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The node, lane or edge.
    pub node: String,
    /// What it is about.
    pub name: String,
    /// How many, or what.
    pub value: NoteValue,
}

/// The value of a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum NoteValue {
    /// A count.
    Count(u64),
    /// Words.
    Text(String),
}

impl From<run::Note> for Note {
    fn from(note: run::Note) -> Note {
        Note { node: note.node, name: note.name.to_owned(), value: NoteValue::Count(note.value) }
    }
}

impl Report {
    /// The exit status that the run asks for.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// Whether a node failed for good. One that was restarted, or whose packet was skipped, did not.
    pub fn has_failed(&self) -> bool {
        self.failures.iter().any(|failure| failure.fatal)
    }

    /// All limits that the run was to judge.
    pub fn judgements(&self) -> impl Iterator<Item = &Judgement> {
        let edges = self.edges.iter().flat_map(|edge| &edge.limits);
        edges.chain(self.paths.iter().flat_map(|path| &path.limits))
    }
}

impl EdgeReport {
    /// `denoise.audio -> vad.audio`, or `speaker.done`.
    pub fn name(&self) -> String {
        match &self.to {
            Some(to) => format!("{} -> {to}", self.from),
            None => self.from.clone(),
        }
    }
}

fn nanos<S: Serializer>(nanos: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(nanos.0)
}

/// `{"ns": 2000000}`, `{"below_ns": 100}`, `{"from_ns": 300, "to_ns": 500}` or `{"per_s": 30.0}`.
fn reference<S: Serializer>(reference: &Option<Reference>, serializer: S) -> Result<S::Ok, S::Error> {
    let fields: Vec<(&str, Number)> = match *reference {
        None => return serializer.serialize_none(),
        Some(Reference::Time(time)) => vec![("ns", Number::Nanos(time.0))],
        Some(Reference::Below(time)) => vec![("below_ns", Number::Nanos(time.0))],
        Some(Reference::Range(from, to)) => {
            vec![("from_ns", Number::Nanos(from.0)), ("to_ns", Number::Nanos(to.0))]
        }
        Some(Reference::Rate(rate)) => vec![("per_s", Number::Real(rate))],
    };
    serializer.collect_map(fields)
}

#[derive(Serialize)]
#[serde(untagged)]
enum Number {
    Nanos(u64),
    Real(f64),
}

impl From<Figure> for Number {
    fn from(figure: Figure) -> Number {
        match figure {
            Figure::Time(time) => Number::Nanos(time.0),
            Figure::Rate(value) | Figure::Share(value) => Number::Real(value),
        }
    }
}

/// A judgement as reports write it. A rate is judged by its smallest, drops by their share.
#[derive(Serialize)]
struct LimitReport<'a> {
    measure: &'static str,
    stat: &'static str,
    limit: Number,
    measured: Option<Number>,
    unit: &'static str,
    margin: Option<f64>,
    over: u64,
    n: u64,
    category: Option<Category>,
    level: Level,
    verdict: Verdict,
    reason: Option<&'a str>,
    confidence: Option<f64>,
    assumed: bool,
    basis: Option<&'a str>,
}

impl Serialize for Judgement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let limit = &self.limit;
        let (measure, stat, bound, unit) = match limit.bound {
            Bound::AtMost { measure, stat, limit } => {
                (measure.unwrap_or(Measure::Latency).name(), stat.name(), Number::Nanos(limit.0), "ns")
            }
            Bound::RateAtLeast(rate) => ("rate", "min", Number::Real(rate), "/s"),
            Bound::DropsAtMost(share) => ("drops", "share", Number::Real(share), "share"),
        };
        let report = LimitReport {
            measure,
            stat,
            limit: bound,
            measured: self.measured.map(Number::from),
            unit,
            margin: self.margin.map(|margin| margin.as_f64()).filter(|margin| margin.is_finite()),
            over: self.over,
            n: self.n,
            category: self.category(),
            level: limit.level,
            verdict: self.verdict,
            reason: self.reason.as_deref(),
            confidence: self.confidence,
            assumed: limit.assumed,
            basis: limit.basis.as_deref(),
        };
        report.serialize(serializer)
    }
}
