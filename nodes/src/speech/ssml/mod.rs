//! SSML 1.1 to sentences, or plain text to sentences.
//!
//! Read are `speak`, `p`, `s`, `prosody` (rate, pitch, volume), `break`, `emphasis`, `say-as` and `sub`; what stands
//! in other elements is spoken as it is. Bad markup is told, and its text spoken all the same.

mod say_as;
mod scan;
mod sentences;
mod values;

use std::{borrow::Cow, time::Duration};

use scan::{Attributes, Event, Scanner};
use thiserror::Error;
pub use values::LONGEST_BREAK;

use crate::types::{Prosody, Spoken, SpokenPart};

/// A fault in the markup.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("byte {offset} of the markup: {fault}")]
pub struct Problem {
    /// Where it is, in bytes from the start.
    pub offset: usize,
    /// What it is.
    pub fault: Fault,
}

/// What can be wrong with markup.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// `<` alone, or a tag, comment or section without its end.
    #[error("a `<` that opens nothing, or a tag that does not end; write `&lt;` for the sign")]
    Broken,
    /// `&` alone, or an entity that XML has not.
    #[error("an `&` that is no entity; write `&amp;` for the sign")]
    Entity,
    /// The root is not `speak`.
    #[error("the text has markup but does not begin with `<speak>`")]
    Root,
    /// An element that SSML has not.
    #[error("there is no element `{name}` in SSML")]
    Unknown {
        /// Its name.
        name: String,
    },
    /// An end tag that ends nothing.
    #[error("`</{name}>` closes nothing{}", .open.as_ref().map(|open| format!(": `{open}` is open")).unwrap_or_default())]
    Close {
        /// Its name.
        name: String,
        /// The element that is open.
        open: Option<String>,
    },
    /// An element without its end tag.
    #[error("`<{name}>` is not closed")]
    Unclosed {
        /// Its name.
        name: String,
    },
    /// An attribute with a value it cannot have.
    #[error("`{value}` is no value for `{attribute}` of `{element}`")]
    Value {
        /// The element.
        element: &'static str,
        /// The attribute.
        attribute: &'static str,
        /// The value.
        value: String,
    },
}

/// A text after its markup is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed<'a> {
    /// There was no markup: the text as it was.
    Plain(&'a str),
    /// What the markup asks for.
    Marked {
        /// In the order of speaking.
        segments: Vec<Segment<'a>>,
        /// The first fault.
        problem: Option<Problem>,
    },
}

/// A piece of a text with markup.
#[derive(Clone, Debug, PartialEq)]
pub enum Segment<'a> {
    /// Text to be spoken in one manner.
    Text(Cow<'a, str>, Prosody),
    /// Silence; of no length where a sentence ends.
    Break(Duration),
}

/// Between paragraphs.
const PARAGRAPH: Duration = Duration::from_millis(400);

/// Reads a text's markup. Never fails: see [`Parsed::problem`].
pub fn parse(text: &str) -> Parsed<'_> {
    if !scan::has_markup(text) {
        return Parsed::Plain(text);
    }
    Reader::new(text).read()
}

/// An element that is open.
struct Open<'a> {
    name: &'a str,
    offset: usize,
    prosody: Prosody,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// Its text is spoken.
    Spoken,
    /// Its text is for nobody's ears: `sub`, `desc`, `metadata`.
    Silent,
    SayAs {
        kind: Cow<'a, str>,
        format: Cow<'a, str>,
    },
}

/// Elements of SSML 1.1 whose text is spoken without further ado.
const OTHERS: [&str; 9] = ["audio", "lang", "mark", "phoneme", "token", "voice", "w", "lookup", "lexicon"];

