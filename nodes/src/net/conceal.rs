//! Sound in place of lost packets: the last pitch period goes on and fades.
//!
//! The idea is that of [ITU-T G.711, appendix I]: speech is nearly periodic for some ten milliseconds, so a repeated
//! period is heard far less than a hole. What comes back is blended in, so neither border clicks.
//!
//! [ITU-T G.711, appendix I]: https://www.itu.int/rec/T-REC-G.711

use graph_core::Nanos;

use crate::types::Rate;

/// The sound is gone after this much of a loss.
const FADE: Nanos = Nanos::from_millis(60);
/// What follows a loss is blended in over this much.
const BLEND: Nanos = Nanos::from_millis(4);
/// Periods looked for: speech has 66 to 400 Hz.
const SHORTEST: Nanos = Nanos(2_500_000);
const LONGEST: Nanos = Nanos(15_000_000);
/// What two periods are compared over.
const TEMPLATE: Nanos = Nanos::from_millis(5);
/// Periods are compared at every n-th sample only; the result is as good.
const COARSE: usize = 4;

/// Makes up for lost sound of one mono stream.
#[derive(Debug)]
pub struct Concealer {
    rate: Rate,
    /// The last sound received, enough for the longest period and its template.
    history: Vec<f32>,
    /// While something is lost: the period that goes on, and how far it has.
    loss: Option<Loss>,
}

#[derive(Debug)]
struct Loss {
    period: usize,
    done: usize,
}

impl Concealer {
    /// For sound of this rate.
    pub fn new(rate: Rate) -> Self {
        let mut concealer = Concealer { rate, history: Vec::new(), loss: None };
        concealer.history = vec![0.0; concealer.samples(LONGEST) + concealer.samples(TEMPLATE)];
        concealer
    }

    /// Samples a second.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Fills `lost` with what may have been there.
    pub fn conceal(&mut self, lost: &mut [f32]) {
        let mut loss = self.loss.take().unwrap_or_else(|| Loss { period: self.period(), done: 0 });
        for sample in lost {
            *sample = self.continued(&loss);
            loss.done += 1;
        }
        self.loss = Some(loss);
    }

    /// Takes the sound that was received, and blends its start into what was concealed before it.
    pub fn receive(&mut self, sound: &mut [f32]) {
        if let Some(mut loss) = self.loss.take() {
            let blend = self.samples(BLEND).min(sound.len());
            for (n, sample) in sound[..blend].iter_mut().enumerate() {
                let weight = (n + 1) as f32 / (blend + 1) as f32;
                *sample = *sample * weight + self.continued(&loss) * (1.0 - weight);
                loss.done += 1;
            }
        }
        let keep = self.history.len();
        if sound.len() >= keep {
            self.history.copy_from_slice(&sound[sound.len() - keep..]);
        } else {
            self.history.copy_within(sound.len().., 0);
            self.history[keep - sound.len()..].copy_from_slice(sound);
        }
    }

    fn samples(&self, time: Nanos) -> usize {
        (time.0 * u64::from(self.rate.0) / 1_000_000_000) as usize
    }

    fn continued(&self, loss: &Loss) -> f32 {
        let fade = self.samples(FADE);
        if loss.done >= fade {
            return 0.0;
        }
        let last_period = &self.history[self.history.len() - loss.period..];
        last_period[loss.done % loss.period] * (1.0 - loss.done as f32 / fade as f32)
    }

    /// The shift at which the end of the history looks most like what was before it.
    fn period(&self) -> usize {
        let template = self.samples(TEMPLATE);
        let end = self.history.len();
        let likeness = |period: usize| {
            let (mut product, mut power) = (0.0_f32, f32::EPSILON);
            for at in (end - template..end).step_by(COARSE) {
                product += self.history[at] * self.history[at - period];
                power += self.history[at - period].powi(2);
            }
            product.max(0.0).powi(2) / power
        };
        let best = |periods: &mut dyn Iterator<Item = usize>| {
            periods.max_by(|&a, &b| likeness(a).total_cmp(&likeness(b)).then(b.cmp(&a)))
        };
        let (shortest, longest) = (self.samples(SHORTEST), self.samples(LONGEST));
        let coarse = best(&mut (shortest..=longest).step_by(COARSE)).unwrap_or(shortest);
        let around = coarse.saturating_sub(COARSE - 1).max(shortest)..=(coarse + COARSE - 1).min(longest);
        best(&mut { around }).unwrap_or(coarse)
    }
}

