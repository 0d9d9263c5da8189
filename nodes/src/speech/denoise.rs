//! RNNoise: steady and babbling noise is taken out of speech.
//!
//! The net works on frames of 10 ms at 48 kHz and is one frame behind its input, since neighbouring frames overlap
//! (J.-M. Valin, "A Hybrid DSP/Deep Learning Approach to Real-Time Full-Band Speech Enhancement", 2018).

use std::collections::VecDeque;

use graph_core::{Build, BuildError, Cause, Cx, Kind, Nanos, NoSample, NodeError, Sample, Transform};
use nnnoiseless::DenoiseState;
use schemars::JsonSchema;
use serde::Deserialize;

use super::corpus;
use crate::types::{Audio, Rate};

/// Samples in one frame of the net: 10 ms at 48 kHz.
pub const FRAME: usize = DenoiseState::FRAME_SIZE;

/// The net was trained on 16-bit samples.
const SCALE: f32 = 32_768.0;

/// RNNoise over sound that comes in pieces of any length; the output is the same however the input was cut.
///
/// Output sample `n` belongs to input sample `n`: the frame of fade-in that the net gives first is left out, and
/// [`finish`](Denoiser::finish) gives what the net still owes, so that both have one length.
pub struct Denoiser {
    net: Box<DenoiseState<'static>>,
    frame: Vec<f32>,
    started: bool,
}

impl Default for Denoiser {
    fn default() -> Self {
        Denoiser::new()
    }
}

impl Denoiser {
    /// A denoiser that has heard nothing.
    pub fn new() -> Denoiser {
        Denoiser { net: DenoiseState::new(), frame: Vec::with_capacity(FRAME), started: false }
    }

    /// Takes mono samples at 48 kHz, full scale -1.0 to 1.0, and appends the sound that is ready to `out`.
    pub fn push(&mut self, mut samples: &[f32], out: &mut Vec<f32>) {
        while !samples.is_empty() {
            let (now, rest) = samples.split_at(samples.len().min(FRAME - self.frame.len()));
            self.frame.extend(now.iter().map(|sample| sample * SCALE));
            samples = rest;
            if self.frame.len() == FRAME {
                self.run(out);
            }
        }
    }

    /// Ends the sound: appends what is owed, and is ready for another one.
    pub fn finish(&mut self, out: &mut Vec<f32>) {
        let begun = self.frame.len();
        let owed = begun + if self.started { FRAME } else { 0 };
        let end = out.len() + owed;
        while out.len() < end {
            self.frame.resize(FRAME, 0.0);
            self.run(out);
        }
        out.truncate(end);
        *self = Denoiser::new();
    }

    fn run(&mut self, out: &mut Vec<f32>) {
        let mut clean = [0.0; FRAME];
        self.net.process_frame(&mut clean, &self.frame);
        self.frame.clear();
        if self.started {
            out.extend(clean.iter().map(|sample| sample / SCALE));
        }
        self.started = true;
    }
}

/// Parameters of `speech/denoise`: none.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DenoiseParams {}

/// The node.
///
/// Its output is due to the packet in which the output's last sample came; the 10 ms until the net gives it are held.
pub struct Denoise {
    denoiser: Denoiser,
    /// Where packets end, in samples from the start, that are not wholly given back yet.
    packets: VecDeque<(usize, Cause)>,
    taken: usize,
    given: usize,
}

impl Kind for Denoise {
    const KIND: &'static str = "speech/denoise";
    const ABOUT: &'static str = "Takes noise out of speech at 48 kHz with RNNoise.";
    type Params = DenoiseParams;

    fn new(_: &DenoiseParams, _: &mut Build<'_>) -> Result<Denoise, BuildError> {
        Ok(Denoise { denoiser: Denoiser::new(), packets: VecDeque::new(), taken: 0, given: 0 })
    }

    fn sample(given: Option<DenoiseParams>, sample: &mut Sample<'_>) -> Result<DenoiseParams, NoSample> {
        // Near enough to a recording at 48 kHz: the net takes the same time for any sound.
        let speech: Vec<f32> = corpus::sample(sample)?.into_iter().flat_map(|value| [value; 3]).collect();
        for frame in speech.chunks_exact(FRAME) {
            sample.feed("in", Audio { rate: Rate::HZ_48000, samples: frame.into() });
        }
        sample.every(Nanos::from_millis(10));
        Ok(given.unwrap_or_default())
    }
}

impl Transform for Denoise {
    type In = Audio;
    type Out = Audio;
    const MANY: bool = true;

    fn process(&mut self, input: Audio, cx: &mut Cx<'_, '_, Audio>) -> Result<(), NodeError> {
        if input.rate != Rate::HZ_48000 {
            return Err(NodeError::new(format!(
                "speech/denoise takes sound at 48,000 Hz, this is {} Hz: put audio/resample before it",
                input.rate.0
            )));
        }
        self.taken += input.samples.len();
        self.packets.extend(cx.cause().map(|cause| (self.taken, cause)));
        let mut clean = Vec::with_capacity(input.samples.len() + FRAME);
        self.denoiser.push(&input.samples, &mut clean);
        self.give(clean, cx);
        Ok(())
    }

    fn finish(&mut self, cx: &mut Cx<'_, '_, Audio>) -> Result<(), NodeError> {
        let mut clean = Vec::with_capacity(2 * FRAME);
        self.denoiser.finish(&mut clean);
        self.give(clean, cx);
        Ok(())
    }
}

