//! What is wrong with a graph file, where, and what to do about it.

use std::{
    fmt,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

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
}

/// A place in a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Span {
    source: Arc<Source>,
    start: usize,
    end: usize,
}

impl Span {
    /// The bytes `range` of the file, cut to what there is.
    pub fn new(source: &Arc<Source>, range: Range<usize>) -> Span {
        let end = range.end.min(source.text.len());
        Span { source: source.clone(), start: range.start.min(end), end }
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

impl<T> std::ops::Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
