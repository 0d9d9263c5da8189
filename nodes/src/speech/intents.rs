//! The intents file: what people may want, sentences that show it, and what to answer.
//!
//! ```ron
//! (
//!     threshold: 0.3,
//!     uncertain: ["I did not get that."],
//!     opposites: [("on", "off")],
//!     intents: [
//!         (
//!             name: "lights_on",
//!             examples: ["turn on the light", "lights on"],
//!             answers: ["Okay. Lights on.", "<speak>Lights <emphasis>on</emphasis>.</speak>"],
//!         ),
//!     ],
//! )
//! ```

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use graph_core::{AssetRef, NoSample, Sample};
use ron::value::RawValue;
use serde::Deserialize;
use thiserror::Error;

/// Similarity from which a sentence has an intent, unless the file states another.
const THRESHOLD: f32 = 0.3;

/// What people may want, and what to answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Intents {
    /// Cosine similarity from which a sentence has the intent of its nearest example.
    pub threshold: f32,
    /// What to answer to a sentence without intent.
    pub uncertain: Vec<Template>,
    /// Pairs of words that turn a sentence into its opposite, lower case. Sentence models hardly tell them apart.
    pub opposites: Vec<(String, String)>,
    /// In the order of the file.
    pub intents: Vec<Intention>,
}

/// One intent.
#[derive(Clone, Debug, PartialEq)]
pub struct Intention {
    /// Unique in the file.
    pub name: Arc<str>,
    /// Sentences that have this intent.
    pub examples: Vec<String>,
    /// What to answer; they take turns.
    pub answers: Vec<Template>,
}

/// An answer, as plain text or as SSML when it begins with `<speak`, with places for what was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Text around the places for what was heard: one piece more than places.
    pieces: Vec<String>,
    is_ssml: bool,
}

impl Template {
    /// Reads `{text}` as the place for what was heard, and `{{` as a brace.
    ///
    /// # Errors
    /// A place of another name, or one without its end, and where in the text it begins.
    fn parse(text: &str) -> Result<Template, (usize, Problem)> {
        let mut pieces = vec![String::new()];
        let mut rest = text;
        while let Some(brace) = rest.find('{') {
            let piece = pieces.last_mut().expect("there is always a piece");
            piece.push_str(&rest[..brace]);
            let after = &rest[brace + 1..];
            if let Some(literal) = after.strip_prefix('{') {
                piece.push('{');
                rest = literal;
                continue;
            }
            let at = text.len() - after.len() - 1;
            let (name, after) = after.split_once('}').ok_or((at, Problem::OpenPlace))?;
            if name != "text" {
                return Err((at, Problem::UnknownPlace { found: name.into() }));
            }
            pieces.push(String::new());
            rest = after;
        }
        pieces.last_mut().expect("there is always a piece").push_str(rest);
        Ok(Template { pieces, is_ssml: text.trim_start().starts_with("<speak") })
    }

    /// The answer to `text`. Its last punctuation is left out, and in SSML it is escaped.
    pub fn fill(&self, text: &str) -> String {
        let text = text.trim().trim_end_matches(['.', ',', '!', '?', ';', ':']);
        if self.is_ssml {
            let escaped = quick_xml::escape::escape(text);
            return self.pieces.join(&escaped);
        }
        self.pieces.join(text)
    }
}

/// What is wrong with an intents file, and where.
#[derive(Debug, Error)]
#[error("{}:{line}:{column}: {problem}", .path.display())]
pub struct IntentsError {
    /// The file.
    pub path: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What may be wrong with an intents file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// It is not what RON allows here.
    Syntax(ron::Error),
    /// A field that does not exist.
    UnknownField {
        /// What the file has.
        found: String,
        /// What it may have.
        expected: &'static [&'static str],
    },
    /// Two intents of one name.
    DuplicateIntent(String),
    /// A list that must not be empty.
    Empty(&'static str),
    /// A text without words.
    Blank,
    /// A place in an answer that is not `{text}`.
    UnknownPlace {
        /// Its name.
        found: String,
    },
    /// A place in an answer without its end.
    OpenPlace,
    /// A similarity outside of 0 to 1.
    Threshold(f32),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unreadable(error) => write!(f, "the intents cannot be read: {error}"),
            Problem::Syntax(error) => write!(f, "{error}"),
            Problem::UnknownField { found, expected } => {
                write!(f, "there is no field `{found}`")?;
                let near = |name: &&&str| strsim::damerau_levenshtein(name, found);
                match expected.iter().min_by_key(near) {
                    Some(name) if near(&name) <= 2 => write!(f, ", did you mean `{name}`?"),
                    _ => write!(f, "; there are `{}`", expected.join("`, `")),
                }
            }
            Problem::DuplicateIntent(name) => write!(f, "there is an intent `{name}` already"),
            Problem::Empty(field) => write!(f, "`{field}` is empty, give at least one"),
            Problem::Blank => write!(f, "the text has no words"),
            Problem::UnknownPlace { found } => {
                write!(f, "an answer knows `{{text}}`, not `{{{found}}}`; write `{{{{` for a brace")
            }
            Problem::OpenPlace => write!(f, "`{{` has no `}}`; write `{{{{` for a brace"),
            Problem::Threshold(found) => {
                write!(f, "the threshold is a similarity from 0.0 to 1.0, not {found}")
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename = "Intents")]
struct File<'a> {
    #[serde(borrow, default)]
    threshold: Option<&'a RawValue>,
    #[serde(borrow)]
    uncertain: &'a RawValue,
    #[serde(default)]
    opposites: Vec<(String, String)>,
    #[serde(borrow)]
    intents: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename = "Intent")]
