//! What a hop costs with all measuring on: inside a lane, and between two.
//!
//! `cargo bench -p graph-benches --bench runtime`. A figure is the time of a run divided by its packets; how many
//! stages a packet passes is in the benchmark's name. `fused/100` less `fused/10`, by 90, is a hop without the ends.

use std::{sync::Arc, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use graph_benches::{chain, registry};
use graph_core::{Clock, NoAssets, run::prepare, testing::plan};

fn run(text: &str) -> Duration {
    let registry = registry();
    let prepared = prepare(&plan(text, &registry), &registry, Arc::new(NoAssets), Clock::monotonic())
        .unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let outcome = prepared.start().unwrap_or_else(|error| panic!("{error}")).wait();
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    outcome.elapsed.into()
}

fn hops(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("runtime");
    for stages in [1, 10, 100] {
        group.bench_function(format!("fused/{stages}"), |bencher| {
            bencher.iter_custom(|packets| run(&chain(packets, stages, &["one"])));
        });
    }
    group.bench_function("between_lanes/1", |bencher| {
        bencher.iter_custom(|packets| run(&chain(packets, 1, &["one", "two"])));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = hops
}
criterion_main!(benches);
