//! `speech/tts-decoder`: latent frames of a Piper voice in, sound out, chunk by chunk.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use graph_core::{
    AssetRef, Build, BuildError, Cause, Ctx, Flow, In, Kind, Nanos, NoSample, Node, NodeError, Out, Ports,
    Sample,
};
use ort::{session::Session, value::TensorRef};
use schemars::JsonSchema;
use serde::Deserialize;
use thiserror::Error;

use super::{
    onnx_split::{FROM, LATENT, SOUND, TO},
    piper::Voice,
    runtime::{self, RuntimeError},
};
use crate::types::{Audio, Latent, Rate};

/// Frames on both sides that the vocoder looks at to make sound of a frame.
const VOCODER_CONTEXT: usize = 11;
/// Frames beyond those that the flow looks at to make a frame for the vocoder. It looks further, but what it sees there
/// changes no sample by half a step of 16 bits.
const FLOW_CONTEXT: usize = 20;
/// The longest silence that comes as one chunk.
const SILENCE: Duration = Duration::from_millis(250);

/// Why a decoder could not be opened, or frames not decoded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecoderError {
    /// The library or the model could not be loaded.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The model is not the decoder half of a voice, or ran out of memory.
    #[error("the TTS decoder did not run: {0}")]
    Run(#[from] ort::Error),
    /// The model has not the input of a decoder half.
    #[error("{} is not the decoder half of a Piper voice: it takes no `latent` with a fixed number of channels", .model.display())]
    NotADecoder {
        /// The model.
        model: PathBuf,
    },
    /// The frames come from another voice.
    #[error(
        "the TTS decoder takes {expected} channels, these frames have {found}: give the halves of one voice"
    )]
    Channels {
        /// What the voice has.
        expected: usize,
        /// What came.
        found: usize,
    },
    /// The model gave less sound than frames.
    #[error("the TTS decoder gave {samples} samples for {frames} frames: it is no Piper voice")]
    Length {
        /// What came out.
        samples: usize,
        /// What went in.
        frames: usize,
    },
}

/// How the sound of a piece is cut, in frames of 256 samples (11.6 ms at 22,050 Hz).
///
/// A small first chunk is ready early. Each chunk costs its context again, so the following ones double up to the
/// longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Frames of a piece's first chunk.
    pub first: usize,
    /// Frames of the longest chunk.
    pub longest: usize,
}

impl Default for Chunks {
    fn default() -> Chunks {
        Chunks { first: 8, longest: 64 }
    }
}

/// The decoder half of a Piper voice, resumable: a chunk a call.
pub struct Decoder {
    session: Session,
    channels: usize,
    samples_per_frame: usize,
    chunks: Chunks,
    rate: Rate,
    piece: Option<Piece>,
    window: Vec<f32>,
}

/// A piece that is being decoded.
struct Piece {
    latent: Latent,
    /// Samples of silence still to come before the first frame.
    silence: usize,
    /// Frames that became sound.
    at: usize,
    /// Frames of the chunk to come.
    next: usize,
    gain: f32,
}

impl Decoder {
    /// Opens the decoder half that [`onnx_split`](super::onnx_split) made of a voice whose sound has `rate`.
    ///
    /// # Errors
    /// When a file cannot be loaded or is not what it should be.
    pub fn open(
        library: &Path,
        model: &Path,
        rate: Rate,
        chunks: Chunks,
        threads: usize,
    ) -> Result<Decoder, DecoderError> {
        let session = runtime::session(library, model, threads)?;
        let chunks = Chunks { first: chunks.first.max(1), longest: chunks.longest.max(chunks.first).max(1) };
        let channels = channels(&session).ok_or_else(|| DecoderError::NotADecoder { model: model.into() })?;
        let mut decoder = Decoder {
            session,
            channels,
            samples_per_frame: 0,
            chunks,
            rate,
            piece: None,
            window: Vec::new(),
        };
        // The first run of a model is slow; it also tells how long a frame is.
        let frames = chunks.first + 2 * (VOCODER_CONTEXT + FLOW_CONTEXT);
        decoder.window = vec![0.0; channels * frames];
        decoder.samples_per_frame = decoder.run(frames, 0, 1)?.len();
        Ok(decoder)
    }

