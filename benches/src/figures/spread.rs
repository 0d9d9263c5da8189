//! The same figure in several rounds.

use graph_core::Nanos;
use serde::Serialize;

/// The least, the middle and the most of the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The least.
    pub min: f64,
    /// The one in the middle; of an even number of rounds, the lower of the two.
    pub median: f64,
    /// The most.
    pub max: f64,
}

impl Spread {
    /// Over rounds; `None` of none.
    pub fn of(mut rounds: Vec<f64>) -> Option<Spread> {
        rounds.sort_by(f64::total_cmp);
        Some(Spread { min: *rounds.first()?, median: rounds[(rounds.len() - 1) / 2], max: *rounds.last()? })
    }
}

/// The time that a share `at` of the samples does not exceed, in nanoseconds; `None` of none.
pub(super) fn quantile(samples: &mut [Nanos], at: f64) -> Option<f64> {
    samples.sort_unstable();
    let rank = (at * samples.len() as f64).ceil() as usize;
    samples.get(rank.saturating_sub(1)).map(|time| time.0 as f64)
}

/// The one in the middle; `None` of none.
pub(super) fn median(values: Vec<f64>) -> Option<f64> {
    Spread::of(values).map(|spread| spread.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_least_the_middle_and_the_most() {
        let spread = Spread::of(vec![3.0, 1.0, 2.0, 9.0]);
        assert_eq!(spread, Some(Spread { min: 1.0, median: 2.0, max: 9.0 }));
        assert_eq!(Spread::of(vec![]), None);
    }

    #[test]
    fn a_quantile_is_a_sample() {
        let mut samples: Vec<Nanos> = (1..=100).rev().map(Nanos).collect();
        assert_eq!(quantile(&mut samples, 0.5), Some(50.0));
        assert_eq!(quantile(&mut samples, 0.99), Some(99.0));
        assert_eq!(quantile(&mut [], 0.5), None);
    }
}
