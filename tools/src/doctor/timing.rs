//! How exactly a sleeping thread wakes, and what a hop takes at least.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use graph_core::floors::Floors;

use super::Finding;
use crate::render::floors_text;

const SLEEPS: usize = 200;
const SLEEP: Duration = Duration::from_millis(1);
/// Media is paced by sleeping to shortly before the deadline: later than this, frames are late.
const LATE: Duration = Duration::from_millis(1);

pub(super) fn look() -> Vec<Finding> {
    let overshoots = (0..SLEEPS).map(|_| {
        let begun = Instant::now();
        thread::sleep(SLEEP);
        begun.elapsed().saturating_sub(SLEEP)
    });
    let slack = fs::read_to_string("/proc/self/timerslack_ns").ok().and_then(|text| text.trim().parse().ok());
    vec![judge(overshoots.collect(), slack.map(Duration::from_nanos)), hops()]
}

/// The floors that `check` compares limits with.
fn hops() -> Finding {
    match Floors::measure() {
        Ok(floors) => Finding::ok("hops", floors_text(&floors).replace('\u{a0}', " ")),
        Err(error) => Finding::warn(
            "hops",
            format!("not measured: {error}"),
            "the system gives no event descriptor: close programs, or raise the limit of open files",
        ),
    }
}

fn judge(mut overshoots: Vec<Duration>, slack: Option<Duration>) -> Finding {
    overshoots.sort();
    // The nearest rank: the smallest overshoot that a share of `percent` does not exceed.
    let quantile = |percent: usize| overshoots[(overshoots.len() * percent).div_ceil(100) - 1];
    let (median, p99) = (quantile(50), quantile(99));
    let slack = slack.map_or(String::new(), |slack| format!(", timer slack {} us", slack.as_micros()));
    let found = format!(
        "{} sleeps of 1 ms overshoot by p50 {} us, p99 {} us{slack}",
        overshoots.len(),
        median.as_micros(),
        p99.as_micros()
    );
    if p99 > LATE {
        Finding::warn(
            "timers",
            found,
            "sources and paced sinks will be late at times: give the run a quieter machine",
        )
    } else {
        Finding::ok("timers", found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn overshoots_are_told_by_their_quantiles() {
        let overshoots = (1..=200).rev().map(Duration::from_micros).collect();
        let finding = judge(overshoots, Some(Duration::from_micros(50)));
        assert_eq!(
            finding.found,
            "200 sleeps of 1 ms overshoot by p50 100 us, p99 198 us, timer slack 50 us"
        );
        assert_eq!(finding.level, Level::Ok);
    }

    #[test]
    fn a_machine_that_wakes_late_more_than_once_in_a_hundred_is_warned_of() {
        let late = |count| {
            let overshoots = (0..200).map(|n| if n < count { LATE * 2 } else { SLEEP / 10 }).collect();
            judge(overshoots, None).level
        };
        assert_eq!(late(2), Level::Ok);
        assert_eq!(late(3), Level::Warn);
    }
}
