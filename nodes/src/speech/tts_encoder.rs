//! `speech/tts-encoder`: sentences in, latent frames of a Piper voice out.

use std::{path::Path, time::Duration};

use graph_core::{
    AssetRef, Build, BuildError, Cause, Ctx, Flow, In, Kind, Nanos, NoSample, Node, NodeError, Out, Ports,
    Sample,
};
use ort::{session::Session, value::TensorRef};
use schemars::JsonSchema;
use serde::Deserialize;
use thiserror::Error;

use super::{
    onnx_split::LATENT,
    phonemes::{LexiconError, Phonemizer},
    piper::{Voice, VoiceError},
    runtime::{self, RuntimeError},
};
use crate::types::{Latent, Prosody, Spoken, SpokenPart};

/// Why an encoder could not be opened, or a text not encoded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EncoderError {
    /// The library or the model could not be loaded.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The voice's description could not be used.
    #[error(transparent)]
    Voice(#[from] VoiceError),
    /// The dictionary could not be used.
    #[error(transparent)]
    Lexicon(#[from] LexiconError),
    /// The model is not the encoder half of a voice, or ran out of memory.
    #[error("the TTS encoder did not run: {0}")]
    Run(#[from] ort::Error),
    /// The model gave something else than frames.
    #[error(
        "the TTS encoder gave a tensor of {dimensions} dimensions, not channels and frames: it is no Piper voice"
    )]
    Shape {
        /// How many there were.
        dimensions: usize,
    },
}

/// Latent frames of one piece of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Frames {
    /// `channels` rows of `frames` values, row by row.
    pub values: Vec<f32>,
    /// Rows.
    pub channels: usize,
    /// Columns.
    pub frames: usize,
}

/// The encoder half of a Piper voice, from text on.
pub struct Encoder {
    session: Session,
    voice: Voice,
    phonemizer: Phonemizer,
    deterministic: bool,
}

impl Encoder {
    /// Opens the encoder half that [`onnx_split`](super::onnx_split) made of a voice, its description and the
    /// dictionary. With `deterministic`, a text sounds the same each time, and a little flatter.
    ///
    /// # Errors
    /// When a file cannot be loaded or is not what it should be.
    pub fn open(
        library: &Path,
        model: &Path,
        voice: &Path,
        dictionary: &Path,
        threads: usize,
        deterministic: bool,
    ) -> Result<Encoder, EncoderError> {
        let session = runtime::session(library, model, threads)?;
        let voice = Voice::load(voice)?;
        let phonemizer = Phonemizer::load(dictionary)?;
        Ok(Encoder { session, voice, phonemizer, deterministic })
    }

    /// The voice that speaks.
    pub fn voice(&self) -> &Voice {
        &self.voice
    }

    /// Encodes a sentence or a clause at `rate` times the usual speed, in one run of the model; `None` when there is
    /// nothing in it to say.
    ///
    /// # Errors
    /// When the model does not run.
    pub fn encode(&mut self, text: &str, rate: f32) -> Result<Option<Frames>, EncoderError> {
        let phonemes = self.phonemizer.phonemes(text);
        if phonemes.is_empty() {
            return Ok(None);
        }
        let ids = self.voice.ids(&phonemes);
        let scales = self.voice.scales;
        let vary = if self.deterministic { 0.0 } else { 1.0 };
        let outputs = self.session.run(ort::inputs![
            "input" => TensorRef::from_array_view(([1, ids.len()], &ids[..]))?,
            "input_lengths" => TensorRef::from_array_view(([1], &[ids.len() as i64][..]))?,
            "scales" => TensorRef::from_array_view((
                [3],
                &[scales.noise * vary, scales.length / rate, scales.length_noise * vary][..],
            ))?,
        ])?;
        let (shape, values) = outputs[LATENT].try_extract_tensor::<f32>()?;
        let &[_, channels, frames] = &shape[..] else {
            return Err(EncoderError::Shape { dimensions: shape.len() });
        };
        Ok(Some(Frames { values: values.into(), channels: channels as usize, frames: frames as usize }))
    }
}

/// Parameters of `speech/tts-encoder`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TtsEncoderParams {
    /// Whether a text sounds the same each time, and a little flatter.
    pub deterministic: bool,
    /// Threads of a run of the model.
    pub threads: usize,
    /// ONNX Runtime.
    pub library: AssetRef,
    /// Encoder half of a Piper voice.
    pub model: AssetRef,
    /// The voice's description, `.onnx.json`.
    pub voice: AssetRef,
    /// The CMU Pronouncing Dictionary, `cmudict.dict`.
    pub dictionary: AssetRef,
}

impl Default for TtsEncoderParams {
    fn default() -> TtsEncoderParams {
        TtsEncoderParams {
            deterministic: false,
            threads: 1,
            library: runtime::library(),
            model: AssetRef::new("asset:piper-joe-encoder"),
            voice: AssetRef::new("asset:piper-joe-json"),
            dictionary: AssetRef::new("asset:cmudict"),
        }
    }
}

