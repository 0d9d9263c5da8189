//! The Silero net: how likely it is that somebody speaks.

use std::path::Path;

use ort::{session::Session, value::TensorRef};
use thiserror::Error;

use super::{
    endpoint::CHUNK,
    runtime::{self, RuntimeError},
};

/// Samples of the chunk before that the net sees again.
const CONTEXT: usize = 64;
const STATE: [usize; 3] = [2, 1, 128];
const RATE: u32 = 16_000;

/// The net did not run.
#[derive(Debug, Error)]
#[error("the VAD model did not run: {0}")]
pub struct VadError(#[from] ort::Error);

/// Silero VAD, version 5 or 6, at 16 kHz.
pub struct Silero {
    session: Session,
    state: Vec<f32>,
    input: [f32; CONTEXT + CHUNK],
}

impl Silero {
    /// Opens the model; it runs on one thread, since a chunk takes a fraction of a millisecond.
    ///
    /// # Errors
    /// When the library or the model cannot be loaded.
    pub fn open(library: &Path, model: &Path) -> Result<Silero, RuntimeError> {
        let session = runtime::session(library, model, 1)?;
        Ok(Silero { session, state: vec![0.0; STATE.iter().product()], input: [0.0; CONTEXT + CHUNK] })
    }

    /// Forgets what was heard: the next chunk is the first of another sound.
    pub fn reset(&mut self) {
        self.state.fill(0.0);
        self.input.fill(0.0);
    }

    /// The probability that somebody speaks in this chunk, which follows the chunk before.
    ///
    /// # Errors
    /// When the model cannot be run as Silero's, such as a model of another make.
    pub fn probability(&mut self, chunk: &[f32; CHUNK]) -> Result<f32, VadError> {
        self.input.copy_within(CHUNK.., 0);
        self.input[CONTEXT..].copy_from_slice(chunk);
        let outputs = self.session.run(ort::inputs![
            "input" => TensorRef::from_array_view(([1, CONTEXT + CHUNK], &self.input[..]))?,
            "state" => TensorRef::from_array_view((STATE, &self.state[..]))?,
            "sr" => TensorRef::from_array_view(([0usize; 0], &[i64::from(RATE)][..]))?,
        ])?;
        let probability = outputs["output"].try_extract_scalar::<f32>().or_else(|_| {
            let (_, values) = outputs["output"].try_extract_tensor::<f32>()?;
            values.first().copied().ok_or_else(|| ort::Error::new("the output is empty"))
        })?;
        let (_, state) = outputs["stateN"].try_extract_tensor::<f32>()?;
        self.state.copy_from_slice(state);
        Ok(probability)
    }
}