struct Entry<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow)]
    examples: &'a RawValue,
    #[serde(borrow)]
    answers: &'a RawValue,
}

impl Intents {
    /// Reads an intents file.
    ///
    /// # Errors
    /// What is wrong, with line and column.
    pub fn read(path: &Path) -> Result<Intents, IntentsError> {
        let text = fs::read_to_string(path).map_err(|error| IntentsError {
            path: path.into(),
            line: 1,
            column: 1,
            problem: Problem::Unreadable(error),
        })?;
        Intents::parse(path, &text)
    }

    /// Reads the text of an intents file; `path` is for the errors.
    ///
    /// # Errors
    /// What is wrong, with line and column.
    pub fn parse(path: &Path, text: &str) -> Result<Intents, IntentsError> {
        Reader { path, text }.intents()
    }
}

/// Reads parts of a text, and knows where each is in the whole.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn intents(&self) -> Result<Intents, IntentsError> {
        let file: File = self.read(self.text)?;
        let threshold = file.threshold.map_or(Ok(THRESHOLD), |raw| {
            let threshold = self.read(raw.get_ron())?;
            let is_similarity = (0.0..=1.0).contains(&threshold);
            if is_similarity {
                Ok(threshold)
            } else {
                Err(self.error(raw.get_ron(), Problem::Threshold(threshold)))
            }
        })?;
        let mut intents: Vec<Intention> = Vec::new();
        for raw in self.list("intents", file.intents)? {
            let entry: Entry = self.read(raw.get_ron())?;
            let name = self.words(entry.name)?;
            if intents.iter().any(|other| *other.name == *name) {
                return Err(self.error(entry.name.get_ron(), Problem::DuplicateIntent(name)));
            }
            let examples = self.list("examples", entry.examples)?;
            intents.push(Intention {
                name: name.into(),
                examples: examples.into_iter().map(|raw| self.words(raw)).collect::<Result<_, _>>()?,
                answers: self.templates("answers", entry.answers)?,
            });
        }
        let lower = |(a, b): (String, String)| (a.to_lowercase(), b.to_lowercase());
        Ok(Intents {
            threshold,
            uncertain: self.templates("uncertain", file.uncertain)?,
            opposites: file.opposites.into_iter().map(lower).collect(),
            intents,
        })
    }

    fn list(&self, field: &'static str, raw: &'a RawValue) -> Result<Vec<&'a RawValue>, IntentsError> {
        let list: Vec<&RawValue> = self.read(raw.get_ron())?;
        if list.is_empty() { Err(self.error(raw.get_ron(), Problem::Empty(field))) } else { Ok(list) }
    }

    fn words(&self, raw: &'a RawValue) -> Result<String, IntentsError> {
        let text: String = self.read(raw.get_ron())?;
        if text.trim().is_empty() { Err(self.error(raw.get_ron(), Problem::Blank)) } else { Ok(text) }
    }

    fn templates(&self, field: &'static str, raw: &'a RawValue) -> Result<Vec<Template>, IntentsError> {
        let templates = self.list(field, raw)?.into_iter().map(|raw| {
            let template = Template::parse(&self.words(raw)?);
            // Escapes before it would shift the place, so the error points at the text as a whole.
            template.map_err(|(at, problem)| match raw.get_ron().trim_start().get(at + 1..) {
                Some(place) if place.starts_with('{') => self.error(place, problem),
                _ => self.error(raw.get_ron(), problem),
            })
        });
        templates.collect()
    }

    fn read<T: Deserialize<'a>>(&self, part: &'a str) -> Result<T, IntentsError> {
        let part = part.trim_start();
        let options =
            ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
        options.from_str(part).map_err(|error| {
            let (line, column) = self.place(part);
            let at = error.span.start;
            let column = if at.line == 1 { column + at.col - 1 } else { at.col };
            let problem = match error.code {
                ron::Error::NoSuchStructField { expected, found, .. } => {
                    Problem::UnknownField { found, expected }
                }
                other => Problem::Syntax(other),
            };
            IntentsError { path: self.path.into(), line: line + at.line - 1, column, problem }
        })
    }

    fn error(&self, part: &str, problem: Problem) -> IntentsError {
        let (line, column) = self.place(part.trim_start());
        IntentsError { path: self.path.into(), line, column, problem }
    }

    /// Line and column, from 1, where `part` of the text begins.
    fn place(&self, part: &str) -> (usize, usize) {
        let offset = part.as_ptr().addr() - self.text.as_ptr().addr();
        let before = &self.text[..offset];
        let line = before.rsplit('\n').next().unwrap_or(before);
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }
}