/// What is left to say of an answer.
struct Answer {
    spoken: Spoken,
    /// The part to come.
    next: usize,
    /// Silence that stands before the next text.
    lead: Duration,
    /// Whether the answer's end has been told, and whether there was anything to end.
    ended: bool,
    began: bool,
    cause: Cause,
}

impl Answer {
    fn new(spoken: Spoken, cause: Cause) -> Answer {
        Answer { spoken, next: 0, lead: Duration::ZERO, ended: false, began: false, cause }
    }

    /// Does one run of the model, if there is one left to do; `None` when the answer is over.
    fn advance(
        &mut self,
        mut encode: impl FnMut(&str, Prosody) -> Result<Option<Frames>, EncoderError>,
    ) -> Result<Option<Latent>, EncoderError> {
        while let Some(part) = self.spoken.parts.get(self.next) {
            self.next += 1;
            match part {
                SpokenPart::Break(pause) => self.lead += *pause,
                SpokenPart::Text { text, prosody } => {
                    let Some(frames) = encode(text, *prosody)? else { continue };
                    self.began = true;
                    self.ended = self.next == self.spoken.parts.len();
                    return Ok(Some(Latent {
                        values: frames.values.into(),
                        channels: frames.channels,
                        frames: frames.frames,
                        lead: std::mem::take(&mut self.lead),
                        volume_db: prosody.volume_db,
                        last: self.ended,
                    }));
                }
            }
        }
        // Silence at the end, or an end that no text told of.
        let owed = !self.ended && (self.began || !self.lead.is_zero());
        self.ended = true;
        let lead = std::mem::take(&mut self.lead);
        Ok(owed.then(|| Latent {
            values: [].into(),
            channels: 0,
            frames: 0,
            lead,
            volume_db: 0.0,
            last: true,
        }))
    }
}

/// The node. A step is one run of the model.
pub struct TtsEncoder {
    encoder: Encoder,
    hand: Option<Answer>,
}

impl Kind for TtsEncoder {
    const KIND: &'static str = "speech/tts-encoder";
    const ABOUT: &'static str =
        "Turns sentences into latent frames of a Piper voice, a packet a sentence or clause.";
    const HEAVY: bool = true;
    type Params = TtsEncoderParams;

    fn new(params: &TtsEncoderParams, build: &mut Build<'_>) -> Result<TtsEncoder, BuildError> {
        let mut encoder = Encoder::open(
            &build.asset(&params.library)?,
            &build.asset(&params.model)?,
            &build.asset(&params.voice)?,
            &build.asset(&params.dictionary)?,
            params.threads.max(1),
            params.deterministic,
        )?;
        // The first run of a model is slow, and another model fails here, not in the run.
        encoder.encode("One, two, three.", 1.0)?;
        Ok(TtsEncoder { encoder, hand: None })
    }

    fn assets(params: &TtsEncoderParams) -> Vec<AssetRef> {
        [&params.library, &params.model, &params.voice, &params.dictionary].map(AssetRef::clone).into()
    }

    fn sample(
        given: Option<TtsEncoderParams>,
        sample: &mut Sample<'_>,
    ) -> Result<TtsEncoderParams, NoSample> {
        let text = "I have set a timer for ten minutes.".into();
        let parts = [SpokenPart::Text { text, prosody: Prosody::default() }];
        sample.feed("in", Spoken { parts: parts.into() });
        Ok(given.unwrap_or_default())
    }
}

/// The ports of [`TtsEncoder`].
pub struct TtsEncoderPorts {
    input: In<Spoken>,
    out: Out<Latent>,
}

impl Node for TtsEncoder {
    type Ports = TtsEncoderPorts;

    fn ports(ports: &mut Ports<'_>) -> TtsEncoderPorts {
        TtsEncoderPorts {
            input: ports.input("in", "Answers ready for synthesis."),
            out: ports.many("out", "Latent frames, one packet a sentence or clause.", 1),
        }
    }

    fn step(&mut self, ports: &mut TtsEncoderPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if self.hand.as_ref().is_some_and(|answer| ctx.is_cancelled(answer.cause.turn)) {
            self.hand = None;
        }
        if self.hand.is_none()
            && let Some(taken) = ports.input.take(ctx)
        {
            self.hand = Some(Answer::new(taken.payload, taken.cause));
        }
        let Some(answer) = &mut self.hand else { return Ok(Flow::Idle) };
        let cause = answer.cause;
        match answer.advance(|text, prosody| self.encoder.encode(text, prosody.rate)) {
            Ok(Some(latent)) => {
                if latent.last {
                    self.hand = None;
                }
                ports.out.emit_as(ctx, cause, Nanos::ZERO, latent);
            }
            Ok(None) => self.hand = None,
            Err(error) => {
                self.hand = None;
                return Err(error.into());
            }
        }
        Ok(if self.hand.is_some() || !ports.input.is_empty() { Flow::Again } else { Flow::Idle })
    }