struct Reader<'a> {
    scanner: Scanner<'a>,
    open: Vec<Open<'a>>,
    segments: Vec<Segment<'a>>,
    problem: Option<Problem>,
    rooted: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Reader {
            scanner: Scanner::new(text),
            open: Vec::with_capacity(8),
            segments: Vec::with_capacity(8),
            problem: None,
            rooted: false,
        }
    }

    fn read(mut self) -> Parsed<'a> {
        loop {
            let offset = self.scanner.offset();
            let Some(event) = self.scanner.next() else { break };
            match event {
                Event::Text(text, has_entities) => self.text(text, has_entities, offset),
                Event::Open { name, attributes, empty } => {
                    self.start(name, attributes, offset);
                    if empty {
                        self.end();
                    }
                }
                Event::Close { name } => self.close(name, offset),
                Event::Broken => self.fault(offset, || Fault::Broken),
            }
        }
        while let Some(open) = self.open.last() {
            let (name, offset) = (open.name, open.offset);
            self.fault(offset, || Fault::Unclosed { name: name.into() });
            self.end();
        }
        Parsed::Marked { segments: self.segments, problem: self.problem }
    }

    fn fault(&mut self, offset: usize, fault: impl FnOnce() -> Fault) {
        if self.problem.is_none() {
            self.problem = Some(Problem { offset, fault: fault() });
        }
    }

    fn prosody(&self) -> Prosody {
        self.open.last().map(|open| open.prosody).unwrap_or_default()
    }

    fn text(&mut self, text: &'a str, has_entities: bool, offset: usize) {
        let (text, bad) = if has_entities { scan::unescaped(text) } else { (Cow::Borrowed(text), None) };
        if let Some(at) = bad {
            self.fault(offset + at, || Fault::Entity);
        }
        if !self.rooted && !text.trim().is_empty() {
            self.rooted = true;
            self.fault(offset, || Fault::Root);
        }
        if self.open.iter().any(|open| matches!(open.kind, Kind::Silent)) {
            return;
        }
        let words = match self.open.last().map(|open| &open.kind) {
            Some(Kind::SayAs { kind, format }) => say_as::words(kind, format, &text).map(Cow::Owned),
            _ => None,
        };
        self.segments.push(Segment::Text(words.unwrap_or(text), self.prosody()));
    }

    fn start(&mut self, name: &'a str, attributes: &'a str, offset: usize) {
        if !self.rooted {
            self.rooted = true;
            if name != "speak" {
                self.fault(offset, || Fault::Root);
            }
        }
        let mut prosody = self.prosody();
        let mut kind = Kind::Spoken;
        match name {
            "speak" => {}
            "p" if self.segments.iter().any(|segment| matches!(segment, Segment::Text(..))) => {
                self.segments.push(Segment::Break(PARAGRAPH));
            }
            "p" | "s" => self.segments.push(Segment::Break(Duration::ZERO)),
            "prosody" => self.change(&mut prosody, attributes, offset),
            "emphasis" => {
                let level = attribute(attributes, "level").unwrap_or(Cow::Borrowed("moderate"));
                match values::emphasis(&level, prosody) {
                    Some(changed) => prosody = changed,
                    None => self.bad_value("emphasis", "level", level, offset),
                }
            }
            "break" => self.pause(attributes, offset),
            "say-as" => {
                let value = |name| attribute(attributes, name).unwrap_or_default();
                kind = Kind::SayAs { kind: value("interpret-as"), format: value("format") };
            }
            "sub" => {
                if let Some(alias) = attribute(attributes, "alias") {
                    self.segments.push(Segment::Text(alias, prosody));
                    kind = Kind::Silent;
                }
            }
            "desc" | "metadata" | "meta" => kind = Kind::Silent,
            other if OTHERS.contains(&other) => {}
            other => self.fault(offset, || Fault::Unknown { name: other.into() }),
        }
        self.open.push(Open { name, offset, prosody, kind });
    }

    fn change(&mut self, prosody: &mut Prosody, attributes: &'a str, offset: usize) {
        type Read = fn(&str, f32) -> Option<f32>;
        let changes: [(&'static str, Read, &mut f32); 3] = [
            ("rate", values::rate, &mut prosody.rate),
            ("volume", values::volume, &mut prosody.volume_db),
            ("pitch", values::pitch, &mut prosody.pitch_semitones),
        ];
        for (name, read, current) in changes {
            let Some(value) = attribute(attributes, name) else { continue };
            match read(value.trim(), *current) {
                Some(changed) => *current = changed,
                None => self.bad_value("prosody", name, value, offset),
            }
        }
    }

    fn pause(&mut self, attributes: &'a str, offset: usize) {
        let mut pause = values::strength("medium");
        for (name, read) in [("strength", values::strength as fn(&str) -> _), ("time", values::time)] {
            let Some(value) = attribute(attributes, name) else { continue };
            match read(value.trim()) {
                Some(time) => pause = Some(time),
                None => self.bad_value("break", name, value, offset),
            }
        }
        if let Some(pause) = pause.filter(|pause| !pause.is_zero()) {
            self.segments.push(Segment::Break(pause));
        }
    }

    fn bad_value(
        &mut self,
        element: &'static str,
        attribute: &'static str,
        value: Cow<'_, str>,
        offset: usize,
    ) {
        self.fault(offset, || Fault::Value { element, attribute, value: value.into() });
    }

    fn close(&mut self, name: &'a str, offset: usize) {
        let open = self.open.last().map(|open| open.name);
        if open != Some(name) {
            self.fault(offset, || Fault::Close { name: name.into(), open: open.map(String::from) });
            if !self.open.iter().any(|open| open.name == name) {
                return;
            }
        }
        while let Some(ended) = self.end() {
            if ended == name {
                break;
            }
        }
    }

    fn end(&mut self) -> Option<&'a str> {
        let ended = self.open.pop()?;
        if matches!(ended.name, "p" | "s") {
            self.segments.push(Segment::Break(Duration::ZERO));
        }
        Some(ended.name)
    }
}

