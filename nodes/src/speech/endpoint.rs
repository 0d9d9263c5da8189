//! Where an utterance begins, pauses and ends, told from the probability of speech in each chunk of sound.
//!
//! An utterance begins with a run of speech and ends with a silence that lasts for the hang-over. The longer it gets,
//! the shorter a silence will do, so that one which must be cut is cut at a pause.

use std::{collections::VecDeque, time::Duration};

use crate::types::Speech;

/// Samples that are judged together: 32 ms at 16 kHz.
pub const CHUNK: usize = 512;

const CHUNK_TIME: Duration = Duration::from_millis(32);

/// What makes an utterance. Times are rounded to chunks of 32 ms, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpointing {
    /// Probability from which a chunk is speech.
    pub threshold: f32,
    /// Probability below which silence begins; between the two, what was goes on.
    pub silence_threshold: f32,
    /// Speech that begins an utterance; a shorter noise does not.
    pub min_speech: Duration,
    /// Sound from before the utterance that goes with it.
    pub pre_roll: Duration,
    /// Silence after which a reader is told that the utterance may be over.
    pub pause: Duration,
    /// Silence that ends the utterance.
    pub hang_over: Duration,
    /// The longest utterance, pre-roll included.
    pub max_utterance: Duration,
}

impl Default for Endpointing {
    /// For one person who speaks to a machine: half a second of silence ends an utterance.
    fn default() -> Endpointing {
        Endpointing {
            threshold: 0.5,
            silence_threshold: 0.35,
            min_speech: Duration::from_millis(64),
            pre_roll: Duration::from_millis(300),
            pause: Duration::from_millis(64),
            hang_over: Duration::from_millis(480),
            max_utterance: Duration::from_secs(12),
        }
    }
}

/// The part of the longest utterance after which shorter silences end it.
const PATIENT: f64 = 2.0 / 3.0;

/// What a chunk changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Start,
    Pause,
    Resume,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Nobody speaks, or not for long enough yet: so many chunks of speech in a row.
    Idle { speech: usize },
    /// Within an utterance of `length` chunks so far, the last `silence` of them silent.
    Open { length: usize, silence: usize },
}

#[derive(Clone, Debug)]
struct Endpointer {
    threshold: f32,
    silence_threshold: f32,
    min_speech: usize,
    pre_roll: usize,
    pause: usize,
    hang_over: usize,
    max_utterance: usize,
    state: State,
}

impl Endpointer {
    fn new(config: &Endpointing) -> Endpointer {
        let chunks =
            |time: Duration| (time.as_secs_f64() / CHUNK_TIME.as_secs_f64()).round().max(1.0) as usize;
        Endpointer {
            threshold: config.threshold,
            silence_threshold: config.silence_threshold.min(config.threshold),
            min_speech: chunks(config.min_speech),
            pre_roll: chunks(config.pre_roll),
            pause: chunks(config.pause),
            hang_over: chunks(config.hang_over),
            max_utterance: chunks(config.max_utterance),
            state: State::Idle { speech: 0 },
        }
    }

    /// Chunks kept while nobody speaks: the pre-roll, and the run that proves speech.
    fn kept(&self) -> usize {
        self.pre_roll + self.min_speech
    }

    fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }

    fn is_voiced(&self) -> bool {
        matches!(self.state, State::Open { silence: 0, .. })
    }

    fn push(&mut self, probability: f32) -> Option<Mark> {
        let is_speech = probability >= self.threshold;
        let is_silence = probability < self.silence_threshold;
        match &mut self.state {
            State::Idle { speech } => {
                *speech = if is_silence { 0 } else { *speech + usize::from(is_speech) };
                if *speech < self.min_speech {
                    return None;
                }
                self.state = State::Open { length: self.kept(), silence: 0 };
                Some(Mark::Start)
            }
            State::Open { length, silence } => {
                let was_paused = *silence >= self.pause;
                *length += 1;
                // Between the thresholds a silence that has begun goes on, and so does speech.
                *silence = if is_speech { 0 } else { *silence + usize::from(is_silence || *silence > 0) };
                let (length, silence) = (*length, *silence);
                if length >= self.max_utterance || silence >= self.patience(length) {
                    self.state = State::Idle { speech: 0 };
                    return Some(Mark::End);
                }
                match (was_paused, silence >= self.pause) {
                    (false, true) => Some(Mark::Pause),
                    (true, false) => Some(Mark::Resume),
                    _ => None,
                }
            }
        }
    }

    /// The silence that ends an utterance of this length: the hang-over at first, one chunk at the longest.
    fn patience(&self, length: usize) -> usize {
        let max = self.max_utterance as f64;
        let left = ((max - length as f64) / (max * (1.0 - PATIENT))).clamp(0.0, 1.0);
        ((self.hang_over as f64 * left).ceil() as usize).max(1)
    }
}

/// Cuts sound into utterances. `C` is what the caller wants to know of the chunk that an event is due to.
///
/// The events do not depend on how the sound was cut when it came in.
#[derive(Debug)]
pub struct Segmenter<C> {
    endpointer: Endpointer,
    chunk: Vec<f32>,
    /// Sound before an utterance.
    before: VecDeque<f32>,
    last: Option<C>,
    last_speech: Option<C>,
}