    /// Begins a piece; what was being decoded is given up.
    ///
    /// # Errors
    /// When the frames are those of another voice.
    pub fn begin(&mut self, latent: Latent) -> Result<(), DecoderError> {
        self.piece = None;
        if latent.frames > 0 && latent.channels != self.channels {
            return Err(DecoderError::Channels { expected: self.channels, found: latent.channels });
        }
        let silence = (latent.lead.as_secs_f64() * f64::from(self.rate.0)).round() as usize;
        let gain = 10_f32.powf(latent.volume_db / 20.0);
        self.piece = Some(Piece { latent, silence, at: 0, next: self.chunks.first, gain });
        Ok(())
    }

    /// The next chunk of the piece: first its silence, then its sound. `None` when the piece is over.
    ///
    /// # Errors
    /// When the model does not run; the piece is given up.
    pub fn next_chunk(&mut self) -> Result<Option<Arc<[f32]>>, DecoderError> {
        let Some(mut piece) = self.piece.take() else { return Ok(None) };
        if piece.silence > 0 {
            let longest = (SILENCE.as_secs_f64() * f64::from(self.rate.0)) as usize;
            let len = piece.silence.min(longest);
            piece.silence -= len;
            self.piece = Some(piece);
            return Ok(Some(vec![0.0; len].into()));
        }
        let all = piece.latent.frames;
        if piece.at >= all {
            return Ok(None);
        }
        let left = all - piece.at;
        // A short rest is not worth a run of its own.
        let len = if left <= piece.next + piece.next / 2 { left } else { piece.next };
        let sound = self.decode(&piece.latent, piece.at, piece.at + len)?;
        let sound: Arc<[f32]> =
            sound.into_iter().map(|sample| (sample * piece.gain).clamp(-1.0, 1.0)).collect();
        piece.at += len;
        piece.next = (2 * piece.next).min(self.chunks.longest);
        self.piece = Some(piece);
        Ok(Some(sound))
    }

    /// Whether there may be another chunk.
    pub fn is_busy(&self) -> bool {
        self.piece.as_ref().is_some_and(|piece| piece.silence > 0 || piece.at < piece.latent.frames)
    }

    /// Gives up the piece.
    pub fn abandon(&mut self) {
        self.piece = None;
    }

    /// The sound of the frames `start..end`, decoded with what lies around them.
    fn decode(&mut self, latent: &Latent, start: usize, end: usize) -> Result<Vec<f32>, DecoderError> {
        let around = |context: usize, start: usize, end: usize| {
            (start.saturating_sub(context), (end + context).min(latent.frames))
        };
        let (kept_start, kept_end) = around(VOCODER_CONTEXT, start, end);
        let (window_start, window_end) = around(FLOW_CONTEXT, kept_start, kept_end);
        self.window.clear();
        for row in latent.values.chunks_exact(latent.frames) {
            self.window.extend_from_slice(&row[window_start..window_end]);
        }
        let frame = self.samples_per_frame;
        let frames = window_end - window_start;
        let sound = self.run(frames, kept_start - window_start, kept_end - window_start)?;
        let skip = (start - kept_start) * frame;
        let sound = sound.get(skip..skip + (end - start) * frame);
        let samples = sound.map_or(0, <[f32]>::len);
        sound.map(<[f32]>::to_vec).ok_or(DecoderError::Length { samples, frames: end - start })
    }

    /// Runs the model on the window.
    fn run(&mut self, frames: usize, from: usize, to: usize) -> Result<Vec<f32>, DecoderError> {
        let index = |at: usize| [at as i64];
        let outputs = self.session.run(ort::inputs![
            LATENT => TensorRef::from_array_view(([1, self.channels, frames], &self.window[..]))?,
            FROM => TensorRef::from_array_view(([1], &index(from)[..]))?,
            TO => TensorRef::from_array_view(([1], &index(to)[..]))?,
        ])?;
        let (_, sound) = outputs[SOUND].try_extract_tensor::<f32>()?;
        Ok(sound.to_vec())
    }
}

/// How many channels the model's latent has.
fn channels(session: &Session) -> Option<usize> {
    let latent = session.inputs().iter().find(|input| input.name() == LATENT)?;
    match latent.dtype().tensor_shape()?[..] {
        [_, channels, _] => usize::try_from(channels).ok(),
        _ => None,
    }
}

