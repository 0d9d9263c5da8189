//! Speech: denoise, VAD, STT, NLU, answers, SSML, TTS.

pub mod corpus;
pub mod denoise;
pub mod endpoint;
pub mod quality;
pub mod runtime;
pub mod silero;

#[cfg(test)]
mod fixtures;
