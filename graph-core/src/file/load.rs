//! Files, the files they include, and overlays.

use std::{
    io::{self, Read},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use super::{merge::merge, parse::parse, parts::FilePart, spec::GraphSpec};
use crate::{
    codes,
    diagnostic::{Diagnostic, Diagnostics, Severity, Source, Span},
    kind::Kinds,
};

/// Where files come from.
pub trait Files {
    /// The bytes of a file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}

/// The file system.
pub struct Disk;

/// Nobody writes a graph file of this size; a device named by mistake has no end.
const LARGEST: u64 = 16 << 20;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 16 MiB"));
        }
        Ok(bytes)
    }
}

/// Reads a graph file with all that it includes, and lays the overlays over it in their order.
///
/// The graph is `None` where a file cannot be read or its syntax is broken. Otherwise it holds what could be read, so
/// that [`check`](crate::check::check) can complain of the rest too; the diagnostics then say whether to go on.
pub fn load(
    files: &dyn Files,
    path: &Path,
    overlays: &[PathBuf],
    kinds: &dyn Kinds,
) -> (Option<GraphSpec>, Diagnostics) {
    let mut loader =
        Loader { files, parts: Vec::new(), open: Vec::new(), diagnostics: Diagnostics::new(), torn: false };
    loader.file(path, None);
    // The graph's own file comes last of those that were read for it: what it includes lies below.
    let source = loader.parts.last().map(|part| part.source.clone());
    for overlay in overlays {
        loader.file(overlay, None);
    }
    let mut diagnostics = loader.diagnostics;
    let graph = source.filter(|_| !loader.torn).map(|source| {
        let (mut graph, merged) = merge(loader.parts, source, kinds);
        diagnostics.extend(merged);
        graph.incomplete = diagnostics.count(Severity::Error) > 0;
        graph
    });
    diagnostics.sort();
    (graph, diagnostics)
}

struct Loader<'a> {
    files: &'a dyn Files,
    /// What was read, in the order in which it is laid over each other.
    parts: Vec<FilePart>,
    /// The file that is read at the moment, after the files that include it.
    open: Vec<PathBuf>,
    diagnostics: Diagnostics,
    /// Whether a file could not be read or parsed, so that a whole file's worth is missing.
    torn: bool,
}

impl Loader<'_> {
    /// Reads a file and, before it, what it includes; `at` is where another one includes it.
    fn file(&mut self, path: &Path, at: Option<&Span>) {
        let path = tidy(path);
        if let Some(first) = self.open.iter().position(|open| *open == path) {
            let round: Vec<String> =
                self.open[first..].iter().chain([&path]).map(|path| path.display().to_string()).collect();
            let message = format!("{} includes itself: {}", path.display(), round.join(" -> "));
            let diagnostic =
                Diagnostic::new(&codes::INCLUDE_CYCLE, message).help("take one of these includes out");
            return self.complain(diagnostic, at);
        }
        if self.parts.iter().any(|part| part.source.path() == path) {
            return;
        }
        let part = self.read(&path, at).and_then(|source| {
            let (part, diagnostics) = parse(&source);
            self.diagnostics.extend(diagnostics);
            part
        });
        let Some(part) = part else {
            self.torn = true;
            return;
        };
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        self.open.push(path);
        for include in &part.include {
            self.file(&folder.join(&include.value), Some(&include.span));
        }
        self.open.pop();
        self.parts.push(part);
    }

    fn read(&mut self, path: &Path, at: Option<&Span>) -> Option<Arc<Source>> {
        let bytes = match self.files.read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let why = match error.kind() {
                    io::ErrorKind::NotFound => "there is no such file".to_owned(),
                    io::ErrorKind::PermissionDenied => "reading it is not permitted".to_owned(),
                    io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
                    _ => error.to_string(),
                };
                let what = format!("{} cannot be read: {why}", path.display());
                let help = match (error.kind(), at) {
                    (io::ErrorKind::NotFound, Some(_)) => {
                        "paths are relative to the folder of the file that includes"
                    }
                    (io::ErrorKind::NotFound, None) => {
                        "check the path; `graphrun new graph` writes a first graph"
                    }
                    (io::ErrorKind::IsADirectory, _) => "name a file in that folder",
                    _ => "check that it is a readable text file",
                };
                self.complain(Diagnostic::new(&codes::UNREADABLE, what).help(help), at);
                return None;
            }
        };
        match String::from_utf8(bytes) {
            Ok(text) => Some(Source::new(path, text.strip_prefix('\u{feff}').unwrap_or(&text))),
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let source = Source::new(path, text);
                let diagnostic =
                    Diagnostic::new(&codes::UNREADABLE, format!("byte {} is not UTF-8 text", good + 1))
                        .at(&Span::new(&source, good..good + 1))
                        .help("save the file as UTF-8");
                self.diagnostics.push(diagnostic);
                None
            }
        }
    }

    fn complain(&mut self, diagnostic: Diagnostic, at: Option<&Span>) {
        self.diagnostics.push(match at {
            Some(span) => diagnostic.at(span),
            None => diagnostic,
        });
    }
}

/// The path without `.` and without `folder/..`, so that one file has one name.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(tidy.components().next_back(), Some(Component::Normal(_))) => {
                tidy.pop();
            }
            other => tidy.push(other),
        }
    }
    tidy
}
