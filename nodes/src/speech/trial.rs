//! Recordings put through VAD and STT as a graph would, without the graph: for the figures of
//! [`quality`](super::quality).

use std::time::Duration;

use super::{
    dictation::Dictation,
    endpoint::{CHUNK, Endpointing, Segmenter},
    quality::Span,
    silero::{Silero, VadError},
    stt::{SpeechToText, SttError},
};
use crate::types::Speech;

const CHUNK_SECONDS: f64 = CHUNK as f64 / 16_000.0;

/// The utterances of a recording at 16 kHz, each with the number of the chunk that its start, and its end, is due to.
///
/// # Errors
/// When the model does not run.
pub fn utterances(
    silero: &mut Silero,
    config: &Endpointing,
    samples: &[f32],
) -> Result<Vec<(usize, Speech)>, VadError> {
    let mut segmenter = Segmenter::new(config);
    let mut events = Vec::new();
    silero.reset();
    let mut position = 0;
    while position < samples.len() {
        let at = position / CHUNK;
        let probability = |chunk: &[f32; CHUNK]| silero.probability(chunk);
        position +=
            segmenter.push(&samples[position..], at, probability, |at, event| events.push((at, event)))?;
    }
    segmenter.finish(|at, event| events.push((at, event)));
    Ok(events)
}

/// Where somebody speaks in a recording: from the first to the last chunk with speech of each utterance.
///
/// # Errors
/// When the model does not run.
pub fn speech(silero: &mut Silero, config: &Endpointing, samples: &[f32]) -> Result<Vec<Span>, VadError> {
    let lead = config.min_speech.as_secs_f64() - CHUNK_SECONDS;
    let mut spans = Vec::new();
    let mut start = 0.0;
    for (chunk, event) in utterances(silero, config, samples)? {
        match event {
            Speech::Start => start = chunk as f64 * CHUNK_SECONDS - lead,
            Speech::End => spans.push(Span { start, end: (chunk + 1) as f64 * CHUNK_SECONDS }),
            _ => {}
        }
    }
    Ok(spans)
}

/// The words of an account of speech, utterance by utterance. The engine does two quanta of work an event, so that
/// partial and early texts are begun and given up as in a running graph.
///
/// # Errors
/// When the engine fails.
pub fn transcribe(
    engine: Box<dyn SpeechToText>,
    events: impl IntoIterator<Item = Speech>,
) -> Result<Vec<String>, SttError> {
    let mut dictation = Dictation::new(engine, Some(Duration::from_millis(500)), true);
    let mut texts = Vec::new();
    let mut work = |dictation: &mut Dictation<()>, quanta: usize| {
        for _ in 0..quanta {
            let written = if dictation.is_busy() { dictation.work()? } else { break };
            let last = written.filter(|w| w.transcript.is_final && !w.transcript.text.is_empty());
            texts.extend(last.map(|w| w.transcript.text.to_string()));
        }
        Ok(())
    };
    for event in events {
        dictation.hear(event, ());
        work(&mut dictation, 2)?;
    }
    work(&mut dictation, usize::MAX)?;
    Ok(texts)
}
