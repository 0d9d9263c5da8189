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
mod numbers;
mod onnx;
pub mod onnx_split;
pub mod phonemes;
pub mod piper;
pub mod quality;
pub mod runtime;
pub mod silero;
pub mod ssml;
pub mod stt;
pub mod trial;
pub mod tts_decoder;
pub mod tts_encoder;
pub mod vad;
pub mod worker;

#[cfg(test)]
mod fixtures;

use graph_core::Registry;

/// Adds the kinds of this domain.
pub fn register(registry: &mut Registry) {
    registry
        .transform::<denoise::Denoise>()
        .node::<vad::Vad>()
        .node::<stt::Stt>()
        .transform::<nlu::Nlu>()
        .transform::<answer::Answer>()
        .transform::<ssml::Ssml>()
        .node::<tts_encoder::TtsEncoder>()
        .node::<tts_decoder::TtsDecoder>();
}
