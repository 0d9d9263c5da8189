//! How a run stands while it goes on.

use std::sync::Arc;

use crate::{
    budget::{Judgement, Margin, Verdict, judge},
    check::Plan,
    measure::{EdgeMeter, PathMeter},
    time::Nanos,
};

/// The state of a run in one line's worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How long it has run.
    pub elapsed: Nanos,
    /// Turns begun.
    pub turns: u64,
    /// The smallest margin of all limits so far, and whose it is.
    pub worst: Option<(String, Margin)>,
    /// Edges and paths with a limit that does not hold so far.
    pub failing: Vec<String>,
}

impl Progress {
    /// Reads the meters as they are now; it disturbs no one.
    pub fn read(
        plan: &Plan,
        edges: &[Arc<EdgeMeter>],
        paths: &[Arc<PathMeter>],
        elapsed: Nanos,
        turns: u64,
    ) -> Progress {
        let edges =
            plan.edges.iter().zip(edges).map(|(edge, meter)| (edge.name(), meter.limits(), meter.evidence()));
        let paths = plan.paths.iter().zip(paths);
        let paths = paths.map(|(path, meter)| (path.name.clone(), meter.limits(), meter.evidence()));
        let mut progress = Progress { elapsed, turns, worst: None, failing: Vec::new() };
        for (name, limits, evidence) in edges.chain(paths) {
            let judgements = limits.iter().zip(&evidence).map(|(limit, evidence)| judge(limit, evidence));
            progress.take_in(&name, judgements);
        }
        progress
    }

    fn take_in(&mut self, name: &str, judgements: impl Iterator<Item = Judgement>) {
        let mut fails = false;
        for judgement in judgements {
            fails |= judgement.verdict == Verdict::Fail;
            if let Some(margin) = judgement.margin
                && self.worst.as_ref().is_none_or(|(_, worst)| margin.is_below(*worst))
            {
                self.worst = Some((name.to_owned(), margin));
            }
        }
        if fails {
            self.failing.push(name.to_owned());
        }
    }
}