fn attribute<'a>(attributes: &'a str, name: &str) -> Option<Cow<'a, str>> {
    Attributes(attributes).find(|(found, _)| *found == name).map(|(_, value)| value)
}

impl Parsed<'_> {
    /// The first fault of the markup.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Parsed::Plain(_) => None,
            Parsed::Marked { problem, .. } => problem.as_ref(),
        }
    }

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const USUAL: Prosody = Prosody { rate: 1.0, volume_db: 0.0, pitch_semitones: 0.0 };

    fn text(text: &str) -> SpokenPart {
        SpokenPart::Text { text: text.into(), prosody: USUAL }
    }

    fn pause(milliseconds: u64) -> SpokenPart {
        SpokenPart::Break(Duration::from_millis(milliseconds))
    }

    fn spoken(markup: &str) -> Vec<SpokenPart> {
        let parsed = parse(markup);
        assert_eq!(parsed.problem(), None, "{markup}");
        parsed.spoken().parts.to_vec()
    }

    #[test]
    fn plain_text_passes_untouched() {
        for plain in ["Hello.", "5 < 6 & 7 > 3", "a <3 b", "&amp; stays", ""] {
            assert_eq!(parse(plain), Parsed::Plain(plain));
        }
        assert_eq!(spoken("Yes. It is on."), [text("Yes."), text("It is on.")]);
        assert_eq!(spoken(" ... "), []);
    }

    #[test]
    fn a_simple_speak_is_its_text() {
        assert_eq!(spoken("<speak>Hello &amp; good\n  morning.</speak>"), [text("Hello & good morning.")]);
        assert_eq!(
            spoken(
                "<?xml version=\"1.0\"?><speak version=\"1.1\" xml:lang=\"en-US\"><p>One</p><p><s>Two</s><s>Three</s></p></speak>"
            ),
            [text("One"), pause(400), text("Two"), text("Three")]
        );
    }

    #[test]
    fn prosody_nests_and_ends_with_its_element() {
        let part = |text: &str, rate, volume_db, pitch_semitones| SpokenPart::Text {
            text: text.into(),
            prosody: Prosody { rate, volume_db, pitch_semitones },
        };
        assert_eq!(
            spoken(
                "<speak>One <prosody rate='slow' volume='+6dB'>two <prosody rate='200%' pitch='+2st'>three</prosody> \
                 four</prosody>. Five <emphasis>six</emphasis>!</speak>"
            ),
            [
                part("One,", 1.0, 0.0, 0.0),
                part("two,", 0.8, 6.0, 0.0),
                part("three,", 2.0, 6.0, 2.0),
                part("four.", 0.8, 6.0, 0.0),
                part("Five,", 1.0, 0.0, 0.0),
                part("six!", 0.9, 2.0, 0.0),
            ]
        );
    }

    #[test]
    fn breaks_are_silences_where_they_stand() {
        assert_eq!(
            spoken(
                "<speak><break time='1s'/>Wait<break/>for<break strength='none'/> it.<break time='250ms'/></speak>"
            ),
            [pause(1_000), text("Wait,"), pause(400), text("for it."), pause(250)]
        );
    }

    #[test]
    fn say_as_and_sub_are_written_out_within_their_sentence() {
        assert_eq!(
            spoken(
                "<speak>On <say-as interpret-as='date' format='mdy'>5/3/2026</say-as> the \
                 <sub alias='World Wide Web Consortium'>W3C</sub> met <say-as interpret-as=\"cardinal\">12</say-as> \
                 <say-as interpret-as='mood'>times</say-as>.</speak>"
            ),
            [text("On May third, twenty twenty six the World Wide Web Consortium met twelve times.")]
        );
    }

    #[test]
    fn faults_are_told_with_their_place_and_the_text_is_spoken() {
        for (markup, message, said) in [
            ("<speak>a < b</speak>", "byte 9 of the markup: a `<` that opens nothing", "a b"),
            ("<speak>AT&T</speak>", "byte 9 of the markup: an `&` that is no entity", "AT&T"),
            (
                "Hello <break/>you",
                "byte 0 of the markup: the text has markup but does not begin with `<speak>`",
                "Hello, you",
            ),
            (
                "<speak><b>bold</b> text</speak>",
                "byte 7 of the markup: there is no element `b` in SSML",
                "bold text",
            ),
            ("<speak>a</p> b</speak>", "byte 8 of the markup: `</p>` closes nothing: `speak` is open", "a b"),
            (
                "<speak><emphasis>a</speak>",
                "byte 18 of the markup: `</speak>` closes nothing: `emphasis` is open",
                "a",
            ),
            ("<speak>a", "byte 0 of the markup: `<speak>` is not closed", "a"),
            (
                "<speak><prosody rate='quick'>a</prosody></speak>",
                "byte 7 of the markup: `quick` is no value for `rate` of `prosody`",
                "a",
            ),
            ("<speak>a<prosody rate=\"slow", "byte 8 of the markup: a `<` that opens nothing, or a tag", "a"),
        ] {
            let parsed = parse(markup);
            let problem = parsed.problem().unwrap().to_string();
            assert!(problem.starts_with(message), "{problem}");
            assert_eq!(words(&parsed), said, "{markup}");
        }
    }

    fn words(parsed: &Parsed<'_>) -> String {
        let texts = parsed
            .spoken()
            .parts
            .iter()
            .filter_map(|part| match part {
                SpokenPart::Text { text, .. } => Some(text.to_string()),
                SpokenPart::Break(_) => None,
            })
            .collect::<Vec<_>>();
        texts.join(" ")
    }

    /// Pieces of markup whose every tag, attribute and value has a capital letter, and whose text has none.
    fn markup() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "hello ",
            "one. ",
            "two",
            "&amp;",
            "&X;",
            "<X>",
            "</X>",
            "<speak>",
            "</speak>",
            "<p X='X'>",
            "</p>",
            "<X ",
            "<prosody rate=\"X\">",
            "<prosody rate='X",
            "</prosody>",
            "<break time=\"X\"/>",
            "<!-- X -->",
            "<?X?>",
            "<X/>",
            "<say-as interpret-as='X'>",
            "</say-as>",
            "<X a=\"<X>\">",
            "<X a='>X'>",
            " ",
            "5",
        ]);
        prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_string_is_parsed_without_a_panic(text in any::<String>(), marked in "[<>/a-z='\" &;!?-]{0,80}") {
            for text in [&text, &marked] {
                let _ = parse(text).spoken();
                let _ = parse(&format!("<speak>{text}</speak>")).spoken();
            }
        }

        #[test]
        fn no_tag_is_ever_spoken(markup in markup()) {
            let said = words(&parse(&format!("<speak>{markup}</speak>"))).replace("&X;", "");
            prop_assert!(!said.contains(char::is_uppercase), "{markup}: {said}");
            prop_assert!(!said.contains("speak") && !said.contains("prosody"), "{markup}: {said}");
        }
    }
}
