//! Every node kind alone, with the sample that it declares: `nodes/KIND`, the time of one step, which is one packet.
//!
//! `cargo bench -p graph-benches --bench nodes`, with `--features speech` for the models; a kind that needs what is
//! not on this machine is left out, and said so. Throughput is microseconds of real time a second: at 1 Melem/s the
//! node keeps pace with its stream, at 100 Melem/s it is a hundred times faster.

use std::{env, sync::Arc, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use graph_core::{
    AssetsIn, Clock, asset_folder,
    bench::{Bench, Place},
};

fn nodes(criterion: &mut Criterion) {
    let registry = graph_nodes::registry();
    let folder = asset_folder(|name| env::var_os(name)).unwrap_or_default();
    for kind in registry.kinds() {
        let dir = tempfile::tempdir().expect("a folder for the sample");
        let place = Place { dir: dir.path().into(), assets: Arc::new(AssetsIn(folder.clone())) };
        let mut bench = match Bench::new(&registry, kind.kind, None, place, Clock::monotonic()) {
            Ok(bench) => bench,
            Err(error) => {
                println!("nodes/{}: left out: {error}", kind.kind);
                continue;
            }
        };
        let mut group = criterion.benchmark_group("nodes");
        if let Some(every) = bench.every() {
            group.throughput(Throughput::Elements(every.0 / 1_000));
        }
        group.bench_function(kind.kind, |bencher| {
            bencher.iter_custom(|steps| {
                // Whole passes through the sample, since its steps differ.
                let passes = steps.div_ceil(bench.steps());
                let whole = passes * bench.steps();
                let spent = bench.run(whole).unwrap_or_else(|error| panic!("{}: {error}", kind.kind));
                Duration::from_nanos(spent.0).mul_f64(steps as f64 / whole as f64)
            });
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(100)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(2));
    targets = nodes
}
criterion_main!(benches);
