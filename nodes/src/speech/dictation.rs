//! What a recogniser works on, and when: partial texts while somebody speaks, and the final one ahead of time.
//!
//! At a pause the utterance may be over, so the final text is begun at once instead of after the hang-over; when speech
//! goes on it is thrown away.

use std::{collections::VecDeque, time::Duration};

use super::stt::{Progress, SpeechToText, SttError};
use crate::types::{Speech, Transcript};

const RATE: f64 = 16_000.0;

/// A partial text costs as much as its sound is long: so many partial texts a length keep the load the same.
const PARTIALS_PER_LENGTH: usize = 8;

/// An utterance that is not written down yet.
struct Utterance<C> {
    samples: Vec<f32>,
    /// Samples up to the silence that may be, or is, its end.
    voiced: Option<usize>,
    is_over: bool,
    /// Samples that the last partial text was made of.
    tried: usize,
    at: C,
}

impl<C> Utterance<C> {
    fn new(at: C) -> Utterance<C> {
        Utterance { samples: Vec::new(), voiced: None, is_over: false, tried: 0, at }
    }

    /// Takes an event after the start, and returns what need not be worked on any more.
    fn hear(&mut self, event: Speech) -> Option<Job> {
        match event {
            Speech::Start => None,
            Speech::Audio(samples) => {
                self.samples.extend_from_slice(&samples);
                None
            }
            Speech::Pause => {
                self.voiced = Some(self.samples.len());
                Some(Job::Partial)
            }
            Speech::Resume => {
                self.voiced = None;
                Some(Job::Final)
            }
            Speech::End => {
                self.is_over = true;
                Some(Job::Partial)
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Partial,
    Final,
}

/// What the recogniser does, and the event that it was given it at.
struct Begun<C> {
    job: Job,
    at: C,
}

/// A text, what it is due to, and whether it is the last of its utterance.
#[derive(Clone, Debug, PartialEq)]
pub struct Written<C> {
    /// The words; a final text may be empty, where there was only noise.
    pub transcript: Transcript,
    /// The event that the text is due to: the end of the utterance for a final text, the last event that a partial
    /// text was made of.
    pub at: C,
}

/// Writes utterances down, one after the other. `C` is what the caller wants to know of an event.
pub struct Dictation<C> {
    engine: Box<dyn SpeechToText>,
    /// New speech between two partial texts; `None` for none.
    partial_every: Option<usize>,
    /// Whether to work ahead at a pause.
    is_eager: bool,
    /// Oldest first: the recogniser works on this one.
    utterances: VecDeque<Utterance<C>>,
    begun: Option<Begun<C>>,
    /// The final text, done before the utterance was over.
    ready: Option<String>,
    agreement: Agreement,
}

impl<C: Copy> Dictation<C> {
    /// Partial texts come after `partial_every` of new speech, and less often in an utterance of more than eight times
    /// that; `is_eager` is whether the final text is begun at a pause.
    pub fn new(
        engine: Box<dyn SpeechToText>,
        partial_every: Option<Duration>,
        is_eager: bool,
    ) -> Dictation<C> {
        Dictation {
            engine,
            partial_every: partial_every.map(|time| ((time.as_secs_f64() * RATE) as usize).max(1)),
            is_eager,
            utterances: VecDeque::new(),
            begun: None,
            ready: None,
            agreement: Agreement::default(),
        }
    }

    /// Takes one event; `at` is what a text that follows from it is due to. No work is done.
    pub fn hear(&mut self, event: Speech, at: C) {
        if let Speech::Start = event {
            self.utterances.push_back(Utterance::new(at));
            return;
        }
        let is_in_work = self.utterances.len() == 1;
        let Some(utterance) = self.utterances.back_mut() else { return };
        utterance.at = at;
        let pointless = utterance.hear(event);
        if !is_in_work || pointless.is_none() {
            return;
        }
        if self.begun.as_ref().map(|begun| begun.job) == pointless {
            self.give_up();
        }
        if pointless == Some(Job::Final) {
            self.ready = None;
        }
    }

    /// Whether [`work`](Dictation::work) has something to do.
    pub fn is_busy(&self) -> bool {
        let is_over = self.utterances.front().is_some_and(|utterance| utterance.is_over);
        self.is_working() || (self.ready.is_some() && is_over) || self.wanted().is_some()
    }

    /// Whether the recogniser has begun something and not done it.
    pub fn is_working(&self) -> bool {
        self.begun.is_some()
    }

    /// Does one quantum of work, and returns the text if one is done.
    ///
    /// # Errors
    /// When the recogniser fails; the utterance is given up.
    pub fn work(&mut self) -> Result<Option<Written<C>>, SttError> {
        if self.begun.is_none() {
            if let Some(utterance) = self.utterances.front().filter(|utterance| utterance.is_over)
                && let Some(text) = self.ready.take()
            {
                let at = utterance.at;
                return Ok(Some(self.close(text, at)));
            }
            let (Some(job), Some(utterance)) = (self.wanted(), self.utterances.front_mut()) else {
                return Ok(None);
            };
            let end = match job {
                Job::Partial => utterance.samples.len(),
                Job::Final => utterance.voiced.unwrap_or(utterance.samples.len()),
            };
            utterance.tried = end;
            self.begun = Some(Begun { job, at: utterance.at });
            self.engine.begin(&utterance.samples[..end]);
        }
        let progress = self.engine.step().inspect_err(|_| {
            self.utterances.pop_front();
            self.reset();
        })?;
        let Progress::Done(text) = progress else { return Ok(None) };
        let (Some(Begun { job, at }), Some(utterance)) = (self.begun.take(), self.utterances.front()) else {
            return Ok(None);
        };
        if job == Job::Final && utterance.is_over {
            let at = utterance.at;
            return Ok(Some(self.close(text, at)));
        }
        let stable_words = self.agreement.with(&text);
        let transcript = Transcript { text: text.as_str().into(), stable_words, is_final: false };
        if job == Job::Final {
            self.ready = Some(text);
        }
        let wants_partials = self.partial_every.is_some();
        Ok((wants_partials && !transcript.text.is_empty()).then_some(Written { transcript, at }))
    }

    /// Gives up the utterances that are due to something cancelled.
    pub fn cancel(&mut self, is_cancelled: impl Fn(C) -> bool) {
        if self.utterances.front().is_some_and(|utterance| is_cancelled(utterance.at)) {
            self.reset();
        }
        self.utterances.retain(|utterance| !is_cancelled(utterance.at));
    }

    fn wanted(&self) -> Option<Job> {
        let utterance = self.utterances.front()?;
        if utterance.is_over || (self.is_eager && utterance.voiced.is_some()) {
            return self.ready.is_none().then_some(Job::Final);
        }
        let length = utterance.samples.len();
        let is_due = |every: usize| length - utterance.tried >= every.max(length / PARTIALS_PER_LENGTH);
        (utterance.voiced.is_none() && self.partial_every.is_some_and(is_due)).then_some(Job::Partial)
    }

    fn close(&mut self, text: String, at: C) -> Written<C> {
        self.utterances.pop_front();
        self.reset();
        // A recogniser that hears a pause writes a comma, though nothing follows.
        let text = text.trim_end_matches(|c: char| c == ',' || c.is_whitespace());
        let stable_words = text.split_whitespace().count();
        Written { transcript: Transcript { text: text.into(), stable_words, is_final: true }, at }
    }

    fn give_up(&mut self) {
        self.engine.abandon();
        self.begun = None;
    }

    fn reset(&mut self) {
        self.give_up();
        self.ready = None;
        self.agreement = Agreement::default();
    }
}

/// The words on which two runs in a row agree (local agreement; D. Liu et al., "Low-Latency Sequence-to-Sequence
/// Speech Recognition and Translation by Partial Hypothesis Selection", 2020). They get fewer only where the text does.
#[derive(Default)]
struct Agreement {
    last: Vec<String>,
    stable: usize,
}

impl Agreement {
    fn with(&mut self, text: &str) -> usize {
        let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let words: Vec<String> = text.split_whitespace().map(bare).collect();
        let agreed = words.iter().zip(&self.last).take_while(|(new, old)| new == old).count();
        self.stable = self.stable.max(agreed).min(words.len());
        self.last = words;
        self.stable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes how many samples it was given, after one more step for each thousand of them.
    #[derive(Default)]
    struct Counter {
        samples: usize,
        left: usize,
    }

    impl SpeechToText for Counter {
        fn begin(&mut self, utterance: &[f32]) {
            self.samples = utterance.len();
            self.left = utterance.len() / 1_000;
        }

        fn step(&mut self) -> Result<Progress, SttError> {
            if self.left > 0 {
                self.left -= 1;
                return Ok(Progress::Working);
            }
            match self.samples {
                0 => Ok(Progress::Done(String::new())),
                2 => Ok(Progress::Done("so to say, ".into())),
                666 => Err(SttError::new(std::fmt::Error)),
                samples => Ok(Progress::Done(format!("heard {samples}"))),
            }
        }

        fn abandon(&mut self) {
            self.left = 0;
        }
    }

    fn dictation(partials: bool, is_eager: bool) -> Dictation<usize> {
        Dictation::new(Box::new(Counter::default()), partials.then_some(Duration::from_millis(500)), is_eager)
    }

    fn audio(samples: usize) -> Speech {
        Speech::Audio(vec![0.0; samples].into())
    }

    fn work(dictation: &mut Dictation<usize>) -> (usize, Vec<(String, bool, usize)>) {
        let (mut quanta, mut written) = (0, Vec::new());
        while dictation.is_busy() {
            quanta += 1;
            let done = dictation.work().unwrap();
            written.extend(done.map(|w| (w.transcript.text.to_string(), w.transcript.is_final, w.at)));
        }
        (quanta, written)
    }

    fn text(samples: usize, is_final: bool, at: usize) -> (String, bool, usize) {
        (format!("heard {samples}"), is_final, at)
    }

    #[test]
    fn the_final_text_is_begun_at_the_pause_and_given_at_the_end_without_more_work() {
        let mut dictation = dictation(false, true);
        for (at, event) in [Speech::Start, audio(5_000), Speech::Pause, audio(500)].into_iter().enumerate() {
            dictation.hear(event, at);
        }
        assert_eq!(work(&mut dictation), (6, vec![]));
        dictation.hear(Speech::End, 9);
        assert_eq!(work(&mut dictation), (1, vec![text(5_000, true, 9)]));
        assert!(!dictation.is_busy());
    }

    #[test]
    fn what_was_begun_at_a_pause_goes_on_over_the_end() {
        let mut dictation = dictation(false, true);
        for event in [Speech::Start, audio(5_000), Speech::Pause] {
            dictation.hear(event, 1);
        }
        dictation.work().unwrap();
        dictation.work().unwrap();
        dictation.hear(Speech::End, 2);
        assert_eq!(work(&mut dictation), (4, vec![text(5_000, true, 2)]));
    }

    #[test]
    fn when_speech_goes_on_the_early_text_is_thrown_away() {
        for quanta in [1, 6] {
            let mut dictation = dictation(false, true);
            for event in [Speech::Start, audio(5_000), Speech::Pause] {
                dictation.hear(event, 1);
            }
            for _ in 0..quanta {
                dictation.work().unwrap();
            }
            for event in [Speech::Resume, audio(2_000), Speech::Pause, Speech::End] {
                dictation.hear(event, 2);
            }
            assert_eq!(work(&mut dictation).1, [text(7_000, true, 2)]);
        }
    }

    #[test]
    fn without_eagerness_nothing_is_done_before_the_end() {
        let mut dictation = dictation(false, false);
        for event in [Speech::Start, audio(5_000), Speech::Pause] {
            dictation.hear(event, 1);
        }
        assert!(!dictation.is_busy());
        dictation.hear(Speech::End, 2);
        assert_eq!(work(&mut dictation), (6, vec![text(5_000, true, 2)]));
    }

    #[test]
    fn partial_texts_come_with_new_speech_and_more_rarely_in_a_long_utterance() {
        let mut dictation = dictation(true, true);
        dictation.hear(Speech::Start, 0);
        let mut lengths = Vec::new();
        for n in 1..=120 {
            dictation.hear(audio(1_600), n);
            lengths.extend(work(&mut dictation).1.iter().map(|(_, _, at)| at * 100));
        }
        assert_eq!(lengths[..6], [500, 1_000, 1_500, 2_000, 2_500, 3_000]);
        let gaps: Vec<_> = lengths.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.is_sorted() && gaps.last() > Some(&1_000), "{gaps:?}");
    }

    #[test]
    fn a_partial_text_is_due_to_the_last_sound_that_it_was_made_of() {
        let mut dictation = dictation(true, true);
        dictation.hear(Speech::Start, 0);
        dictation.hear(audio(8_000), 1);
        assert_eq!(dictation.work().unwrap(), None);
        dictation.hear(audio(500), 2);
        assert_eq!(work(&mut dictation).1, [text(8_000, false, 1)]);
    }

    #[test]
    fn a_final_text_ends_without_a_comma() {
        let mut dictation = dictation(false, true);
        for event in [Speech::Start, audio(2), Speech::End] {
            dictation.hear(event, 1);
        }
        let written = dictation.work().unwrap().unwrap().transcript;
        assert_eq!((&*written.text, written.stable_words), ("so to say", 3));
    }

    #[test]
    fn a_partial_text_in_the_making_gives_way_to_the_pause_and_to_the_end() {
        for event in [Speech::Pause, Speech::End] {
            let mut dictation = dictation(true, true);
            dictation.hear(Speech::Start, 0);
            dictation.hear(audio(8_000), 1);
            assert_eq!(dictation.work().unwrap(), None);
            dictation.hear(audio(1_000), 2);
            dictation.hear(event, 3);
            dictation.hear(Speech::End, 4);
            assert_eq!(work(&mut dictation), (10, vec![text(9_000, true, 4)]));
        }
    }

    #[test]
    fn the_next_utterance_waits_for_the_text_of_the_one_before() {
        let mut dictation = dictation(true, true);
        for event in [Speech::Start, audio(20_000), Speech::End, Speech::Start, audio(9_000), Speech::Pause] {
            dictation.hear(event, 1);
        }
        dictation.hear(audio(500), 2);
        dictation.hear(Speech::End, 3);
        assert_eq!(work(&mut dictation).1, [text(20_000, true, 1), text(9_000, true, 3)]);
    }

    #[test]
    fn a_cancelled_utterance_is_given_up_between_two_quanta_and_the_next_is_heard() {
        let mut dictation = dictation(false, true);
        for (at, event) in [(1, Speech::Start), (1, audio(20_000)), (1, Speech::End), (2, Speech::Start)] {
            dictation.hear(event, at);
        }
        dictation.work().unwrap();
        dictation.cancel(|at| at == 1);
        assert!(!dictation.is_busy());
        dictation.hear(audio(3_000), 2);
        dictation.hear(Speech::End, 2);
        assert_eq!(work(&mut dictation).1, [text(3_000, true, 2)]);
    }

    #[test]
    fn events_of_an_utterance_whose_start_was_cancelled_are_ignored() {
        let mut dictation = dictation(true, true);
        for event in [audio(20_000), Speech::Pause, Speech::Resume, Speech::End] {
            dictation.hear(event, 1);
        }
        assert!(!dictation.is_busy());
    }

    #[test]
    fn noise_gives_an_empty_final_text_and_no_partial_one() {
        let mut dictation = dictation(true, true);
        for event in [Speech::Start, audio(0), Speech::Pause, Speech::End] {
            dictation.hear(event, 1);
        }
        assert_eq!(work(&mut dictation).1, [(String::new(), true, 1)]);
    }

    #[test]
    fn a_failure_gives_up_its_utterance_only() {
        let mut dictation = dictation(false, true);
        for event in [Speech::Start, audio(666), Speech::End, Speech::Start, audio(1_000), Speech::End] {
            dictation.hear(event, 1);
        }
        assert!(dictation.work().is_err());
        assert_eq!(work(&mut dictation).1, [text(1_000, true, 1)]);
    }

    #[test]
    fn words_are_stable_when_two_runs_agree_and_stay_so() {
        let mut agreement = Agreement::default();
        let stable: Vec<_> = ["Turn", "turn on the", "Turn on. The light", "turn of the light", ""]
            .map(|t| agreement.with(t))
            .into();
        assert_eq!(stable, [0, 1, 3, 3, 0]);
    }
}
