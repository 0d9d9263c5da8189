//! From the meters of a run to its report.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Machine,
    model::{
        BenchReport, Blocked, EdgeReport, Figures, Note, NoteValue, OverheadReport, PacketReport, PartReport,
        PathReport, Report, SCHEMA_VERSION, Simulation, Times, TurnPart, TurnReport,
    },
};
use crate::{
    budget::{Bench, Evidence, Judgement, Level, Limit, Measure, Verdict, exit, judge},
    check::{Plan, PlanEdge, PlanPath},
    measure::{Counts, EdgeMeter, Hop, Part, PathMeter, Sample, Snapshot, WorstLineage},
    run::{Failure, Interactions},
    time::Nanos,
};

/// All that is known once the lanes have stopped.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// What ran.
    pub plan: &'a Plan,
    /// The meter of each edge of the plan, in its order.
    pub edges: &'a [Arc<EdgeMeter>],
    /// The meter of each path of the plan, in its order.
    pub paths: &'a [Arc<PathMeter>],
    /// Budgets of the graph's benchmarks.
    pub benches: &'a [Bench],
    /// Names of the graph's overheads.
    pub overheads: &'a [String],
    /// The machine, as it was before the run.
    pub machine: Machine,
    /// How long the graph ran.
    pub elapsed: Nanos,
    /// The interactions of the run.
    pub interactions: Interactions,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// How it was simulated; `None` where it was real.
    pub simulation: Option<Simulation>,
    /// What nodes and the runtime counted or want to say.
    pub notes: Vec<Note>,
    /// Nodes that failed.
    pub failures: Vec<Failure>,
}

impl Run<'_> {
    /// Judges every limit and writes it all down. Ends the causes still in progress.
    pub fn report(self) -> Report {
        let edges: Vec<_> =
            self.plan.edges.iter().zip(self.edges).map(|(edge, meter)| edge_report(edge, meter)).collect();
        let paths: Vec<_> = self
            .plan
            .paths
            .iter()
            .zip(self.paths)
            .map(|(path, meter)| path_report(self.plan, path, meter))
            .collect();
        let turns = self
            .plan
            .paths
            .iter()
            .zip(self.paths)
            .flat_map(|(path, meter)| turns(self.plan, path, meter))
            .collect();
        let mut notes = self.notes;
        notes.extend(edges.iter().filter(|edge| !edge.counts.balance()).map(unbalanced));
        let mut report = Report {
            schema_version: SCHEMA_VERSION,
            graph: self.plan.name.clone(),
            verdict: Verdict::NotBudgeted,
            exit_code: exit::OK,
            elapsed: self.elapsed,
            interactions: self.interactions,
            interrupted: self.interrupted,
            simulation: self.simulation,
            class: self.plan.class.clone(),
            machine: self.machine,
            edges,
            paths,
            benches: self.benches.iter().map(bench_report).collect(),
            overheads: self.overheads.iter().map(|name| overhead_report(name)).collect(),
            turns,
            notes,
            failures: self.failures,
        };
        report.verdict = verdict(&report);
        report.exit_code = exit_code(&report);
        report
    }
}

/// Of the whole run. A limit of level `warn` weighs no more than a warning, whatever became of it.
fn verdict(report: &Report) -> Verdict {
    let weight = |judgement: &Judgement| match judgement.limit.level {
        Level::Warn => judgement.verdict.min(Verdict::Warn),
        Level::Fail => judgement.verdict,
    };
    let failed = report.has_failed().then_some(Verdict::Fail);
    Verdict::of_all(report.judgements().map(weight).chain(failed))
}

fn exit_code(report: &Report) -> u8 {
    let failed = report.has_failed().then_some(exit::NODE_FAILED);
    let undecided = |judgement: &Judgement| judgement.verdict.is_undecided();
    let nothing_judged = report.judgements().next().is_some() && report.judgements().all(undecided);
    let interrupted = (report.interrupted && nothing_judged).then_some(exit::INTERRUPTED);
    exit::combine(report.judgements().map(exit::of).chain(failed).chain(interrupted))
}

