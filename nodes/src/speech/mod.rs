//! Speech: denoise, VAD, STT, NLU, answers, SSML, TTS.

pub mod answer;
pub mod corpus;
pub mod denoise;
pub mod dictation;
pub mod endpoint;
pub mod intents;
pub mod minilm;
pub mod moonshine;
pub mod nlu;
pub mod quality;
pub mod runtime;
pub mod silero;
pub mod stt;
pub mod trial;

#[cfg(test)]
mod fixtures;
