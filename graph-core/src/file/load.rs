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
        let missing = match at {
            Some(_) => "paths are relative to the folder of the file that includes",
            None => "check the path; `graphrun new graph` writes a first graph",
        };
        match source(self.files, path, missing) {
            Ok(source) => Some(source),
            Err(diagnostic) => {
                // One with a place has it in the file itself.
                let at = at.filter(|_| diagnostic.span.is_none());
                self.complain(*diagnostic, at);
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

/// The text of a file. `missing` is what to do where there is no such file.
pub(super) fn source(files: &dyn Files, path: &Path, missing: &str) -> Result<Arc<Source>, Box<Diagnostic>> {
    let bytes = files.read(path).map_err(|error| {
        let (why, help) = match error.kind() {
            io::ErrorKind::NotFound => ("there is no such file".to_owned(), missing),
            io::ErrorKind::IsADirectory => ("it is a folder".to_owned(), "name a file in that folder"),
            io::ErrorKind::PermissionDenied => ("reading it is not permitted".to_owned(), READABLE),
            _ => (error.to_string(), READABLE),
        };
        let what = format!("{} cannot be read: {why}", path.display());
        Box::new(Diagnostic::new(&codes::UNREADABLE, what).help(help))
    })?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source::new(path, text.strip_prefix('\u{feff}').unwrap_or(&text))),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let source = Source::new(path, text);
            let what = format!("byte {} is not UTF-8 text", good + 1);
            let diagnostic = Diagnostic::new(&codes::UNREADABLE, what).help("save the file as UTF-8");
            Err(Box::new(diagnostic.at(&Span::new(&source, good..good + 1))))
        }
    }
}

