//! Nodes alone, timed: one kind with the sample that it declares, or every node of a graph with its parameters.

mod limits;
mod sampler;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use graph_core::{
    Clock, Nanos, Registry,
    bench::{Bench, NotBenched, Place},
    check::Plan,
};

pub use limits::{Compared, Standing};
pub use sampler::{Effort, Figures, measure};

use crate::assets::Cache;

/// A node, and what came of benching it.
pub struct Benched {
    /// Its name in the graph; `None` for a kind alone.
    pub node: Option<String>,
    /// Its kind.
    pub kind: String,
    /// How long a step takes; a step is one packet of the sample.
    pub figures: Result<Figures, NotBenched>,
    /// The time between two steps in a running graph, where the sample tells it.
    pub every: Option<Nanos>,
    /// The limits of the edges that leave the node.
    pub limits: Vec<Compared>,
}

impl Benched {
    /// Time that passes in a running graph over the time that the node needs for it.
    pub fn real_time_factor(&self) -> Option<f64> {
        let (figures, every) = (self.figures.as_ref().ok()?, self.every?);
        (figures.mean > 0.0).then(|| every.0 as f64 / figures.mean)
    }
}

/// Times one kind with its sample.
pub fn kind(registry: &Registry, kind: &str, effort: &Effort) -> Benched {
    let assets = |dir: &Path| Cache { base: dir.to_owned() };
    let made = stage(|dir| {
        let place = Place { dir: dir.to_owned(), assets: Arc::new(assets(dir)) };
        Bench::new(registry, kind, None, place, Clock::monotonic())
    });
    let (figures, every) = time(made, effort);
    Benched { node: None, kind: kind.to_owned(), figures, every, limits: Vec::new() }
}

/// Times the nodes of a graph one after the other, in the graph's order, and tells `begins` before each. `base` is the
/// folder of the graph's file.
pub fn graph(
    registry: &Registry,
    plan: &Plan,
    base: &Path,
    effort: &Effort,
    mut begins: impl FnMut(&str),
) -> Vec<Benched> {
    let nodes = plan.nodes.iter().enumerate();
    let benched = nodes.map(|(index, node)| {
        begins(&node.id);
        let made = stage(|dir| {
            let assets = Arc::new(Cache { base: base.to_owned() });
            let place = Place { dir: dir.to_owned(), assets };
            Bench::new(registry, &node.kind, Some(&node.with), place, Clock::monotonic())
        });
        let (figures, every) = time(made, effort);
        let limits = figures.as_ref().map(|figures| limits::compare(registry, plan, index, figures));
        let limits = limits.unwrap_or_default();
        Benched { node: Some(node.id.clone()), kind: node.kind.clone(), figures, every, limits }
    });
    benched.collect()
}

/// A bench and the folder that it may write in.
type Staged = (tempfile::TempDir, Bench);

fn stage(make: impl FnOnce(&Path) -> Result<Bench, NotBenched>) -> Result<Staged, NotBenched> {
    let dir = tempfile::tempdir().map_err(|error| NotBenched::NoSample(error.into()))?;
    let bench = make(dir.path())?;
    Ok((dir, bench))
}

fn time(staged: Result<Staged, NotBenched>, effort: &Effort) -> (Result<Figures, NotBenched>, Option<Nanos>) {
    match staged {
        Ok((_dir, mut bench)) => {
            let every = bench.every();
            (measure(bench.steps(), effort, |steps| bench.run(steps)), every)
        }
        Err(error) => (Err(error), None),
    }
}

/// Whether what was asked for is a graph file and not a kind.
pub fn is_file(target: &str) -> Option<PathBuf> {
    let path = PathBuf::from(target);
    (path.extension().is_some_and(|ending| ending == "ron") || path.is_file()).then_some(path)
}
