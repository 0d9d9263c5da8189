//! CPU time of a hop inside a lane with all measuring on.
//!
//! `cargo run --release -p graph-benches --example hop_cost`. CPU time, since other work on a shared machine moves wall
//! time several times over. A hop is the difference between a longer chain and one of 10 stages, so that source and
//! sink do not count.

use std::{error::Error, sync::Arc, time::Duration};

use graph_benches::{chain, registry};
use graph_core::{Clock, NoAssets, run::prepare, testing::plan};

/// Unless the first argument says otherwise.
const PACKETS: u64 = 100_000;
const REPEATS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let packets = match std::env::args().nth(1) {
        Some(packets) => packets.parse()?,
        None => PACKETS,
    };
    for (short, long) in [(10, 30), (10, 110)] {
        let mut hops = Vec::with_capacity(REPEATS);
        for _ in 0..REPEATS {
            let (short_cpu, long_cpu) = (cpu_of_chain(packets, short)?, cpu_of_chain(packets, long)?);
            let more = long_cpu.as_nanos() as f64 - short_cpu.as_nanos() as f64;
            hops.push(more / (packets * (long - short) as u64) as f64);
        }
        hops.sort_by(f64::total_cmp);
        println!(
            "a hop inside a lane of {long} stages, 64 B, latency and age recorded: {:.1} ns CPU (least {:.1}, most {:.1}, {REPEATS} runs of {packets} packets)",
            hops[REPEATS / 2],
            hops[0],
            hops[REPEATS - 1]
        );
    }
    Ok(())
}

/// The CPU time of this process while a chain of so many stages runs.
fn cpu_of_chain(packets: u64, stages: usize) -> Result<Duration, Box<dyn Error>> {
    let registry = registry();
    let plan = plan(&chain(packets, stages, &["one"]), &registry);
    let prepared = prepare(&plan, &registry, Arc::new(NoAssets), Clock::monotonic())?;
    let before = cpu();
    let outcome = prepared.start()?.wait();
    let spent = cpu() - before;
    match outcome.failures.as_slice() {
        [] => Ok(spent),
        [first, ..] => Err(first.message.clone().into()),
    }
}

fn cpu() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}
