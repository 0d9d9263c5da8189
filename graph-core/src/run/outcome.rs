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
    /// How often it failed like this.
    pub times: u64,
    /// Packets it had taken in the steps that failed, which have no output now.
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

/// The interactions of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Interactions {
    /// Turns that began.
    pub begun: u64,
    /// Turns that had an effect at a sink.
    pub answered: u64,
    /// Of the last turns that were cancelled.
    pub cancelled: Vec<Cancelled>,
}

/// A turn that was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Cancelled {
    /// Its number, from 1.
    pub turn: u64,
    /// The time from the cancel to the turn's last effect at a sink, in nanoseconds; 0 where none came after it.
    #[serde(rename = "last_effect_ns", serialize_with = "as_nanos")]
    pub last_effect: Nanos,
}

fn as_nanos<S: serde::Serializer>(time: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.0)
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
    /// The interactions of the run.
    pub interactions: Interactions,
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
            interactions: Interactions {
                begun: run.turns.opened(),
                answered: run.turns.answered(),
                cancelled: run.turns.cancelled(),
            },
            elapsed: run.ended().since(started).unwrap_or(Nanos::ZERO),
        }
    }
}
