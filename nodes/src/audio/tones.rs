//! The two tones that tell a user what the machine is doing.

use std::sync::Arc;

use graph_core::{
    Build, BuildError, Ctx, Fault, Flow, In, Kind, Nanos, NoSample, Node, NodeError, Out, Ports, Sample,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::types::{Audio, Rate, Reply, Transcript};

/// Samples made side by side, so that the compiler can use vectors.
const LANES: usize = 8;

/// A sweep at constant speed from one frequency to another, with linear fades at both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tone {
    /// Frequency at the start.
    pub from_hz: f64,
    /// Frequency at the end.
    pub to_hz: f64,
    /// From start to end, fades included.
    pub length: Nanos,
    /// Length of each fade.
    pub fade: Nanos,
    /// Highest amplitude; full scale is 1.0.
    pub level: f32,
}

impl Tone {
    /// Rising: "I heard you and think about it".
    pub const QUERY: Tone = Tone {
        from_hz: 400.0,
        to_hz: 800.0,
        length: Nanos::from_millis(200),
        fade: Nanos::from_millis(5),
        level: 0.3,
    };

    /// Rising, an octave lower: "I am not sure that I understood".
    pub const UNCERTAIN: Tone = Tone { from_hz: 200.0, to_hz: 400.0, ..Tone::QUERY };

    /// The tone at a rate.
    pub fn audio(&self, rate: Rate) -> Audio {
        let mut samples = vec![0.0; samples(self.length, rate)];
        self.render(rate, &mut samples);
        Audio { rate, samples: Arc::from(samples) }
    }

    /// Writes the tone; `out` is all of it, from fade to fade.
    ///
    /// The phase is a 64-bit fraction of a turn that wraps by itself, and its second difference is constant, so a
    /// sample costs two additions and a polynomial.
    pub fn render(&self, rate: Rate, out: &mut [f32]) {
        let fs = f64::from(rate.0);
        let half_sweep = (self.to_hz - self.from_hz) / (2.0 * self.length.0 as f64 / 1e9);
        let phase_at = |n: f64| self.from_hz * n / fs + half_sweep * (n / fs).powi(2);
        let lanes = LANES as f64;
        let mut phases: [u64; LANES] = std::array::from_fn(|lane| turns(phase_at(lane as f64)));
        let mut steps: [u64; LANES] =
            std::array::from_fn(|lane| turns(phase_at(lane as f64 + lanes) - phase_at(lane as f64)));
        let step_up = turns(2.0 * half_sweep * (lanes / fs).powi(2));
        for chunk in out.chunks_mut(LANES) {
            let block = phases.map(|phase| self.level * sine(phase));
            chunk.copy_from_slice(&block[..chunk.len()]);
            for (phase, step) in phases.iter_mut().zip(&mut steps) {
                *phase = phase.wrapping_add(*step);
                *step = step.wrapping_add(step_up);
            }
        }
        self.fade(rate, out);
    }

    fn fade(&self, rate: Rate, out: &mut [f32]) {
        let length = samples(self.fade, rate).min(out.len() / 2);
        let end = out.len();
        for n in 0..length {
            let gain = n as f32 / length as f32;
            out[n] *= gain;
            out[end - 1 - n] *= gain;
        }
    }
}

fn samples(time: Nanos, rate: Rate) -> usize {
    (u128::from(time.0) * u128::from(rate.0) / 1_000_000_000) as usize
}

/// The fraction of a turn in units of 2^-64.
fn turns(phase: f64) -> u64 {
    (phase.rem_euclid(1.0) * 2.0_f64.powi(64)) as u64
}

/// sin(2 pi x) of x turns, to 4e-7: x (1 - 4x^2), which has its zeros, times a polynomial through the Chebyshev nodes.
#[inline]
fn sine(phase: u64) -> f32 {
    let x = (phase >> 32) as i32 as f32 * 2.0_f32.powi(-32);
    let u = x * x;
    let q = 6.283_183_8 + u * (-16.208_652 + u * (16.759_462 + u * (-9.515_609 + u * 3.017_820_5)));
    x * (1.0 - 4.0 * u) * q
}

/// Which tones `audio/tones` plays.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TonesParams {
    /// The rate of the tones in Hz.
    pub rate: u32,
    /// Whether the query tone plays when an utterance has been understood as words.
    pub query: bool,
    /// Whether the uncertain tone plays when a reply is uncertain.
    pub uncertain: bool,
}

impl Default for TonesParams {
    fn default() -> Self {
        TonesParams { rate: 48_000, query: true, uncertain: true }
    }
}

/// Plays the query tone at a final transcript, while the answer is made, and the uncertain tone at a reply that says
/// so. Each is one packet of 200 ms.
pub struct Tones {
    query: Option<Audio>,
    uncertain: Option<Audio>,
}

/// The ports of [`Tones`].
pub struct TonesPorts {
    transcript: In<Transcript>,
    reply: In<Reply>,
    out: Out<Audio>,
}

/// The rate that a parameter asks for.
fn rate(params: &TonesParams) -> Result<Rate, BuildError> {
    if (1_000..=384_000).contains(&params.rate) {
        Ok(Rate(params.rate))
    } else {
        Err(BuildError::new(format!("a tone at {} Hz: choose a rate of 1000 to 384000", params.rate)))
    }
}

impl Kind for Tones {
    const KIND: &'static str = "audio/tones";
    const ABOUT: &'static str =
        "The query tone while the machine thinks, the uncertain tone when it is not sure.";
    type Params = TonesParams;

    fn check(params: &TonesParams) -> Vec<Fault> {
        Fault::of("rate", rate(params)).into_iter().collect()
    }

