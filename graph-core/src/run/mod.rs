//! Running a checked graph, on threads or under virtual time.

mod core;
mod deadlock;
mod outcome;
mod prepare;
mod setup;
mod simulate;
mod threads;
mod wishes;

pub(crate) use self::{core::RunCore, deadlock::SUSPICION, prepare::prepare_models};
pub use self::{
    core::{Event, Stopper},
    outcome::{Cancelled, Failure, Interactions, Note, Outcome},
    prepare::{Prepared, prepare},
    setup::{NotMade, StartError},
    threads::Running,
};