/// Parameters of `speech/tts-decoder`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TtsDecoderParams {
    /// Frames of 256 samples (11.6 ms at 22,050 Hz) in the first chunk of a piece; few are ready early.
    pub first_frames: usize,
    /// Frames in the longest chunk; many cost less in all.
    pub longest_frames: usize,
    /// Threads of a run of the model.
    pub threads: usize,
    /// ONNX Runtime.
    pub library: AssetRef,
    /// Decoder half of a Piper voice, the same as the encoder's.
    pub model: AssetRef,
    /// The voice's description, `.onnx.json`.
    pub voice: AssetRef,
}

impl Default for TtsDecoderParams {
    fn default() -> TtsDecoderParams {
        let chunks = Chunks::default();
        TtsDecoderParams {
            first_frames: chunks.first,
            longest_frames: chunks.longest,
            threads: 1,
            library: runtime::library(),
            model: AssetRef::new("asset:piper-joe-decoder"),
            voice: AssetRef::new("asset:piper-joe-json"),
        }
    }
}

/// The node. A step is one chunk.
pub struct TtsDecoder {
    decoder: Decoder,
    cause: Option<Cause>,
}

impl Kind for TtsDecoder {
    const KIND: &'static str = "speech/tts-decoder";
    const ABOUT: &'static str = "Turns latent frames of a Piper voice into sound, chunk by chunk.";
    const HEAVY: bool = true;
    type Params = TtsDecoderParams;

    fn new(params: &TtsDecoderParams, build: &mut Build<'_>) -> Result<TtsDecoder, BuildError> {
        let chunks = Chunks { first: params.first_frames, longest: params.longest_frames };
        let rate = Voice::load(&build.asset(&params.voice)?)?.rate;
        let (library, model) = (build.asset(&params.library)?, build.asset(&params.model)?);
        let decoder = Decoder::open(&library, &model, rate, chunks, params.threads.max(1))?;
        Ok(TtsDecoder { decoder, cause: None })
    }

    fn assets(params: &TtsDecoderParams) -> Vec<AssetRef> {
        [&params.library, &params.model, &params.voice].map(AssetRef::clone).into()
    }

    fn sample(
        given: Option<TtsDecoderParams>,
        sample: &mut Sample<'_>,
    ) -> Result<TtsDecoderParams, NoSample> {
        // A second of the voices that ship; what the frames say does not change what they cost.
        let (channels, frames) = (192, 86);
        let values = (0..channels * frames).map(|n| (n as f32 * 0.7).sin()).collect();
        let (lead, volume_db, last) = (Duration::ZERO, 0.0, true);
        sample.feed("in", Latent { values, channels, frames, lead, volume_db, last });
        sample.every(Nanos::from_secs(1));
        Ok(given.unwrap_or_default())
    }
}

/// The ports of [`TtsDecoder`].
pub struct TtsDecoderPorts {
    input: In<Latent>,
    out: Out<Audio>,
}

impl Node for TtsDecoder {
    type Ports = TtsDecoderPorts;

    fn ports(ports: &mut Ports<'_>) -> TtsDecoderPorts {
        TtsDecoderPorts {
            input: ports.input("in", "Latent frames, from the TTS encoder."),
            out: ports.many("out", "Sound, the first chunk of each piece a short one.", 1),
        }
    }

    fn step(&mut self, ports: &mut TtsDecoderPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if self.cause.is_some_and(|cause| ctx.is_cancelled(cause.turn)) {
            self.decoder.abandon();
        }
        if !self.decoder.is_busy() {
            let Some(taken) = ports.input.take(ctx) else { return Ok(Flow::Idle) };
            self.cause = Some(taken.cause);
            self.decoder.begin(taken.payload)?;
        }
        if let Some(samples) = self.decoder.next_chunk()?
            && let Some(cause) = self.cause
        {
            let rate = self.decoder.rate;
            ports.out.emit_as(ctx, cause, Nanos::ZERO, Audio { rate, samples });
        }
        Ok(if self.decoder.is_busy() || !ports.input.is_empty() { Flow::Again } else { Flow::Idle })
    }

