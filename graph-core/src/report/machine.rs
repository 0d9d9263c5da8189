//! On what a run was measured.

use std::{fs, path::Path, thread};

use serde::Serialize;

/// The machine and the build that figures come from. What the system does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Machine {
    /// The processor's model.
    pub cpu: Option<String>,
    /// Processors that the run may use.
    pub cores: Option<usize>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// How the processor's frequency is chosen; virtual machines do not tell.
    pub governor: Option<String>,
    /// Load average of the last minute, before the run.
    pub load: Option<f64>,
    /// What the kernel's clock counts by.
    pub clock: Option<String>,
    /// The commit that the command was built from, if the build was told by `GRAPHRUN_COMMIT`.
    pub commit: Option<String>,
    /// `release` or `debug`.
    pub profile: &'static str,
}

impl Machine {
    /// This machine as it is now; to be read before the run, since the run is a load of its own.
    pub fn read() -> Machine {
        Machine {
            cores: thread::available_parallelism().ok().map(usize::from),
            commit: option_env!("GRAPHRUN_COMMIT").map(str::to_owned),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" },
            ..Machine::read_from(Path::new("/"))
        }
    }

    fn read_from(root: &Path) -> Machine {
        let read = |path: &str| {
            let text = fs::read_to_string(root.join(path)).ok()?;
            let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
            (!text.is_empty()).then(|| text.to_owned())
        };
        Machine {
            cpu: read("proc/cpuinfo").and_then(|cpus| cpu(&cpus)).or_else(|| read("proc/device-tree/model")),
            kernel: read("proc/sys/kernel/osrelease"),
            governor: read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            load: read("proc/loadavg").and_then(|load| load.split(' ').next()?.parse().ok()),
            clock: read("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            ..Machine::default()
        }
    }
}

/// `model name` on x86, `Model` or `Hardware` on some ARM boards.
fn cpu(cpuinfo: &str) -> Option<String> {
    let field = |name: &str| {
        let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
    };
    ["model name", "Model", "Hardware"].into_iter().find_map(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_found_on_x86_and_on_arm() {
        let x86 = "processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n\nmodel name\t: other\n";
        assert_eq!(cpu(x86).as_deref(), Some("AMD EPYC"));
        let arm = "processor\t: 0\nBogoMIPS\t: 108.00\n\nModel\t\t: Raspberry Pi 5\n";
        assert_eq!(cpu(arm).as_deref(), Some("Raspberry Pi 5"));
        assert_eq!(cpu("processor\t: 0\n"), None);
    }

    #[test]
    fn what_the_system_does_not_tell_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(Machine::read_from(root.path()), Machine::default());
        fs::create_dir_all(root.path().join("proc/sys/kernel")).unwrap();
        fs::write(root.path().join("proc/loadavg"), "1.25 0.80 0.40 2/100 1234\n").unwrap();
        fs::write(root.path().join("proc/sys/kernel/osrelease"), "6.1.0-18-amd64\n").unwrap();
        let machine = Machine::read_from(root.path());
        assert_eq!((machine.load, machine.kernel.as_deref()), (Some(1.25), Some("6.1.0-18-amd64")));
        assert_eq!(machine.governor, None);
    }
}
