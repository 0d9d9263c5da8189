//! Moonshine, an encoder-decoder recogniser for English (N. Jeffries et al., "Moonshine: Speech Recognition for Live
//! Transcription and Voice Commands", 2024): its cost grows with the sound that it is given, without padding.

use std::{
    borrow::Cow,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use ort::{
    logging::LogLevel,
    session::{RunOptions, Session, SessionInputValue},
    value::{DynValue, Tensor, TensorRef, ValueType},
};
use thiserror::Error;

use super::{
    runtime::{self, RuntimeError},
    stt::{Interrupt, Progress, SpeechToText, SttError},
};

const START: i64 = 1;
const END: i64 = 2;
/// The model's first filters reach over so many samples.
const SHORTEST: usize = 1_600;
/// Above the rate at which anybody speaks; a decoder that repeats itself is stopped by it.
const TOKENS_PER_SECOND: f64 = 6.5;
const RATE: f64 = 16_000.0;

/// Why a Moonshine model could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MoonshineError {
    /// The library or one of the two nets.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The decoder is another make.
    #[error("{} is not the merged decoder of a Moonshine model: it has no input past_key_values", .path.display())]
    NoDecoder {
        /// The file.
        path: PathBuf,
    },
    /// The vocabulary could not be read.
    #[error("the vocabulary {} cannot be read: {reason}", .path.display())]
    Vocabulary {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// The recogniser. A quantum is one run of the encoder, or one token of the decoder.
pub struct Moonshine {
    encoder: Session,
    decoder: Session,
    memories: Vec<Memory>,
    vocabulary: Vec<Vec<u8>>,
    /// What an interrupt ends a run by.
    options: Arc<RunOptions>,
    job: Job,
}

/// Keys or values that the decoder hands to itself from token to token.
struct Memory {
    input: String,
    output: String,
    /// Made of the sound alone, so that the first token's are right for all.
    is_of_sound: bool,
    heads: usize,
    width: usize,
}

enum Job {
    None,
    Encode(Vec<f32>),
    Decode(Decoding),
}

struct Decoding {
    hidden: DynValue,
    mask: Tensor<i64>,
    memories: Vec<DynValue>,
    tokens: Vec<i64>,
    limit: usize,
}

impl Moonshine {
    /// Opens the two nets and the vocabulary; each run uses `threads` threads.
    ///
    /// # Errors
    /// When a file is missing or of another kind.
    pub fn open(
        library: &Path,
        encoder: &Path,
        decoder: &Path,
        vocabulary: &Path,
        threads: usize,
    ) -> Result<Moonshine, MoonshineError> {
        let unreadable = |reason: String| MoonshineError::Vocabulary { path: vocabulary.into(), reason };
        let bytes = fs::read(vocabulary).map_err(|e| unreadable(e.to_string()))?;
        let vocabulary = read_vocabulary(&bytes).map_err(|e| unreadable(e.into()))?;
        let encoder = runtime::session(library, encoder, threads)?;
        let net = runtime::session(library, decoder, threads)?;
        let memories: Vec<Memory> =
            net.inputs().iter().filter_map(|i| Memory::of(i.name(), i.dtype())).collect();
        if memories.is_empty() {
            return Err(MoonshineError::NoDecoder { path: decoder.into() });
        }
        let options = run_options()
            .map_err(|e| RuntimeError::NoStart { path: library.into(), reason: e.to_string() })?;
        Ok(Moonshine {
            encoder,
            decoder: net,
            memories,
            vocabulary,
            options: Arc::new(options),
            job: Job::None,
        })
    }

    fn encode(&mut self, samples: &[f32]) -> ort::Result<Decoding> {
        let shape = [1, samples.len()];
        let mask = Tensor::from_array((shape, vec![1i64; samples.len()]))?;
        let inputs = ort::inputs![
            "input_values" => TensorRef::from_array_view((shape, samples))?,
            "attention_mask" => &mask,
        ];
        let mut outputs = self.encoder.run_with_options(inputs, &self.options)?;
        let hidden =
            outputs.remove("last_hidden_state").ok_or_else(|| ort::Error::new("no last_hidden_state"))?;
        let empty =
            |m: &Memory| Ok(Tensor::<f32>::from_array(([1, m.heads, 0, m.width], vec![]))?.into_dyn());
        let memories = self.memories.iter().map(empty).collect::<ort::Result<_>>()?;
        let limit = 1 + (samples.len() as f64 / RATE * TOKENS_PER_SECOND).ceil() as usize;
        Ok(Decoding { hidden, mask, memories, tokens: vec![START], limit })
    }

    /// Appends the next token.
    fn decode(&mut self, job: &mut Decoding) -> ort::Result<()> {
        let last = [*job.tokens.last().expect("decoding begins with the start token")];
        let is_first = job.tokens.len() == 1;
        let use_cache = [!is_first];
        let mut inputs: Vec<(Cow<str>, SessionInputValue)> = vec![
            ("input_ids".into(), TensorRef::from_array_view(([1, 1], &last[..]))?.into()),
            ("encoder_hidden_states".into(), (&job.hidden).into()),
            ("encoder_attention_mask".into(), (&job.mask).into()),
            ("use_cache_branch".into(), TensorRef::from_array_view(([1], &use_cache[..]))?.into()),
        ];
        let memories = self.memories.iter().zip(&job.memories);
        inputs.extend(memories.map(|(memory, value)| (Cow::from(&*memory.input), value.into())));
        let mut outputs = self.decoder.run_with_options(inputs, &self.options)?;
        let (_, scores) = outputs["logits"].try_extract_tensor::<f32>()?;
        let best = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        job.tokens.push(best.map_or(END, |(token, _)| token as i64));
        for (memory, value) in self.memories.iter().zip(&mut job.memories) {
            if is_first || !memory.is_of_sound {
                *value = outputs
                    .remove(&memory.output)
                    .ok_or_else(|| ort::Error::new(format!("no output {}", memory.output)))?;
            }
        }
        Ok(())
    }

    fn text(&self, tokens: &[i64]) -> String {
        let pieces = tokens.iter().filter(|token| !matches!(**token, START | END));
        let bytes: Vec<u8> =
            pieces.filter_map(|token| self.vocabulary.get(*token as usize)).flatten().copied().collect();
        String::from_utf8_lossy(&bytes).replace('\u{2581}', " ").trim().to_owned()
    }
}

impl Memory {
    fn of(name: &str, dtype: &ValueType) -> Option<Memory> {
        let rest = name.strip_prefix("past_key_values.")?;
        let ValueType::Tensor { shape, .. } = dtype else { return None };
        let [_, heads, _, width] = shape[..] else { return None };
        Some(Memory {
            input: name.into(),
            output: format!("present.{rest}"),
            is_of_sound: rest.contains(".encoder."),
            heads: usize::try_from(heads).ok()?,
            width: usize::try_from(width).ok()?,
        })
    }
}

impl SpeechToText for Moonshine {
    fn begin(&mut self, utterance: &[f32]) {
        self.options.unterminate().expect("to clear a flag asks for nothing that could be missing");
        self.job = Job::Encode(utterance.into());
    }

    fn abandon(&mut self) {
        self.job = Job::None;
    }

    fn interrupt(&self) -> Option<Interrupt> {
        let options = self.options.clone();
        Some(Box::new(move || {
            // Where it fails, the run goes on to its end.
            let _ = options.terminate();
        }))
    }

    fn step(&mut self) -> Result<Progress, SttError> {
        match std::mem::replace(&mut self.job, Job::None) {
            Job::None => Ok(Progress::Done(String::new())),
            Job::Encode(samples) if samples.len() < SHORTEST => Ok(Progress::Done(String::new())),
            Job::Encode(samples) => {
                self.job = Job::Decode(self.encode(&samples).map_err(SttError::new)?);
                Ok(Progress::Working)
            }
            Job::Decode(mut job) => {
                self.decode(&mut job).map_err(SttError::new)?;
                if job.tokens.ends_with(&[END]) || job.tokens.len() > job.limit {
                    return Ok(Progress::Done(self.text(&job.tokens)));
                }
                self.job = Job::Decode(job);
                Ok(Progress::Working)
            }
        }
    }
}

fn run_options() -> ort::Result<RunOptions> {
    let mut options = RunOptions::new()?;
    // What fails is returned anyway, and an interrupted run is no error to tell of.
    options.set_log_level(LogLevel::Fatal)?;
    Ok(options)
}

/// Each token is a length and its bytes; a length of 128 and more takes two bytes, low part first.
fn read_vocabulary(bytes: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
    let mut vocabulary = Vec::new();
    let mut rest = bytes;
    while let [low, after @ ..] = rest {
        let (length, after) = match (usize::from(*low), after) {
            (low, [high, after @ ..]) if low >= 128 => (usize::from(*high) * 128 + low - 128, after),
            (low, after) if low < 128 => (low, after),
            _ => return Err("it ends within a length"),
        };
        let (token, after) = after.split_at_checked(length).ok_or("it ends within a token")?;
        vocabulary.push(token.into());
        rest = after;
    }
    if vocabulary.is_empty() { Err("it is empty") } else { Ok(vocabulary) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speech::{corpus, fixtures::asset};

    fn moonshine() -> Moonshine {
        Moonshine::open(
            &asset("onnxruntime"),
            &asset("moonshine-encoder"),
            &asset("moonshine-decoder"),
            &asset("moonshine-tokenizer"),
            1,
        )
        .unwrap()
    }

    fn text(engine: &mut Moonshine, samples: &[f32]) -> String {
        engine.begin(samples);
        loop {
            if let Progress::Done(text) = engine.step().unwrap() {
                return text;
            }
        }
    }

    #[test]
    fn a_sentence_is_written_down_and_an_abandoned_one_leaves_no_trace() {
        let recordings = corpus::librivox(&asset("speech-librivox")).unwrap();
        let mut engine = moonshine();
        engine.begin(&recordings[0].samples);
        engine.step().unwrap();
        engine.step().unwrap();
        engine.abandon();
        let text = text(&mut engine, &recordings[4].samples);
        assert_eq!(text, "He might even have been made amiable himself.");
    }

    #[test]
    fn an_interrupt_ends_the_quantum_and_leaves_the_next_job_alone() {
        let recordings = corpus::librivox(&asset("speech-librivox")).unwrap();
        let mut engine = moonshine();
        let interrupt = engine.interrupt().unwrap();
        for quanta in [0, 3] {
            engine.begin(&recordings[0].samples);
            for _ in 0..quanta {
                engine.step().unwrap();
            }
            interrupt();
            assert!(engine.step().is_err());
        }
        assert_eq!(
            text(&mut engine, &recordings[4].samples),
            "He might even have been made amiable himself."
        );
    }

    #[test]
    fn sound_too_short_for_the_model_has_no_words() {
        assert_eq!(text(&mut moonshine(), &[0.0; 100]), "");
        assert_eq!(text(&mut moonshine(), &[]), "");
    }

    #[test]
    fn the_shortest_sound_runs_through_the_model() {
        text(&mut moonshine(), &[0.0; SHORTEST]);
    }

    #[test]
    fn a_vocabulary_has_short_and_long_tokens() {
        let mut bytes = vec![0, 2, b'a', b'b', 128 + 1, 1];
        bytes.extend([b'x'; 129]);
        let vocabulary = read_vocabulary(&bytes).unwrap();
        assert_eq!(vocabulary.iter().map(Vec::len).collect::<Vec<_>>(), [0, 2, 129]);
        for cut in 1..6 {
            let end = bytes.len() - 129 + cut;
            assert!(read_vocabulary(&bytes[..end]).is_err());
        }
        assert!(read_vocabulary(&[]).is_err());
        assert!(read_vocabulary(&[200]).is_err());
    }

    #[test]
    fn a_decoder_of_another_make_is_refused() {
        let error = Moonshine::open(
            &asset("onnxruntime"),
            &asset("moonshine-encoder"),
            &asset("minilm"),
            &asset("moonshine-tokenizer"),
            1,
        );
        assert!(matches!(error.err(), Some(MoonshineError::NoDecoder { .. })));
    }
}