    fn finish(&mut self, ports: &mut TtsDecoderPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        match self.step(ports, ctx)? {
            Flow::Again => Ok(Flow::Again),
            Flow::Idle | Flow::Busy | Flow::Done => Ok(Flow::Done),
        }
    }
}

#[cfg(test)]
mod tests {
    use graph_core::{Cx, Registry, Sink, SinkCx, Source, Stamp, testing};

    use super::*;
    use crate::speech::{
        fixtures::{asset, asset_ref},
        tts_encoder::Encoder,
    };

    fn params() -> TtsDecoderParams {
        TtsDecoderParams {
            library: asset_ref("onnxruntime"),
            model: asset_ref("piper-joe-decoder"),
            voice: asset_ref("piper-joe-json"),
            ..TtsDecoderParams::default()
        }
    }

    fn latent(text: &str) -> Latent {
        let mut encoder = Encoder::open(
            &asset("onnxruntime"),
            &asset("piper-joe-encoder"),
            &asset("piper-joe-json"),
            &asset("cmudict"),
            1,
            true,
        )
        .unwrap();
        let frames = encoder.encode(text, 1.0).unwrap().unwrap();
        Latent {
            values: frames.values.into(),
            channels: frames.channels,
            frames: frames.frames,
            lead: Duration::ZERO,
            volume_db: 0.0,
            last: true,
        }
    }

    fn decoder(chunks: Chunks) -> Decoder {
        Decoder::open(&asset("onnxruntime"), &asset("piper-joe-decoder"), Rate(22_050), chunks, 1).unwrap()
    }

    fn decode(decoder: &mut Decoder, latent: Latent) -> Vec<Arc<[f32]>> {
        decoder.begin(latent).unwrap();
        std::iter::from_fn(|| decoder.next_chunk().unwrap()).collect()
    }

