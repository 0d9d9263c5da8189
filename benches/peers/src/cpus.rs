//! Which processors a thread runs on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::peer::Failure;

/// The processors that this process may use, in order; never none.
pub fn cpus() -> Vec<usize> {
    let allowed = sched_getaffinity(None).unwrap_or_else(|_| {
        let mut first = CpuSet::new();
        first.set(0);
        first
    });
    (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect()
}

/// Keeps the calling thread on one processor.
///
/// # Errors
/// When the kernel refuses.
pub fn pin(cpu: usize) -> Result<(), Failure> {
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only)
        .map_err(|error| format!("cannot pin a thread to CPU {cpu}: {error}").into())
}
