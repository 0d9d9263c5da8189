//! What reading the clock costs, and whether stamps of two threads are in order.

use std::{
    hint::{black_box, spin_loop},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use graph_core::{Clock, Stamp};

use super::Finding;

const READINGS: u32 = 20_000;
const HANDED_OVER: u64 = 20_000;
const LOOKS: u32 = 1_000;
/// Of two threads one may wait for the other's core.
const PATIENCE: Duration = Duration::from_millis(100);

pub(super) fn look() -> Vec<Finding> {
    let clock = Clock::monotonic();
    let cost = |read: fn(&Clock) -> Stamp| {
        let begun = Instant::now();
        (0..READINGS).for_each(|_| {
            black_box(read(black_box(&clock)));
        });
        begun.elapsed() / READINGS
    };
    let (plain, ordered) = (cost(Clock::now), cost(Clock::now_ordered));
    vec![source(clock.source(), plain, ordered), order(&hand_over(&clock))]
}

fn source(source: &str, plain: Duration, ordered: Duration) -> Finding {
    let found = format!(
        "{source}, {} ns a reading within a thread, {} ns between threads",
        plain.as_nanos(),
        ordered.as_nanos()
    );
    if source == "tsc" {
        Finding::ok("clock", found)
    } else {
        Finding::warn(
            "clock",
            found,
            "the kernel does not keep its time by an even counter of the processor, so that every hop costs more; \
             see /sys/devices/system/clocksource",
        )
    }
}

/// Stamps that went from one thread to the other, and how many of them came from the future.
struct HandedOver {
    stamps: u64,
    negative: u64,
}

fn hand_over(clock: &Clock) -> HandedOver {
    let (there, back) = (AtomicU64::new(0), AtomicU64::new(0));
    let until = Instant::now() + PATIENCE;
    let wait = |cell: &AtomicU64, last: u64| {
        loop {
            for _ in 0..LOOKS {
                match cell.load(Ordering::Acquire) {
                    stamp if stamp != last => return Some(stamp),
                    _ => spin_loop(),
                }
            }
            if Instant::now() > until {
                return None;
            }
            // The other one may wait for this core.
            thread::yield_now();
        }
    };
    let mut seen = HandedOver { stamps: 0, negative: 0 };
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut last = 0;
            for _ in 0..HANDED_OVER {
                let Some(stamp) = wait(&there, last) else { return };
                last = stamp;
                let is_negative = clock.now_ordered() < Stamp(stamp);
                // An answer differs from the one before, and tells the one thing that is asked.
                back.store(stamp << 1 | u64::from(is_negative), Ordering::Release);
            }
        });
        let mut last = 0;
        for _ in 0..HANDED_OVER {
            there.store(clock.now_ordered().0.max(seen.stamps + 1), Ordering::Release);
            let Some(answer) = wait(&back, last) else { break };
            last = answer;
            seen.stamps += 1;
            seen.negative += answer & 1;
        }
        // Whoever still waits is let go by its patience.
    });
    seen
}

fn order(seen: &HandedOver) -> Finding {
    let HandedOver { stamps, negative } = *seen;
    let found = format!("of {stamps} stamps handed to another thread, {negative} came from the future");
    if negative == 0 {
        Finding::ok("clock order", found)
    } else {
        Finding::warn(
            "clock order",
            found,
            "the cores' counters differ: waits between lanes will show negative differences; have the kernel keep time by \
             another clock source",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn a_slow_clock_and_stamps_from_the_future_are_warned_of() {
        let nanos = Duration::from_nanos;
        assert_eq!(source("tsc", nanos(10), nanos(18)).level, Level::Ok);
        assert_eq!(source("CLOCK_MONOTONIC", nanos(23), nanos(23)).level, Level::Warn);
        assert_eq!(order(&HandedOver { stamps: 9, negative: 0 }).level, Level::Ok);
        assert_eq!(order(&HandedOver { stamps: 9, negative: 1 }).level, Level::Warn);
    }

    #[test]
    fn ordered_stamps_of_the_runs_clock_never_come_from_the_future() {
        let seen = hand_over(&Clock::monotonic());
        assert!(seen.stamps > 0);
        assert_eq!(seen.negative, 0);
    }
}
