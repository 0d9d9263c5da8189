//! Where stamps come from.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use rustix::time::{ClockId, clock_gettime};

#[cfg(target_arch = "x86_64")]
use super::tsc::Tsc;
use super::{Nanos, Stamp};

/// Where stamps come from. A clone shows the same time.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    #[cfg(target_arch = "x86_64")]
    Tsc(Tsc),
    Kernel,
    Virtual(Arc<AtomicU64>),
}

impl Clock {
    /// The machine's best monotonic clock, in nanoseconds: the processor's time-stamp counter where it ticks evenly on all
    /// cores, CLOCK_MONOTONIC otherwise.
    ///
    /// It starts on CLOCK_MONOTONIC and may drift from it by some microseconds a second, so stamps of the kernel and of
    /// devices are converted by a [`ClockPair`](super::ClockPair). The counter is calibrated once a process, which takes 10 ms.
    pub fn monotonic() -> Clock {
        #[cfg(target_arch = "x86_64")]
        if let Some(tsc) = Tsc::calibrated() {
            return Clock(Source::Tsc(tsc));
        }
        Clock::kernel()
    }

    /// CLOCK_MONOTONIC.
    pub fn kernel() -> Clock {
        Clock(Source::Kernel)
    }

    /// A clock that moves only when told, for tests and simulation. It starts at one second, so that a stamp of zero
    /// is never a time.
    pub fn new_virtual() -> Clock {
        Clock(Source::Virtual(Arc::new(AtomicU64::new(1_000_000_000))))
    }

    /// The time now, comparable with other stamps of the calling thread.
    #[inline]
    pub fn now(&self) -> Stamp {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc(tsc) => tsc.now(),
            Source::Kernel => kernel_time(ClockId::Monotonic),
            Source::Virtual(now) => Stamp(now.load(Ordering::Relaxed)),
        }
    }

    /// The time now, comparable with stamps of other threads too: it is read after all that the calling thread has seen
    /// of them.
    #[inline]
    pub fn now_ordered(&self) -> Stamp {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc(tsc) => tsc.now_ordered(),
            _ => self.now(),
        }
    }

    /// What it reads, in words: `tsc`, `CLOCK_MONOTONIC` or `virtual`.
    pub fn source(&self) -> &'static str {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc(_) => "tsc",
            Source::Kernel => "CLOCK_MONOTONIC",
            Source::Virtual(_) => "virtual",
        }
    }

    /// Whether time moves only when told.
    pub fn is_virtual(&self) -> bool {
        matches!(self.0, Source::Virtual(_))
    }

    /// Moves a virtual clock forward: a node under test says so that its work took time. On a real clock it does
    /// nothing, since real work takes its time by itself.
    pub fn advance(&self, nanos: Nanos) {
        if let Source::Virtual(now) = &self.0 {
            now.fetch_add(nanos.0, Ordering::Relaxed);
        }
    }

    /// Moves a virtual clock to `stamp` unless it is there already.
    pub(crate) fn advance_to(&self, stamp: Stamp) {
        if let Source::Virtual(now) = &self.0 {
            now.fetch_max(stamp.0, Ordering::Relaxed);
        }
    }
}

pub(super) fn kernel_time(clock: ClockId) -> Stamp {
    let now = clock_gettime(clock);
    Stamp(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_clock_moves_only_when_told() {
        let clock = Clock::new_virtual();
        let before = clock.now();
        clock.advance(Nanos(7));
        assert_eq!(clock.now().since(before), Some(Nanos(7)));
    }

    #[test]
    fn the_real_clock_never_runs_backwards_and_keeps_the_kernels_pace() {
        let (clock, kernel) = (Clock::monotonic(), Clock::kernel());
        // Between two readings of the kernel's, however long this thread is put off in between.
        let reading = || (kernel.now().0, clock.now_ordered(), kernel.now().0);
        let first = reading();
        let mut last = first;
        while last.0 < first.2 + 20_000_000 {
            let next = reading();
            assert!(next.1 >= last.1);
            last = next;
        }
        let (least, most) = (last.0 - first.2, last.2 - first.0);
        let own = last.1.0 - first.1.0;
        assert!((least - least / 1_000..=most + most / 1_000).contains(&own), "{own} not in {least}..{most}");
    }
}
