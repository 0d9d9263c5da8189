//! What is told, in which unit, how it is made, and what is to be reached.

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanos,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Millis,
    /// Times something else.
    #[serde(rename = "x")]
    Times,
    /// Percent of a core.
    #[serde(rename = "% of a core")]
    Percent,
}

impl Unit {
    /// As it stands behind a figure.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Nanos => "ns",
            Unit::Millis => "ms",
            Unit::Times => "x",
            Unit::Percent => "% of a core",
        }
    }
}

/// A figure before it is measured.
pub struct Def {
    /// Its name for programs.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// Of the figure and of what is to be reached.
    pub unit: Unit,
    /// What is to be reached: at most so much.
    pub at_most: Option<f64>,
    /// How it is made; empty where it is as the one above.
    pub how: &'static str,
}

const fn shown(id: &'static str, name: &'static str, unit: Unit, how: &'static str) -> Def {
    Def { id, name, unit, at_most: None, how }
}

const fn judged(id: &'static str, name: &'static str, unit: Unit, at_most: f64, how: &'static str) -> Def {
    Def { id, name, unit, at_most: Some(at_most), how }
}

const CROSSING: &str = "5 hops between two lanes with `wait: poll`, 64 B, one packet in flight (one each 20 us), from the \
     edges' own meters: from `sent` to `taken`; the middle one of the edges";
const RINGS: &str =
    "the same packets over 5 rtrb rings between two threads that spin, the same stamps, in the same round";
const WHOLE: &str =
    "the whole hop, from one node's `taken` to the next one's: its step and its own stamp are in it";
const PARKED: &str =
    "a source each 25 us in a lane that polls, its sink in a lane that parks; from `sent` to `taken`";
const WAY: &str =
    "one thread wakes another that has slept for 15 us, from before the wake to the first reading after it";
const MEASURING: &str = "this build less one with GRAPHRUN_UNMEASURED, each round in a process of its own: CPU time of a hop as \
     in the first row";
const ENDS: &str =
    "as above, a hop of the 5 between two lanes, by clock readings that source and sink make themselves";
const THOUSAND: &str =
    "a chain of 1,000 nodes, 64 B, flooded; CPU time against a chain of 12 nodes, by the nodes between";
const BEGINS: &str = "from the text of the file to all nodes made, wall time";

