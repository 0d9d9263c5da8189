//! GR01: reading files.

use super::Code;
use crate::diagnostic::Severity::Error;

/// The text is not RON.
pub static SYNTAX: Code = Code {
    id: "GR0101",
    title: "the file is not RON",
    severity: Error,
    strict: false,
    about: "A graph file is written in RON: fields in ( ), entries with a name in quotes in { }, lists in [ ], all \
            separated by commas; a comment starts with //. The place shown is where reading could not go on: the mistake \
            is there or a little before, most often a comma, a quote or a bracket that is missing.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source")
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out")],
)"#,
    right: PIPE,
};

/// The least graph, which puts many an example right.
const PIPE: &str = r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out")],
)"#;

/// A file cannot be read.
pub static UNREADABLE: Code = Code {
    id: "GR0102",
    title: "a file cannot be read",
    severity: Error,
    strict: false,
    about: "The graph file, a file that it includes, or an overlay is missing, may not be read, is not UTF-8 text, or is \
            larger than 16 MiB. Paths in `include` are relative to the folder of the file that includes.",
    wrong: r#"
(
    include: ["nowhere.ron"],
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out")],
)"#,
    right: PIPE,
};

/// A field that nothing reads.
pub static UNKNOWN_FIELD: Code = Code {
    id: "GR0103",
    title: "there is no such field",
    severity: Error,
    strict: false,
    about: "A field is stated that nothing reads. It is refused and not passed over, since a limit with a slip in its \
            name would never be judged.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", budgett: (max: "5 ms"))],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", budget: (max: "5 ms"))],
)"#,
};

/// A name that is stated twice in one file.
pub static DUPLICATE: Code = Code {
    id: "GR0104",
    title: "something is stated twice",
    severity: Error,
    strict: false,
    about: "One file states a node, a lane, an edge, a path, a bench, an overhead or a field a second time, and it would \
            be a guess which one is meant. To change what a file states, lay another one over it: include it, or name the \
            change with --with.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "out", budget: (max: "5 ms")),
        (from: "in.out", to: "out.in", budget: (max: "9 ms")),
    ],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", budget: (max: "5 ms"))],
)"#,
};

/// A field that must be there is not.
pub static MISSING_FIELD: Code = Code {
    id: "GR0105",
    title: "a field is missing",
    severity: Error,
    strict: false,
    about: "A node needs a kind, an edge a `from`, a path a name, a `from` and a `to`, a bench an id, an overhead a name \
            and two paths, a limit in ( ) its `limit`. An overlay may leave out what the files below it state; what is \
            still missing once all are laid over each other is complained of.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (about: "writes what it hears"),
    },
    edges: [(from: "in", to: "out")],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink", about: "writes what it hears"),
    },
    edges: [(from: "in", to: "out")],
)"#,
};

/// A value of another shape than is wanted.
pub static WRONG_SHAPE: Code = Code {
    id: "GR0106",
    title: "a value has the wrong shape",
    severity: Error,
    strict: false,
    about: "Text is wanted and a number is found, or fields in ( ) and a list in [ ], and so on. A limit on a measure \
            other than the latency says which figure it limits: cost: (max: \"5 ms\").",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", budget: (cost: "5 ms"))],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", budget: (cost: (max: "5 ms")))],
)"#,
};

/// A number where a quantity with a unit is wanted.
pub static BARE_NUMBER: Code = Code {
    id: "GR0107",
    title: "a number has no unit",
    severity: Error,
    strict: false,
    about: "Durations are text with a unit: \"82 ns\", \"300 us\", \"1.5 ms\", \"2 s\", \"2 min\", \"1 h\". Rates end in \
            /s, shares in %. A bare number is refused, since nobody can tell whether 5 means milliseconds.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", budget: (max: 5))],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", budget: (max: "5 ms"))],
)"#,
};

/// A quantity that cannot be read or is out of range.
pub static BAD_QUANTITY: Code = Code {
    id: "GR0108",
    title: "a quantity cannot be read",
    severity: Error,
    strict: false,
    about: "The unit is not known, the number is negative, too large or too small, or it is outside of what makes sense \
            there: a queue holds at least one packet, a real-time priority is 1 to 99. Units of time are ns, us, ms, s, \
            min and h.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", budget: (max: "5 msec"))],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", budget: (max: "5 ms"))],
)"#,
};

/// A word that is none of those that fit.
pub static UNKNOWN_WORD: Code = Code {
    id: "GR0109",
    title: "there is no such word",
    severity: Error,
    strict: false,
    about: "Some fields take one of a few words, without quotes: `full` of a queue block, drop_oldest, drop_newest or \
            fail; `level` of a limit fail or warn; `on_error` of a node fail, restart or skip; `priority` of a lane \
            normal, fifo(40) or rr(40); `wait` of a lane poll, spin(\"20 us\") or park; `measure` of an edge all.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", queue: (capacity: 2, full: drop_old))],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", queue: (capacity: 2, full: drop_oldest))],
)"#,
};

/// A file that includes itself, by whatever detour.
pub static INCLUDE_CYCLE: Code = Code {
    id: "GR0110",
    title: "a file includes itself",
    severity: Error,
    strict: false,
    about: "A file lies over those that it includes, so that none may include itself, by others or at once. (The example \
            is in graph.ron.) One file may be included by several others; it is read once.",
    wrong: r#"
(
    include: ["graph.ron"],
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out")],
)"#,
    right: PIPE,
};

/// A name that cannot be used.
pub static BAD_NAME: Code = Code {
    id: "GR0111",
    title: "a name cannot be used",
    severity: Error,
    strict: false,
    about: "A name is not empty, has no space at its ends and no control characters. A node's name has no dot, since a \
            dot separates a node from its port, as in `vad.audio`.",
    wrong: r#"
(
    nodes: {
        "in":     (kind: "audio/wav-source"),
        "rate.1": (kind: "audio/resample"),
        "out":    (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out")],
)"#,
    right: r#"
(
    nodes: {
        "in":     (kind: "audio/wav-source"),
        "rate-1": (kind: "audio/resample"),
        "out":    (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate-1"),
        (from: "rate-1", to: "out"),
    ],
)"#,
};

/// Something is to be removed that is not there.
pub static NOTHING_TO_REMOVE: Code = Code {
    id: "GR0112",
    title: "there is nothing to remove",
    severity: Error,
    strict: false,
    about: "`remove: true` takes away a node, an edge, a lane, a path, a bench or an overhead that a file below states: \
            one that this file includes, or the graph that an overlay lies over. The edges at a removed node go with it.",
    wrong: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "out":  (kind: "audio/wav-sink"),
        "tone": (remove: true),
    },
    edges: [(from: "in", to: "out")],
)"#,
    right: PIPE,
};
