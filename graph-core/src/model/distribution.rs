//! How long something takes: one time, or a distribution of times.

use std::fmt;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Exp, LogNormal, Normal, Pareto};

use crate::time::Nanos;

/// How long something takes. Times below zero are drawn as zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant(Nanos),
    /// Any time between two, all as likely.
    Uniform {
        /// The shortest.
        from: Nanos,
        /// The longest.
        to: Nanos,
    },
    /// The normal distribution.
    Normal {
        /// The mean.
        mean: Nanos,
        /// The standard deviation.
        sd: Nanos,
    },
    /// The logarithm of the time is distributed normally: what many small delays that multiply come to.
    LogNormal {
        /// The median.
        p50: Nanos,
        /// The 99th percentile.
        p99: Nanos,
    },
    /// The time between events that know nothing of each other.
    Exponential {
        /// The mean.
        mean: Nanos,
    },
    /// A long tail: the share of times above x is (least / x)^shape.
    Pareto {
        /// The shortest.
        least: Nanos,
        /// How fast the tail falls; above 1, so that there is a mean.
        shape: f64,
    },
    /// As measured: straight lines between quantiles.
    Quantiles(Quantiles),
}

/// Quantiles of what was measured, and straight lines between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantiles {
    /// Share and time, both rising, from share 0 to share 1.
    points: Vec<(f64, Nanos)>,
}

/// The quantiles that files and reports name.
pub(crate) const NAMED: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

impl Quantiles {
    /// From quantiles in rising order of their shares and the largest. The smallest is chosen so that the mean is
    /// right, as far as any smallest can make it so; without a mean it is as far below the first quantile as the
    /// times are even.
    ///
    /// `None` where the times do not rise.
    pub fn new(quantiles: &[(f64, Nanos)], max: Nanos, mean: Option<Nanos>) -> Option<Quantiles> {
        let mut points = quantiles.to_vec();
        points.push((1.0, max));
        let &(share, first) = points.first()?;
        let least = match mean {
            None => Nanos::ZERO,
            Some(mean) => {
                let above: f64 = points.windows(2).map(|pair| area(pair[0], pair[1])).sum();
                let least = 2.0 * (mean.0 as f64 - above) / share - first.0 as f64;
                Nanos((least.round() as u64).min(first.0))
            }
        };
        points.insert(0, (0.0, least));
        let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        rises.then_some(Quantiles { points })
    }

    /// From quantiles with the smallest known.
    pub(crate) fn from_least(least: Nanos, quantiles: &[(f64, Nanos)], max: Nanos) -> Option<Quantiles> {
        let mut made = Quantiles::new(quantiles, max, None)?;
        made.points[0].1 = least;
        (least <= made.points[1].1).then_some(made)
    }

    fn at(&self, share: f64) -> Nanos {
        let above = self.points.partition_point(|point| point.0 <= share).min(self.points.len() - 1);
        let ((from, low), (to, high)) = (self.points[above - 1], self.points[above]);
        let part = (share - from) / (to - from);
        low + Nanos(((high.0 - low.0) as f64 * part).round() as u64)
    }

    fn mean(&self) -> f64 {
        self.points.windows(2).map(|pair| area(pair[0], pair[1])).sum()
    }
}

fn area((from, low): (f64, Nanos), (to, high): (f64, Nanos)) -> f64 {
    (to - from) * (low.0 as f64 + high.0 as f64) / 2.0
}

/// The 99th percentile of the standard normal distribution.
const Z99: f64 = 2.326_347_874_040_841;

/// The arguments were checked when the distribution was made.
const CHECKED: &str = "the parameters are finite and not negative";

impl Distribution {
    /// No time at all.
    pub const ZERO: Distribution = Distribution::Constant(Nanos::ZERO);

    /// Draws a time.
    pub(crate) fn draw(&self, dice: &mut ChaCha8Rng) -> Nanos {
        let nanos = match self {
            Distribution::Constant(time) => return *time,
            Distribution::Uniform { from, to } => return Nanos(dice.random_range(from.0..=to.0)),
            Distribution::Quantiles(quantiles) => return quantiles.at(dice.random()),
            Distribution::Normal { mean, sd } => {
                Normal::new(mean.0 as f64, sd.0 as f64).expect(CHECKED).sample(dice)
            }
            Distribution::LogNormal { p50, p99 } => {
                let (mu, high) = ((p50.0 as f64).ln(), (p99.0 as f64).ln());
                LogNormal::new(mu, (high - mu) / Z99).expect(CHECKED).sample(dice)
            }
            Distribution::Exponential { mean } => Exp::new(1.0 / mean.0 as f64).expect(CHECKED).sample(dice),
            Distribution::Pareto { least, shape } => {
                Pareto::new(least.0 as f64, *shape).expect(CHECKED).sample(dice)
            }
        };
        // A float outside the range becomes its nearest end.
        Nanos(nanos.round() as u64)
    }

