//! Another sample rate, by a polyphase filter.
//!
//! The filter and its fast dot products are rubato's; where each output sample lies between the input samples is kept
//! here, in whole numbers. So the ratio is exact for ever (22,050 to 48,000 Hz is 320/147), and an output sample
//! depends on nothing but the input around it: however a stream is cut, the result is the same to the last bit.

use std::time::Duration;

use rubato::{
    WindowFunction, calculate_cutoff,
    interpolation::interp_cubic,
    sinc_interpolator::{AnyInterpolator, SincInterpolator, make_interpolator},
};

use crate::types::Rate;

/// Taps of the filter at the lower of the two rates: flat to 0.85 of its Nyquist frequency, 6 dB down at 0.92, and more
/// than 100 dB from 1.0 up.
const TAPS: usize = 96;

const WINDOW: WindowFunction = WindowFunction::BlackmanHarris;

/// Filter coefficients kept at most: 1 MiB. Ratios that need more are interpolated between the phases kept.
const TABLE: usize = 1 << 18;

/// Rates outside are refused: below, nothing is speech; above, nothing is sound.
const RATES: std::ops::RangeInclusive<u32> = 4_000..=384_000;

/// Why a resampler cannot be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResampleError {
    /// One of the rates makes no sense.
    #[error("cannot resample {} Hz: rates go from {} to {} Hz", .0.0, RATES.start(), RATES.end())]
    Rate(Rate),
}

/// Turns one mono stream into another rate, cut in any way.
///
/// The output has no delay against the input: sample `m` belongs to the instant `m / to` of the stream. The filter
/// looks [`Resampler::lookahead`] ahead, so that much of the output is missing until more input or
/// [`Resampler::finish`] arrives. `n` samples in all become `ceil(n * to / from)`.
///
/// ```
/// use graph_nodes::{sound::resample::Resampler, types::Rate};
///
/// let mut resampler = Resampler::new(Rate(22_050), Rate(48_000))?;
/// let mut out = Vec::new();
/// resampler.process(&[0.0; 22_050], &mut out);
/// resampler.finish(&mut out);
/// assert_eq!(out.len(), 48_000);
/// # Ok::<(), graph_nodes::sound::resample::ResampleError>(())
/// ```
pub struct Resampler {
    from: Rate,
    filter: AnyInterpolator<f32>,
    ratio: Ratio,
    /// Input that later output still needs; the sample at the next output's position is at `reach() + at`.
    pending: Vec<f32>,
    /// Whole input samples from the first pending one, the reach left out, to the next output.
    at: usize,
    /// The rest of that position, in `1 / ratio.up` of an input sample.
    phase: u64,
}

/// `up / down` output samples for one input sample, in lowest terms.
#[derive(Clone, Copy)]
struct Ratio {
    up: u64,
    down: u64,
}

impl Resampler {
    /// A resampler between two rates of 4 to 384 kHz.
    ///
    /// # Errors
    ///
    /// When a rate is out of that range.
    pub fn new(from: Rate, to: Rate) -> Result<Self, ResampleError> {
        if let Some(&rate) = [from, to].iter().find(|rate| !RATES.contains(&rate.0)) {
            return Err(ResampleError::Rate(rate));
        }
        let common = gcd(from.0, to.0);
        let ratio = Ratio { up: (to.0 / common).into(), down: (from.0 / common).into() };
        let stretch = (f64::from(from.0) / f64::from(to.0)).max(1.0);
        let taps = (TAPS as f64 * stretch) as usize;
        let phases = (ratio.up as usize).min(TABLE / taps);
        let cutoff = calculate_cutoff(TAPS, WINDOW);
        let filter =
            make_interpolator(taps, f64::from(to.0) / f64::from(from.0), Some(cutoff), phases, WINDOW);
        let mut resampler = Resampler { from, filter, ratio, pending: Vec::new(), at: 0, phase: 0 };
        resampler.restart();
        Ok(resampler)
    }

    /// How far the filter looks ahead: 49 samples of the lower rate, so 3.1 ms at 16 kHz and 2.2 ms at 22,050 Hz.
    pub fn lookahead(&self) -> Duration {
        Duration::from_secs(self.reach() as u64 + 1) / self.from.0
    }

