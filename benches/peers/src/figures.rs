//! Figures of several rounds.

use serde::Serialize;

/// The same figure in each round.
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
        let rounded = |value: f64| (value * 10.0).round() / 10.0;
        Some(Spread {
            min: rounded(*rounds.first()?),
            median: rounded(rounds[(rounds.len() - 1) / 2]),
            max: rounded(*rounds.last()?),
        })
    }
}

/// The value that a share `at` of the samples does not exceed; `None` of none. Leaves the samples in another order.
pub fn quantile<T: Ord + Copy>(samples: &mut [T], at: f64) -> Option<T> {
    let rank = (at * samples.len() as f64).ceil() as usize;
    let index = rank.saturating_sub(1);
    (index < samples.len()).then(|| *samples.select_nth_unstable(index).1)
}

/// As people read it: 1.4, 26, 1510.
pub fn short(value: f64) -> String {
    if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_least_the_middle_and_the_most() {
        let spread = Spread::of(vec![3.0, 1.0, 2.04]).unwrap();
        assert_eq!(spread, Spread { min: 1.0, median: 2.0, max: 3.0 });
        assert_eq!(Spread::of(vec![]), None);
    }

    #[test]
    fn a_quantile_is_a_sample_and_never_an_average() {
        let mut samples: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(quantile(&mut samples, 0.5), Some(50));
        assert_eq!(quantile(&mut samples, 0.99), Some(99));
        assert_eq!(quantile(&mut samples, 1.0), Some(100));
        assert_eq!(quantile::<u64>(&mut [], 0.5), None);
        assert_eq!(quantile(&mut [7_u64], 0.01), Some(7));
    }
}