    #[test]
    fn streamed_sound_is_that_of_the_whole_below_half_a_step_of_16_bits() {
        let mut streaming = decoder(Chunks::default());
        for text in ["Okay.", "I have set a timer for ten minutes, and it will ring at half past four."] {
            let latent = latent(text);
            let frames = latent.frames;
            let whole = decode(&mut decoder(Chunks { first: frames, longest: frames }), latent.clone());
            assert_eq!((whole.len(), whole[0].len()), (1, 256 * frames));

            let chunks = decode(&mut streaming, latent);
            assert_eq!([chunks[0].len(), chunks[1].len()], [8 * 256, 16 * 256]);
            let streamed = chunks.concat();
            assert_eq!(streamed.len(), whole[0].len());
            let error = streamed.iter().zip(&*whole[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(error <= 0.5 / 32_768.0, "error {error}");
            assert!(streamed.iter().any(|sample| sample.abs() > 0.1));
        }
    }

    #[test]
    fn silence_comes_first_and_gain_is_applied_without_overflow() {
        let mut decoder = decoder(Chunks::default());
        let plain = latent("Okay.");
        let lead = Duration::from_millis(300);
        let usual = decode(&mut decoder, Latent { lead, ..plain.clone() }).concat();
        let silence = (0.3 * 22_050.0) as usize;
        assert_eq!(usual.len(), silence + 256 * plain.frames);
        assert!(usual[..silence].iter().all(|sample| *sample == 0.0));

        let half = decode(&mut decoder, Latent { volume_db: -6.0206, ..plain.clone() }).concat();
        assert!(half.iter().zip(&usual[silence..]).all(|(half, usual)| (half * 2.0 - usual).abs() < 1e-4));
        let loud = decode(&mut decoder, Latent { volume_db: 60.0, ..plain.clone() }).concat();
        assert!(loud.iter().all(|sample| sample.abs() <= 1.0) && loud.contains(&1.0));
        let none = decode(&mut decoder, Latent { volume_db: f32::NEG_INFINITY, ..plain }).concat();
        assert!(none.iter().all(|sample| *sample == 0.0));
    }

    #[test]
    fn a_piece_without_frames_is_its_silence() {
        let mut decoder = decoder(Chunks::default());
        let empty = Latent {
            values: [].into(),
            channels: 0,
            frames: 0,
            lead: Duration::from_millis(100),
            volume_db: 0.0,
            last: true,
        };
        assert_eq!(decode(&mut decoder, empty.clone()).concat(), [0.0; 2_205]);
        assert!(decode(&mut decoder, Latent { lead: Duration::ZERO, ..empty }).is_empty());
    }

    #[test]
    fn frames_of_another_voice_are_refused() {
        let mut decoder = decoder(Chunks::default());
        let other = Latent {
            values: [0.0; 80].into(),
            channels: 80,
            frames: 1,
            lead: Duration::ZERO,
            volume_db: 0.0,
            last: true,
        };
        assert_eq!(
            decoder.begin(other).unwrap_err().to_string(),
            "the TTS decoder takes 192 channels, these frames have 80: give the halves of one voice"
        );
    }

    #[test]
    fn another_model_is_refused_when_the_node_is_made() {
        let params = TtsDecoderParams { model: asset_ref("silero-vad"), ..params() };
        let error = testing::node::<TtsDecoder>(params).err().unwrap().to_string();
        assert!(error.contains("is not the decoder half of a Piper voice"), "{error}");
    }

    #[test]
    fn the_node_gives_chunks_due_to_their_piece() {
        let mut node = testing::node::<TtsDecoder>(params()).unwrap();
        let turn = node.open_turn();
        let cause = Cause::from_origin(node.now()).in_turn(turn);
        let latent = latent("Okay.");
        let frames = latent.frames;
        node.feed_as("in", cause, latent);
        let packets = node.packets::<Audio>("out");
        assert!(packets.len() > 2);
        assert_eq!(packets.iter().map(|packet| packet.payload.samples.len()).sum::<usize>(), 256 * frames);
        assert!(
            packets.iter().all(|packet| packet.header.turn == turn && packet.payload.rate == Rate(22_050))
        );
    }

    /// Says one sentence, in a turn of its own.
    struct Speaker;

    impl Kind for Speaker {
        const KIND: &'static str = "test/speaker";
        const ABOUT: &'static str = "Says something in a turn.";
        type Params = Nothing;

        fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Speaker, BuildError> {
            Ok(Speaker)
        }
    }

    impl Source for Speaker {
        type Out = Latent;

        fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Latent>) -> Result<Flow, NodeError> {
            let turn = cx.open_turn();
            cx.emit_as(
                Cause::from_origin(now).in_turn(turn),
                Nanos::ZERO,
                latent("This is a long sentence, is it not?"),
            );
            Ok(Flow::Done)
        }
    }

    /// Interrupts at the second chunk.
    struct Interrupter(usize);

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    impl Kind for Interrupter {
        const KIND: &'static str = "test/interrupter";
        const ABOUT: &'static str = "Cancels the turn at its second chunk.";
        type Params = Nothing;

        fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Interrupter, BuildError> {
            Ok(Interrupter(0))
        }
    }

    impl Sink for Interrupter {
        type In = Audio;

        fn consume(&mut self, _: Audio, cx: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
            self.0 += 1;
            if let Some(cause) = cx.cause().filter(|_| self.0 == 2) {
                cx.cancel(cause.turn);
            }
            Ok(())
        }
    }

    #[test]
    fn a_turn_cancelled_between_two_chunks_is_not_decoded_on() {
        let mut registry = Registry::new();
        registry.source::<Speaker>().node::<TtsDecoder>().sink::<Interrupter>();
        let TtsDecoderParams { library, model, voice, .. } = params();
        let run = testing::simulate(
            &format!(
                r#"(name: "barge in", lanes: {{ "all": () }}, nodes: {{
                    "speaker": (kind: "test/speaker", lane: "all"),
                    "decoder": (kind: "speech/tts-decoder", lane: "all",
                        with: (library: "{}", model: "{}", voice: "{}")),
                    "sink": (kind: "test/interrupter", lane: "all"),
                }}, edges: [(from: "speaker", to: "decoder"), (from: "decoder", to: "sink")])"#,
                library.as_str(),
                model.as_str(),
                voice.as_str(),
            ),
            &registry,
        );
        let counts = run.edge("decoder.out -> sink.in").counts();
        assert_eq!(counts.taken, 2, "{counts:?}");
        assert!(counts.sent <= 3, "{counts:?}");
    }
}
