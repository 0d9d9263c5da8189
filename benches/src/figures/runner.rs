//! Runs of graphs, and what is true of all of them.

use std::{
    error::Error,
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use graph_core::{
    Clock, Nanos, NoAssets, Registry,
    budget::{Measure, Stat},
    check::{Plan, check},
    file::{Files, load},
    run::{Outcome, Running, prepare},
};
use rustix::time::{ClockId, clock_gettime};

/// Why there are no figures.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What all runs so far came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    /// Packets that were taken, over all edges.
    pub(super) taken: u64,
    /// Differences of stamps that came out negative, over all edges and measures.
    pub(super) negative: u64,
}

/// Runs graphs.
pub(super) struct Runner {
    /// Whether figures are only to be there, and not to mean anything.
    pub(super) quick: bool,
    /// The clock of all runs.
    pub(super) clock: Clock,
    /// What they came to.
    pub(super) account: Account,
}

/// How long a graph took to begin, by parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beginning {
    /// Reading the file.
    pub(super) load: Duration,
    /// Checking it.
    pub(super) check: Duration,
    /// Making meters and queues.
    pub(super) prepare: Duration,
    /// Making lanes and nodes.
    pub(super) start: Duration,
}

/// A run that is over.
pub(super) struct Ran {
    /// Its meters.
    pub(super) outcome: Outcome,
    /// CPU time of the process from when all nodes were made.
    pub(super) cpu: Duration,
    /// How it began.
    pub(super) beginning: Beginning,
}

impl Runner {
    /// One that has not run anything.
    pub(super) fn new(quick: bool) -> Runner {
        Runner { quick, clock: Clock::monotonic(), account: Account::default() }
    }

    /// So much, or little where figures do not matter.
    pub(super) fn packets(&self, packets: u64) -> u64 {
        if self.quick { (packets / 100).max(30) } else { packets }
    }

    /// Runs a graph until it ends by itself.
    ///
    /// # Errors
    /// When the graph is wrong, a node fails or a packet is not accounted for.
    pub(super) fn run(&mut self, text: &str, registry: &Registry) -> Result<Ran, Failure> {
        self.run_while(text, registry, |_| {})
    }

    /// Runs a graph, and `meanwhile` something on this thread.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub(super) fn run_while(
        &mut self,
        text: &str,
        registry: &Registry,
        meanwhile: impl FnOnce(&Running),
    ) -> Result<Ran, Failure> {
        let mut begun = Instant::now();
        let mut part = || std::mem::replace(&mut begun, Instant::now()).elapsed();
        let (graph, diagnostics) = load(&Text(text), Path::new("figures.ron"), &[], registry);
        let graph = graph.ok_or_else(|| diagnostics.to_string())?;
        let load = part();
        let (plan, diagnostics) = check(&graph, registry);
        let plan: Plan = plan.ok_or_else(|| diagnostics.to_string())?;
        let check = part();
        let prepared = prepare(&plan, registry, Arc::new(NoAssets), self.clock.clone())
            .map_err(|diagnostics| diagnostics.to_string())?;
        let prepare = part();
        let running = prepared.start()?;
        let start = part();
        let before = cpu();
        meanwhile(&running);
        let outcome = running.wait();
        let cpu = cpu() - before;
        self.accept(&outcome)?;
        Ok(Ran { outcome, cpu, beginning: Beginning { load, check, prepare, start } })
    }

    fn accept(&mut self, outcome: &Outcome) -> Result<(), Failure> {
        if let [first, ..] = outcome.failures.as_slice() {
            return Err(format!("node {}: {}", first.node, first.message).into());
        }
        for edge in &outcome.edges {
            let counts = edge.counts();
            if !counts.balance() {
                return Err(format!("packets are not accounted for: {counts:?}").into());
            }
            self.account.taken += counts.taken;
            self.account.negative += Measure::ALL.map(|measure| edge.negative(measure)).iter().sum::<u64>();
        }
        Ok(())
    }
}

impl Ran {
    /// A figure of an edge in nanoseconds, the edges in the order of the file.
    ///
    /// # Errors
    /// When the edge has no samples of it.
    pub(super) fn nanos(&self, edge: usize, measure: Measure, stat: Stat) -> Result<f64, Failure> {
        let samples = self.outcome.edges.get(edge).and_then(|edge| edge.snapshot(measure));
        let figure: Option<Nanos> = samples.and_then(|samples| samples.stat(stat));
        figure
            .map(|time| time.0 as f64)
            .ok_or_else(|| format!("edge {edge} has no sample of {measure:?}").into())
    }
}

/// A graph file that is nowhere.
struct Text<'a>(&'a str);

impl Files for Text<'_> {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Ok(self.0.as_bytes().to_vec())
    }
}

/// CPU time of the process.
pub(super) fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}
