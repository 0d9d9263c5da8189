//! Speech: denoise, VAD, STT, NLU, answers, SSML, TTS.

pub mod corpus;
pub mod denoise;
pub mod endpoint;
mod numbers;
mod onnx;
pub mod onnx_split;
pub mod phonemes;
pub mod piper;
pub mod quality;
pub mod runtime;
pub mod silero;
pub mod ssml;

#[cfg(test)]
mod fixtures;
