//! What is wrong with a graph file, where, and what to do about it.

use std::{
    fmt::{self, Display},
    ops::{Deref, Range},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::codes::Code;

mod render;

pub(crate) use render::wrap;

/// The text of one file that a graph was read from.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// A file's text, with the path as the user is to see it.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Arc<Source> {
        Arc::new(Source { path: path.into(), text: text.into() })
    }

    /// Where the file is, as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The byte at which the character stands that RON's errors give as line and column, both from 1.
    pub(crate) fn offset(&self, line: usize, column: usize) -> usize {
        let before: usize = self.text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let rest = &self.text[before..];
        before + rest.char_indices().nth(column - 1).map_or(rest.len(), |(at, _)| at)
    }
}

/// A place in a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Span {
    source: Arc<Source>,
    start: usize,
    end: usize,
}

impl Span {
    /// The bytes `range` of the file, cut to what there is and widened to whole characters.
    pub fn new(source: &Arc<Source>, range: Range<usize>) -> Span {
        let end = source.text.ceil_char_boundary(range.end);
        Span { source: source.clone(), start: source.text.floor_char_boundary(range.start.min(end)), end }
    }

    /// The file.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The bytes of the file's text.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The text there.
    pub fn text(&self) -> &str {
        self.source.text.get(self.range()).unwrap_or_default()
    }

    /// The line of its start, from 1.
    pub fn line(&self) -> usize {
        self.before().matches('\n').count() + 1
    }

    /// The column of its start, in characters, from 1.
    pub fn column(&self) -> usize {
        let before = self.before();
        before[before.rfind('\n').map_or(0, |at| at + 1)..].chars().count() + 1
    }

    fn before(&self) -> &str {
        self.source.text.get(..self.start).unwrap_or_default()
    }
}

/// `voice.ron:12:34`, as compilers and editors write a place.
impl Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.source.path.display(), self.line(), self.column())
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}..{}]", self.source.path.display(), self.start, self.end)
    }
}

/// A value and where it stands in a file. It reads as the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Spanned<T> {
    /// What the file states.
    pub value: T,
    /// Where it states it.
    pub span: Span,
}

impl<T> Spanned<T> {
    pub(crate) fn new(value: T, span: Span) -> Spanned<T> {
        Spanned { value, span }
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// How much a diagnostic weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The graph cannot run.
    Error,
    /// The graph runs; `check --strict` refuses it where the code says so.
    Warning,
    /// Worth knowing, never refused.
    Note,
}

impl Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// One thing to say about a graph file.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Its code, which `graphrun explain` knows; the severity comes with it.
    pub code: &'static Code,
    /// What is the matter, in one line.
    pub message: String,
    /// Where.
    pub span: Option<Span>,
    /// The node that it concerns.
    pub node: Option<String>,
    /// What would have been right.
    pub expected: Option<String>,
    /// What there was instead.
    pub found: Option<String>,
    /// What to do.
    pub help: Option<String>,
    /// Other places that belong to it, and what each has to do with it.
    pub related: Vec<(Span, String)>,
}

impl Diagnostic {
    /// A diagnostic without a place.
    pub fn new(code: &'static Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            message: message.into(),
            span: None,
            node: None,
            expected: None,
            found: None,
            help: None,
            related: Vec::new(),
        }
    }

    /// Says where.
    pub fn at(mut self, span: &Span) -> Diagnostic {
        self.span = Some(span.clone());
        self
    }

    /// Says which node it concerns.
    pub fn node(mut self, node: impl Into<String>) -> Diagnostic {
        self.node = Some(node.into());
        self
    }

    /// Says what would have been right.
    pub fn expected(mut self, expected: impl Into<String>) -> Diagnostic {
        self.expected = Some(expected.into());
        self
    }

    /// Says what there was instead.
    pub fn found(mut self, found: impl Into<String>) -> Diagnostic {
        self.found = Some(found.into());
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Names another place that belongs to it.
    pub fn related(mut self, span: &Span, message: impl Into<String>) -> Diagnostic {
        self.related.push((span.clone(), message.into()));
        self
    }

    /// How much it weighs.
    pub fn severity(&self) -> Severity {
        self.code.severity
    }
}

/// As JSON: `file`, `line` and `column` (from 1, in characters) are null where there is no place.
impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Related<'a> {
            file: &'a Path,
            line: usize,
            column: usize,
            message: &'a str,
        }
        let related: Vec<Related<'_>> = self
            .related
            .iter()
            .map(|(span, message)| Related {
                file: span.source().path(),
                line: span.line(),
                column: span.column(),
                message,
            })
            .collect();
        let span = self.span.as_ref();
        let mut json = serializer.serialize_struct("Diagnostic", 11)?;
        json.serialize_field("file", &span.map(|span| span.source().path()))?;
        json.serialize_field("line", &span.map(Span::line))?;
        json.serialize_field("column", &span.map(Span::column))?;
        json.serialize_field("code", self.code.id)?;
        json.serialize_field("severity", &self.severity().to_string())?;
        json.serialize_field("node", &self.node)?;
        json.serialize_field("message", &self.message)?;
        json.serialize_field("expected", &self.expected)?;
        json.serialize_field("found", &self.found)?;
        json.serialize_field("help", &self.help)?;
        json.serialize_field("related", &related)?;
        json.end()
    }
}

