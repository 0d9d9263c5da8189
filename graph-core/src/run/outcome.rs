//! What is left when a run is over.

use std::sync::Arc;

use super::core::RunCore;
use crate::{
    measure::{EdgeMeter, PathMeter},
    time::{Nanos, Stamp},
};

/// A node that failed, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Failure {
    /// The node.
    pub node: String,
    /// What went wrong.
    pub message: String,
    /// Packets it had taken in the step that failed, which have no output now.
    pub lost: u64,
    /// Whether the run ended over it.
    pub fatal: bool,
}

/// A number that a node counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The node.
    pub node: String,
    /// What was counted, in a word or two.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// How many.
    pub value: u64,
}

/// What is left when a run is over.
pub struct Outcome {
    /// One for each edge of the plan.
    pub edges: Vec<Arc<EdgeMeter>>,
    /// One for each path of the plan.
    pub paths: Vec<Arc<PathMeter>>,
    /// Failures, in the order they happened.
    pub failures: Vec<Failure>,
    /// What nodes counted.
    pub notes: Vec<Note>,
    /// Turns that began.
    pub turns: u64,
    /// Turns that had an effect at a sink.
    pub answered: u64,
    /// The number of each cancelled turn, and the time from its cancel to its last effect.
    pub cancelled: Vec<(u64, Nanos)>,
    /// How long packets flowed.
    pub elapsed: Nanos,
}

impl Outcome {
    pub(crate) fn new(
        run: &RunCore,
        edges: Vec<Arc<EdgeMeter>>,
        paths: Vec<Arc<PathMeter>>,
        started: Stamp,
    ) -> Outcome {
        edges.iter().for_each(|edge| edge.finish());
        paths.iter().for_each(|path| path.finish());
        Outcome {
            edges,
            paths,
            failures: run.failures(),
            notes: run.notes(),
            turns: run.turns.opened(),
            answered: run.turns.answered(),
            cancelled: run.turns.cancelled(),
            elapsed: run.clock.now().since(started).unwrap_or(Nanos::ZERO),
        }
    }
}
