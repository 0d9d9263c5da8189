//! Whether the limits of edges fit those of the paths they make up.
//!
//! Maxima add along a path, and so do means; quantiles do not, since the worst hundredth of one edge need not meet that of
//! another. What quantile a sum of quantiles guarantees, and what a queue adds to the service time behind it, belong here
//! too.

use super::{
    net::Net,
    plan::{Allocation, PlanPath},
    wiring::gives_many,
};
use crate::{
    budget::{Bound, Budget, Measure, Stat},
    codes,
    diagnostic::{Diagnostic, Diagnostics, all_of},
    file::PathSpec,
    time::Nanos,
};

/// Complains of limits on what an edge does not have.
pub(super) fn meaning(net: &Net<'_>, diagnostics: &mut Diagnostics) {
    for (at, (edge, spec)) in net.edges.iter().enumerate() {
        let Some(spec) = spec else { continue };
        if gives_many(net, at) {
            continue;
        }
        for limit in &spec.budget.limits {
            let (what, instead) = match limit.bound {
                Bound::AtMost { measure: Some(m @ (Measure::First | Measure::Last)), .. } => {
                    (m.name(), "limit `latency`")
                }
                Bound::AtMost { measure: Some(Measure::Interval), .. } => ("interval", "take the limit out"),
                Bound::RateAtLeast(_) => ("rate", "take the limit out"),
                _ => continue,
            };
            diagnostics.push(
                Diagnostic::new(
                    &codes::NO_SUCH_MEASURE,
                    format!(
                        "`{what}` means nothing here: `{}` gives at most one packet a cause",
                        edge.from.name
                    ),
                )
                .at(&limit.span)
                .node(&spec.from.node)
                .help(format!("{instead}, or limit `{what}` on an edge whose output gives many")),
            );
        }
    }
}

/// Adds up the limits of each path's edges, and complains where they do not fit the path's.
pub(super) fn allocate(
    net: &Net<'_>,
    paths: &[(usize, PlanPath)],
    diagnostics: &mut Diagnostics,
) -> Vec<Allocation> {
    let mut allocations = Vec::new();
    for (at, (spec, path)) in paths.iter().enumerate() {
        let spec = &net.graph.paths[*spec];
        for limit in &spec.budget.limits {
            let Bound::AtMost { measure, stat: stat @ (Stat::Max | Stat::Mean), limit: bound } = limit.bound
            else {
                continue;
            };
            let (measure, packets) = match (measure.unwrap_or(Measure::Latency), path.packets) {
                (Measure::First, _) => (Measure::Latency, 1),
                (Measure::Latency | Measure::Last, packets) => (Measure::Latency, packets.unwrap_or(1)),
                (Measure::Cost, packets) => (Measure::Cost, packets.unwrap_or(1)),
                _ => continue,
            };
            let allocation = sum(net, path, at, measure, stat, bound, packets);
            judge(net, spec, limit, &allocation, diagnostics);
            allocations.push(allocation);
        }
    }
    allocations
}

fn sum(
    net: &Net<'_>,
    path: &PlanPath,
    at: usize,
    measure: Measure,
    stat: Stat,
    limit: Nanos,
    packets: u32,
) -> Allocation {
    let bounds =
        |edge: usize| Bounds { budget: &net.edges[edge].0.budget, stat, many: gives_many(net, edge) };
    let (mut parts, mut open) = (Vec::new(), Vec::new());
    for &edge in &path.edges {
        let bounds = bounds(edge);
        match if measure == Measure::Cost { bounds.cost() } else { bounds.latency() } {
            Some(time) => parts.push((edge, time)),
            None => open.push(edge),
        }
    }
    let mut many = path.edges.iter().copied().filter(|edge| packets > 1 && gives_many(net, *edge)).peekable();
    let unpaced = many.peek().copied();
    // Edges in a row let packets through at the same time: the slowest of them sets the pace of all.
    let intervals = many.filter_map(|edge| bounds(edge).intervals(packets)).max();
    open.extend(unpaced.filter(|edge| intervals.is_none() && !open.contains(edge)));
    let sum = parts.iter().map(|(_, time)| *time).fold(intervals.unwrap_or_default(), |sum, time| sum + time);
    Allocation { path: at, measure, stat, limit, sum, parts, intervals, open }
}