impl<C: Copy> Segmenter<C> {
    /// A segmenter that has heard nothing.
    pub fn new(config: &Endpointing) -> Segmenter<C> {
        let endpointer = Endpointer::new(config);
        let before = VecDeque::with_capacity((endpointer.kept() + 1) * CHUNK);
        Segmenter { endpointer, chunk: Vec::with_capacity(CHUNK), before, last: None, last_speech: None }
    }

    /// Takes sound at 16 kHz, mono, up to the end of a chunk, and returns how many samples it took. `probability` judges
    /// the chunk; `emit` is given what came to be known, at most two events, and what each is due to: `at`, or for
    /// [`Speech::End`] the `at` of the last chunk with speech.
    ///
    /// # Errors
    /// What `probability` said; the chunk is lost.
    pub fn push<E>(
        &mut self,
        samples: &[f32],
        at: C,
        probability: impl FnOnce(&[f32; CHUNK]) -> Result<f32, E>,
        emit: impl FnMut(C, Speech),
    ) -> Result<usize, E> {
        let taken = samples.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&samples[..taken]);
        self.last = Some(at);
        if let Some(chunk) = self.chunk.as_array::<CHUNK>() {
            let judged = probability(chunk);
            if let Ok(probability) = judged {
                self.judge(probability, at, emit);
            }
            self.chunk.clear();
            judged?;
        }
        Ok(taken)
    }

    /// Ends the sound: an utterance that is open closes with what there is of it.
    pub fn finish(&mut self, mut emit: impl FnMut(C, Speech)) {
        let is_open = self.endpointer.is_open();
        self.endpointer.state = State::Idle { speech: 0 };
        self.before.clear();
        let rest = std::mem::take(&mut self.chunk);
        if let (true, Some(last), Some(last_speech)) = (is_open, self.last, self.last_speech) {
            if !rest.is_empty() {
                emit(last, Speech::Audio(rest.into()));
            }
            emit(last_speech, Speech::End);
        }
    }

    fn judge(&mut self, probability: f32, at: C, mut emit: impl FnMut(C, Speech)) {
        let was_open = self.endpointer.is_open();
        let mark = self.endpointer.push(probability);
        if self.endpointer.is_voiced()
            || (mark == Some(Mark::End) && probability >= self.endpointer.threshold)
        {
            self.last_speech = Some(at);
        }
        if !was_open {
            self.before.extend(&self.chunk);
            let spare = self.before.len().saturating_sub(self.endpointer.kept() * CHUNK);
            self.before.drain(..spare);
            if mark == Some(Mark::Start) {
                emit(at, Speech::Start);
                emit(at, Speech::Audio(self.before.drain(..).collect()));
            }
            return;
        }
        if mark == Some(Mark::Resume) {
            emit(at, Speech::Resume);
        }
        emit(at, Speech::Audio(self.chunk[..].into()));
        match mark {
            Some(Mark::Pause) => emit(at, Speech::Pause),
            Some(Mark::End) => emit(self.last_speech.unwrap_or(at), Speech::End),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CONFIG: Endpointing = Endpointing {
        threshold: 0.5,
        silence_threshold: 0.35,
        min_speech: Duration::from_millis(64),
        pre_roll: Duration::from_millis(96),
        pause: Duration::from_millis(64),
        hang_over: Duration::from_millis(192),
        max_utterance: Duration::from_millis(1_920),
    };

    /// Probabilities from a line: `#` speech, `+` between the thresholds, anything else silence.
    fn script(line: &str) -> Vec<f32> {
        line.chars()
            .map(|c| match c {
                '#' => 0.9,
                '+' => 0.4,
                _ => 0.1,
            })
            .collect()
    }

    /// The events with the number of the chunk each is due to. Sample `n` of the sound has the value `n`.
    fn events(probabilities: &[f32], piece: usize) -> Vec<(usize, Speech)> {
        let sound: Vec<f32> = (0..probabilities.len() * CHUNK).map(|n| n as f32).collect();
        let mut segmenter = Segmenter::new(&CONFIG);
        let mut events = Vec::new();
        let mut position = 0;
        while position < sound.len() {
            let end = sound.len().min((position / piece + 1) * piece);
            position += segmenter
                .push(
                    &sound[position..end],
                    position / CHUNK,
                    |chunk| Ok::<_, ()>(probabilities[chunk[0] as usize / CHUNK]),
                    |at, event| events.push((at, event)),
                )
                .unwrap();
        }
        segmenter.finish(|at, event| events.push((at, event)));
        events
    }

    /// As [`events`], without the sound.
    fn marks(line: &str) -> Vec<(usize, Speech)> {
        let marks = events(&script(line), CHUNK).into_iter();
        marks.filter(|(_, event)| !matches!(event, Speech::Audio(_))).collect()
    }

    fn sound(events: &[(usize, Speech)]) -> Vec<f32> {
        let pieces = events.iter().filter_map(|(_, event)| match event {
            Speech::Audio(samples) => Some(&samples[..]),
            _ => None,
        });
        pieces.flatten().copied().collect()
    }

    #[test]
    fn an_utterance_starts_with_a_run_and_ends_with_a_silence_due_to_its_last_speech() {
        assert_eq!(marks(".....####......"), [(6, Speech::Start), (10, Speech::Pause), (8, Speech::End)]);
    }

    #[test]
    fn a_short_noise_starts_nothing() {
        assert_eq!(marks("..#..#...#......"), []);
    }

    #[test]
    fn the_pre_roll_comes_first_and_the_hang_over_goes_along() {
        let events = events(&script("......####......"), CHUNK);
        assert!(matches!(&events[0].1, Speech::Start));
        let expected: Vec<f32> = (3 * CHUNK..16 * CHUNK).map(|n| n as f32).collect();
        assert_eq!(sound(&events), expected);
    }

    #[test]
    fn a_pause_shorter_than_the_hang_over_is_taken_back() {
        let expected = [
            (6, Speech::Start),
            (10, Speech::Pause),
            (11, Speech::Resume),
            (15, Speech::Pause),
            (13, Speech::End),
        ];
        assert_eq!(marks(".....####..###......"), expected);
    }

    #[test]
    fn one_silent_chunk_is_no_pause() {
        assert_eq!(marks("..##.##.##"), [(3, Speech::Start), (9, Speech::End)]);
    }

    #[test]
    fn between_the_thresholds_speech_and_silence_go_on() {
        assert_eq!(marks("..##++++##"), [(3, Speech::Start), (9, Speech::End)]);
        assert_eq!(marks("..##.+++++"), [(3, Speech::Start), (5, Speech::Pause), (3, Speech::End)]);
    }

    #[test]
    fn speech_cut_at_the_end_of_the_sound_still_closes() {
        let mut segmenter = Segmenter::new(&CONFIG);
        let mut events = Vec::new();
        let speech = [0.5; 3 * CHUNK + 100];
        let mut position = 0;
        while position < speech.len() {
            let probability = |_: &[f32; CHUNK]| Ok::<_, ()>(0.9);
            position +=
                segmenter.push(&speech[position..], 7, probability, |_, event| events.push(event)).unwrap();
        }
        segmenter.finish(|_, event| events.push(event));
        assert_eq!(events.last(), Some(&Speech::End));
        assert!(matches!(&events[events.len() - 2], Speech::Audio(rest) if rest.len() == 100));
    }

    #[test]
    fn a_failed_judgement_is_told_and_the_next_chunk_is_heard() {
        let mut segmenter = Segmenter::new(&CONFIG);
        let failed = segmenter.push(&[0.0; CHUNK], 0, |_| Err("no"), |_, _| {});
        assert_eq!(failed, Err("no"));
        assert_eq!(segmenter.push(&[0.0; CHUNK], 0, |_| Ok::<_, ()>(0.9), |_, _| {}), Ok(CHUNK));
    }

    #[test]
    fn a_long_utterance_is_cut_at_a_pause_that_would_not_have_ended_a_short_one() {
        // The longest is 60 chunks; here a pause of three chunks comes at the 50th.
        let line = format!("{}...{}......", "#".repeat(48), "#".repeat(20));
        let ends: Vec<_> = marks(&line).into_iter().filter(|(_, event)| *event == Speech::End).collect();
        assert_eq!(ends, [(47, Speech::End), (70, Speech::End)]);
        let line = format!("{}...{}......", "#".repeat(10), "#".repeat(20));
        assert_eq!(marks(&line).iter().filter(|(_, event)| *event == Speech::End).count(), 1);
    }

    #[test]
    fn speech_without_a_pause_is_cut_at_its_longest_and_no_sample_is_lost_or_doubled() {
        let events = events(&script(&"#".repeat(150)), CHUNK);
        assert_eq!(events.iter().filter(|(_, event)| *event == Speech::End).count(), 3);
        let expected: Vec<f32> = (0..150 * CHUNK).map(|n| n as f32).collect();
        assert_eq!(sound(&events), expected);
    }

    proptest! {
        #[test]
        fn events_keep_their_order_and_sound_is_never_doubled(
            probabilities in prop::collection::vec(0.0f32..1.0, 0..300), piece in 1usize..2_000
        ) {
            let whole = events(&probabilities, CHUNK);
            let (mut open, mut paused) = (false, false);
            for (_, event) in &whole {
                let allowed = match event {
                    Speech::Start => !open,
                    Speech::Audio(_) | Speech::End => open,
                    Speech::Pause => open && !paused,
                    Speech::Resume => open && paused,
                };
                prop_assert!(allowed, "{event:?}");
                open = *event != Speech::End;
                paused = matches!(event, Speech::Pause) || (paused && matches!(event, Speech::Audio(_)));
            }
            prop_assert!(!open);
            prop_assert!(sound(&whole).is_sorted_by(|a, b| a < b));
            let bare = |events: Vec<(usize, Speech)>| -> Vec<Speech> { events.into_iter().map(|(_, e)| e).collect() };
            prop_assert_eq!(bare(events(&probabilities, piece)), bare(whole));
        }
    }
}