const READABLE: &str = "check that it is a readable text file";

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        check::fixture::{Memory, TestKinds, load_files},
        file::Full,
        time::Nanos,
    };

    const BASE: &str = r#"(
        class: "x1e80100",
        lanes: { "audio": (cpus: [1]) },
        nodes: {
            "in":   (kind: "audio/wav-source", lane: "audio"),
            "gain": (kind: "audio/gain", with: (gain_db: 6, ramp: "5 ms")),
            "tts":  (kind: "speech/tts"),
            "text": (kind: "text/source"),
            "play": (kind: "audio/wav-sink"),
            "out":  (kind: "audio/wav-sink"),
        },
        edges: [
            (from: "in", to: "gain", queue: (capacity: 4, full: drop_oldest), budget: (max: "5 ms", p99: "4 ms", reference: "2 ms")),
            (from: "gain", to: "out", budget: (cost: (max: "1 ms"))),
            (from: "text", to: "tts"),
            (from: "tts", to: "play", budget: (max: "1 s")),
        ],
        paths: [(name: "whole", from: "in", to: "out.done", budget: (max: "9 ms"))],
        benches: [(id: "b", budget: (mean: "100 ns", reference: "28 ns"))],
    )"#;

    fn over(overlay: &str) -> (Option<GraphSpec>, Diagnostics) {
        load_files([("graph.ron", BASE), ("ci.ron", overlay)], &["ci.ron"])
    }

    fn budget(graph: &GraphSpec, edge: usize) -> Vec<String> {
        graph.edges[edge].budget.limits.iter().map(|limit| limit.span.text().to_owned()).collect()
    }

    #[test]
    fn an_overlay_changes_field_by_field_and_keeps_places() {
        let (graph, diagnostics) = over(
            r#"(
                class: "ci-2core",
                lanes: { "audio": (strict: true) },
                nodes: { "gain": (with: (ramp: "7 ms", log: "x")), "in": (about: "new") },
                edges: [
                    (from: "in.out", to: "gain.in", queue: (late: "9 ms"), budget: (latency: (max: "50 ms"), mean: "3 ms")),
                    (from: "tts", to: "play", budget: (first: (max: "2 s"))),
                ],
                paths: [(name: "whole", budget: (max: "90 ms"))],
                benches: [(id: "b", budget: (mean: "200 ns")), (id: "c", budget: (p50: "1 us"))],
            )"#,
        );
        assert!(diagnostics.is_empty(), "{diagnostics}");
        let graph = graph.unwrap();
        assert_eq!((graph.name.as_str(), graph.class.as_deref()), ("graph", Some("ci-2core")));
        assert_eq!((graph.lanes[0].cpus.as_slice(), graph.lanes[0].strict), (&[1][..], true));
        let with: Vec<_> =
            graph.nodes[1].with.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(with, [("gain_db", "6"), ("ramp", "\"7 ms\""), ("log", "\"x\"")]);
        assert_eq!(graph.nodes[1].with.fields[1].1.span.source().path(), Path::new("ci.ron"));

        // The limit on the latency takes the place of the one without a measure, which is on the latency here.
        assert_eq!(budget(&graph, 0), ["\"50 ms\"", "\"4 ms\"", "\"3 ms\""]);
        assert_eq!(graph.edges[0].queue.full, Full::DropOldest);
        assert_eq!(graph.edges[0].queue.late, Some(Nanos::from_millis(9)));
        assert_eq!(graph.edges[0].budget.reference.as_ref().unwrap().span.text(), "\"2 ms\"");
        // On an output with many packets a cause it is on the first of them.
        assert_eq!(budget(&graph, 3), ["\"2 s\""]);
        assert_eq!(graph.paths[0].budget.limits[0].span.text(), "\"90 ms\"");
        assert_eq!(graph.paths[0].from.node, "in");
        assert_eq!(graph.benches.len(), 2);
        assert_eq!(graph.benches[0].budget.reference.as_ref().unwrap().span.text(), "\"28 ns\"");
    }

    #[test]
    fn an_overlay_adds_and_removes() {
        let (graph, diagnostics) = over(
            r#"(
                nodes: { "tts": (remove: true), "text": (remove: true), "play": (remove: true), "cut": (kind: "audio/cut") },
                edges: [
                    (from: "gain", to: "out", remove: true), (from: "gain", to: "cut"), (from: "cut", to: "out"),
                    (from: "tts", to: "play", remove: true),
                ],
                paths: [(name: "whole", remove: true)],
            )"#,
        );
        assert!(diagnostics.is_empty(), "{diagnostics}");
        let graph = graph.unwrap();
        let nodes: Vec<&str> = graph.nodes.iter().map(|node| node.id.as_str()).collect();
        assert_eq!(nodes, ["in", "gain", "out", "cut"]);
        let edges: Vec<String> = graph.edges.iter().map(|edge| edge.name()).collect();
        assert_eq!(edges, ["in.out -> gain.in", "gain.out -> cut.in", "cut.out -> out.in"]);
        assert!(graph.paths.is_empty());
    }

    #[test]
    fn an_edge_to_a_node_that_the_same_overlay_removes_is_not_dropped_in_silence() {
        let (graph, _) = over(
            r#"(nodes: { "play": (remove: true) }, edges: [(from: "tts", to: "play", queue: (capacity: 1))])"#,
        );
        let edges: Vec<String> = graph.unwrap().edges.iter().map(|edge| edge.name()).collect();
        assert!(edges.contains(&"tts.audio -> play".to_owned()), "{edges:?}");
    }

    #[test]
    fn a_slip_in_an_overlay_is_told() {
        let (_, diagnostics) = over(
            r#"(nodes: { "gian": (about: "x") }, edges: [(from: "gian", to: "out", remove: true)], paths: [(name: "hole")])"#,
        );
        let told: Vec<String> = diagnostics
            .iter()
            .map(|d| format!("{} / {}", d.message, d.help.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(
            told,
            [
                "the node `gian` has no `kind` / add kind: \"domain/name\", or did you mean the node `gain`?",
                "there is no edge `gian -> out.in` to remove in the files before this one / did you mean `gain.out -> \
                 out.in`?",
                "the path `hole` has no `from` / add from: \"node\"",
                "the path `hole` has no `to` / add to: \"node\"",
            ]
        );
    }

    #[test]
    fn includes_lie_below_the_file_that_includes_them_and_are_read_once() {
        let files = [
            (
                "graphs/voice.ron",
                r#"(include: ["parts/a.ron", "parts/b.ron"], nodes: { "n": (about: "top") })"#,
            ),
            (
                "graphs/parts/a.ron",
                r#"(include: ["../common.ron"], nodes: { "n": (about: "a", lane: "a") })"#,
            ),
            ("graphs/parts/b.ron", r#"(include: ["../common.ron"], nodes: { "n": (lane: "b") })"#),
            (
                "graphs/common.ron",
                r#"(name: "shared", nodes: { "n": (kind: "audio/gain", about: "common") })"#,
            ),
        ];
        let (graph, diagnostics) =
            load(&Memory::new(files), Path::new("./graphs/voice.ron"), &[], &TestKinds::new());
        let graph = graph.unwrap_or_else(|| panic!("{diagnostics}"));
        let node = &graph.nodes[0];
        assert_eq!(node.kind.value, "audio/gain");
        assert_eq!((node.about.as_deref(), node.lane.as_ref().unwrap().as_str()), (Some("top"), "b"));
        assert_eq!(graph.name, "shared");
        assert_eq!(graph.source.path(), Path::new("graphs/voice.ron"));
    }

    #[test]
    fn a_circle_of_includes_and_a_missing_one_have_their_place() {
        let files = [
            ("graph.ron", r#"(include: ["a.ron", "gone.ron"])"#),
            ("a.ron", r#"(include: ["b.ron"])"#),
            ("b.ron", r#"(include: ["a.ron"])"#),
        ];
        let (graph, diagnostics) = load_files(files, &["no.ron"]);
        assert!(graph.is_none());
        let told: Vec<String> =
            diagnostics.iter().map(|d| d.render(200).lines().next().unwrap().to_owned()).collect();
        assert_eq!(
            told,
            [
                "error[GR0102]: no.ron cannot be read: there is no such file",
                "b.ron:1:12: error[GR0110]: a.ron includes itself: a.ron -> b.ron -> a.ron",
                "graph.ron:1:21: error[GR0102]: gone.ron cannot be read: there is no such file",
            ]
        );
    }

    #[test]
    fn a_file_that_is_not_text_has_the_place_of_the_first_bad_byte() {
        let mut files = Memory::new([]);
        files.0.insert("graph.ron".into(), b"(name: \"\xff\")".to_vec());
        let (graph, diagnostics) = load(&files, Path::new("graph.ron"), &[], &TestKinds::new());
        assert!(graph.is_none());
        assert_eq!(diagnostics[0].message, "byte 9 is not UTF-8 text");
        assert_eq!(diagnostics[0].span.as_ref().unwrap().column(), 9);
    }

    #[test]
    fn the_disk_refuses_what_has_no_end() {
        let error = Disk.read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
