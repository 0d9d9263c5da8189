//! From markup to what a voice speaks.

use std::time::Duration;

use super::{
    markup::{Parsed, Segment},
    sentences,
};
use crate::types::{Prosody, Spoken, SpokenPart};

impl Parsed<'_> {
    /// Sentences and silences in order, long sentences cut at their clauses so that the first sound comes early.
    pub fn spoken(&self) -> Spoken {
        let mut speech = Speech::default();
        match self {
            Parsed::Plain(text) => speech.say(text, Prosody::default()),
            Parsed::Marked { segments, .. } => {
                for segment in segments {
                    match segment {
                        Segment::Text(text, prosody) => speech.text(text, *prosody),
                        Segment::Break(Duration::ZERO) => speech.flush(),
                        Segment::Break(pause) => {
                            speech.cut();
                            speech.parts.push(SpokenPart::Break(*pause));
                        }
                    }
                }
                speech.flush();
            }
        }
        Spoken { parts: speech.parts.into() }
    }
}

/// Gathers text until it must be spoken as something else goes on.
#[derive(Default)]
struct Speech {
    parts: Vec<SpokenPart>,
    text: String,
    prosody: Prosody,
}

impl Speech {
    fn text(&mut self, text: &str, prosody: Prosody) {
        if prosody == self.prosody {
            return self.append(text);
        }
        // Marks belong to the words before them.
        let words = text.trim_start_matches(['.', ',', ';', ':', '!', '?', '…', ')', '”', '’']);
        self.append(&text[..text.len() - words.len()]);
        if is_audible(words) {
            self.cut();
            self.prosody = prosody;
        }
        self.append(words);
    }

    /// With white space as XML means it: one space.
    fn append(&mut self, text: &str) {
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end();
            self.text.push_str(word);
            if word.len() < piece.len() && !self.text.ends_with(' ') {
                self.text.push(' ');
            }
        }
    }

    /// Speaks what there is although its sentence goes on: the voice must not sink as at its end.
    fn cut(&mut self) {
        let len = self.text.trim_end().len();
        self.text.truncate(len);
        if self.text.ends_with(|last: char| last.is_alphanumeric() || last == '"') {
            self.text.push(',');
        }
        self.flush();
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.say(&text, self.prosody);
    }

    fn say(&mut self, text: &str, prosody: Prosody) {
        let pieces = sentences::pieces(text).filter(|piece| is_audible(piece));
        self.parts.extend(pieces.map(|piece| SpokenPart::Text { text: piece.into(), prosody }));
    }
}

fn is_audible(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}
