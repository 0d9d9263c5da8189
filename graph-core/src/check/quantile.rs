//! What the limits of edges on quantiles guarantee of their sum.
//!
//! Each of eight edges may be over its p99 for another hundredth of the packets, so that only 92 % of them are known to keep
//! the sum on all eight (the union bound, which asks nothing of how the edges depend on each other). That holds where the
//! packets of one edge are those of the next: nothing is lost between them, and each gives exactly one.

use super::{
    budget::Bounds,
    net::Net,
    plan::{PlanPath, QuantileSum},
    wiring::gives_many,
};
use crate::{
    budget::{Bound, Measure, Stat},
    diagnostic::all_of,
    file::{Full, OnError},
    kind::{PortSpec, Trigger},
    time::Nanos,
};

/// The sums of those paths on which a quantile is limited.
pub(super) fn sums(net: &Net<'_>, paths: &[(usize, PlanPath)]) -> Vec<QuantileSum> {
    let mut sums = Vec::new();
    for (at, (_, path)) in paths.iter().enumerate() {
        let stated = path.budget.limits.iter().filter_map(|limit| match limit.bound {
            Bound::AtMost { measure, stat, .. } => Some((measure.unwrap_or(Measure::Latency), stat)),
            _ => None,
        });
        let stated: Vec<(Measure, Stat)> = stated.collect();
        for measure in [Measure::Latency, Measure::Cost] {
            if !stated.iter().any(|(of, _)| *of == measure) {
                continue;
            }
            let sum = sum(net, path, at, measure);
            let asked = stated.iter().any(|(of, stat)| *of == measure && stat.permille().is_some());
            if asked || sum.parts.iter().any(|(_, stat, _)| *stat != Stat::Max) {
                sums.push(sum);
            }
        }
    }
    sums
}

fn sum(net: &Net<'_>, path: &PlanPath, at: usize, measure: Measure) -> QuantileSum {
    let (mut parts, mut open) = (Vec::new(), Vec::new());
    for &edge in &path.edges {
        match part(net, edge, measure) {
            Some((stat, time)) => parts.push((edge, stat, time)),
            None => open.push(edge),
        }
    }
    let sum = parts.iter().fold(Nanos::ZERO, |sum, (_, _, time)| sum + *time);
    let guaranteed = if open.is_empty() {
        obstacle(net, path).map_or_else(|| guaranteed(parts.iter().map(|(_, stat, _)| *stat)), Err)
    } else {
        Err(format!("no limit on {}", all_of(open.iter().map(|edge| net.edges[*edge].0.name()))))
    };
    QuantileSum { path: at, measure, sum, parts, guaranteed }
}

/// The highest quantile that an edge limits, or its maximum where it limits none.
fn part(net: &Net<'_>, edge: usize, measure: Measure) -> Option<(Stat, Nanos)> {
    let bounds = Bounds::of(net, edge, Stat::Max);
    let counts = |of: Measure| of == measure || (of, measure) == (Measure::Latency, Measure::Cost);
    let quantiles = bounds.limits().filter(|(of, stat, _)| counts(*of) && stat.permille().is_some());
    let highest = quantiles.max_by_key(|(_, stat, time)| (stat.permille(), std::cmp::Reverse(*time)));
    let maximum = || if measure == Measure::Cost { bounds.cost() } else { bounds.latency() };
    highest.map(|(_, stat, time)| (stat, time)).or_else(|| Some((Stat::Max, maximum()?)))
}

/// The share of packets, in thousandths, that is under the sum of limits on these figures.
fn guaranteed(stats: impl Iterator<Item = Stat>) -> Result<u64, String> {
    let over: u64 = stats.map(|stat| stat.permille().map_or(0, |permille| 1000 - permille)).sum();
    let left = 1000_u64.saturating_sub(over);
    if left > 0 { Ok(left) } else { Err("each packet may be over the limit of another edge".to_owned()) }
}

/// Why the packets of the path's edges are not the same ones.
fn obstacle(net: &Net<'_>, path: &PlanPath) -> Option<String> {
    path.edges.iter().enumerate().find_map(|(place, &at)| {
        let last = place + 1 == path.edges.len();
        on_edge(net, at).or_else(|| if last { None } else { at_consumer(net, at) })
    })
}

fn on_edge(net: &Net<'_>, at: usize) -> Option<String> {
    let edge = &net.edges[at].0;
    let name = edge.name();
    if gives_many(net, at) {
        return Some(format!("`{}` gives many packets a cause", edge.from.name));
    }
    if edge.wire {
        return Some(format!("packets may be lost on the wire `{name}`"));
    }
    let latch = |port: &PortSpec| port.trigger() == Trigger::Latch;
    let drops = matches!(edge.queue.full, Full::DropOldest | Full::DropNewest)
        || edge.queue.late.is_some()
        || edge.to.as_ref().is_some_and(|to| latch(net.port(to)));
    drops.then(|| format!("the queue of `{name}` drops packets"))
}

