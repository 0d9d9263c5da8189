//! Stamps, durations and the clock they come from.
//!
//! Logic never reads a clock: it is handed a [`Stamp`]. Whoever runs the logic reads a [`Clock`], real or virtual.

mod clock;
mod pair;
#[cfg(target_arch = "x86_64")]
mod tsc;

use std::{
    fmt,
    ops::{Add, AddAssign, Sub},
    time::Duration,
};

pub use clock::Clock;
pub use pair::{ClockPair, Kernel};

/// A length of time in whole nanoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);
    /// Longer than any run.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// So many microseconds.
    pub const fn from_micros(micros: u64) -> Nanos {
        Nanos(micros * 1_000)
    }

    /// So many milliseconds.
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis * 1_000_000)
    }

    /// So many seconds.
    pub const fn from_secs(secs: u64) -> Nanos {
        Nanos(secs * 1_000_000_000)
    }

    /// In milliseconds, for arithmetic that ends on a screen.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The difference, or zero where `other` is longer.
    pub fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;

    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Nanos {
        Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Duration {
        Duration::from_nanos(nanos.0)
    }
}

/// With a unit that suits the size: `82 ns`, `1.5 ms`, `2.70 s`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0..1_000 => return f.pad(&format!("{} ns", self.0)),
            1_000..1_000_000 => (self.0 as f64 / 1e3, "us"),
            1_000_000..1_000_000_000 => (self.0 as f64 / 1e6, "ms"),
            _ => (self.0 as f64 / 1e9, "s"),
        };
        let decimals = match value {
            v if v < 9.995 => 2,
            v if v < 99.95 => 1,
            _ => 0,
        };
        let text = format!("{value:.decimals$}");
        let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        f.pad(&format!("{short} {unit}"))
    }
}

/// A point in time: nanoseconds on the run's [`Clock`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    /// Before every other stamp.
    pub const ZERO: Stamp = Stamp(0);
    /// After every other stamp.
    pub const MAX: Stamp = Stamp(u64::MAX);

    /// Time since `earlier`; `None` where `earlier` is in truth the later one, which is counted, never clamped.
    #[inline]
    pub fn since(self, earlier: Stamp) -> Option<Nanos> {
        self.0.checked_sub(earlier.0).map(Nanos)
    }
}

impl Add<Nanos> for Stamp {
    type Output = Stamp;

    #[inline]
    fn add(self, nanos: Nanos) -> Stamp {
        Stamp(self.0.saturating_add(nanos.0))
    }
}

impl Sub<Nanos> for Stamp {
    type Output = Stamp;

    #[inline]
    fn sub(self, nanos: Nanos) -> Stamp {
        Stamp(self.0.saturating_sub(nanos.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_with_a_unit_that_suits_their_size() {
        for (nanos, text) in [
            (0, "0 ns"),
            (82, "82 ns"),
            (1_500, "1.5 us"),
            (5_000_000, "5 ms"),
            (16_667_000, "16.7 ms"),
            (335_000_000, "335 ms"),
            (2_704_000_000, "2.7 s"),
        ] {
            assert_eq!(Nanos(nanos).to_string(), text);
        }
    }

    #[test]
    fn a_stop_before_its_start_is_no_duration() {
        assert_eq!(Stamp(5).since(Stamp(7)), None);
        assert_eq!(Stamp(7).since(Stamp(5)), Some(Nanos(2)));
    }
}
