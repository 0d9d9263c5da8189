//! Stamps of the kernel on the run's clock.

use rustix::time::ClockId;

use super::{Clock, Nanos, Stamp, clock::kernel_time};

/// A pair is used for so long: within it a clock may drift by a microsecond or so.
const LIFE: Nanos = Nanos::from_millis(900);

/// A clock of the kernel, by which it stamps packets and device events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// CLOCK_REALTIME, as `SO_TIMESTAMPNS` has it.
    Realtime,
    /// CLOCK_MONOTONIC, as evdev, ALSA and V4L2 have it on request.
    Monotonic,
}

/// A kernel's clock and the run's at one moment, by which stamps of the one become stamps of the other.
#[derive(Clone, Copy, Debug)]
pub struct ClockPair {
    run: Stamp,
    kernel: Stamp,
    error: Nanos,
}

impl ClockPair {
    /// The closest of a few readings.
    pub fn read(clock: &Clock, kernel: Kernel) -> ClockPair {
        let id = match kernel {
            Kernel::Realtime => ClockId::Realtime,
            Kernel::Monotonic => ClockId::Monotonic,
        };
        let reading = |_| {
            let before = clock.now_ordered();
            let kernel = kernel_time(id);
            let spread = clock.now_ordered().since(before).unwrap_or(Nanos::MAX);
            ClockPair { run: before + Nanos(spread.0 / 2), kernel, error: Nanos(spread.0.div_ceil(2)) }
        };
        let closest = (0..3).map(reading).min_by_key(|pair: &ClockPair| pair.error);
        closest.expect("three readings have a closest one")
    }

    /// Whether it may still be used at `now`; the kernel's clock may step or drift.
    pub fn is_fresh(&self, now: Stamp) -> bool {
        now.since(self.run).is_some_and(|age| age < LIFE)
    }

    /// The kernel's stamp, in nanoseconds, as a stamp of the run.
    pub fn convert(&self, kernel_nanos: u64) -> Stamp {
        let away = i128::from(kernel_nanos) - i128::from(self.kernel.0);
        Stamp(u64::try_from((i128::from(self.run.0) + away).max(0)).unwrap_or(u64::MAX))
    }

    /// By how much a converted stamp may be off.
    pub fn error(&self) -> Nanos {
        self.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_ages_and_converts_both_ways() {
        let pair = ClockPair { run: Stamp(5_000), kernel: Stamp(1_000_000), error: Nanos(10) };
        assert_eq!(pair.convert(1_000_300), Stamp(5_300));
        assert_eq!(pair.convert(999_000), Stamp(4_000));
        assert_eq!(pair.convert(0), Stamp(0), "a clock that was set back by hours");
        assert!(pair.is_fresh(Stamp(5_000) + Nanos::from_millis(899)));
        assert!(!pair.is_fresh(Stamp(5_000) + LIFE));
    }

    #[test]
    fn a_kernel_stamp_of_now_is_now() {
        let clock = Clock::monotonic();
        let pair = ClockPair::read(&clock, Kernel::Monotonic);
        let (before, stamp, after) = (clock.now(), kernel_time(ClockId::Monotonic), clock.now());
        let converted = pair.convert(stamp.0);
        // The drift of a calibrated counter over the test's time is far below a millisecond.
        let slack = pair.error() + Nanos::from_millis(1);
        assert!(before <= converted + slack && converted <= after + slack);
    }
}
