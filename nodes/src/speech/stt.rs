//! Speech to text.

use std::{error::Error, fmt};

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

/// An engine that writes down what is said, in quanta of work.
pub trait SpeechToText: Send {
    /// Begins with the sound of an utterance from its start, mono at 16 kHz; what was being done is given up.
    fn begin(&mut self, utterance: &[f32]);

    /// Does one quantum of work. After [`Progress::Done`] there is nothing to do until the next `begin`.
    ///
    /// # Errors
    /// When the engine cannot go on; `begin` starts afresh.
    fn step(&mut self) -> Result<Progress, SttError>;

    /// Gives up what was begun.
    fn abandon(&mut self);
}
