//! A budget as the graph file states it.

use crate::time::Nanos;

/// Which time of an edge or a path a limit speaks of.
///
/// For an edge u -> v: `work = sent - began - held`, `wait = taken - sent`, `latency = work + held + wait`,
/// `cost = latency - held`, `age = taken - origin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// From taking the cause to the next node's taking the output.
    Latency,
    /// What the producing node spent.
    Work,
    /// What the producing node waited on purpose.
    Held,
    /// What the queue and the way cost.
    Wait,
    /// Latency less held: what someone could make faster.
    Cost,
    /// From the origin of the data.
    Age,
    /// Latency of the first packet of a cause, on a `many` port.
    First,
    /// Latency of the last packet of a cause, on a `many` port.
    Last,
    /// Time between consecutive packets of a cause, on a `many` port.
    Interval,
}

/// Which figure of a measure's samples a limit speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stat {
    /// The median.
    P50,
    /// 90 % of the samples are at or under it.
    P90,
    /// 99 % of the samples are at or under it.
    P99,
    /// 99.9 % of the samples are at or under it.
    P999,
    /// The largest sample.
    Max,
    /// The mean.
    Mean,
}

/// The bound itself, with its direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A figure of a time is at most this.
    AtMost {
        /// `None` where the file named no measure: `first` on a `many` port, else `latency`.
        measure: Option<Measure>,
        /// The figure.
        stat: Stat,
        /// The limit.
        limit: Nanos,
    },
    /// Packets a second within a cause are at least this many.
    RateAtLeast(f64),
    /// The share of packets dropped or lost is at most this, 0.0 to 1.0.
    DropsAtMost(f64),
}

/// What follows from a limit that does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Level {
    /// The run fails.
    #[default]
    Fail,
    /// The report warns.
    Warn,
}

/// One limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// What is bounded, and by how much.
    pub bound: Bound,
    /// What follows when it does not hold.
    pub level: Level,
    /// Whether the figure is an assumption and not a measurement or a requirement.
    pub assumed: bool,
    /// Where the figure comes from, in words.
    pub basis: Option<String>,
}

/// What somebody measured elsewhere; compared with, never judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reference {
    /// A time.
    Time(Nanos),
    /// Known only to be under this: a bound, not a value.
    Below(Nanos),
    /// Between the two.
    Range(Nanos, Nanos),
    /// Packets a second.
    Rate(f64),
}

/// The budget of an edge, a path or a benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// In the order of the file.
    pub limits: Vec<Limit>,
    /// What somebody measured elsewhere.
    pub reference: Option<Reference>,
}

/// The budget of a micro-benchmark, which is no edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Bench {
    /// Criterion's id, such as `rtp_encode/header_to_bytes`.
    pub id: String,
    /// Limits on `mean` or `p50`.
    pub budget: Budget,
}