    fn new(params: &TonesParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        let rate = rate(params)?;
        let audio = |tone: Tone| tone.audio(rate);
        Ok(Tones {
            query: params.query.then(|| audio(Tone::QUERY)),
            uncertain: params.uncertain.then(|| audio(Tone::UNCERTAIN)),
        })
    }

    fn sample(given: Option<TonesParams>, sample: &mut Sample<'_>) -> Result<TonesParams, NoSample> {
        sample.feed("transcript", Transcript { text: "Lights on.".into(), stable_words: 2, is_final: true });
        sample.feed("reply", Reply { markup: "I am not sure.".into(), uncertain: true });
        Ok(given.unwrap_or_default())
    }
}

impl Node for Tones {
    type Ports = TonesPorts;

    fn ports(ports: &mut Ports<'_>) -> TonesPorts {
        TonesPorts {
            transcript: ports.optional_input("transcript", "What was said; final ones play the query tone."),
            reply: ports.optional_input("reply", "The answer; uncertain ones play the uncertain tone."),
            out: ports.output("out", "A whole tone."),
        }
    }

    fn step(&mut self, ports: &mut TonesPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        let (cause, tone) = if let Some(said) = ports.transcript.take(ctx) {
            let heard = said.payload.is_final && !said.payload.text.is_empty();
            (said.cause, self.query.as_ref().filter(|_| heard))
        } else if let Some(reply) = ports.reply.take(ctx) {
            (reply.cause, self.uncertain.as_ref().filter(|_| reply.payload.uncertain))
        } else {
            return Ok(Flow::Idle);
        };
        if let Some(tone) = tone {
            ports.out.emit_as(ctx, cause, Nanos::ZERO, tone.clone());
        }
        Ok(Flow::Idle)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    /// The tone by its definition, in f64.
    fn defined(tone: &Tone, rate: Rate) -> Vec<f64> {
        let (fs, length) = (f64::from(rate.0), tone.length.0 as f64 / 1e9);
        let count = (length * fs).floor() as usize;
        let fade = (tone.fade.0 as f64 / 1e9 * fs).floor();
        (0..count)
            .map(|n| {
                let t = n as f64 / fs;
                let phase = tone.from_hz * t + (tone.to_hz - tone.from_hz) * t * t / (2.0 * length);
                let edge = n.min(count - 1 - n) as f64;
                f64::from(tone.level) * (TAU * phase).sin() * (edge / fade).min(1.0)
            })
            .collect()
    }

    #[test]
    fn the_tones_are_what_they_are_defined_to_be_at_every_rate() {
        for tone in [Tone::QUERY, Tone::UNCERTAIN, Tone { from_hz: 900.0, to_hz: 90.0, ..Tone::QUERY }] {
            for rate in [8_000, 16_000, 22_050, 44_100, 48_000, 192_000].map(Rate) {
                let audio = tone.audio(rate);
                let wanted = defined(&tone, rate);
                assert_eq!(audio.samples.len(), wanted.len());
                for (n, (got, wanted)) in audio.samples.iter().zip(wanted).enumerate() {
                    assert!((f64::from(*got) - wanted).abs() < 4e-7, "{rate:?}, sample {n}: {got} {wanted}");
                }
            }
        }
    }

    #[test]
    fn a_tone_begins_and_ends_in_silence() {
        let audio = Tone::QUERY.audio(Rate::HZ_48000);
        assert_eq!(audio.samples.len(), 9_600);
        assert_eq!((audio.samples[0], audio.samples[9_599]), (0.0, 0.0));
        assert!(audio.samples.iter().fold(0.0_f32, |peak, s| peak.max(s.abs())) > 0.299);
    }

    #[test]
    fn a_tone_shorter_than_its_fades_is_all_fade() {
        Tone { length: Nanos(100_000), ..Tone::QUERY }.audio(Rate::HZ_48000);
        Tone::QUERY.render(Rate::HZ_48000, &mut []);
        Tone::QUERY.render(Rate::HZ_48000, &mut [0.0; 3]);
    }

    fn said_words(text: &str, is_final: bool) -> Transcript {
        Transcript { text: text.into(), stable_words: text.split_whitespace().count(), is_final }
    }

    #[test]
    fn a_final_transcript_and_an_uncertain_reply_play_their_tones_and_nothing_else_does() {
        let mut alone = graph_core::testing::node::<Tones>(TonesParams::default()).unwrap();
        let mut play = |said: Option<(&str, bool)>, uncertain: Option<bool>| {
            if let Some((text, is_final)) = said {
                alone.feed("transcript", said_words(text, is_final));
            }
            if let Some(uncertain) = uncertain {
                alone.feed("reply", Reply { markup: "Sorry?".into(), uncertain });
            }
            alone.out::<Audio>("out")
        };
        assert_eq!(play(Some(("lights", false)), None), []);
        assert_eq!(play(Some(("", true)), None), []);
        assert_eq!(play(None, Some(false)), []);
        assert_eq!(play(Some(("lights on", true)), None), [Tone::QUERY.audio(Rate::HZ_48000)]);
        assert_eq!(play(None, Some(true)), [Tone::UNCERTAIN.audio(Rate::HZ_48000)]);
    }

    #[test]
    fn tones_can_be_turned_off_and_have_a_rate_that_carries_them() {
        let off = TonesParams { query: false, ..TonesParams::default() };
        let mut alone = graph_core::testing::node::<Tones>(off).unwrap();
        alone.feed("transcript", said_words("lights on", true));
        assert_eq!(alone.out::<Audio>("out"), []);
        let params = TonesParams { rate: 0, ..TonesParams::default() };
        assert_eq!(
            graph_core::testing::node::<Tones>(params).err().unwrap().to_string(),
            "a tone at 0 Hz: choose a rate of 1000 to 384000"
        );
    }
}
