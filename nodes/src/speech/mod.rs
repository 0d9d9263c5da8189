//! Speech: denoise, VAD, STT, NLU, answers, SSML, TTS.

mod onnx;
pub mod onnx_split;