/// Everything there is to say about a graph, all at once, in the order of the files.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// Nothing to say yet.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds those of `other`.
    pub fn extend(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }

    /// Puts them in the order of the files' names and the places in them; those without a place come first.
    pub fn sort(&mut self) {
        let key = |d: &Diagnostic| {
            (d.span.as_ref().map(|span| (span.source().path().to_owned(), span.start)), d.code.id)
        };
        self.0.sort_by_cached_key(key);
    }

    /// Whether the graph is refused: by an error, or with `strict` by a warning whose code says so.
    pub fn refuse(&self, strict: bool) -> bool {
        self.0.iter().any(|d| d.severity() == Severity::Error || (strict && d.code.strict))
    }

    /// How many there are of that severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.0.iter().filter(|d| d.severity() == severity).count()
    }
}

impl Deref for Diagnostics {
    type Target = [Diagnostic];

    fn deref(&self) -> &[Diagnostic] {
        &self.0
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics(vec![diagnostic])
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Diagnostics {
        Diagnostics(diagnostics.into_iter().collect())
    }
}

impl std::error::Error for Diagnostics {}

/// The entry of `candidates` that is most likely meant by `word`, for "did you mean".
pub fn near_miss<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let slips = (word.chars().count() / 3).max(1);
    let likeness = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let likeness = strsim::jaro_winkler(&word, &candidate);
        (likeness >= 0.8 || strsim::damerau_levenshtein(&word, &candidate) <= slips).then_some(likeness)
    };
    let near = candidates.into_iter().filter_map(|candidate| Some((likeness(candidate)?, candidate)));
    // Of several that are as near, the first.
    near.min_by(|a, b| b.0.total_cmp(&a.0)).map(|(_, candidate)| candidate)
}

/// `a`, `b` and `c`, each in back quotes.
pub(crate) fn all_of<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    join(words, "and")
}

/// `a`, `b` or `c`, each in back quotes.
pub(crate) fn one_of<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    join(words, "or")
}

fn join<S: AsRef<str>>(words: impl IntoIterator<Item = S>, before_last: &str) -> String {
    let mut words: Vec<String> = words.into_iter().map(|word| format!("`{}`", word.as_ref())).collect();
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{} {before_last} {last}", words.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes;

    fn example() -> Diagnostic {
        let source = Source::new("voice.ron", "(\n  name: \"ä\", nods: {},\n)\n");
        let at = source.text().find("nods").unwrap();
        Diagnostic::new(&codes::UNKNOWN_FIELD, "a graph has no field `nods`")
            .at(&Span::new(&source, at..at + 4))
            .help("did you mean `nodes`?")
    }

    #[test]
    fn columns_count_characters_not_bytes() {
        let span = example().span.unwrap();
        assert_eq!((span.line(), span.column()), (2, 14));
        assert_eq!(span.source().offset(2, 14), span.range().start);
        assert_eq!(span.to_string(), "voice.ron:2:14");
    }

    #[test]
    fn json_says_what_where_and_what_to_do() {
        let json = serde_json::to_value(Diagnostics::from(example())).unwrap();
        assert_eq!(
            json,
            serde_json::json!([{
                "file": "voice.ron", "line": 2, "column": 14, "code": "GR0103", "severity": "error", "node": null,
                "message": "a graph has no field `nods`", "expected": null, "found": null,
                "help": "did you mean `nodes`?", "related": [],
            }])
        );
    }

    #[test]
    fn only_strict_refuses_a_warning() {
        let warning = Diagnostics::from(Diagnostic::new(&codes::OVER_ALLOCATED, "too much"));
        assert!(!warning.refuse(false));
        assert!(warning.refuse(true));
        assert!(Diagnostics::from(example()).refuse(false));
        assert!(!Diagnostics::from(Diagnostic::new(&codes::FULLY_ALLOCATED, "just enough")).refuse(true));
    }

    #[test]
    fn a_near_miss_is_near() {
        assert_eq!(near_miss("budgett", ["queue", "budget", "about"]), Some("budget"));
        assert_eq!(near_miss("VAD", ["vad", "stt"]), Some("vad"));
        assert_eq!(near_miss("speech/vda", ["speech/vad", "speech/stt"]), Some("speech/vad"));
        assert_eq!(near_miss("oat", ["in", "out"]), Some("out"));
        assert_eq!(near_miss("colour", ["queue", "budget"]), None);
    }
}
