//! `speech/vad`: sound in, utterances out.

use graph_core::{
    AssetRef, Build, BuildError, Cause, Ctx, Flow, In, Kind, Nanos, NoSample, Node, NodeError, Out, Ports,
    Sample, Stamp, Turn,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    corpus,
    endpoint::{CHUNK, Endpointing, Segmenter},
    runtime,
    silero::Silero,
};
use crate::types::{Audio, Rate, Speech};

/// Parameters of `speech/vad`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VadParams {
    /// Probability from which a chunk of 32 ms is speech, 0.0 to 1.0.
    pub threshold: f32,
    /// Probability below which silence begins; not above the threshold.
    pub silence_threshold: f32,
    /// Speech that begins an utterance; a shorter noise does not.
    pub min_speech: Nanos,
    /// Sound from before the utterance that goes with it.
    pub pre_roll: Nanos,
    /// Silence after which the recogniser may work ahead.
    pub pause: Nanos,
    /// Silence that ends an utterance; told as held.
    pub hang_over: Nanos,
    /// The longest utterance. Well before it, shorter and shorter silences end an utterance.
    pub max_utterance: Nanos,
    /// Whether a new utterance cancels the turn of the one before: its answer stops.
    pub barge_in: bool,
    /// ONNX Runtime.
    pub library: AssetRef,
    /// Silero VAD, version 5 or 6.
    pub model: AssetRef,
}

impl Default for VadParams {
    fn default() -> VadParams {
        let endpointing = Endpointing::default();
        VadParams {
            threshold: endpointing.threshold,
            silence_threshold: endpointing.silence_threshold,
            min_speech: endpointing.min_speech.into(),
            pre_roll: endpointing.pre_roll.into(),
            pause: endpointing.pause.into(),
            hang_over: endpointing.hang_over.into(),
            max_utterance: endpointing.max_utterance.into(),
            barge_in: false,
            library: runtime::library(),
            model: AssetRef::new("asset:silero-vad"),
        }
    }
}

impl VadParams {
    fn endpointing(&self) -> Result<Endpointing, BuildError> {
        let in_order = 0.0 <= self.silence_threshold
            && self.silence_threshold <= self.threshold
            && self.threshold <= 1.0;
        if !in_order {
            return Err(BuildError::new(format!(
                "silence_threshold and threshold must rise from 0.0 to 1.0, they are {} and {}",
                self.silence_threshold, self.threshold
            )));
        }
        let shortest = self.pre_roll + self.min_speech + self.hang_over;
        if self.max_utterance <= shortest {
            return Err(BuildError::new(format!(
                "max_utterance is {}, it must be longer than pre_roll, min_speech and hang_over together: {shortest}",
                self.max_utterance
            )));
        }
        Ok(Endpointing {
            threshold: self.threshold,
            silence_threshold: self.silence_threshold,
            min_speech: self.min_speech.into(),
            pre_roll: self.pre_roll.into(),
            pause: self.pause.into(),
            hang_over: self.hang_over.into(),
            max_utterance: self.max_utterance.into(),
        })
    }
}

/// The node.
pub struct Vad {
    silero: Silero,
    segmenter: Segmenter<Cause>,
    /// Sound in hand, and how much of it has been heard.
    hand: Option<(Audio, Cause, usize)>,
    turn: Turn,
    barge_in: bool,
}

impl Kind for Vad {
    const KIND: &'static str = "speech/vad";
    const ABOUT: &'static str = "Finds the utterances in sound at 16 kHz; each opens a turn.";
    type Params = VadParams;

    fn new(params: &VadParams, build: &mut Build<'_>) -> Result<Vad, BuildError> {
        let segmenter = Segmenter::new(&params.endpointing()?);
        let mut silero = Silero::open(&build.asset(&params.library)?, &build.asset(&params.model)?)?;
        // The first run of a model is slow, and a model of another make fails here, not in the run.
        silero.probability(&[0.0; CHUNK])?;
        silero.reset();
        Ok(Vad { silero, segmenter, hand: None, turn: Turn::NONE, barge_in: params.barge_in })
    }

