//! The system, its processors and its clock.

use std::{fs, path::Path};

use super::Finding;

pub(super) fn system() -> Finding {
    let kernel = read("/proc/sys/kernel/osrelease");
    let name = read("/etc/os-release").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
        Some(line.trim_matches('"').to_owned())
    });
    match kernel {
        Some(kernel) => {
            let name = name.unwrap_or_else(|| "Linux".into());
            Finding::ok("system", format!("{name}, kernel {kernel}, {}", std::env::consts::ARCH))
        }
        None => Finding::missing(
            "system",
            "no Linux kernel is told of in /proc",
            "run on Linux, with /proc mounted",
        ),
    }
}

pub(super) fn look() -> Vec<Finding> {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    vec![
        processors_of(read("/proc/cpuinfo").as_deref(), processors),
        governor(read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").as_deref()),
        load(read("/proc/loadavg").as_deref(), processors),
        clock(read("/sys/devices/system/clocksource/clocksource0/current_clocksource").as_deref()),
    ]
}

fn processors_of(cpuinfo: Option<&str>, count: usize) -> Finding {
    let model = cpuinfo
        .into_iter()
        .flat_map(str::lines)
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("processor", |(_, model)| model);
    let found = format!("{count} x {model}");
    if count >= 2 {
        Finding::ok("processors", found)
    } else {
        Finding::warn("processors", found, "lanes share one processor: expect waits on edges between lanes")
    }
}

fn governor(governor: Option<&str>) -> Finding {
    let what = "frequency governor";
    match governor {
        None => Finding::ok(what, "none to see (a virtual machine, or a fixed frequency)"),
        Some("performance") => Finding::ok(what, "performance"),
        Some(other) => Finding::warn(
            what,
            format!("{other}: the first packets after a pause meet a slow processor"),
            "cpupower frequency-set -g performance (as root, package linux-cpupower)",
        ),
    }
}

fn load(loadavg: Option<&str>, processors: usize) -> Finding {
    let what = "load";
    let Some(load) = loadavg.and_then(|text| text.split(' ').next()?.parse::<f64>().ok()) else {
        return Finding::ok(what, "not told");
    };
    let found = format!("{load:.1} over the last minute");
    if load > processors as f64 / 2.0 {
        Finding::warn(what, found, "measure when less else runs: budgets may fail for others' sake")
    } else {
        Finding::ok(what, found)
    }
}

fn clock(source: Option<&str>) -> Finding {
    let what = "clock source";
    match source {
        None => Finding::ok(what, "not told"),
        // Read without entering the kernel: by the vDSO, or by an instruction.
        Some(source @ ("tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page")) => {
            Finding::ok(what, source)
        }
        Some(other) => Finding::warn(
            what,
            format!("{other}: each stamp is a system call, so short edges look slower than they are"),
            "see `dmesg | grep -i tsc` for why the processor's counter is not used",
        ),
    }
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn this_machine_tells_of_itself() {
        let finding = system();
        assert_eq!(finding.level, Level::Ok);
        assert!(finding.found.contains(std::env::consts::ARCH));
    }

    #[test]
    fn the_processor_is_named_where_the_kernel_names_it() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Oryon: fast\n";
        assert_eq!(processors_of(Some(cpuinfo), 12).found, "12 x Oryon: fast");
        assert_eq!(processors_of(None, 1).level, Level::Warn);
    }

    #[test]
    fn a_saving_governor_a_busy_machine_and_a_slow_clock_are_warned_of() {
        assert_eq!(governor(Some("performance")).level, Level::Ok);
        assert_eq!(governor(Some("powersave")).level, Level::Warn);
        assert_eq!(load(Some("0.93 1.00 1.00 1/300 4"), 2).level, Level::Ok);
        assert_eq!(load(Some("1.20 1.00 1.00 1/300 4"), 2).level, Level::Warn);
        assert_eq!(load(Some("nonsense"), 2).level, Level::Ok);
        assert_eq!(clock(Some("tsc")).level, Level::Ok);
        assert_eq!(clock(Some("acpi_pm")).level, Level::Warn);
    }
}