    fn finish(&mut self, ports: &mut TtsEncoderPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        match self.step(ports, ctx)? {
            Flow::Again => Ok(Flow::Again),
            Flow::Idle | Flow::Busy | Flow::Done => Ok(Flow::Done),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use graph_core::testing::{self, Alone};

    use super::*;
    use crate::speech::fixtures::asset_ref;

    fn params() -> TtsEncoderParams {
        TtsEncoderParams {
            deterministic: true,
            library: asset_ref("onnxruntime"),
            model: asset_ref("piper-joe-encoder"),
            voice: asset_ref("piper-joe-json"),
            dictionary: asset_ref("cmudict"),
            ..TtsEncoderParams::default()
        }
    }

    fn encoder() -> Alone {
        testing::node::<TtsEncoder>(params()).unwrap()
    }

    fn text(text: &str, rate: f32) -> SpokenPart {
        SpokenPart::Text {
            text: text.into(),
            prosody: Prosody { rate, volume_db: -3.0, ..Prosody::default() },
        }
    }

    fn spoken(parts: impl Into<Arc<[SpokenPart]>>) -> Spoken {
        Spoken { parts: parts.into() }
    }

    /// Runs an answer with one frame a text; texts without a letter are silent.
    fn latents(parts: &[SpokenPart]) -> Vec<(usize, u64, bool)> {
        let mut answer = Answer::new(spoken(parts), Cause::from_origin(graph_core::Stamp(0)));
        let mut encode = |text: &str, _| {
            let audible = text.contains(char::is_alphabetic);
            Ok(audible.then(|| Frames { values: vec![0.0], channels: 1, frames: 1 }))
        };
        std::iter::from_fn(|| answer.advance(&mut encode).unwrap())
            .map(|latent| (latent.frames, latent.lead.as_millis() as u64, latent.last))
            .collect()
    }

    #[test]
    fn silences_go_before_the_text_that_follows_and_the_last_packet_says_so() {
        let pause = |ms| SpokenPart::Break(Duration::from_millis(ms));
        let a = || text("a", 1.0);
        let silent = || text("?", 1.0);
        assert_eq!(latents(&[pause(100), pause(50), a(), a()]), [(1, 150, false), (1, 0, true)]);
        assert_eq!(latents(&[a(), pause(200)]), [(1, 0, false), (0, 200, true)]);
        assert_eq!(latents(&[a(), silent()]), [(1, 0, false), (0, 0, true)]);
        assert_eq!(latents(&[pause(300)]), [(0, 300, true)]);
        assert_eq!(latents(&[silent()]), []);
        assert_eq!(latents(&[]), []);
    }

    #[test]
    fn each_sentence_is_a_packet_due_to_the_answer() {
        let mut encoder = encoder();
        let turn = encoder.open_turn();
        let cause = Cause::from_origin(encoder.now()).in_turn(turn);
        encoder.feed_as("in", cause, spoken([text("The light is on.", 1.0), text("It is green.", 1.0)]));
        let packets = encoder.packets::<Latent>("out");
        assert_eq!(packets.iter().map(|packet| packet.payload.last).collect::<Vec<_>>(), [false, true]);
        for packet in packets {
            let latent = packet.payload;
            assert_eq!((latent.channels, latent.values.len()), (192, 192 * latent.frames));
            assert_eq!((packet.header.turn, latent.volume_db), (turn, -3.0));
            assert!((40..200).contains(&latent.frames), "{} frames", latent.frames);
        }
    }

    #[test]
    fn a_text_sounds_the_same_each_time_and_slower_when_asked_to() {
        let mut encoder = encoder();
        for rate in [1.0, 1.0, 0.5] {
            encoder.feed("in", spoken([text("The kitchen light is on.", rate)]));
        }
        let latents = encoder.out::<Latent>("out");
        assert_eq!(latents[0], latents[1]);
        let stretched = latents[2].frames as f32 / latents[0].frames as f32;
        assert!((1.7..2.3).contains(&stretched), "{stretched} times as long");
    }

    #[test]
    fn a_cancelled_answer_is_not_encoded() {
        let mut encoder = encoder();
        let turn = encoder.open_turn();
        encoder.cancel(turn);
        let cause = Cause::from_origin(encoder.now()).in_turn(turn);
        encoder.feed_as("in", cause, spoken([text("The light is on.", 1.0)]));
        assert_eq!(encoder.out::<Latent>("out"), []);
    }

    #[test]
    fn other_files_are_refused_when_the_node_is_made() {
        for (params, expected) in [
            (
                TtsEncoderParams { model: asset_ref("silero-vad"), ..params() },
                "the TTS encoder did not run: ",
            ),
            (
                TtsEncoderParams { voice: asset_ref("cmudict"), ..params() },
                "not a Piper voice's description: ",
            ),
            (
                TtsEncoderParams { dictionary: asset_ref("piper-joe-json"), ..params() },
                "line 1 of the dictionary is ",
            ),
        ] {
            let error = testing::node::<TtsEncoder>(params).err().unwrap().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