    fn assets(params: &VadParams) -> Vec<AssetRef> {
        vec![params.library.clone(), params.model.clone()]
    }

    fn sample(given: Option<VadParams>, sample: &mut Sample<'_>) -> Result<VadParams, NoSample> {
        for frame in corpus::sample(sample)?.chunks_exact(160) {
            sample.feed("in", Audio { rate: Rate::HZ_16000, samples: frame.into() });
        }
        sample.every(Nanos::from_millis(10));
        Ok(given.unwrap_or_default())
    }
}

/// The ports of [`Vad`].
pub struct VadPorts {
    input: In<Audio>,
    out: Out<Speech>,
}

impl Node for Vad {
    type Ports = VadPorts;

    fn ports(ports: &mut Ports<'_>) -> VadPorts {
        VadPorts {
            input: ports.input("in", "Mono sound at 16 kHz, in pieces of any length."),
            out: ports.many("out", "What is known of speech, chunk by chunk of 32 ms.", 2),
        }
    }

    fn step(&mut self, ports: &mut VadPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if self.hand.is_none()
            && let Some(taken) = ports.input.take(ctx)
        {
            if taken.payload.rate != Rate::HZ_16000 {
                return Err(NodeError::new(format!(
                    "speech/vad takes sound at 16,000 Hz, this is {} Hz: put audio/resample before it",
                    taken.payload.rate.0
                )));
            }
            self.hand = Some((taken.payload, taken.cause, 0));
        }
        let Some((audio, cause, heard)) = &mut self.hand else { return Ok(Flow::Idle) };
        let mut emitter = Emitter { out: &mut ports.out, turn: &mut self.turn, barge_in: self.barge_in };
        let (silero, cause) = (&mut self.silero, *cause);
        *heard += self.segmenter.push(
            &audio.samples[*heard..],
            cause,
            |chunk| silero.probability(chunk),
            |due, event| emitter.emit(ctx, cause.taken, due, event),
        )?;
        if *heard < audio.samples.len() {
            return Ok(Flow::Again);
        }
        self.hand = None;
        Ok(Flow::Idle)
    }

    fn finish(&mut self, ports: &mut VadPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        let mut emitter = Emitter { out: &mut ports.out, turn: &mut self.turn, barge_in: self.barge_in };
        let now = ctx.now();
        self.segmenter.finish(|due, event| emitter.emit(ctx, now, due, event));
        Ok(Flow::Done)
    }
}

struct Emitter<'a> {
    out: &'a mut Out<Speech>,
    turn: &'a mut Turn,
    barge_in: bool,
}

impl Emitter<'_> {
    /// Emits what was told at `now`; an end is due to the last speech, and what came after it was waited on purpose.
    fn emit(&mut self, ctx: &mut Ctx<'_>, now: Stamp, due: Cause, event: Speech) {
        if event == Speech::Start {
            if self.barge_in {
                ctx.cancel(*self.turn);
            }
            *self.turn = ctx.open_turn();
        }
        let held = now.since(due.taken).unwrap_or(Nanos::ZERO);
        self.out.emit_as(ctx, due.in_turn(*self.turn), held, event);
    }
}

#[cfg(test)]
mod tests {
    use graph_core::{
        Packet,
        testing::{self, Alone},
    };

    use super::*;
    use crate::speech::{
        corpus,
        fixtures::{asset, asset_ref},
    };

    fn params() -> VadParams {
        VadParams {
            library: asset_ref("onnxruntime"),
            model: asset_ref("silero-vad"),
            ..VadParams::default()
        }
    }

    /// Somebody says "ten of clubs", then is silent for a second.
    fn speech() -> Vec<f32> {
        let mut samples = corpus::cards(&asset("speech-cards")).unwrap().swap_remove(0).samples;
        samples.extend([0.0; 16_000]);
        samples
    }