#[cfg(test)]
mod tests {
    use std::f32::consts::TAU;

    use super::*;

    const RATE: Rate = Rate::HZ_48000;

    /// A vowel of sorts: five harmonics.
    fn voice(hz: f32, samples: std::ops::Range<usize>) -> Vec<f32> {
        let tone = |n: usize, k: f32| (TAU * k * hz * n as f32 / RATE.0 as f32 + k).sin() / k;
        samples.map(|n| 0.3 * (1..=5).map(|k| tone(n, k as f32)).sum::<f32>()).collect()
    }

    fn after(sound: &[f32]) -> Concealer {
        let mut concealer = Concealer::new(RATE);
        for frame in sound.chunks(480) {
            concealer.receive(&mut frame.to_vec());
        }
        concealer
    }

    #[test]
    fn a_lost_frame_of_a_vowel_is_nearly_what_it_was() {
        for hz in [90.0, 123.0, 210.0, 310.0] {
            let mut lost = vec![0.0; 480];
            after(&voice(hz, 0..4_800)).conceal(&mut lost);
            let wanted = voice(hz, 4_800..5_280);
            let error: f32 = lost.iter().zip(&wanted).map(|(a, b)| (a - b).powi(2)).sum();
            let power: f32 = wanted.iter().map(|b| b.powi(2)).sum();
            assert!(error < 0.1 * power, "{hz} Hz: error {error}, power {power}");
        }
    }

    #[test]
    fn neither_border_of_a_loss_clicks() {
        let steepest = |sound: &[f32]| sound.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
        let whole = voice(123.0, 0..9_600);
        let mut concealer = after(&whole[..4_800]);
        let mut lost = vec![0.0; 960];
        concealer.conceal(&mut lost);
        let mut back = whole[5_760..6_240].to_vec();
        concealer.receive(&mut back);
        let joined = [&whole[4_320..4_800], &lost, &back].concat();
        assert!(steepest(&joined) < 1.5 * steepest(&whole), "{} {}", steepest(&joined), steepest(&whole));
        assert_eq!(back[240..], whole[6_000..6_240], "only the start is blended");
    }

    #[test]
    fn a_long_loss_fades_to_silence() {
        let mut lost = vec![1.0; 4_800];
        after(&voice(123.0, 0..4_800)).conceal(&mut lost);
        assert!(lost[2_000..2_400].iter().any(|&s| s != 0.0));
        assert!(lost[2_880..].iter().all(|&s| s == 0.0));
    }

    #[test]
    fn several_lost_frames_go_on_where_the_last_one_ended() {
        let sound = voice(123.0, 0..4_800);
        let (mut whole, mut parts) = (vec![0.0; 960], vec![0.0; 960]);
        after(&sound).conceal(&mut whole);
        let mut concealer = after(&sound);
        parts.chunks_mut(480).for_each(|part| concealer.conceal(part));
        assert_eq!(whole, parts);
    }

    #[test]
    fn a_loss_after_silence_or_before_any_sound_is_silence() {
        let mut lost = vec![1.0; 480];
        Concealer::new(RATE).conceal(&mut lost);
        assert!(lost.iter().all(|&s| s == 0.0));
        after(&[0.0; 4_800]).conceal(&mut lost);
        assert!(lost.iter().all(|&s| s == 0.0));
    }

    #[test]
    fn the_lowest_rates_have_periods_too() {
        let mut concealer = Concealer::new(Rate(4_000));
        concealer.receive(&mut [0.5; 40]);
        concealer.conceal(&mut [0.0; 40]);
        concealer.receive(&mut [0.5; 3]);
    }
}