/// A small intents file for the nodes that are benched with one.
pub(crate) fn sample(sample: &Sample<'_>) -> Result<AssetRef, NoSample> {
    let path = sample.dir().join("intents.ron");
    let text = r#"(
        uncertain: ["I did not get that."],
        opposites: [("on", "off")],
        intents: [
            (name: "on", examples: ["lights on"], answers: ["Okay: {text}."]),
            (name: "off", examples: ["lights off"], answers: ["Okay: {text}."]),
        ],
    )"#;
    fs::write(&path, text)?;
    Ok(AssetRef::new(path.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Intents, String> {
        Intents::parse(Path::new("intents.ron"), text).map_err(|error| error.to_string())
    }

    fn with_intent(intent: &str) -> String {
        format!("(\n    uncertain: [\"what?\"],\n    intents: [\n        {intent},\n    ],\n)")
    }

    #[test]
    fn a_whole_file_is_read() {
        let intents = parse(
            r#"(
                threshold: 0.25,
                uncertain: ["What?"],
                opposites: [("On", "off")],
                intents: [(name: "hello", examples: ["hello", "good day"], answers: ["Hi. {text}!"])],
            )"#,
        )
        .unwrap();
        assert_eq!(intents.threshold, 0.25);
        assert_eq!(intents.opposites, [("on".into(), "off".into())]);
        assert_eq!(intents.intents[0].examples, ["hello", "good day"]);
        assert_eq!(intents.intents[0].answers[0].fill("Good day."), "Hi. Good day!");
        let plain = parse(&with_intent(r#"(name: "a", examples: ["b"], answers: ["c"])"#)).unwrap();
        assert_eq!((plain.threshold, plain.opposites.len()), (THRESHOLD, 0));
    }

    #[test]
    fn what_was_heard_is_escaped_in_markup_only() {
        let template = |text| Template::parse(text).unwrap();
        assert_eq!(template("You said {text}.").fill("a < b & c?"), "You said a < b & c.");
        assert_eq!(
            template("<speak>You said {text}.</speak>").fill("a < b & c?"),
            "<speak>You said a &lt; b &amp; c.</speak>"
        );
        assert_eq!(template("{text}, {text} {{text}").fill("hm"), "hm, hm {text}");
    }

    #[test]
    fn every_fault_has_its_place_and_a_way_out() {
        for (intent, expected) in [
            (
                r#"(name: "a", exampels: ["b"], answers: ["c"])"#,
                "4:21: there is no field `exampels`, did you mean `examples`?",
            ),
            (
                r#"(name: "a", colour: 3, answers: ["c"])"#,
                "4:21: there is no field `colour`; there are `name`, `examples`, `answers`",
            ),
            (r#"(name: "a", examples: [], answers: ["c"])"#, "4:31: `examples` is empty, give at least one"),
            (r#"(name: "a", examples: ["b", " "], answers: ["c"])"#, "4:37: the text has no words"),
            (
                r#"(name: "a", examples: ["b"], answers: ["it is {tiem}"])"#,
                "4:55: an answer knows `{text}`, not `{tiem}`; write `{{` for a brace",
            ),
            (
                r#"(name: "a", examples: ["b"], answers: ["{text"])"#,
                "4:49: `{` has no `}`; write `{{` for a brace",
            ),
            (
                r#"(name: "a", examples: ["b"], answers: ["c"]), (name: "a", examples: ["b"], answers: ["c"])"#,
                "4:62: there is an intent `a` already",
            ),
            (r#"(name: "a", examples: ["b", 3], answers: ["c"])"#, "4:37: Expected string"),
        ] {
            assert_eq!(parse(&with_intent(intent)), Err(format!("intents.ron:{expected}")), "{intent}");
        }
    }

    #[test]
    fn faults_of_the_file_itself_are_told_too() {
        assert_eq!(
            parse("(\n  treshold: 0.3,\n)"),
            Err("intents.ron:2:3: there is no field `treshold`, did you mean `threshold`?".into())
        );
        assert_eq!(
            parse("(\n  threshold: 3.0, uncertain: [\"a\"], intents: []\n)"),
            Err("intents.ron:2:14: the threshold is a similarity from 0.0 to 1.0, not 3".into())
        );
        assert_eq!(
            parse("(uncertain: [\"a\"],\n\n intents: []\n)"),
            Err("intents.ron:3:11: `intents` is empty, give at least one".into())
        );
        assert!(
            parse("(uncertain: [\"a\"]\n intents: [])").is_err_and(|e| e.starts_with("intents.ron:2:2: "))
        );
        let absent = Intents::read(Path::new("absent.ron")).unwrap_err().to_string();
        assert!(absent.starts_with("absent.ron:1:1: the intents cannot be read: "), "{absent}");
    }

    #[test]
    fn the_file_that_ships_is_right() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../graphs/intents.ron");
        let intents = Intents::read(&path).unwrap();
        assert!(intents.intents.len() >= 8);
    }
}