/// Whether the node that an edge enters gives one packet for each.
fn at_consumer(net: &Net<'_>, at: usize) -> Option<String> {
    let node = net.edges[at].0.to.as_ref()?.node;
    let (spec, kind) = (net.node(node), net.kinds[node]?);
    let fed = net.edges.iter().filter_map(|(edge, _)| edge.to.as_ref()).filter(|to| to.node == node);
    if !kind.one_to_one {
        Some(format!("`{}` ({}) need not give one packet for each that it takes", spec.id, kind.kind))
    } else if fed.filter(|to| net.port(to).trigger() != Trigger::Latch).count() > 1 {
        Some(format!("`{}` joins several inputs", spec.id))
    } else if spec.on_error != OnError::Fail {
        Some(format!("`{}` loses packets when it fails", spec.id))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::check::{budget::chain, fixture};

    fn told(limits: &[&str], path: &str) -> Vec<String> {
        fixture::plan(&chain(limits, path)).quantiles.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn eight_edges_that_keep_a_p99_guarantee_a_p92_of_the_sum() {
        let limits = ["p99: \"5 ms\""; 8];
        assert_eq!(told(&limits, "budget: (p90: \"50 ms\")"), ["40 ms, kept by p92"]);
    }

    #[test]
    fn a_maximum_takes_nothing_from_what_is_guaranteed_and_the_highest_quantile_counts() {
        let limits = ["max: \"1 ms\"", "p50: \"1 ms\", p99: \"2 ms\", p999: \"3 ms\", max: \"90 ms\""];
        assert_eq!(told(&limits, "budget: (max: \"99 ms\")"), ["4 ms, kept by p99.9"]);
        assert!(told(&["max: \"1 ms\"", "max: \"1 ms\""], "budget: (max: \"5 ms\")").is_empty());
        assert_eq!(
            told(&["max: \"1 ms\"", "max: \"1 ms\""], "budget: (p99: \"5 ms\")"),
            ["2 ms, kept by all packets"]
        );
    }

    #[test]
    fn medians_of_two_edges_guarantee_nothing() {
        assert_eq!(
            told(&["p50: \"1 ms\"", "p50: \"1 ms\""], "budget: (p50: \"5 ms\")"),
            ["2 ms, no quantile guaranteed: each packet may be over the limit of another edge"]
        );
    }

    #[test]
    fn a_latency_bounds_a_cost_and_not_the_other_way_round() {
        let limits = ["p99: \"1 ms\"", "cost: (p99: \"2 ms\")"];
        assert_eq!(told(&limits, "budget: (cost: (p90: \"5 ms\"))"), ["3 ms, kept by p98"]);
        assert_eq!(
            told(&limits, "budget: (p90: \"5 ms\")"),
            ["1 ms, no quantile guaranteed: no limit on `s0.out -> out.in`"]
        );
    }

    #[test]
    fn no_quantile_is_stated_where_packets_are_not_the_same_ones_all_along() {
        let good = r#"(
            nodes: {
                "in": (kind: "audio/wav-source"), "gain": (kind: "audio/gain"), "out": (kind: "audio/wav-sink"),
            },
            edges: [
                (from: "in", to: "gain", budget: (p99: "1 ms")), (from: "gain", to: "out", budget: (p99: "1 ms")),
                (from: "out.done", budget: (p99: "1 ms")),
            ],
            paths: [(name: "p", from: "in", to: "out.done", budget: (p90: "5 ms"))],
        )"#;
        let told = |text: &str| fixture::plan(text).quantiles[0].guaranteed.clone();
        assert_eq!(told(good), Ok(970));
        for (right, wrong, reason) in [
            (
                "to: \"gain\",",
                "to: \"gain\", queue: (full: drop_oldest),",
                "the queue of `in.out -> gain.in` drops packets",
            ),
            (
                "to: \"out\",",
                "to: \"out\", queue: (late: \"9 ms\"),",
                "the queue of `gain.out -> out.in` drops packets",
            ),
            (
                "kind: \"audio/gain\"",
                "kind: \"audio/gain\", on_error: skip",
                "`gain` loses packets when it fails",
            ),
            (
                "audio/gain",
                "speech/denoise",
                "`gain` (speech/denoise) need not give one packet for each that it takes",
            ),
        ] {
            let text = good.replacen(right, wrong, 1);
            assert_ne!(text, good);
            assert_eq!(told(&text), Err(reason.to_owned()));
        }
    }

    proptest! {
        /// Whatever the edges take and however they depend on each other: where each keeps its limit, so many packets keep
        /// the sum.
        #[test]
        fn the_guaranteed_share_of_packets_keeps_the_sum(
            samples in prop::collection::vec(prop::array::uniform4(0..1_000_u64), 1..200),
            picked in prop::array::uniform4(0..5_usize),
        ) {
            const STATS: [Stat; 5] = [Stat::P50, Stat::P90, Stat::P99, Stat::P999, Stat::Max];
            let stats = picked.map(|at| STATS[at]);
            let n = samples.len() as u64;
            let sum: u64 = (0..4).map(|edge| {
                let mut taken: Vec<u64> = samples.iter().map(|packet| packet[edge]).collect();
                taken.sort_unstable();
                // The tightest limit that the edge keeps.
                taken[stats[edge].rank(n).unwrap_or(n) as usize - 1]
            }).sum();
            let within = samples.iter().filter(|packet| packet.iter().sum::<u64>() <= sum).count() as u64;
            if let Ok(permille) = guaranteed(stats.into_iter()) {
                prop_assert!(within * 1000 >= permille * n, "{within} of {n} for {permille}");
            }
        }
    }
}
