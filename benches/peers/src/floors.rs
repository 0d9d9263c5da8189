//! What the machine itself costs: no runtime on it can do with less.

use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::{
    clock::{Clock, nanos, thread_cpu},
    figures::{Spread, quantile},
    peer::Failure,
    rounds::Effort,
    wakes::{self, Edge, Futex, Level, Park, Spin},
};

/// Clock readings of one sample: the one that measures costs nothing then.
const READINGS: u32 = 1_000;

/// A floor.
#[derive(Clone, Debug, Serialize)]
pub struct Floor {
    /// Short.
    pub name: &'static str,
    /// How it is measured.
    pub about: &'static str,
    /// Over rounds.
    pub p50_ns: Option<Spread>,
    /// Over rounds.
    pub p99_ns: Option<Spread>,
    #[serde(skip)]
    rounds: [Vec<f64>; 2],
    #[serde(skip)]
    sample: fn(usize) -> Result<Vec<u64>, Failure>,
    /// For one that takes long.
    #[serde(skip)]
    samples: usize,
}

impl Floor {
    fn new(
        name: &'static str,
        about: &'static str,
        samples: usize,
        sample: fn(usize) -> Result<Vec<u64>, Failure>,
    ) -> Floor {
        Floor { name, about, p50_ns: None, p99_ns: None, rounds: [Vec::new(), Vec::new()], sample, samples }
    }
}

/// All of them, interleaved.
///
/// # Errors
/// When the machine has one processor, or the kernel refuses something.
pub fn floors(effort: Effort, quick: bool) -> Result<Vec<Floor>, Failure> {
    const READ: &str = "thread CPU time of a reading, a thousand in a row";
    const WAKE: &str = "one way, from before the call that wakes to the first reading after";
    let mut floors = [
        Floor::new("rdtsc", READ, 1_000, |samples| Ok(cost(samples, || Clock::Plain.ticks()))),
        Floor::new("rdtscp", READ, 1_000, |samples| Ok(cost(samples, || Clock::Ordered.ticks()))),
        Floor::new("Instant::now", READ, 1_000, |samples| Ok(cost(samples, Instant::now))),
        Floor::new("clock_gettime MONOTONIC", READ, 1_000, |samples| {
            Ok(cost(samples, || clock_gettime(ClockId::Monotonic)))
        }),
        Floor::new("clock_gettime THREAD_CPUTIME", READ, 100, |samples| Ok(cost(samples, thread_cpu))),
        Floor::new("wake, spin", WAKE, 5_000, wakes::one_way::<Spin>),
        Floor::new(
            "rtrb, two spinning threads",
            "one way, 64 B, one in flight, from before the push to after the pop",
            5_000,
            wakes::ring,
        ),
        Floor::new("wake, futex", WAKE, 2_000, wakes::one_way::<Futex>),
        Floor::new("wake, park and unpark", WAKE, 2_000, wakes::one_way::<Park>),
        Floor::new("wake, eventfd, edge-triggered epoll", WAKE, 2_000, wakes::one_way::<Edge>),
        Floor::new("wake, eventfd, level-triggered epoll", WAKE, 2_000, wakes::one_way::<Level>),
        Floor::new("thread::sleep", "how much longer than 1 ms it slept", 100, |samples| {
            Ok(overshoot(samples))
        }),
    ];
    for _ in 0..effort.rounds {
        for floor in &mut floors {
            let samples = if quick { floor.samples / 50 } else { floor.samples };
            let mut samples = (floor.sample)(samples)?;
            for (rounds, at) in floor.rounds.iter_mut().zip([0.5, 0.99]) {
                rounds.extend(quantile(&mut samples, at).map(|picos| picos as f64 / 1_000.0));
            }
        }
    }
    let done = floors.into_iter().map(|mut floor| {
        let [p50, p99] = std::mem::take(&mut floor.rounds);
        Floor { p50_ns: Spread::of(p50), p99_ns: Spread::of(p99), ..floor }
    });
    Ok(done.collect())
}

/// CPU time of each call, in picoseconds.
fn cost<T>(samples: usize, mut read: impl FnMut() -> T) -> Vec<u64> {
    let sample = |_| {
        let before = thread_cpu();
        for _ in 0..READINGS {
            black_box(read());
        }
        (thread_cpu() - before).as_nanos() as u64 * 1_000 / u64::from(READINGS)
    };
    (0..samples).map(sample).collect()
}

/// Picoseconds beyond what was asked for.
fn overshoot(samples: usize) -> Vec<u64> {
    const ASKED: Duration = Duration::from_millis(1);
    let sample = |_| {
        let begun = Clock::Ordered.ticks();
        thread::sleep(ASKED);
        let slept = nanos((Clock::Ordered.ticks() - begun) as f64);
        ((slept - ASKED.as_nanos() as f64) * 1_000.0) as u64
    };
    (0..samples).map(sample).collect()
}