fn edge_report(edge: &PlanEdge, meter: &EdgeMeter) -> EdgeReport {
    meter.finish();
    let limits = judged(meter.limits(), meter.evidence());
    let (sum, n) = meter.blocks();
    EdgeReport {
        from: edge.from.name.clone(),
        to: edge.to.as_ref().map(|to| to.name.clone()),
        verdict: Verdict::of_all(limits.iter().map(|limit| limit.verdict)),
        counts: meter.counts(),
        times: times(|measure| meter.snapshot(measure)),
        blocked: Blocked { sum, n },
        negative: negative(|measure| meter.negative(measure)),
        reference: edge.budget.reference,
        limits,
        worst: meter.worst().iter().map(packet_report).collect(),
    }
}

fn path_report(plan: &Plan, path: &PlanPath, meter: &PathMeter) -> PathReport {
    meter.finish();
    let limits = judged(meter.limits(), meter.evidence());
    let edge = |end: Option<&usize>| end.map(|edge| &plan.edges[*edge]);
    let (parts, n) = meter.parts();
    PathReport {
        name: path.name.clone(),
        from: edge(path.edges.first()).map(|first| first.from.name.clone()).unwrap_or_default(),
        to: edge(path.edges.last())
            .map(|last| last.to.as_ref().unwrap_or(&last.from).name.clone())
            .unwrap_or_default(),
        verdict: Verdict::of_all(limits.iter().map(|limit| limit.verdict)),
        counts: meter.counts(),
        times: times(|measure| meter.snapshot(measure)),
        negative: negative(|measure| meter.negative(measure)),
        reference: path.budget.reference,
        limits,
        parts: path
            .edges
            .iter()
            .zip(&parts)
            .map(|(edge, part)| part_report(&plan.edges[*edge], part, n))
            .collect(),
    }
}

fn judged(limits: &[Limit], evidence: Vec<Evidence>) -> Vec<Judgement> {
    limits.iter().zip(evidence).map(|(limit, evidence)| judge(limit, &evidence)).collect()
}

/// The measures of whole packets always have an entry, those of causes only where they were measured.
fn times(snapshot: impl Fn(Measure) -> Option<Snapshot>) -> Times {
    let of_cause = |measure| matches!(measure, Measure::First | Measure::Last | Measure::Interval);
    let figures =
        Measure::ALL.into_iter().map(|measure| (measure, snapshot(measure).as_ref().map(Figures::of)));
    figures.filter(|(measure, figures)| figures.is_some() || !of_cause(*measure)).collect()
}

fn negative(count: impl Fn(Measure) -> u64) -> BTreeMap<Measure, u64> {
    Measure::ALL
        .into_iter()
        .map(|measure| (measure, count(measure)))
        .filter(|(_, count)| *count > 0)
        .collect()
}

fn packet_report(sample: &Sample) -> PacketReport {
    let hop = sample.hop();
    let nanos = |time: Option<Nanos>| time.map(|time| time.0);
    PacketReport {
        seq: sample.seq,
        turn: sample.turn,
        latency_ns: nanos(hop.latency()),
        work_ns: nanos(hop.work()),
        held_ns: hop.held.0,
        wait_ns: nanos(hop.wait()),
    }
}

fn part_report(edge: &PlanEdge, part: &Part, n: u64) -> PartReport {
    let mean = |sum: u128| u64::try_from(sum / u128::from(n.max(1))).unwrap_or(u64::MAX);
    PartReport {
        edge: edge.name(),
        mean_ns: mean(part.latency()),
        work_ns: mean(part.work),
        held_ns: mean(part.held),
        wait_ns: mean(part.wait),
    }
}

fn turns(plan: &Plan, path: &PlanPath, meter: &PathMeter) -> Vec<TurnReport> {
    meter.worst().iter().map(|worst| turn_report(plan, path, worst)).collect()
}

