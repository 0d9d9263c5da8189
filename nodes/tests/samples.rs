//! Every kind that ships declares what it is benched with, and works with it.

use std::{env, sync::Arc};

use graph_core::{
    AssetsIn, Clock, NoSample, asset_folder,
    bench::{Bench, NotBenched, Place},
};

#[test]
fn every_kind_declares_a_sample_that_makes_it_work_or_says_what_is_absent() {
    let registry = graph_nodes::registry();
    let folder = asset_folder(|name| env::var_os(name)).unwrap_or_default();
    let mut wrong = Vec::new();
    for kind in registry.kinds() {
        let dir = tempfile::tempdir().expect("a folder");
        let place = Place { dir: dir.path().into(), assets: Arc::new(AssetsIn(folder.clone())) };
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
