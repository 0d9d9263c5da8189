//! Speech: denoise, VAD, STT, NLU, answers, SSML, TTS.
