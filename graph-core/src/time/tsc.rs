//! The processor's time-stamp counter as a clock.

use std::{
    arch::x86_64::{__cpuid, __rdtscp, _mm_lfence, _rdtsc},
    sync::OnceLock,
};

use rustix::time::ClockId;

use super::{Nanos, Stamp, clock::kernel_time};

/// How long the counter is held against CLOCK_MONOTONIC; the rate is then known to some parts in a million.
const CALIBRATION: Nanos = Nanos::from_millis(10);
const FRACTION_BITS: u32 = 32;

/// A calibrated counter: ticks to nanoseconds by one multiplication.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tsc {
    ticks: u64,
    nanos: u64,
    /// Nanoseconds a tick, in units of 2^-32.
    rate: u64,
}

impl Tsc {
    /// The counter of this machine, where it ticks evenly, whatever the power state, and alike on all cores.
    pub(super) fn calibrated() -> Option<Tsc> {
        static CALIBRATED: OnceLock<Option<Tsc>> = OnceLock::new();
        // Miri interprets no such instruction.
        *CALIBRATED.get_or_init(|| {
            (!cfg!(miri) && is_invariant() && kernel_trusts_it()).then(Tsc::calibrate).flatten()
        })
    }

    fn calibrate() -> Option<Tsc> {
        let (first_ticks, first) = reading();
        let (mut ticks, mut nanos) = reading();
        while nanos - first < CALIBRATION.0 {
            (ticks, nanos) = reading();
        }
        let rate =
            (u128::from(nanos - first) << FRACTION_BITS) / u128::from(ticks.checked_sub(first_ticks)?.max(1));
        Some(Tsc { ticks, nanos, rate: u64::try_from(rate).ok().filter(|rate| *rate > 0)? })
    }

    #[inline]
    fn stamp(self, ticks: u64) -> Stamp {
        let elapsed = (u128::from(ticks.wrapping_sub(self.ticks)) * u128::from(self.rate)) >> FRACTION_BITS;
        Stamp(self.nanos.wrapping_add(elapsed as u64))
    }

    #[inline]
    pub(super) fn now(self) -> Stamp {
        // SAFETY: every x86-64 processor has the instruction; it touches no memory.
        self.stamp(unsafe { _rdtsc() })
    }

    #[inline]
    pub(super) fn now_ordered(self) -> Stamp {
        let mut processor = 0;
        // SAFETY: `is_invariant` found RDTSCP; it writes to the local only.
        let ticks = unsafe { __rdtscp(&mut processor) };
        self.stamp(ticks)
    }
}

/// The counter and CLOCK_MONOTONIC at one moment: the closest of a few readings.
fn reading() -> (u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..5 {
        let before = ordered_ticks();
        let nanos = kernel_time(ClockId::Monotonic).0;
        let spread = ordered_ticks().wrapping_sub(before);
        if spread < best.0 {
            best = (spread, before.wrapping_add(spread / 2), nanos);
        }
    }
    (best.1, best.2)
}

fn ordered_ticks() -> u64 {
    // SAFETY: every x86-64 processor has both instructions; they touch no memory.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// Whether the processor says that the counter ticks evenly in all power states, and has RDTSCP (AMD64 manual, CPUID
/// 8000_0007h EDX bit 8 and 8000_0001h EDX bit 27).
fn is_invariant() -> bool {
    __cpuid(0x8000_0000).eax >= 0x8000_0007
        && __cpuid(0x8000_0001).edx & 1 << 27 != 0
        && __cpuid(0x8000_0007).edx & 1 << 8 != 0
}

/// Whether the kernel keeps its own time by the counter, which it does only where all cores agree.
fn kernel_trusts_it() -> bool {
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    source.is_ok_and(|source| source.trim() == "tsc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds_by_the_rate_from_where_the_calibration_ended() {
        let tsc = Tsc { ticks: 1_000, nanos: 5_000_000, rate: 1 << (FRACTION_BITS - 1) };
        assert_eq!(tsc.stamp(1_000), Stamp(5_000_000));
        assert_eq!(tsc.stamp(1_000 + (1 << 40)), Stamp(5_000_000 + (1 << 39)), "days later");
    }
}
