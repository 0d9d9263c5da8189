//! What a node gets while it is made.

use std::{
    os::fd::AsFd,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    asset::{AssetRef, Assets, locate},
    bell::Waker,
    error::BuildError,
    inlet::{Inlet, InletPort},
    lane::LaneCore,
    time::{Clock, Stamp},
    wait::Sleep,
};

/// The run as a node sees it while it is made.
pub struct Build<'a> {
    pub(crate) core: &'a LaneCore,
    pub(crate) node: usize,
    pub(crate) assets: &'a dyn Assets,
    pub(crate) sleep: &'a mut Sleep,
}

impl Build<'_> {
    /// The node's name in the graph file.
    pub fn node(&self) -> &str {
        self.core.name(self.node)
    }

    /// The run's clock.
    pub fn clock(&self) -> &Clock {
        &self.core.clock
    }

    /// Where a file named in the graph is.
    pub fn asset(&self, asset: &AssetRef) -> Result<PathBuf, BuildError> {
        locate(self.assets, asset)
    }

    /// Makes the node step whenever `fd` becomes readable. Edge-triggered: the node reads until there is nothing
    /// more, or returns [`Flow::Again`](crate::Flow::Again).
    pub fn watch(&mut self, fd: impl AsFd) -> Result<(), BuildError> {
        Ok(self.sleep.watch(fd, self.node)?)
    }

    /// Wakes the node from any thread.
    pub fn waker(&self) -> Waker {
        self.core.waker(self.node)
    }

    /// A way for other threads to hand data to the node: at most `capacity` pieces wait.
    pub fn inlet<T: Send>(&self, capacity: usize) -> (Inlet<T>, InletPort<T>) {
        crate::inlet::inlet(capacity, self.waker(), self.core.clock.clone())
    }

    /// A number for the report's notes, such as "late" and how many there were.
    pub fn counter(&self, name: &'static str, about: &'static str) -> Counter {
        let value = Arc::new(AtomicU64::new(0));
        self.core.run.add_counter(self.node(), name, about, value.clone());
        Counter(value)
    }

    /// When the node is being made.
    pub fn now(&self) -> Stamp {
        self.core.clock.now()
    }
}

/// A number that a node counts up and the report shows.
#[derive(Clone, Debug)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Counts `n` more.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Keeps the larger of what stands and `value`.
    #[inline]
    pub fn at_least(&self, value: u64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }

    /// What it has come to.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
