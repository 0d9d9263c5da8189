//! MiniLM sentence embeddings (N. Reimers, I. Gurevych, "Sentence-BERT", 2019; model all-MiniLM-L6-v2).

use std::path::{Path, PathBuf};

use ort::{session::Session, value::TensorRef};
use thiserror::Error;
use tokenizers::{Tokenizer, TruncationParams};

use super::runtime::{self, RuntimeError};

/// Tokens of a sentence that count; the model was trained on so many.
const LONGEST: usize = 256;

/// Why sentences cannot be embedded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MiniLmError {
    /// The library or the net.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The tokenizer could not be read.
    #[error("the tokenizer {} cannot be read: {reason}", .path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A text could not be cut into tokens.
    #[error("the tokenizer failed: {0}")]
    Tokens(String),
    /// The net did not run.
    #[error("the sentence model did not run: {0}")]
    Run(#[from] ort::Error),
}

/// Turns sentences into vectors that lie close to each other when the sentences mean the same.
pub struct MiniLm {
    session: Session,
    tokenizer: Tokenizer,
}

impl MiniLm {
    /// Opens the net and its tokenizer; a run uses `threads` threads.
    ///
    /// # Errors
    /// When a file is missing or of another kind.
    pub fn open(
        library: &Path,
        model: &Path,
        tokenizer: &Path,
        threads: usize,
    ) -> Result<MiniLm, MiniLmError> {
        let unreadable =
            |e: tokenizers::Error| MiniLmError::Tokenizer { path: tokenizer.into(), reason: e.to_string() };
        let mut tokens = Tokenizer::from_file(tokenizer).map_err(unreadable)?;
        tokens
            .with_padding(None)
            .with_truncation(Some(TruncationParams { max_length: LONGEST, ..TruncationParams::default() }))
            .map_err(unreadable)?;
        Ok(MiniLm { session: runtime::session(library, model, threads)?, tokenizer: tokens })
    }

    /// The embedding of a sentence, of length 1.0: the dot product of two is their cosine similarity.
    ///
    /// # Errors
    /// When the model cannot be run as MiniLM.
    pub fn embed(&mut self, sentence: &str) -> Result<Vec<f32>, MiniLmError> {
        let encoding =
            self.tokenizer.encode_fast(sentence, true).map_err(|e| MiniLmError::Tokens(e.to_string()))?;
        let ids: Vec<i64> = encoding.get_ids().iter().map(|id| i64::from(*id)).collect();
        let (mask, types) = (vec![1i64; ids.len()], vec![0i64; ids.len()]);
        let shape = [1, ids.len()];
        let outputs = self.session.run(ort::inputs![
            "input_ids" => TensorRef::from_array_view((shape, &ids[..]))?,
            "attention_mask" => TensorRef::from_array_view((shape, &mask[..]))?,
            "token_type_ids" => TensorRef::from_array_view((shape, &types[..]))?,
        ])?;
        let (_, states) = outputs["last_hidden_state"].try_extract_tensor::<f32>()?;
        let width = states.len() / ids.len();
        let mut mean = vec![0.0; width];
        for state in states.chunks_exact(width) {
            for (sum, value) in mean.iter_mut().zip(state) {
                *sum += value;
            }
        }
        let norm = mean.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        mean.iter_mut().for_each(|value| *value /= norm);
        Ok(mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speech::fixtures::asset;

    fn minilm() -> MiniLm {
        MiniLm::open(&asset("onnxruntime"), &asset("minilm"), &asset("minilm-tokenizer"), 1).unwrap()
    }

    fn likeness(model: &mut MiniLm, a: &str, b: &str) -> f32 {
        let (a, b) = (model.embed(a).unwrap(), model.embed(b).unwrap());
        a.iter().zip(&b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn sentences_that_mean_the_same_lie_close() {
        let mut model = minilm();
        let same = likeness(&mut model, "turn on the light", "switch the lamp on please");
        let other = likeness(&mut model, "turn on the light", "my sister plays the violin");
        assert!(same > 0.6 && other < 0.2, "{same} {other}");
        assert!((likeness(&mut model, "hello", "hello") - 1.0).abs() < 1e-5);
    }

    #[test]
    fn an_empty_and_a_very_long_text_have_embeddings_too() {
        let mut model = minilm();
        assert_eq!(model.embed("").unwrap().len(), 384);
        assert_eq!(model.embed(&"word ".repeat(2_000)).unwrap().len(), 384);
    }

    #[test]
    fn a_file_that_is_no_tokenizer_is_told_by_name() {
        let error = MiniLm::open(&asset("onnxruntime"), &asset("minilm"), &asset("minilm"), 1).err().unwrap();
        assert!(matches!(error, MiniLmError::Tokenizer { .. }), "{error}");
    }
}
