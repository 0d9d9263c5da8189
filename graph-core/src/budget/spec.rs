//! A budget as the graph file states it.

use std::fmt;

use serde::Serialize;

use crate::time::Nanos;

/// Which time of an edge or a path a limit speaks of.
///
/// For an edge u -> v: `work = sent - began - held`, `wait = taken - sent`, `latency = work + held + wait`,
/// `cost = latency - held`, `age = taken - origin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
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

impl Measure {
    /// All of them, in the order of declaration.
    pub const ALL: [Measure; 9] = [
        Measure::Latency,
        Measure::Work,
        Measure::Held,
        Measure::Wait,
        Measure::Cost,
        Measure::Age,
        Measure::First,
        Measure::Last,
        Measure::Interval,
    ];

    /// As the graph file and the reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Latency => "latency",
            Measure::Work => "work",
            Measure::Held => "held",
            Measure::Wait => "wait",
            Measure::Cost => "cost",
            Measure::Age => "age",
            Measure::First => "first",
            Measure::Last => "last",
            Measure::Interval => "interval",
        }
    }
}

/// Which figure of a measure's samples a limit speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
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

impl Stat {
    /// As the graph file and the reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Stat::P50 => "p50",
            Stat::P90 => "p90",
            Stat::P99 => "p99",
            Stat::P999 => "p999",
            Stat::Max => "max",
            Stat::Mean => "mean",
        }
    }

    /// Which quantile it is, in thousandths; `None` for the maximum and the mean.
    pub fn permille(self) -> Option<u64> {
        match self {
            Stat::P50 => Some(500),
            Stat::P90 => Some(900),
            Stat::P99 => Some(990),
            Stat::P999 => Some(999),
            Stat::Max | Stat::Mean => None,
        }
    }

    /// The nearest rank of the quantile among `n` samples, from 1; `None` for the maximum and the mean.
    pub fn rank(self, n: u64) -> Option<u64> {
        let rank = (u128::from(n) * u128::from(self.permille()?)).div_ceil(1000);
        Some(u64::try_from(rank).expect("a share of n is at most n"))
    }
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
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

impl Limit {
    /// The measure of a limit on a time, where it is named.
    pub fn measure(&self) -> Option<Measure> {
        match self.bound {
            Bound::AtMost { measure, .. } => measure,
            Bound::RateAtLeast(_) | Bound::DropsAtMost(_) => None,
        }
    }

    /// The limit, where it is one on that measure.
    pub(crate) fn at_most(&self, of: Measure) -> Option<Nanos> {
        match self.bound {
            Bound::AtMost { measure, limit, .. } if measure == Some(of) => Some(limit),
            _ => None,
        }
    }
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

/// `max 5 ms`, `cost max 100 ms`, `at least 15 /s`, `drops at most 0 %`.
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::AtMost { measure: Some(measure), stat, limit } => {
                write!(f, "{} {} {limit}", measure.name(), stat.name())
            }
            Bound::AtMost { measure: None, stat, limit } => write!(f, "{} {limit}", stat.name()),
            Bound::RateAtLeast(rate) => write!(f, "at least {rate} /s"),
            Bound::DropsAtMost(share) => write!(f, "drops at most {} %", share * 100.0),
        }
    }
}
