//! `speech/stt`: utterances in, their words out; and what an engine for it has to do.

use std::{error::Error, fmt};

use graph_core::{
    AssetRef, Build, BuildError, Cause, Counter, Ctx, Flow, In, Kind, Nanos, NoSample, Node, NodeError, Out,
    Ports, Sample,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{corpus, dictation::Dictation, moonshine::Moonshine, runtime, worker::Worker};
use crate::types::{Speech, Transcript};

/// How far a recogniser is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is more to do.
    Working,
    /// The words, empty when there were none.
    Done(String),
}

/// A recogniser failed.
#[derive(Debug)]
pub struct SttError(Box<dyn Error + Send + Sync>);

impl SttError {
    /// Wraps what the engine said.
    pub fn new(error: impl Error + Send + Sync + 'static) -> SttError {
        SttError(Box::new(error))
    }
}

impl fmt::Display for SttError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the recogniser failed: {}", self.0)
    }
}

impl Error for SttError {}

/// Ends a quantum that is under way on another thread.
pub type Interrupt = Box<dyn Fn() + Send>;

/// An engine that writes down what is said, in quanta of work.
pub trait SpeechToText: Send {
    /// Begins with the sound of an utterance from its start, mono at 16 kHz; what was being done is given up.
    fn begin(&mut self, utterance: &[f32]);

    /// Does one quantum of work, or looks whether another thread has done it all. After [`Progress::Done`] there is
    /// nothing to do until the next `begin`.
    ///
    /// # Errors
    /// When the engine cannot go on; `begin` starts afresh.
    fn step(&mut self) -> Result<Progress, SttError>;

    /// Gives up what was begun.
    fn abandon(&mut self);

    /// What ends, from another thread, a quantum that is under way: `step` fails then. The next `begin` undoes it.
    /// `None` where a quantum must run to its end.
    fn interrupt(&self) -> Option<Interrupt> {
        None
    }
}

/// Parameters of `speech/stt`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SttParams {
    /// New speech between two partial texts; `"0 s"` for none. In an utterance of more than eight times that they come
    /// more rarely, so that the load stays the same.
    pub partials: Nanos,
    /// Whether the final text is begun at a pause, so that it is ready when the hang-over ends.
    pub eager: bool,
    /// Threads of a run of the model. More than one costs more in all, and pays only where cores are free.
    pub threads: usize,
    /// ONNX Runtime.
    pub library: AssetRef,
    /// Encoder of a Moonshine model.
    pub encoder: AssetRef,
    /// Merged decoder of the same model.
    pub decoder: AssetRef,
    /// Its vocabulary.
    pub vocabulary: AssetRef,
}

impl Default for SttParams {
    fn default() -> SttParams {
        SttParams {
            partials: Nanos::from_millis(500),
            eager: true,
            threads: 1,
            library: runtime::library(),
            encoder: AssetRef::new("asset:moonshine-encoder"),
            decoder: AssetRef::new("asset:moonshine-decoder"),
            vocabulary: AssetRef::new("asset:moonshine-tokenizer"),
        }
    }
}

/// The node. A step takes all that is queued, gives the recogniser's thread what there is to do, and emits what that
/// has done, so that it never takes long.
pub struct Stt {
    dictation: Dictation<Cause>,
    /// What a step leaves behind while the recogniser works.
    while_working: Flow,
    wordless: Counter,
}

impl Stt {
    /// A node over any engine, which gets a thread of its own. Under virtual time, which stands still while nodes
    /// work, it works in the node's steps.
    ///
    /// # Errors
    /// When there can be no more threads.
    pub fn over(
        engine: Box<dyn SpeechToText>,
        params: &SttParams,
        build: &Build<'_>,
    ) -> Result<Stt, BuildError> {
        if build.clock().is_virtual() {
            return Ok(Stt::with_engine(engine, Flow::Again, params, build));
        }
        let waker = build.waker();
        let worker = Worker::start(engine, move || waker.wake())?;
        Ok(Stt::with_engine(Box::new(worker), Flow::Idle, params, build))
    }

    pub(super) fn with_engine(
        engine: Box<dyn SpeechToText>,
        while_working: Flow,
        params: &SttParams,
        build: &Build<'_>,
    ) -> Stt {
        let partials = (params.partials > Nanos::ZERO).then(|| params.partials.into());
        Stt {
            dictation: Dictation::new(engine, partials, params.eager),
            while_working,
            wordless: build.counter("wordless", "utterances in which no words were heard"),
        }
    }
}

impl Kind for Stt {
    const KIND: &'static str = "speech/stt";
    const ABOUT: &'static str = "Writes down utterances, with partial texts while somebody speaks.";
    type Params = SttParams;

    fn new(params: &SttParams, build: &mut Build<'_>) -> Result<Stt, BuildError> {
        let mut engine = Moonshine::open(
            &build.asset(&params.library)?,
            &build.asset(&params.encoder)?,
            &build.asset(&params.decoder)?,
            &build.asset(&params.vocabulary)?,
            params.threads.max(1),
        )?;
        // The first run of a model is slow.
        engine.begin(&[0.0; 16_000]);
        while engine.step()? == Progress::Working {}
        Stt::over(Box::new(engine), params, build)
    }

