//! What a peer is to the bench.

use std::error::Error;

use crate::packet::Payload;

/// Why a peer did not run.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A chain: a source, so many stages that hand on what they take, and a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Nodes between source and sink.
    pub stages: usize,
    /// What travels.
    pub payload: Payload,
}

impl Chain {
    /// A packet crosses from the source to the first stage, from stage to stage, and to the sink.
    pub fn hops(self) -> usize {
        self.stages + 1
    }
}

/// How a peer is set up for a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// In words: what is chosen where the peer leaves a choice.
    pub words: String,
    /// Threads that packets cross.
    pub threads: usize,
}

/// A runtime in one configuration: one row of the table.
pub trait Peer {
    /// What the command line and the table call it.
    fn name(&self) -> &'static str;
    /// Of the crate, or of the system's library.
    fn version(&self) -> String;
    /// How it is set up for this chain; `None` where it is not run, with the reason in the README.
    fn setup(&self, chain: Chain) -> Option<Setup>;
    /// Runs the chain for what [`probe::run`](crate::probe::run) wants, and returns when all of its nodes are gone.
    ///
    /// # Errors
    /// What the peer says.
    fn run(&self, chain: Chain) -> Result<(), Failure>;
}