/// What the limits of one edge say of how long it may take.
struct Bounds<'a> {
    budget: &'a Budget,
    stat: Stat,
    many: bool,
}

impl Bounds<'_> {
    /// The tightest limit on a measure; one on the maximum bounds the mean too.
    fn limit(&self, wanted: Measure) -> Option<Nanos> {
        let default = if self.many { Measure::First } else { Measure::Latency };
        let limits = self.budget.limits.iter().filter_map(|limit| match limit.bound {
            Bound::AtMost { measure, stat, limit } if measure.unwrap_or(default) == wanted => {
                (stat == self.stat || stat == Stat::Max).then_some(limit)
            }
            _ => None,
        });
        limits.min()
    }

    /// Latency of a packet, on a `many` port of the first one.
    fn latency(&self) -> Option<Nanos> {
        let first =
            if self.many { tightest([self.limit(Measure::First), self.limit(Measure::Last)]) } else { None };
        let cost =
            tightest([self.limit(Measure::Cost), both(self.limit(Measure::Work), self.limit(Measure::Wait))]);
        tightest([self.limit(Measure::Latency), first, both(cost, self.limit(Measure::Held))])
    }

    /// Latency less held.
    fn cost(&self) -> Option<Nanos> {
        let parts = both(self.limit(Measure::Work), self.limit(Measure::Wait));
        tightest([self.limit(Measure::Cost), parts, self.latency()])
    }

    /// From the first packet of a cause to the last of `packets`.
    fn intervals(&self, packets: u32) -> Option<Nanos> {
        let gaps = packets - 1;
        let rates = self.budget.limits.iter().filter_map(|limit| match limit.bound {
            Bound::RateAtLeast(rate) => Some(Nanos((f64::from(gaps) * 1e9 / rate).ceil() as u64)),
            _ => None,
        });
        let interval = self.limit(Measure::Interval).map(|gap| Nanos(gap.0.saturating_mul(gaps.into())));
        tightest([rates.min(), interval, self.limit(Measure::Last)])
    }
}

fn tightest<const N: usize>(limits: [Option<Nanos>; N]) -> Option<Nanos> {
    limits.into_iter().flatten().min()
}

fn both(a: Option<Nanos>, b: Option<Nanos>) -> Option<Nanos> {
    Some(a? + b?)
}

fn judge(
    net: &Net<'_>,
    spec: &PathSpec,
    limit: &crate::diagnostic::Spanned<crate::budget::Limit>,
    allocation: &Allocation,
    diagnostics: &mut Diagnostics,
) {
    let name = &spec.name.value;
    let what = format!("{} {}", allocation.stat.name(), allocation.measure.name());
    let edge = |at: &usize| net.edges[*at].0.name();
    if allocation.excess() > Nanos::ZERO {
        let mut parts: Vec<String> =
            allocation.parts.iter().map(|(at, time)| format!("{} {time}", edge(at))).collect();
        parts.extend(allocation.intervals.map(|time| format!("the packets after the first {time}")));
        diagnostics.push(
            Diagnostic::new(
                &codes::OVER_ALLOCATED,
                format!("the edges of the path `{name}` may take more than its {what} allows: {allocation}"),
            )
            .at(&limit.span)
            .expected(format!("at most {} in all", allocation.limit))
            .found(parts.join(", "))
            .help(format!("take {} off the edges' limits, or raise the path's", allocation.excess())),
        );
    } else if !allocation.open.is_empty() {
        let open = allocation.open.iter().map(edge);
        diagnostics.push(
            Diagnostic::new(
                &codes::OPEN_SUM,
                format!(
                    "the edges of the path `{name}` need not keep its {what}: no limit on {}",
                    all_of(open)
                ),
            )
            .at(&limit.span)
            .found(format!("for the other edges {allocation}"))
            .help(
                "give each edge of the path a limit, so that the one to blame is named when the path fails",
            ),
        );
    } else if allocation.slack() == Nanos::ZERO {
        diagnostics.push(
            Diagnostic::new(
                &codes::FULLY_ALLOCATED,
                format!("the limits of the edges of the path `{name}` use up its {what}: {allocation}"),
            )
            .at(&limit.span),
        );
    }
}
