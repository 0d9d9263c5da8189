//! Speech: denoise, VAD, STT, NLU, answers, SSML, TTS.

pub mod runtime;

#[cfg(test)]
mod fixtures;