    /// Appends to `out` what the input so far determines.
    pub fn process(&mut self, input: &[f32], out: &mut Vec<f32>) {
        self.pending.extend_from_slice(input);
        let known = self.pending.len().saturating_sub(2 * self.reach() + 1);
        self.produce(known, out);
        self.forget();
    }

    /// Appends the rest of the stream to `out`, as if silence followed, and starts anew.
    pub fn finish(&mut self, out: &mut Vec<f32>) {
        let end = self.pending.len() - self.reach();
        self.pending.resize(self.pending.len() + self.reach() + 1, 0.0);
        self.produce(end, out);
        self.restart();
    }

    /// Samples on either side of an output's position that the filter reads.
    fn reach(&self) -> usize {
        self.filter.nbr_points() / 2
    }

    /// The output whose position is before `end`, counted like `at`.
    fn produce(&mut self, end: usize, out: &mut Vec<f32>) {
        let Ratio { up, down } = self.ratio;
        while self.at < end {
            out.push(self.sample());
            self.phase += down;
            self.at += (self.phase / up) as usize;
            self.phase %= up;
        }
    }

    fn sample(&self) -> f32 {
        let phases = self.filter.nbr_sincs() as u64;
        if phases == self.ratio.up {
            return self.read(self.phase as i64);
        }
        let scaled = self.phase * phases;
        let before = (scaled / self.ratio.up) as i64;
        let rest = (scaled % self.ratio.up) as f32 / self.ratio.up as f32;
        interp_cubic(rest, &[-1, 0, 1, 2].map(|step| self.read(before + step)))
    }

    /// The filtered input at `at` and so many phases of the table after it.
    fn read(&self, phase: i64) -> f32 {
        let sincs = self.filter.get_sincs();
        let phases = sincs.len() as i64;
        let at = (self.at as i64 + phase.div_euclid(phases)) as usize;
        // The table's first row is one phase after the middle tap, its last row lies on the next one.
        match phase.rem_euclid(phases) {
            0 => self.filter.get_sinc_dot_product(&self.pending, at, &sincs[sincs.len() - 1]),
            row => self.filter.get_sinc_dot_product(&self.pending, at + 1, &sincs[row as usize - 1]),
        }
    }

    /// Drops input that no later output reads.
    fn forget(&mut self) {
        let gone = self.at.saturating_sub(1).min(self.pending.len());
        self.pending.copy_within(gone.., 0);
        self.pending.truncate(self.pending.len() - gone);
        self.at -= gone;
    }

