//! What a lane asks of the kernel for its thread: priority, CPUs and memory that is never paged out.

use rustix::{
    mm::{MlockAllFlags, mlockall},
    thread::{CpuSet, sched_setaffinity},
};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

use crate::file::{LaneSpec, Priority};

/// Asks for the calling thread. Returns what was refused, in words.
pub(crate) fn ask(spec: &LaneSpec) -> Vec<String> {
    let mut refused = Vec::new();
    if let Err(why) = ask_for_priority(spec.priority) {
        refused.push(format!("the kernel refuses its priority ({why}); root or CAP_SYS_NICE may have it"));
    }
    if let Err(why) = ask_for_cpus(&spec.cpus) {
        refused.push(format!("the kernel refuses its CPUs ({why})"));
    }
    // Of the whole process: pages are not a thread's. What is mapped later is locked too, and so is there when it is used.
    if spec.lock_memory
        && let Err(why) = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)
    {
        refused.push(format!(
            "the kernel refuses to lock its memory ({why}); root or CAP_IPC_LOCK may, or a higher `ulimit -l`"
        ));
    }
    refused
}

fn ask_for_priority(priority: Priority) -> Result<(), String> {
    let (policy, value) = match priority {
        Priority::Normal => return Ok(()),
        Priority::Fifo(value) => (RealtimeThreadSchedulePolicy::Fifo, value),
        Priority::RoundRobin(value) => (RealtimeThreadSchedulePolicy::RoundRobin, value),
    };
    let value = ThreadPriorityValue::try_from(value).map_err(|error| error.to_string())?;
    set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(value),
        ThreadSchedulePolicy::Realtime(policy),
    )
    .map_err(|error| error.to_string())
}

fn ask_for_cpus(cpus: &[usize]) -> Result<(), String> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(format!("there is no CPU {cpu}"));
        }
        set.set(cpu);
    }
    sched_setaffinity(None, &set).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnostic, file::Wait};

    fn lane(cpus: Vec<usize>) -> LaneSpec {
        LaneSpec {
            name: "audio".to_owned(),
            priority: Priority::Normal,
            cpus,
            wait: Some(Wait::Park),
            lock_memory: false,
            strict: false,
            about: None,
            span: diagnostic::Span::new(&diagnostic::Source::new("test.ron", "audio"), 0..5),
        }
    }

    #[test]
    fn a_lane_without_wishes_is_refused_none() {
        assert_eq!(ask(&lane(Vec::new())), [""; 0]);
    }

    #[test]
    fn locked_memory_is_locked_or_refused_in_words() {
        let refused = ask(&LaneSpec { lock_memory: true, ..lane(Vec::new()) });
        let status = std::fs::read_to_string("/proc/self/status").expect("this process has a status");
        let locked =
            status.lines().find_map(|line| line.strip_prefix("VmLck:")).expect("it tells of locked memory");
        match refused.as_slice() {
            [] => assert_ne!(locked.trim(), "0 kB"),
            [words] => assert!(words.contains("lock its memory"), "{words}"),
            more => panic!("{more:?}"),
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused_in_words() {
        let refused = std::thread::spawn(|| ask(&lane(vec![100_000]))).join().expect("asking does not panic");
        assert_eq!(refused, ["the kernel refuses its CPUs (there is no CPU 100000)"]);
    }
}