fn turn_report(plan: &Plan, path: &PlanPath, worst: &WorstLineage) -> TurnReport {
    let part = |(edge, hop): (&usize, &Hop)| TurnPart {
        edge: plan.edges[*edge].name(),
        work_ns: hop.work().unwrap_or_default().0,
        held_ns: hop.held.0,
        wait_ns: hop.wait().unwrap_or_default().0,
    };
    let parts: Vec<_> = path.edges.iter().zip(&worst.hops).map(part).collect();
    let latency_ns = parts.iter().map(TurnPart::latency_ns).sum();
    let held_ns = parts.iter().map(|part| part.held_ns).sum();
    TurnReport {
        path: path.name.clone(),
        turn: worst.turn,
        seq: worst.seq,
        latency_ns,
        held_ns,
        cost_ns: latency_ns - held_ns,
        parts,
    }
}

fn bench_report(bench: &Bench) -> BenchReport {
    let reason = "a micro-benchmark; `cargo bench` measures it";
    BenchReport {
        id: bench.id.clone(),
        verdict: Verdict::NotJudged,
        reference: bench.budget.reference,
        limits: bench.budget.limits.iter().map(|limit| Judgement::not_judged(limit, reason)).collect(),
    }
}

fn overhead_report(name: &str) -> OverheadReport {
    OverheadReport {
        name: name.to_owned(),
        verdict: Verdict::NotJudged,
        reason: "this version does not measure overheads".to_owned(),
    }
}

