//! The clocks that the bench reads: a counter for stamps, the kernel's for CPU time.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

/// How long the counter is compared with the kernel's clock.
const CALIBRATION: Duration = Duration::from_millis(50);

/// Reads the processor's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// As cheap as it gets; within one thread readings are in order enough.
    Plain,
    /// Readings of two threads can be compared: it waits for what the program did before.
    Ordered,
}

impl Clock {
    /// Ticks, of a length that [`nanos`] knows.
    #[inline]
    pub fn ticks(self) -> u64 {
        match self {
            Clock::Plain => plain(),
            Clock::Ordered => ordered(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn plain() -> u64 {
    // SAFETY: every x86_64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ordered() -> u64 {
    let mut cpu = 0;
    // SAFETY: every x86_64 processor of the last fifteen years has the instruction; `cpu` is valid for the write.
    unsafe { std::arch::x86_64::__rdtscp(&mut cpu) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn plain() -> u64 {
    ordered()
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ordered() -> u64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// So many ticks in nanoseconds.
pub fn nanos(ticks: f64) -> f64 {
    static NANOS_PER_TICK: OnceLock<f64> = OnceLock::new();
    ticks
        * NANOS_PER_TICK.get_or_init(|| {
            let (begun, first) = (Instant::now(), ordered());
            while begun.elapsed() < CALIBRATION {
                std::hint::spin_loop();
            }
            let (last, elapsed) = (ordered(), begun.elapsed());
            elapsed.as_nanos() as f64 / (last - first) as f64
        })
}

/// CPU time of the whole process.
pub fn cpu() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread.
pub fn thread_cpu() -> Duration {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let spent = clock_gettime(clock);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_as_long_as_the_kernel_says() {
        let (begun, first) = (Instant::now(), Clock::Ordered.ticks());
        while begun.elapsed() < Duration::from_millis(20) {}
        let (last, elapsed) = (Clock::Ordered.ticks(), begun.elapsed());
        let measured = nanos((last - first) as f64) / elapsed.as_nanos() as f64;
        assert!((0.95..1.05).contains(&measured), "{measured}");
    }
}