/// All of them, in the order in which they are told.
pub const TABLE: &[Def] = &[
    judged(
        "fused-hop",
        "hop inside a lane, stamps, latency and age recorded, 64 B, CPU",
        Unit::Nanos,
        20.0,
        "process CPU time of a chain of 110 stages less one of 10, flooded, by packets and by the 100 stages",
    ),
    shown(
        "fused-floor",
        "  the same nodes by a bare dyn call",
        Unit::Nanos,
        "one after another, a clock reading after each, nothing recorded; the same difference in the same round",
    ),
    shown("fused-ratio", "  against that", Unit::Times, "of the same round"),
    judged(
        "chain-p50",
        "100 stages end to end, p50",
        Unit::Nanos,
        1_700.0,
        "age at the sink of 100 stages in a lane; one in flight, since a lane steps what is nearest to a sink first and so the \
         source only when the packet before has arrived",
    ),
    shown("chain-p99", "100 stages end to end, p99", Unit::Nanos, ""),
    judged("cross-p50", "hop between two spinning lanes, p50", Unit::Nanos, 150.0, CROSSING),
    shown("cross-floor-p50", "  bare rtrb, p50", Unit::Nanos, RINGS),
    judged("cross-ratio-p50", "  against that", Unit::Times, 1.2, "of the same round"),
    shown("cross-p99", "hop between two spinning lanes, p99", Unit::Nanos, ""),
    shown("cross-floor-p99", "  bare rtrb, p99", Unit::Nanos, ""),
    shown("cross-ratio-p99", "  against that", Unit::Times, ""),
    shown("cross-latency-p50", "from node to node between two spinning lanes, p50", Unit::Nanos, WHOLE),
    shown("cross-latency-floor-p50", "  bare rtrb, p50", Unit::Nanos, ""),
    shown("cross-latency-ratio-p50", "  against that", Unit::Times, ""),
    shown("cross-latency-p99", "from node to node between two spinning lanes, p99", Unit::Nanos, ""),
    shown("cross-latency-floor-p99", "  bare rtrb, p99", Unit::Nanos, ""),
    shown("cross-latency-ratio-p99", "  against that", Unit::Times, ""),
    shown("futex-hop", "hop to a lane parked on a futex, p50", Unit::Nanos, PARKED),
    shown("futex-floor", "  the way of waiting alone, p50", Unit::Nanos, WAY),
    judged("futex-ratio", "  against that", Unit::Times, 1.1, "of the same round"),
    shown(
        "epoll-hop",
        "hop to a lane asleep in epoll, p50",
        Unit::Nanos,
        "as above; the sink watches a descriptor that never has anything",
    ),
    shown(
        "epoll-floor",
        "  the way of waiting alone, p50",
        Unit::Nanos,
        "an event descriptor, edge-triggered",
    ),
    judged("epoll-ratio", "  against that", Unit::Times, 1.1, ""),
    judged(
        "measuring-fused",
        "measuring on against compiled out, inside a lane",
        Unit::Nanos,
        15.0,
        MEASURING,
    ),
    judged("measuring-across", "measuring on against compiled out, between lanes", Unit::Nanos, 45.0, ENDS),
    judged(
        "fused-large",
        "1.2 MB by reference against 64 B, inside a lane",
        Unit::Times,
        1.1,
        "CPU time of a hop, of the same round",
    ),
    judged(
        "cross-large",
        "1.2 MB by reference against 64 B, between lanes",
        Unit::Times,
        1.1,
        "p50 from node to node, of the same round",
    ),
    judged(
        "pacing-spin",
        "pacing lateness p99 with `wait: spin(\"100 us\")`",
        Unit::Nanos,
        10_000.0,
        "a source of 1 ms, 600 packets: from when a packet is due to its sink's having it",
    ),
    judged(
        "pacing-park",
        "pacing lateness p99 without",
        Unit::Nanos,
        100_000.0,
        "the same with `wait: park`",
    ),
    shown("one-load", "1,000 nodes in one lane: load", Unit::Millis, BEGINS),
    shown("one-check", "  check", Unit::Millis, ""),
    shown("one-prepare", "  prepare", Unit::Millis, ""),
    shown("one-start", "  start", Unit::Millis, ""),
    judged("one-total", "  in total", Unit::Millis, 100.0, ""),
    shown("one-hop", "  a hop, CPU", Unit::Nanos, THOUSAND),
    judged("one-ratio", "  against 100 nodes", Unit::Times, 1.5, "of the same round"),
    shown("eight-load", "1,000 nodes in 8 lanes: load", Unit::Millis, BEGINS),
    shown("eight-check", "  check", Unit::Millis, ""),
    shown("eight-prepare", "  prepare", Unit::Millis, ""),
    shown("eight-start", "  start", Unit::Millis, ""),
    judged("eight-total", "  in total", Unit::Millis, 100.0, ""),
    shown("eight-hop", "  a hop, CPU", Unit::Nanos, "an eighth of the chain in each lane"),
    judged("eight-ratio", "  against 100 nodes", Unit::Times, 1.5, "of the same round"),
    judged(
        "idle-timers",
        "idle graph, a timer of 20 ms over 4 lanes",
        Unit::Percent,
        0.2,
        "CPU time of the process over 3 s: each tick passes 8 stages and wakes 3 lanes",
    ),
    judged("idle-waiting", "idle graph that only waits, 4 lanes", Unit::Percent, 0.2, "CPU time over 3 s"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_figure_has_the_name_of_another() {
        let mut ids: Vec<_> = TABLE.iter().map(|def| def.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), TABLE.len());
    }
}
