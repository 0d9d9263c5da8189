//! Limits that no node can keep, since the machine takes longer for the hop alone.

use super::plan::{Plan, PlanEdge};
use crate::{
    budget::{Bound, Limit, Measure},
    codes,
    diagnostic::{Diagnostic, Diagnostics, Spanned},
    file::{GraphSpec, Wait},
    floors::Floors,
    time::Nanos,
};

/// Complains of limits below what this machine takes for the edges alone.
///
/// A lane that sleeps may have watched descriptors or not, which only its nodes know: the faster way of waking it counts.
pub fn floors(graph: &GraphSpec, plan: &Plan, floors: &Floors) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let hops: Vec<Hop<'_>> = plan.edges.iter().map(|edge| Hop::of(plan, edge, floors)).collect();
    for ((spec, edge), hop) in graph.edges.iter().zip(&plan.edges).zip(&hops) {
        let name = format!("`{}`", edge.name());
        for limit in &spec.budget.limits {
            judge(limit, |measure| hop.least(measure, floors), &name, &[hop], floors, &mut diagnostics);
        }
    }
    for (spec, path) in graph.paths.iter().zip(&plan.paths) {
        let on_path: Vec<&Hop<'_>> = path.edges.iter().map(|edge| &hops[*edge]).collect();
        let all = on_path.iter().fold(Nanos::ZERO, |sum, hop| sum + hop.time);
        let name = format!("the path `{}`", spec.name.value);
        for limit in &spec.budget.limits {
            let least = |measure| counts_hops(measure).then_some(all);
            judge(limit, least, &name, &on_path, floors, &mut diagnostics);
        }
    }
    diagnostics.sort();
    diagnostics
}

/// The least that one edge takes, and for what.
struct Hop<'a> {
    time: Nanos,
    way: Way<'a>,
}

