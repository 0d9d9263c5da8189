//! How much a count of samples over a limit says of a quantile.

use super::Stat;

/// A limit on a quantile is decided by samples that would be as good by chance in one run of 20 at most.
pub(super) const SIGNIFICANCE: f64 = 0.05;

/// How many samples a limit of that figure needs: so many that not one over the limit would be unlikely (5 %) if the
/// quantile were over it. `ceil(ln 0.05 / ln q)`; one for the maximum and the mean.
pub fn samples_needed(stat: Stat) -> u64 {
    match stat.permille() {
        Some(permille) => (SIGNIFICANCE.ln() / (permille as f64 / 1e3).ln()).ceil() as u64,
        None => 1,
    }
}

/// The chance that of `n` samples, each over with chance `p`, at least `k` are over.
pub(super) fn at_least(n: u64, k: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if k > n {
        return 0.0;
    }
    let odds = p / (1.0 - p);
    let log_chance = |k: u64| {
        ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
            + k as f64 * p.ln()
            + (n - k) as f64 * (1.0 - p).ln()
    };
    // Away from the mean every term is smaller than the one before, so that the sum soon stops changing.
    if k as f64 > n as f64 * p {
        let ups = (k..n).map(|k| (n - k) as f64 / (k + 1) as f64 * odds);
        sum_of_falling(log_chance(k).exp(), ups)
    } else {
        let downs = (1..k).rev().map(|k| k as f64 / (n - k + 1) as f64 / odds);
        1.0 - sum_of_falling(log_chance(k - 1).exp(), downs)
    }
}

fn sum_of_falling(first: f64, mut ratios: impl Iterator<Item = f64>) -> f64 {
    let (mut term, mut sum) = (first, first);
    while let Some(ratio) = ratios.next()
        && term > sum * f64::EPSILON
    {
        term *= ratio;
        sum += term;
    }
    sum.min(1.0)
}

/// Stirling's series, which is exact to 1e-10 from 16 on; the product below.
fn ln_factorial(n: u64) -> f64 {
    let x = n as f64;
    if n < 16 {
        (2..=n).map(|factor| (factor as f64).ln()).sum()
    } else {
        let tail = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3));
        (x + 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quantile_needs_its_number_of_samples() {
        for (stat, needed) in [
            (Stat::P50, 5),
            (Stat::P90, 29),
            (Stat::P99, 299),
            (Stat::P999, 2995),
            (Stat::Max, 1),
            (Stat::Mean, 1),
        ] {
            assert_eq!(samples_needed(stat), needed, "{stat:?}");
        }
    }

    #[test]
    fn tails_are_those_of_the_binomial_distribution() {
        for (n, k, p, chance) in [
            (10, 0, 0.5, 1.0),
            (10, 11, 0.5, 0.0),
            (10, 5, 0.5, 638.0 / 1024.0),
            (10, 6, 0.5, 386.0 / 1024.0),
            (10, 10, 0.5, 1.0 / 1024.0),
            (299, 1, 0.01, 1.0 - 0.99_f64.powi(299)),
            (3, 2, 0.1, 0.028),
        ] {
            let got = at_least(n, k, p);
            assert!((got - chance).abs() < 1e-9, "{k} of {n} at {p}: {got}, not {chance}");
        }
    }

    #[test]
    fn tails_of_a_long_run_are_found_at_once() {
        let half = at_least(1_000_000_000, 500_000_000, 0.5);
        assert!((half - 0.5).abs() < 1e-3, "{half}");
        assert!(at_least(1_000_000_000, 20_000_000, 0.01) < 1e-12);
        assert!(at_least(1_000_000_000, 5_000_000, 0.01) > 1.0 - 1e-12);
    }
}