    /// Its mean; of a normal distribution before what is below zero becomes zero.
    pub fn mean(&self) -> Nanos {
        let mean = match self {
            Distribution::Constant(time) => return *time,
            Distribution::Uniform { from, to } => return Nanos(from.0.midpoint(to.0)),
            Distribution::Normal { mean, .. } | Distribution::Exponential { mean } => return *mean,
            Distribution::LogNormal { p50, p99 } => {
                let sigma = (p99.0 as f64 / p50.0 as f64).ln() / Z99;
                p50.0 as f64 * (sigma * sigma / 2.0).exp()
            }
            Distribution::Pareto { least, shape } => least.0 as f64 * shape / (shape - 1.0),
            Distribution::Quantiles(quantiles) => quantiles.mean(),
        };
        Nanos(mean.round() as u64)
    }
}

/// As a costs file writes it, to the nanosecond.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Constant(time) => write!(f, "{}", Exact(*time)),
            Distribution::Uniform { from, to } => {
                write!(f, "uniform(from: {}, to: {})", Exact(*from), Exact(*to))
            }
            Distribution::Normal { mean, sd } => {
                write!(f, "normal(mean: {}, sd: {})", Exact(*mean), Exact(*sd))
            }
            Distribution::LogNormal { p50, p99 } => {
                write!(f, "lognormal(p50: {}, p99: {})", Exact(*p50), Exact(*p99))
            }
            Distribution::Exponential { mean } => write!(f, "exponential(mean: {})", Exact(*mean)),
            Distribution::Pareto { least, shape } => {
                write!(f, "pareto(least: {}, shape: {shape:?})", Exact(*least))
            }
            Distribution::Quantiles(Quantiles { points }) => {
                f.write_str("quantiles(")?;
                for &(share, time) in points {
                    let named = NAMED.iter().find(|(_, named)| *named == share);
                    let name = match (named, share) {
                        (Some((name, _)), _) => name,
                        (None, 0.0) => "min",
                        (None, _) => "max",
                    };
                    let end = if name == "max" { ")" } else { ", " };
                    write!(f, "{name}: {}{end}", Exact(time))?;
                }
                Ok(())
            }
        }
    }
}

/// A time in the largest unit that shows it whole, in quotes.
struct Exact(Nanos);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.0;
        let (unit, name) = match nanos {
            1_000_000_000.. => (1e9, "s"),
            1_000_000.. => (1e6, "ms"),
            1_000.. => (1e3, "us"),
            _ => (1.0, "ns"),
        };
        write!(f, "\"{} {name}\"", nanos as f64 / unit)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const MS: u64 = 1_000_000;

    fn ms(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    fn all() -> [Distribution; 7] {
        let quantiles = [(0.5, ms(2)), (0.9, ms(4)), (0.99, ms(9))];
        [
            Distribution::Constant(ms(5)),
            Distribution::Uniform { from: ms(1), to: ms(9) },
            Distribution::Normal { mean: ms(50), sd: ms(4) },
            Distribution::LogNormal { p50: ms(2), p99: ms(6) },
            Distribution::Exponential { mean: ms(3) },
            Distribution::Pareto { least: ms(1), shape: 3.0 },
            Distribution::Quantiles(Quantiles::new(&quantiles, ms(20), Some(Nanos(2_300_000))).unwrap()),
        ]
    }

    #[test]
    fn what_is_drawn_has_the_mean_that_is_told() {
        for distribution in all() {
            let mut dice = ChaCha8Rng::seed_from_u64(1);
            let sum: u64 = (0..100_000).map(|_| distribution.draw(&mut dice).0).sum();
            let (drawn, told) = (sum as f64 / 1e5, distribution.mean().0 as f64);
            assert!((drawn / told - 1.0).abs() < 0.01, "{distribution}: {drawn} of {told}");
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_times_and_another_others() {
        let drawn = |seed| {
            let mut dice = ChaCha8Rng::seed_from_u64(seed);
            all().map(|distribution| distribution.draw(&mut dice))
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
    }

    #[test]
    fn quantiles_are_met_and_the_smallest_follows_from_the_mean() {
        let points = [(0.5, ms(10)), (0.9, ms(20)), (0.99, ms(40))];
        let quantiles = Quantiles::new(&points, ms(100), Some(Nanos(12_600_000))).unwrap();
        for (share, time) in points {
            assert_eq!(quantiles.at(share), time);
        }
        assert_eq!((quantiles.at(0.95).0, quantiles.mean() as u64), (31_111_111, 12_600_000));
        assert!(quantiles.points[0].1 < ms(10) && quantiles.points[0].1 > Nanos::ZERO);
        let out_of_reach = Quantiles::new(&points, ms(100), Some(ms(1))).unwrap();
        assert_eq!(out_of_reach.points[0].1, Nanos::ZERO);
    }

    #[test]
    fn quantiles_that_do_not_rise_are_refused() {
        assert_eq!(Quantiles::new(&[(0.5, ms(10)), (0.9, ms(9))], ms(100), None), None);
        assert_eq!(Quantiles::from_least(ms(11), &[(0.5, ms(10))], ms(100)), None);
    }

    #[test]
    fn what_is_below_zero_is_drawn_as_zero() {
        let mut dice = ChaCha8Rng::seed_from_u64(1);
        let normal = Distribution::Normal { mean: Nanos(10), sd: Nanos(100) };
        assert!((0..100).map(|_| normal.draw(&mut dice)).any(|time| time == Nanos::ZERO));
        assert!(normal.draw(&mut dice) < Nanos(MS));
    }
}