/// The way of a hop.
enum Way<'a> {
    Local,
    Spinning(&'a str),
    Asleep(&'a str),
}

impl<'a> Hop<'a> {
    fn of(plan: &'a Plan, edge: &PlanEdge, floors: &Floors) -> Hop<'a> {
        let Some(to) = edge.to.as_ref().filter(|_| edge.crosses || edge.wire) else {
            return Hop { time: floors.local, way: Way::Local };
        };
        let lane = &plan.lanes[plan.nodes[to.node].lane];
        match lane.spec.as_ref().and_then(|spec| spec.wait) {
            Some(Wait::Poll | Wait::Spin(_)) => Hop { time: floors.spin, way: Way::Spinning(&lane.name) },
            Some(Wait::Park) | None => {
                Hop { time: floors.futex.min(floors.epoll), way: Way::Asleep(&lane.name) }
            }
        }
    }

    fn least(&self, measure: Measure, floors: &Floors) -> Option<Nanos> {
        match measure {
            Measure::Wait if matches!(self.way, Way::Local) => None,
            Measure::Wait => Some(self.time),
            Measure::Work => Some(floors.local),
            measure => counts_hops(measure).then_some(self.time),
        }
    }
}

fn counts_hops(measure: Measure) -> bool {
    matches!(measure, Measure::Latency | Measure::Cost | Measure::Age | Measure::First | Measure::Last)
}

fn judge(
    limit: &Spanned<Limit>,
    least: impl Fn(Measure) -> Option<Nanos>,
    name: &str,
    hops: &[&Hop<'_>],
    floors: &Floors,
    diagnostics: &mut Diagnostics,
) {
    let Bound::AtMost { measure, limit: most, .. } = limit.value.bound else { return };
    let Some(least) = least(measure.unwrap_or(Measure::Latency)).filter(|least| most < *least) else {
        return;
    };
    let sleeper = hops.iter().find_map(|hop| match hop.way {
        Way::Asleep(lane) => Some(lane),
        _ => None,
    });
    let spinner = hops.iter().find_map(|hop| match hop.way {
        Way::Spinning(lane) => Some(lane),
        _ => None,
    });
    let (why, help) = match (hops, sleeper, spinner) {
        ([_], Some(lane), _) => (
            format!("{least} to wake the lane `{lane}`"),
            format!(
                "put both nodes in one lane, or let `{lane}` wait by poll or spin: a hop takes {} then; or raise the limit",
                floors.spin
            ),
        ),
        ([_], None, Some(lane)) => (
            format!("{least} for a hop to the spinning lane `{lane}`"),
            "put both nodes in one lane, or raise the limit".to_owned(),
        ),
        ([_], None, None) => (
            format!("{least} from one reading of the clock to the next"),
            "raise the limit; what is this short is a matter for `benches`".to_owned(),
        ),
        (hops, ..) => (
            format!("{least} for its {} hops", hops.len()),
            "put its nodes in fewer lanes, or raise the limit".to_owned(),
        ),
    };
    diagnostics.push(
        Diagnostic::new(&codes::BELOW_FLOOR, format!("{name} cannot keep its limit on this machine"))
            .at(&limit.span)
            .expected(format!("at least {why}"))
            .found(most.to_string())
            .help(help),
    );
}

#[cfg(test)]
mod tests {
    use crate::check::fixture;

    /// Three lanes; the fixture's machine takes 25 ns inside one, 150 ns to a spinning and 2 us to a sleeping one.
    fn graph(wait: &str, to_stt: &str, to_answer: &str, to_out: &str, path: &str) -> String {
        format!(
            r#"(
                lanes: {{ "stt": ({wait}) }},
                nodes: {{
                    "in": (kind: "audio/wav-source"), "stt": (kind: "speech/stt", lane: "stt"),
                    "answer": (kind: "text/answer", lane: "stt"), "out": (kind: "text/sink", lane: "stt"),
                }},
                edges: [
                    (from: "in", to: "stt", budget: ({to_stt})), (from: "stt", to: "answer", budget: ({to_answer})),
                    (from: "answer", to: "out", budget: ({to_out})),
                ],
                paths: [(name: "p", from: "in", to: "out", budget: ({path}))],
            )"#
        )
    }

    fn told(text: &str) -> Vec<String> {
        let (plan, diagnostics) = fixture::check(text);
        assert!(plan.is_some(), "{diagnostics}");
        let below = diagnostics.iter().filter(|d| d.code.id == "GR0406");
        below
            .map(|d| format!("{}: {}", d.span.as_ref().unwrap().text(), d.expected.as_deref().unwrap()))
            .collect()
    }

    #[test]
    fn a_limit_below_what_a_hop_takes_is_told_with_what_it_takes() {
        assert_eq!(
            told(&graph("", "p99: \"1 us\"", "max: \"20 ns\"", "max: \"30 ns\"", "")),
            [
                "\"1 us\": at least 2 us to wake the lane `stt`",
                "\"20 ns\": at least 25 ns from one reading of the clock to the next"
            ]
        );
        assert_eq!(
            told(&graph("wait: spin(\"20 us\")", "max: \"1 us\", wait: (max: \"100 ns\")", "", "", "")),
            ["\"100 ns\": at least 150 ns for a hop to the spinning lane `stt`"]
        );
    }

    #[test]
    fn a_path_takes_the_hops_of_all_its_edges() {
        assert_eq!(
            told(&graph("", "", "", "", "max: \"2040 ns\", cost: (mean: \"3 us\")")),
            ["\"2040 ns\": at least 2.05 us for its 3 hops"]
        );
    }

    #[test]
    fn what_is_waited_on_purpose_and_what_a_lane_hands_to_itself_have_no_floor() {
        let none = "held: (max: \"1 ns\")";
        assert!(told(&graph("", none, "wait: (max: \"1 ns\")", none, "")).is_empty());
    }

    #[test]
    fn only_strict_refuses_what_this_machine_cannot_keep() {
        let (_, diagnostics) = fixture::check(&graph("", "max: \"1 us\"", "", "", ""));
        assert!(!diagnostics.refuse(false) && diagnostics.refuse(true));
    }
}
