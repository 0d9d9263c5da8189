//! What a run measured of one limit.

use crate::{measure::Snapshot, time::Nanos};

/// All that a verdict on one limit rests on.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// For a limit on a time.
    Times {
        /// The samples of its measure.
        samples: Snapshot,
        /// How many of them were over the limit, exactly.
        over: u64,
        /// Packets dropped or lost, each of which counts as over the limit.
        missing: u64,
        /// Packets whose time could not be told, since their stamps are out of order.
        negative: u64,
    },
    /// For a limit on a rate.
    Rate {
        /// Causes that had two packets or more.
        causes: u64,
        /// How many of them were slower than the limit, exactly.
        under: u64,
        /// The slowest of them.
        slowest: Option<Pace>,
        /// Packets dropped or lost, each of which counts as slower than the limit.
        missing: u64,
        /// Packets whose interval could not be told, since their stamps are out of order.
        negative: u64,
    },
    /// For a limit on drops.
    Losses {
        /// Packets dropped or lost.
        lost: u64,
        /// Those, and the packets taken.
        outcomes: u64,
    },
}

/// How the packets of one cause followed each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Packets but the first.
    pub gaps: u64,
    /// Time from the first packet to the last.
    pub span: Nanos,
}

/// Rates are compared as whole millionths of a packet a second.
pub(super) const MICRO: f64 = 1e6;

impl Pace {
    /// Packets a second; infinite where all came at once.
    pub fn per_second(self) -> f64 {
        self.gaps as f64 * 1e9 / self.span.0 as f64
    }

    pub(crate) fn slower_than(self, other: Pace) -> bool {
        u128::from(self.gaps) * u128::from(other.span.0) < u128::from(other.gaps) * u128::from(self.span.0)
    }

    /// Whether it is slower than so many packets a second.
    pub(crate) fn is_under(self, per_second: f64) -> bool {
        let (ours, limit) = self.against(per_second);
        ours < limit
    }

    /// This rate and a rate in packets a second, in one unit.
    pub(super) fn against(self, per_second: f64) -> (u128, u128) {
        let limit = (per_second * MICRO).round() as u128;
        (u128::from(self.gaps) * 1_000_000_000_000_000, limit.saturating_mul(u128::from(self.span.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_rate_asked_is_not_under_it() {
        let pace = Pace { gaps: 15, span: Nanos::from_secs(1) };
        assert!(!pace.is_under(15.0));
        assert!(pace.is_under(15.000_001));
        assert!(Pace { gaps: 15, span: Nanos(1_000_000_001) }.is_under(15.0));
    }

    #[test]
    fn packets_that_come_all_at_once_are_never_too_slow() {
        let pace = Pace { gaps: 3, span: Nanos::ZERO };
        assert!(!pace.is_under(1e9));
        assert_eq!(pace.per_second(), f64::INFINITY);
        assert!(Pace { gaps: 1, span: Nanos(1) }.slower_than(pace));
    }
}
