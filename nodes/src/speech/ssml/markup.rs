//! What markup asks for, and what is wrong with it.

use std::{borrow::Cow, time::Duration};

use thiserror::Error;

use super::{
    say_as,
    scan::{self, Attributes, Event, Scanner},
    values,
};
use crate::types::Prosody;

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
}