impl Denoise {
    fn give(&mut self, clean: Vec<f32>, cx: &mut Cx<'_, '_, Audio>) {
        self.given += clean.len();
        while self.packets.front().is_some_and(|(end, _)| *end < self.given) {
            self.packets.pop_front();
        }
        if let (false, Some((_, cause))) = (clean.is_empty(), self.packets.front()) {
            let held = cx.held_since(*cause);
            cx.emit_as(*cause, held, Audio { rate: Rate::HZ_48000, samples: clean.into() });
        }
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing;
    use proptest::prelude::*;

    use super::*;
    use crate::speech::fixtures::asset;

    fn noise(samples: usize, peak: f32) -> impl Iterator<Item = f32> {
        let mut seed = 1u32;
        (0..samples).map(move |_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            peak * ((seed >> 8) as f32 / (1 << 23) as f32 - 1.0)
        })
    }

    fn noisy_tone(samples: usize) -> Vec<f32> {
        let tone = |n| 0.3 * (n as f32 * 220.0 * std::f32::consts::TAU / 48_000.0).sin();
        noise(samples, 0.05).enumerate().map(|(n, noise)| tone(n) + noise).collect()
    }

    fn audio(samples: &[f32]) -> Audio {
        Audio { rate: Rate::HZ_48000, samples: samples.into() }
    }

    #[test]
    fn a_frame_is_due_to_the_packet_it_came_in_and_the_10_ms_until_the_next_one_are_held() {
        let mut node = testing::transform::<Denoise>(DenoiseParams {}).unwrap();
        let mut origins = Vec::new();
        for piece in noisy_tone(10 * FRAME).chunks(FRAME) {
            node.advance(Nanos::from_millis(10));
            origins.push(node.now());
            node.feed("in", audio(piece));
        }
        node.end("in");
        let packets = node.packets::<Audio>("out");
        assert_eq!(packets.iter().map(|packet| packet.header.origin).collect::<Vec<_>>(), origins);
        assert!(packets[..9].iter().all(|packet| packet.header.held == Nanos::from_millis(10)));
        assert_eq!(packets[9].header.held, Nanos::ZERO);
    }

    #[test]
    fn sound_at_another_rate_is_refused_with_a_way_out() {
        let mut node = testing::transform::<Denoise>(DenoiseParams {}).unwrap();
        node.feed("in", Audio { rate: Rate::HZ_16000, samples: [0.0; 160].into() });
        let failure = format!("{:?}", node.failures());
        assert!(failure.contains("put audio/resample before it"), "{failure}");
    }

    fn denoised(pieces: impl IntoIterator<Item = impl AsRef<[f32]>>) -> Vec<f32> {
        let (mut denoiser, mut out) = (Denoiser::new(), Vec::new());
        for piece in pieces {
            denoiser.push(piece.as_ref(), &mut out);
        }
        denoiser.finish(&mut out);
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn the_output_is_the_same_for_every_chunking(
            length in 0usize..2_500, cuts in prop::collection::vec(0usize..700, 1..12)
        ) {
            let sound = noisy_tone(length);
            let mut rest = &sound[..];
            let mut pieces = Vec::new();
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            prop_assert_eq!(denoised(pieces), denoised([&sound]));
        }
    }

    #[test]
    fn the_length_is_kept_at_the_borders_of_a_frame() {
        for length in [0, 1, FRAME - 1, FRAME, FRAME + 1, 2 * FRAME, 2 * FRAME + 1] {
            assert_eq!(denoised([noisy_tone(length)]).len(), length);
        }
    }

    #[test]
    fn a_frame_comes_out_when_the_next_one_is_complete() {
        let (mut denoiser, mut out) = (Denoiser::new(), Vec::new());
        denoiser.push(&noisy_tone(2 * FRAME - 1), &mut out);
        assert!(out.is_empty());
        denoiser.push(&[0.0], &mut out);
        assert_eq!(out.len(), FRAME);
    }

    /// Somebody reading, at 48 kHz.
    fn speech() -> Vec<f32> {
        let slow = corpus::librivox(&asset("speech-librivox")).unwrap().swap_remove(0).samples;
        slow.windows(2).flat_map(|w| [0.0, 1.0, 2.0].map(|part| w[0] + (w[1] - w[0]) * part / 3.0)).collect()
    }

    /// Signal to noise in dB, whatever the gain (J. Le Roux, "SDR - Half-baked or Well Done?", 2019).
    fn si_snr(signal: &[f32], heard: &[f32]) -> f32 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let gain = dot(signal, heard) / dot(signal, signal);
        let rest: Vec<f32> = signal.iter().zip(heard).map(|(s, h)| h - gain * s).collect();
        10.0 * (gain * gain * dot(signal, signal) / dot(&rest, &rest)).log10()
    }

    #[test]
    fn the_output_lies_in_time_where_the_input_lay() {
        let sound = speech();
        let clean = denoised([&sound]);
        let likeness =
            |lag: i64| -> f32 { (9_600..40_000).map(|n| sound[n] * clean[(n as i64 + lag) as usize]).sum() };
        let best = (-600..=600).max_by(|a, b| likeness(*a).total_cmp(&likeness(*b))).unwrap();
        assert!(best.abs() <= 1, "the output is {best} samples late");
    }

    #[test]
    fn speech_stands_out_of_the_noise_afterwards() {
        let sound = speech();
        let noisy: Vec<f32> = sound.iter().zip(noise(sound.len(), 0.1)).map(|(s, n)| s + n).collect();
        let (before, after) = (si_snr(&sound, &noisy), si_snr(&sound, &denoised([&noisy])));
        assert!(after > before + 3.0, "{before:.1} dB before, {after:.1} dB after");
    }
}