fn unbalanced(edge: &EdgeReport) -> Note {
    let Counts { sent, taken, dropped, cancelled, lost, left, .. } = edge.counts;
    let accounted = taken + dropped + cancelled + lost + left;
    Note {
        node: edge.name(),
        name: "packets unaccounted for".to_owned(),
        value: NoteValue::Text(format!("{sent} sent, {accounted} taken, dropped, cancelled, lost or left")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        budget::{Bound, Budget, Reference, Stat},
        check::PlanEnd,
        file::{QueueSpec, WarmUp},
        measure::{EdgeSpec, Lineage, PathSpec},
        report::Progress,
        time::Stamp,
    };

    fn end(name: &str) -> PlanEnd {
        PlanEnd { node: 0, port: 0, name: name.to_owned() }
    }

    fn edge(from: &str, to: Option<&str>, budget: Budget) -> PlanEdge {
        PlanEdge {
            from: end(from),
            to: to.map(end),
            queue: QueueSpec::default(),
            budget,
            wire: false,
            feedback: false,
            measure_all: false,
            crosses: true,
        }
    }

    fn max(millis: u64, level: Level) -> Limit {
        let bound = Bound::AtMost { measure: None, stat: Stat::Max, limit: Nanos::from_millis(millis) };
        Limit { bound, level, assumed: false, basis: None }
    }

    fn budget(limits: Vec<Limit>) -> Budget {
        Budget { limits, reference: Some(Reference::Time(Nanos::from_millis(2))) }
    }

    struct Rig {
        plan: Plan,
        edges: Vec<Arc<EdgeMeter>>,
        paths: Vec<Arc<PathMeter>>,
    }

    impl Rig {
        fn new(first: Budget) -> Rig {
            let plan = Plan {
                name: "voice".to_owned(),
                class: Some("x1e80100".to_owned()),
                warm_up: WarmUp::None,
                nodes: Vec::new(),
                edges: vec![
                    edge("mic.audio", Some("sink.audio"), first),
                    edge("sink.done", None, Budget::default()),
                ],
                lanes: Vec::new(),
                paths: vec![PlanPath {
                    name: "all".to_owned(),
                    edges: vec![0, 1],
                    budget: Budget::default(),
                    many: false,
                    packets: None,
                }],
                order: Vec::new(),
                allocations: Vec::new(),
                quantiles: Vec::new(),
                queues: Vec::new(),
            };
            let meter = |edge: &PlanEdge| {
                Arc::new(EdgeMeter::new(&EdgeSpec {
                    budget: &edge.budget,
                    many: false,
                    queued: true,
                    all: false,
                }))
            };
            let path = PathSpec { budget: &plan.paths[0].budget, edges: 2, many: false, packets: None };
            let paths = vec![Arc::new(PathMeter::new(&path))];
            Rig { edges: plan.edges.iter().map(meter).collect(), paths, plan }
        }

        /// One packet that takes so long on each of the edges.
        fn packet(&self, millis: u64) {
            let stamp = |at: u64| Stamp(at * 1_000_000);
            let hop = |began: u64| Hop {
                began: stamp(began),
                sent: stamp(began),
                taken: stamp(began + millis),
                held: Nanos::ZERO,
            };
            let hops = [hop(100), hop(100 + millis)];
            for (meter, hop) in self.edges.iter().zip(&hops) {
                let Hop { began, sent, taken, held } = *hop;
                meter.sent(1);
                meter.taken(&Sample { origin: stamp(100), began, sent, taken, held, ..Sample::default() });
            }
            let lineage = Lineage { seq: 3, turn: 1, warm_up: false, origin: stamp(100), hops: &hops };
            self.paths[0].completed(&lineage);
        }

        fn run(&self) -> Run<'_> {
            Run {
                plan: &self.plan,
                edges: &self.edges,
                paths: &self.paths,
                benches: &[],
                overheads: &[],
                machine: Machine::default(),
                elapsed: Nanos::from_secs(1),
                interactions: Interactions::default(),
                interrupted: false,
                simulation: None,
                notes: Vec::new(),
                failures: Vec::new(),
            }
        }
    }

    fn failure() -> Failure {
        Failure { node: "mic".to_owned(), message: "unplugged".to_owned(), times: 1, lost: 0, fatal: true }
    }

    #[test]
    fn a_run_exits_by_what_became_of_its_limits() {
        let strict = || budget(vec![max(5, Level::Fail)]);
        let outcome = |budget: Budget, packets: &[u64]| {
            let rig = Rig::new(budget);
            packets.iter().for_each(|millis| rig.packet(*millis));
            let report = rig.run().report();
            (report.verdict, report.exit_code())
        };
        assert_eq!(outcome(strict(), &[3, 5]), (Verdict::Pass, exit::OK));
        assert_eq!(outcome(strict(), &[3, 6]), (Verdict::Fail, exit::BUDGET_FAILED));
        assert_eq!(outcome(strict(), &[]), (Verdict::NoData, exit::UNDECIDED));
        assert_eq!(outcome(Budget::default(), &[3]), (Verdict::NotBudgeted, exit::OK));
        assert_eq!(outcome(budget(vec![max(5, Level::Warn)]), &[6]), (Verdict::Warn, exit::OK));
        assert_eq!(outcome(budget(vec![max(5, Level::Warn)]), &[]), (Verdict::Warn, exit::OK));
    }

    #[test]
    fn a_failed_node_outranks_a_failed_budget() {
        let rig = Rig::new(budget(vec![max(5, Level::Fail)]));
        rig.packet(6);
        let report = Run { failures: vec![failure()], ..rig.run() }.report();
        assert_eq!((report.verdict, report.exit_code()), (Verdict::Fail, exit::NODE_FAILED));
    }

    #[test]
    fn an_interrupt_counts_only_when_nothing_could_be_judged() {
        let rig = Rig::new(budget(vec![max(5, Level::Fail)]));
        assert_eq!(Run { interrupted: true, ..rig.run() }.report().exit_code(), exit::INTERRUPTED);
        rig.packet(3);
        assert_eq!(Run { interrupted: true, ..rig.run() }.report().exit_code(), exit::OK);
        let free = Rig::new(Budget::default());
        assert_eq!(Run { interrupted: true, ..free.run() }.report().exit_code(), exit::OK);
    }

    #[test]
    fn the_json_has_the_shape_that_others_parse() {
        let rig = Rig::new(budget(vec![max(5, Level::Fail)]));
        rig.packet(3);
        let bench = Bench { id: "rtp/header".to_owned(), budget: budget(vec![max(1, Level::Fail)]) };
        let run = Run { benches: &[bench], overheads: &["copy".to_owned()], ..rig.run() };
        let json: Value = serde_json::to_value(run.report()).unwrap();
        assert_eq!(json["schema_version"], 1);
        assert_eq!(
            (&json["graph"], &json["verdict"], &json["exit_code"]),
            (&json!("voice"), &json!("pass"), &json!(0))
        );
        let edge = &json["edges"][0];
        assert_eq!((&edge["from"], &edge["to"]), (&json!("mic.audio"), &json!("sink.audio")));
        assert_eq!(
            edge["counts"],
            json!({"sent": 1, "taken": 1, "dropped": 0, "cancelled": 0, "lost": 0, "left": 0, "warm_up": 0})
        );
        let three = json!(3_000_000);
        assert_eq!(
            edge["latency"],
            json!({"n": 1, "p50_ns": three, "p90_ns": three, "p99_ns": three, "p999_ns": three, "max_ns": three,
                   "mean_ns": three})
        );
        assert_eq!((&edge["work"], edge.get("first")), (&Value::Null, None));
        assert_eq!(edge["reference"], json!({"ns": 2_000_000}));
        let limit = &edge["limits"][0];
        for (field, value) in [
            ("measure", json!("latency")),
            ("stat", json!("max")),
            ("limit", json!(5_000_000)),
            ("measured", json!(3_000_000)),
            ("unit", json!("ns")),
            ("over", json!(0)),
            ("category", json!("critical")),
            ("level", json!("fail")),
            ("verdict", json!("pass")),
            ("reason", Value::Null),
        ] {
            assert_eq!(limit[field], value, "{field}");
        }
        assert_eq!(json["edges"][1]["to"], Value::Null);
        let path = &json["paths"][0];
        assert_eq!((&path["name"], &path["to"]), (&json!("all"), &json!("sink.done")));
        assert_eq!(path["latency"]["max_ns"], 6_000_000);
        assert_eq!(path["parts"][0]["edge"], "mic.audio -> sink.audio");
        assert_eq!(path["parts"][0]["mean_ns"], 3_000_000);
        let turn = &json["turns"][0];
        assert_eq!((&turn["turn"], &turn["latency_ns"]), (&json!(1), &json!(6_000_000)));
        assert_eq!(turn["parts"][1]["wait_ns"], 3_000_000);
        assert_eq!(json["benches"][0]["limits"][0]["verdict"], "not-judged");
        assert_eq!(json["overheads"][0]["verdict"], "not-judged");
        assert!(json["machine"].is_object());
    }

    #[test]
    fn packets_that_nobody_accounts_for_are_noted() {
        let rig = Rig::new(Budget::default());
        rig.edges[0].sent(1);
        let report = rig.run().report();
        assert_eq!(report.notes[0].node, "mic.audio -> sink.audio");
        rig.edges[0].left(1);
        assert!(rig.run().report().notes.is_empty());
    }

    #[test]
    fn progress_tells_the_smallest_margin_and_who_fails() {
        let rig = Rig::new(budget(vec![max(5, Level::Fail), max(50, Level::Fail)]));
        let progress = || Progress::read(&rig.plan, &rig.edges, &rig.paths, Nanos::from_secs(1), 1);
        assert_eq!((progress().worst, progress().failing.len()), (None, 0));
        rig.packet(2);
        assert_eq!(progress().worst.unwrap().1.to_string(), "2.5x");
        rig.packet(10);
        assert_eq!(progress().failing, ["mic.audio -> sink.audio"]);
    }
}