    fn audio(samples: &[f32]) -> Audio {
        Audio { rate: Rate::HZ_16000, samples: samples.into() }
    }

    /// Plays sound in real time, in pieces of 10 ms.
    fn play(vad: &mut Alone, samples: &[f32]) -> Vec<Packet<Speech>> {
        for piece in samples.chunks(160) {
            vad.advance(Nanos::from_millis(10));
            vad.feed("in", audio(piece));
        }
        vad.packets("out")
    }

    #[test]
    fn an_utterance_is_a_turn_and_its_end_is_due_to_its_last_speech() {
        let mut vad = testing::node::<Vad>(params()).unwrap();
        let packets = play(&mut vad, &[speech(), speech()].concat());
        let ends: Vec<_> = packets.iter().filter(|packet| packet.payload == Speech::End).collect();
        assert_eq!((packets[0].payload.clone(), ends.len()), (Speech::Start, 2));
        for (n, end) in ends.into_iter().enumerate() {
            let end = end.header;
            assert_eq!(end.turn.number(), Some(n as u64 + 1));
            let held = end.held.as_millis_f64();
            assert!((470.0..=490.0).contains(&held), "held {held} ms");
            assert_eq!(end.began + end.held, end.sent, "nothing but the hang-over lies between");
            assert_eq!(end.origin, end.began);
        }
    }

    #[test]
    fn a_long_piece_is_heard_like_many_short_ones() {
        let payloads =
            |packets: Vec<Packet<Speech>>| packets.into_iter().map(|p| p.payload).collect::<Vec<_>>();
        let mut short = testing::node::<Vad>(params()).unwrap();
        let mut long = testing::node::<Vad>(params()).unwrap();
        long.feed("in", audio(&speech()));
        assert_eq!(payloads(long.packets("out")), payloads(play(&mut short, &speech())));
    }

    #[test]
    fn speech_cut_at_the_end_of_the_stream_still_ends() {
        let mut vad = testing::node::<Vad>(params()).unwrap();
        play(&mut vad, &speech()[..12_000]);
        vad.end("in");
        let last = vad.packets::<Speech>("out").pop().unwrap();
        assert_eq!((last.payload, last.header.turn.number()), (Speech::End, Some(1)));
        assert!(vad.has_ended());
    }

    #[test]
    fn a_new_utterance_cancels_the_turn_before_when_asked_to() {
        for (barge_in, failures) in [(true, 0), (false, 1)] {
            let mut vad = testing::node::<Vad>(VadParams { barge_in, ..params() }).unwrap();
            let packets = play(&mut vad, &[speech(), speech()].concat());
            // What belongs to a cancelled turn is passed over: this would fail otherwise.
            let cause = Cause::from_origin(vad.now()).in_turn(packets[0].header.turn);
            vad.feed_as("in", cause, Audio { rate: Rate(8_000), samples: [0.0; 80].into() });
            assert_eq!(vad.failures().len(), failures);
        }
    }

    #[test]
    fn another_rate_is_refused_with_a_way_out() {
        let mut vad = testing::node::<Vad>(params()).unwrap();
        vad.feed("in", Audio { rate: Rate::HZ_48000, samples: [0.0; 480].into() });
        let failure = format!("{:?}", vad.failures());
        assert!(failure.contains("48000 Hz: put audio/resample before it"), "{failure}");
    }

    #[test]
    fn parameters_that_contradict_each_other_are_refused() {
        for (params, expected) in [
            (VadParams { silence_threshold: 0.6, ..params() }, "silence_threshold and threshold must rise"),
            (VadParams { threshold: f32::NAN, ..params() }, "silence_threshold and threshold must rise"),
            (VadParams { max_utterance: Nanos::from_millis(500), ..params() }, "max_utterance is 500 ms"),
            (VadParams { model: asset_ref("minilm"), ..params() }, "the VAD model did not run"),
        ] {
            let error = testing::node::<Vad>(params).err().unwrap().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
