//! Every kind that ships declares what it is benched with, and works with it.

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use graph_core::{
    Assets, BuildError, Clock, NoSample,
    bench::{Bench, NotBenched, Place},
};

/// The assets that are here.
struct Cache(PathBuf);

impl Assets for Cache {
    fn path(&self, name: &str) -> Result<PathBuf, BuildError> {
        Ok(self.0.join(name))
    }

    fn base(&self) -> &Path {
        &self.0
    }
}

/// As the command finds it: `GRAPHRUN_ASSETS`, or the user's cache.
fn cache() -> PathBuf {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("GRAPHRUN_ASSETS")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("graphrun/assets")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/graphrun/assets")))
        .unwrap_or_default()
}

#[test]
fn every_kind_declares_a_sample_that_makes_it_work_or_says_what_is_absent() {
    let registry = graph_nodes::registry();
    let mut wrong = Vec::new();
    for kind in registry.kinds() {
        let dir = tempfile::tempdir().expect("a folder");
        let place = Place { dir: dir.path().into(), assets: Arc::new(Cache(cache())) };
        let bench = Bench::new(&registry, kind.kind, None, place, Clock::monotonic());
        // Twice, so that what repeats is seen to repeat.
        match bench.and_then(|mut bench| bench.run(2 * bench.steps())) {
            Ok(_) => {}
            Err(NotBenched::NoSample(NoSample::Absent(what))) => println!("{}: {what}", kind.kind),
            Err(error) => wrong.push(format!("{}: {error}", kind.kind)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