    fn assets(params: &SttParams) -> Vec<AssetRef> {
        [&params.library, &params.encoder, &params.decoder, &params.vocabulary].map(AssetRef::clone).into()
    }

    fn sample(given: Option<SttParams>, sample: &mut Sample<'_>) -> Result<SttParams, NoSample> {
        let speech = corpus::sample(sample)?;
        sample.feed("in", Speech::Start);
        for chunk in speech.chunks(512) {
            sample.feed("in", Speech::Audio(chunk.into()));
        }
        sample.feed("in", Speech::Pause);
        sample.feed("in", Speech::End);
        sample.every(Nanos::from_millis(32));
        Ok(given.unwrap_or_default())
    }
}

/// The ports of [`Stt`].
pub struct SttPorts {
    input: In<Speech>,
    partial: Out<Transcript>,
    text: Out<Transcript>,
}

impl Node for Stt {
    type Ports = SttPorts;

    fn ports(ports: &mut Ports<'_>) -> SttPorts {
        SttPorts {
            input: ports.input("in", "Utterances, from the VAD."),
            partial: ports.many("partial", "The words so far, while somebody speaks.", 1),
            text: ports.output("text", "The words of an utterance; none for one without words."),
        }
    }

    fn step(&mut self, ports: &mut SttPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        while let Some(taken) = ports.input.take(ctx) {
            self.dictation.hear(taken.payload, taken.cause);
        }
        self.dictation.cancel(|cause| ctx.is_cancelled(cause.turn));
        if self.dictation.is_busy()
            && let Some(written) = self.dictation.work()?
        {
            let (transcript, cause) = (written.transcript, written.at);
            if transcript.text.is_empty() {
                self.wordless.add(1);
            } else if transcript.is_final {
                ctx.tell(cause.turn, "heard", &transcript.text);
                ports.text.emit_as(ctx, cause, Nanos::ZERO, transcript);
            } else {
                ctx.tell(cause.turn, "hearing", &transcript.text);
                ports.partial.emit_as(ctx, cause, Nanos::ZERO, transcript);
            }
        }
        Ok(match (self.dictation.is_working(), self.dictation.is_busy()) {
            (true, _) => self.while_working,
            (false, true) => Flow::Again,
            (false, false) => Flow::Idle,
        })
    }

    fn finish(&mut self, ports: &mut SttPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        let flow = self.step(ports, ctx)?;
        Ok(if self.dictation.is_busy() { flow } else { Flow::Done })
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing::{self, Alone};

    use super::*;
    use crate::speech::{
        corpus,
        fixtures::{asset, asset_ref},
    };

    fn stt() -> Alone {
        let params = SttParams {
            library: asset_ref("onnxruntime"),
            encoder: asset_ref("moonshine-encoder"),
            decoder: asset_ref("moonshine-decoder"),
            vocabulary: asset_ref("moonshine-tokenizer"),
            ..SttParams::default()
        };
        testing::node::<Stt>(params).unwrap()
    }

    /// Somebody says "ten of clubs".
    fn utterance() -> impl Iterator<Item = Speech> {
        let samples = corpus::cards(&asset("speech-cards")).unwrap().swap_remove(0).samples;
        let audio: Vec<_> = samples.chunks(512).map(|chunk| Speech::Audio(chunk.into())).collect();
        [Speech::Start].into_iter().chain(audio).chain([Speech::Pause, Speech::End])
    }

    #[test]
    fn an_utterance_gives_partial_texts_and_one_final_text_due_to_its_end() {
        let mut stt = stt();
        let turn = stt.open_turn();
        for event in utterance() {
            stt.advance(Nanos::from_millis(32));
            let cause = Cause::from_origin(stt.now()).in_turn(turn);
            stt.feed_as("in", cause, event);
        }
        let partials = stt.out::<Transcript>("partial");
        assert!(partials.len() >= 2 && partials.iter().all(|partial| !partial.is_final));
        let texts = stt.packets::<Transcript>("text");
        assert_eq!(texts.len(), 1);
        assert_eq!(&*texts[0].payload.text, "Ten of clubs.");
        assert_eq!((texts[0].payload.stable_words, texts[0].payload.is_final), (3, true));
        assert_eq!((texts[0].header.turn, texts[0].header.origin), (turn, stt.now()));
        assert_eq!(stt.told().last(), Some(&("heard", "Ten of clubs.".to_owned())));
    }

    #[test]
    fn a_cancelled_turn_has_no_text() {
        let mut stt = stt();
        let turn = stt.open_turn();
        for event in utterance() {
            if event == Speech::End {
                stt.cancel(turn);
            }
            let cause = Cause::from_origin(stt.now()).in_turn(turn);
            stt.feed_as("in", cause, event);
        }
        assert_eq!(stt.out::<Transcript>("text"), []);
    }

    #[test]
    fn an_utterance_without_words_gives_no_text_and_is_counted() {
        let mut stt = stt();
        for event in [Speech::Start, Speech::Audio([0.0; 512].into()), Speech::End] {
            stt.feed("in", event);
        }
        assert_eq!(stt.out::<Transcript>("text"), []);
        assert!(format!("{:?}", stt.notes()).contains("wordless"));
    }
}
