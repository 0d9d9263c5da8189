//! Whether the limits of edges fit those of the paths they make up.
//!
//! Maxima add along a path, and so do means; quantiles do not, since the worst hundredth of one edge need not meet that of
//! another.

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
    let bounds = |edge: usize| Bounds::of(net, edge, stat);
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
pub(super) struct Bounds<'a> {
    budget: &'a Budget,
    stat: Stat,
    many: bool,
}

impl<'a> Bounds<'a> {
    /// The bounds of a maximum or of a mean.
    pub(super) fn of(net: &'a Net<'_>, edge: usize, stat: Stat) -> Bounds<'a> {
        Bounds { budget: &net.edges[edge].0.budget, stat, many: gives_many(net, edge) }
    }

    /// The limits on times, with their measure filled in.
    pub(super) fn limits(&self) -> impl Iterator<Item = (Measure, Stat, Nanos)> {
        let default = if self.many { Measure::First } else { Measure::Latency };
        self.budget.limits.iter().filter_map(move |limit| match limit.bound {
            Bound::AtMost { measure, stat, limit } => Some((measure.unwrap_or(default), stat, limit)),
            _ => None,
        })
    }

    /// The tightest limit on a measure; one on the maximum bounds the mean too.
    pub(super) fn limit(&self, wanted: Measure) -> Option<Nanos> {
        let counts = |stat: Stat| stat == self.stat || stat == Stat::Max;
        let limits = self.limits().filter(|(measure, stat, _)| *measure == wanted && counts(*stat));
        limits.map(|(_, _, limit)| limit).min()
    }

    /// Latency of a packet, on a `many` port of the first one.
    pub(super) fn latency(&self) -> Option<Nanos> {
        let first =
            if self.many { tightest([self.limit(Measure::First), self.limit(Measure::Last)]) } else { None };
        let cost =
            tightest([self.limit(Measure::Cost), both(self.limit(Measure::Work), self.limit(Measure::Wait))]);
        tightest([self.limit(Measure::Latency), first, both(cost, self.limit(Measure::Held))])
    }

    /// Latency less held.
    pub(super) fn cost(&self) -> Option<Nanos> {
        let parts = both(self.limit(Measure::Work), self.limit(Measure::Wait));
        tightest([self.limit(Measure::Cost), parts, self.latency()])
    }

    /// What the producer spends on one packet that it takes, up to the last that it makes of it.
    pub(super) fn service(&self) -> Option<Nanos> {
        let latency = if self.many { None } else { self.latency() };
        tightest([
            self.limit(Measure::Work),
            self.limit(Measure::Cost),
            self.limit(Measure::Latency),
            self.limit(Measure::Last),
            latency,
        ])
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

/// A chain of stages whose limits are these, and a path over all of it.
#[cfg(test)]
pub(super) fn chain(limits: &[&str], path: &str) -> String {
    let last = limits.len() - 1;
    let nodes: String = (0..last).map(|at| format!("\"s{at}\": (kind: \"audio/gain\"),\n")).collect();
    let edges: String = limits
        .iter()
        .enumerate()
        .map(|(at, limit)| {
            let from = if at == 0 { "in".to_owned() } else { format!("s{}", at - 1) };
            let to = if at == last { "out".to_owned() } else { format!("s{at}") };
            format!("(from: \"{from}\", to: \"{to}\", budget: ({limit})),\n")
        })
        .collect();
    format!(
        "(nodes: {{ \"in\": (kind: \"audio/wav-source\"),\n{nodes}\"out\": (kind: \"audio/wav-sink\") }},\n\
         edges: [{edges}],\npaths: [(name: \"whole\", from: \"in\", to: \"out\", {path})])"
    )
}

#[cfg(test)]
mod tests {
    use super::chain;
    use crate::{
        check::{Plan, fixture},
        diagnostic::Severity,
        time::Nanos,
    };

    /// A question, its tokens and where they go, with the limits of the published LLM pipeline.
    fn llm(packets: u32) -> String {
        format!(
            r#"(
                nodes: {{
                    "client": (kind: "text/source"),
                    "model":  (kind: "llm/prompt"),
                    "out":    (kind: "llm/token-sink"),
                }},
                edges: [
                    (from: "client", to: "model", budget: (max: "10 ms")),
                    (from: "model", to: "out", budget: (first: (max: "1 s"), rate: "15 /s")),
                ],
                paths: [(name: "query", from: "client", to: "out", packets: {packets}, budget: (max: "2 s"))],
            )"#
        )
    }

    fn allocation(plan: &Plan) -> String {
        let [allocation] = plan.allocations.as_slice() else { panic!("one limit, {:?}", plan.allocations) };
        allocation.to_string()
    }

    #[test]
    fn the_limits_of_the_voice_stages_leave_335_ms_of_slack() {
        let limits = ["5 ms", "5 ms", "100 ms", "500 ms", "50 ms", "1500 ms", "2500 ms", "5 ms"];
        let limits = limits.map(|limit| format!("cost: (max: \"{limit}\")"));
        let limits: Vec<&str> = limits.iter().map(String::as_str).collect();
        let (plan, diagnostics) = fixture::check(&chain(&limits, "budget: (cost: (max: \"5 s\"))"));
        assert_eq!(allocation(&plan.unwrap()), "4,665 ms of 5,000 ms, 335 ms of slack");
        assert!(diagnostics.is_empty(), "{diagnostics}");
    }

    #[test]
    fn limits_that_use_up_the_whole_are_a_note_and_no_failure() {
        let limits = ["max: \"1 ms\"", "max: \"1 ms\"", "max: \"1 ms\"", "max: \"2 ms\""];
        let (plan, diagnostics) = fixture::check(&chain(&limits, "budget: (max: \"5 ms\")"));
        assert_eq!(allocation(&plan.unwrap()), "5 ms of 5 ms, nothing left");
        assert_eq!(diagnostics[0].code.id, "GR0402");
        assert_eq!(diagnostics[0].severity(), Severity::Note);
        assert!(!diagnostics.refuse(true));
    }

    #[test]
    fn a_floor_becomes_the_time_of_one_interval_less_than_there_are_packets() {
        let (plan, diagnostics) = fixture::check(&llm(15));
        let plan = plan.unwrap();
        assert_eq!(allocation(&plan), "1,943 ms of 2,000 ms, 57 ms of slack");
        assert_eq!(plan.allocations[0].intervals, Some(Nanos(933_333_334)));
        assert!(diagnostics.is_empty(), "{diagnostics}");
    }

    #[test]
    fn an_interval_more_is_over_by_10_ms_and_refused_when_strict() {
        let (plan, diagnostics) = fixture::check(&llm(16));
        assert_eq!(allocation(&plan.unwrap()), "2,010 ms of 2,000 ms, 10 ms over");
        assert_eq!(diagnostics[0].code.id, "GR0401");
        assert!(diagnostics[0].message.contains("10 ms over"), "{diagnostics}");
        assert!(!diagnostics.refuse(false) && diagnostics.refuse(true));
    }

    #[test]
    fn without_a_number_of_packets_a_path_ends_with_the_first() {
        let text = llm(15).replace("packets: 15, ", "");
        assert_eq!(allocation(&fixture::plan(&text)), "1,010 ms of 2,000 ms, 990 ms of slack");
    }

    #[test]
    fn packets_without_a_pace_leave_the_sum_open() {
        let (plan, diagnostics) = fixture::check(&llm(15).replace(", rate: \"15 /s\"", ""));
        assert_eq!(plan.unwrap().allocations[0].open, [1]);
        assert_eq!(diagnostics[0].code.id, "GR0403");
    }

    #[test]
    fn an_edge_without_a_limit_leaves_the_sum_open_and_is_named() {
        let (plan, diagnostics) = fixture::check(&chain(&["max: \"1 ms\"", ""], "budget: (max: \"5 ms\")"));
        assert_eq!(plan.unwrap().allocations[0].open, [1]);
        assert!(diagnostics[0].message.ends_with("no limit on `s0.out -> out.in`"), "{diagnostics}");
    }

    #[test]
    fn quantiles_do_not_add() {
        let plan = fixture::plan(&chain(
            &["p50: \"1 ms\"", "p99: \"1 ms\""],
            "budget: (p50: \"5 ms\", p99: \"6 ms\")",
        ));
        assert!(plan.allocations.is_empty());
    }

    #[test]
    fn means_add_and_a_maximum_bounds_a_mean() {
        let limits = ["mean: \"1 ms\", max: \"9 ms\"", "max: \"3 ms\""];
        let plan = fixture::plan(&chain(&limits, "budget: (mean: \"5 ms\")"));
        assert_eq!(allocation(&plan), "4 ms of 5 ms, 1 ms of slack");
    }

    #[test]
    fn cost_is_bounded_by_latency_and_latency_by_cost_and_held() {
        let limits =
            ["max: \"1 ms\"", "cost: (max: \"2 ms\")", "work: (max: \"1 ms\"), wait: (max: \"500 us\")"];
        let plan = fixture::plan(&chain(&limits, "budget: (cost: (max: \"5 ms\"))"));
        assert_eq!(allocation(&plan), "4,500 us of 5,000 us, 500 us of slack");
        let limits = ["max: \"1 ms\"", "cost: (max: \"2 ms\"), held: (max: \"1 ms\")"];
        assert_eq!(
            allocation(&fixture::plan(&chain(&limits, "budget: (max: \"5 ms\")"))),
            "4 ms of 5 ms, 1 ms of slack"
        );
        let plan =
            fixture::plan(&chain(&["cost: (max: \"2 ms\")", "max: \"1 ms\""], "budget: (max: \"5 ms\")"));
        assert_eq!(plan.allocations[0].open, [0]);
    }
}
