//! Speech: denoise, VAD, STT, NLU, answers, SSML, TTS.

use graph_core::Registry;

/// Adds the kinds of this domain.
pub fn register(registry: &mut Registry) {
    let _ = registry;
}