    /// Forgets the stream so far and starts anew.
    ///
    /// It begins with silence before the stream, and one sample more, which the interpolation between phases may read.
    pub fn restart(&mut self) {
        self.pending.clear();
        self.pending.resize(self.reach() + 1, 0.0);
        self.at = 1;
        self.phase = 0;
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use proptest::prelude::*;

    use super::*;

    fn sine(hz: f64, rate: u32, samples: usize) -> Vec<f32> {
        (0..samples).map(|n| (TAU * hz * n as f64 / f64::from(rate)).sin() as f32).collect()
    }

    fn resample(from: u32, to: u32, input: &[f32]) -> Vec<f32> {
        let mut resampler = Resampler::new(Rate(from), Rate(to)).unwrap();
        let mut out = Vec::new();
        resampler.process(input, &mut out);
        resampler.finish(&mut out);
        out
    }

    fn decibels(power: f64) -> f64 {
        10.0 * power.log10()
    }

    /// Power of the difference against power of the wanted signal, away from the ends.
    fn error_db(got: &[f32], wanted: &[f32]) -> f64 {
        let inner = 2_000..got.len() - 2_000;
        let power = |values: &mut dyn Iterator<Item = f32>| values.map(|v| f64::from(v).powi(2)).sum::<f64>();
        let error = power(&mut inner.clone().map(|n| got[n] - wanted[n]));
        decibels(error / power(&mut inner.map(|n| wanted[n])))
    }

    #[test]
    fn a_sine_comes_out_where_and_as_it_was() {
        for (from, to) in [
            (22_050, 48_000),
            (48_000, 16_000),
            (16_000, 48_000),
            (44_100, 48_000),
            (8_000, 44_100),
            (48_000, 8_000),
        ] {
            for share in [0.01, 0.3, 0.8] {
                let hz = share * f64::from(from.min(to)) / 2.0;
                let out = resample(from, to, &sine(hz, from, from as usize));
                let error = error_db(&out, &sine(hz, to, to as usize));
                assert!(error < -75.0, "{from} -> {to} Hz, {hz} Hz: {error:.1} dB");
            }
        }
    }

    #[test]
    fn rates_without_a_common_divisor_are_interpolated_well() {
        for (from, to) in [(47_999, 48_000), (191_999, 8_001)] {
            let out = resample(from, to, &sine(1_000.0, from, from as usize));
            let error = error_db(&out, &sine(1_000.0, to, to as usize));
            assert!(error < -75.0, "{from} -> {to} Hz: {error:.1} dB");
        }
    }

    #[test]
    fn what_the_lower_rate_cannot_carry_is_gone() {
        for hz in [8_000.0, 8_500.0, 12_000.0, 20_000.0] {
            let out = resample(48_000, 16_000, &sine(hz, 48_000, 48_000));
            let power = out[1_000..15_000].iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / 14_000.0;
            assert!(decibels(2.0 * power) < -100.0, "{hz} Hz: {:.1} dB", decibels(2.0 * power));
        }
    }

    #[test]
    fn ten_milliseconds_at_22050_hz_carry_their_half_sample() {
        let mut resampler = Resampler::new(Rate(22_050), Rate(48_000)).unwrap();
        let (mut out, input) = (Vec::new(), vec![0.0; 221]);
        for frame in 0..6_000 {
            resampler.process(&input[..220 + frame % 2], &mut out);
            let expected = (frame + 1) * 480;
            assert!(out.len() <= expected && expected - out.len() <= 108, "{} of {expected}", out.len());
        }
        resampler.finish(&mut out);
        assert_eq!(out.len(), 60 * 48_000, "a minute has no drift");
    }

    #[test]
    fn an_empty_stream_has_no_output_and_a_sample_has_its_own() {
        assert!(resample(16_000, 48_000, &[]).is_empty());
        assert_eq!(resample(16_000, 48_000, &[1.0]).len(), 3);
        assert_eq!(resample(48_000, 16_000, &[1.0]).len(), 1);
    }

    #[test]
    fn a_finished_resampler_starts_anew() {
        let input = sine(440.0, 22_050, 3_000);
        let mut resampler = Resampler::new(Rate(22_050), Rate(48_000)).unwrap();
        let [first, second] = [(); 2].map(|()| {
            let mut out = Vec::new();
            resampler.process(&input, &mut out);
            resampler.finish(&mut out);
            out
        });
        assert_eq!(first, second);
    }

    #[test]
    fn a_rate_that_is_no_sound_is_refused() {
        assert_eq!(
            Resampler::new(Rate(0), Rate(48_000)).err().unwrap().to_string(),
            "cannot resample 0 Hz: rates go from 4000 to 384000 Hz"
        );
        assert_eq!(
            Resampler::new(Rate(48_000), Rate(1_000_000)).err(),
            Some(ResampleError::Rate(Rate(1_000_000)))
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn the_output_is_the_same_to_the_bit_however_the_input_is_cut(
            pair in prop::sample::select(vec![
                (22_050, 48_000), (48_000, 16_000), (16_000, 48_000), (47_999, 16_001), (384_000, 4_000), (44_100, 44_100),
            ]),
            cuts in prop::collection::vec(0..700_usize, 0..12),
            input in prop::collection::vec(-1.0..1.0_f32, 0..2_500),
        ) {
            let whole = resample(pair.0, pair.1, &input);
            let mut resampler = Resampler::new(Rate(pair.0), Rate(pair.1)).unwrap();
            let (mut out, mut rest) = (Vec::new(), input.as_slice());
            for cut in cuts {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                resampler.process(now, &mut out);
                rest = later;
            }
            resampler.process(rest, &mut out);
            resampler.finish(&mut out);
            let bits = |samples: &[f32]| samples.iter().map(|s| s.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&out), bits(&whole));
            let expected = (input.len() as u64 * u64::from(pair.1)).div_ceil(u64::from(pair.0));
            prop_assert_eq!(out.len() as u64, expected);
        }
    }
}
