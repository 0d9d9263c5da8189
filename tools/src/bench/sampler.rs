//! How often a step is timed, and what is made of the times.

use graph_core::Nanos;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Time that is spent before anything counts.
    pub warm_up: Nanos,
    /// Samples at least, unless they would take longer than `longest`.
    pub samples: usize,
    /// Time that is measured at least.
    pub time: Nanos,
    /// Time after which no pass through the sample begins any more.
    pub longest: Nanos,
}

impl Default for Effort {
    /// 1 s of warm-up, then at least 100 samples and 1 s, at most 10 s.
    fn default() -> Effort {
        Effort {
            warm_up: Nanos::from_secs(1),
            samples: 100,
            time: Nanos::from_secs(1),
            longest: Nanos::from_secs(10),
        }
    }
}

/// A step from which each one is a sample of its own; of shorter ones, so many are a sample that the clock's reading is
/// lost among them.
const LONG_STEP: f64 = 2_000.0;

/// What a sample of short steps takes, about.
const SAMPLE: f64 = 1_000_000.0;

/// What a step takes, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// How many samples.
    pub samples: usize,
    /// Steps in each of them.
    pub steps_per_sample: u64,
    /// Of all steps.
    pub mean: f64,
    /// Median of the samples.
    pub p50: f64,
    /// 90th percentile of the samples.
    pub p90: f64,
    /// 99th percentile of the samples.
    pub p99: f64,
    /// 99.9th percentile of the samples.
    pub p999: f64,
    /// Longest of the samples.
    pub max: f64,
}

/// Times steps by `run`, which does so many and returns what they took; `pass` steps are one pass through the sample,
/// and only whole passes are measured.
///
/// # Errors
/// What `run` says.
pub fn measure<E>(
    pass: u64,
    effort: &Effort,
    mut run: impl FnMut(u64) -> Result<Nanos, E>,
) -> Result<Figures, E> {
    let step = warm_up(pass, effort.warm_up, &mut run)?;
    let steps_per_sample = match step {
        long if long >= LONG_STEP => 1,
        short => ((SAMPLE / short.max(1.0)) as u64).next_multiple_of(pass),
    };
    let samples_a_pass = if steps_per_sample == 1 { pass } else { 1 };
    let mut samples = Vec::new();
    let mut spent = Nanos::ZERO;
    while spent < effort.longest && (samples.len() < effort.samples || spent < effort.time) {
        for _ in 0..samples_a_pass {
            let time = run(steps_per_sample)?;
            spent += time;
            samples.push(time.0);
        }
    }
    Ok(figures(samples, steps_per_sample))
}

/// Whole passes for so long, one at least. Returns what a step takes, about, in ns.
fn warm_up<E>(pass: u64, time: Nanos, run: &mut impl FnMut(u64) -> Result<Nanos, E>) -> Result<f64, E> {
    // The first pass is slow.
    run(pass)?;
    let (mut passes, mut steps, mut spent) = (1, 0, Nanos::ZERO);
    while spent < time || steps == 0 {
        let took = run(passes * pass)?;
        spent += took;
        steps += passes * pass;
        // Toward a tenth of the warm-up each time, so that it ends in time.
        if took.0 < time.0 / 20 {
            passes *= 2;
        }
    }
    Ok(spent.0 as f64 / steps as f64)
}

fn figures(mut samples: Vec<u64>, steps_per_sample: u64) -> Figures {
    samples.sort_unstable();
    let n = samples.len();
    let steps = steps_per_sample as f64;
    let rank = |q: f64| samples[((n as f64 * q).ceil() as usize).clamp(1, n) - 1] as f64 / steps;
    Figures {
        samples: n,
        steps_per_sample,
        mean: samples.iter().sum::<u64>() as f64 / (n as f64 * steps),
        p50: rank(0.5),
        p90: rank(0.9),
        p99: rank(0.99),
        p999: rank(0.999),
        max: rank(1.0),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Measures a sample whose steps take these times, in ns, again and again.
    fn measured(steps: &[u64]) -> (Figures, u64) {
        let mut done = 0;
        let figures = measure::<Infallible>(steps.len() as u64, &Effort::default(), |n| {
            let time = (done..done + n).map(|step| steps[step as usize % steps.len()]).sum();
            done += n;
            Ok(Nanos(time))
        });
        (figures.unwrap(), done)
    }

    #[test]
    fn short_steps_are_timed_many_at_once_and_in_whole_passes() {
        let (figures, steps) = measured(&[100, 200, 300]);
        assert_eq!((figures.mean, figures.p50, figures.max), (200.0, 200.0, 200.0));
        assert_eq!(figures.steps_per_sample % 3, 0);
        assert!(figures.samples >= 100 && figures.steps_per_sample >= 5_000, "{figures:?}");
        assert!((8_000_000..20_000_000).contains(&steps), "a second and a second of warm-up: {steps}");
    }

    #[test]
    fn each_long_step_is_a_sample_so_that_the_longest_is_seen() {
        let mut steps = [10_000; 50];
        steps[49] = 1_000_000;
        let (figures, _) = measured(&steps);
        assert_eq!((figures.steps_per_sample, figures.samples % 50), (1, 0));
        assert_eq!((figures.p50, figures.p99, figures.max), (10_000.0, 1_000_000.0, 1_000_000.0));
        assert_eq!(figures.mean, 29_800.0);
    }

    #[test]
    fn very_long_steps_end_the_measurement_early_after_a_whole_pass() {
        let (figures, steps) = measured(&[3_000_000_000, 1_000_000_000]);
        assert_eq!((figures.samples, figures.mean), (6, 2e9));
        assert_eq!(steps, 2 + 2 + 6, "the first pass, the warm-up, and what counts");
    }
}
