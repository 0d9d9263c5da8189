//! GR02: wiring; GR05: lanes; GR06: parameters.

use super::Code;
use crate::diagnostic::Severity::{Error, Warning};

/// A kind that nobody knows.
pub static UNKNOWN_KIND: Code = Code {
    id: "GR0201",
    title: "there is no such node kind",
    severity: Error,
    strict: false,
    about: "The kind of a node is `domain/name`; `graphrun nodes` lists all of them, and `graphrun nodes KIND` describes \
            one.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-sorce"),
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

/// A kind that this build leaves out.
pub static KIND_NOT_BUILT: Code = Code {
    id: "GR0202",
    title: "the node kind is not in this build",
    severity: Error,
    strict: false,
    about: "Kinds that need a system library or a model come with a cargo feature, and this build is without it. The \
            script tools/graphrun builds what a graph needs and runs it.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "touch/evdev"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out")],
)"#,
    right: PIPE,
};

/// A node that is not in the graph.
pub static UNKNOWN_NODE: Code = Code {
    id: "GR0203",
    title: "there is no such node",
    severity: Error,
    strict: false,
    about: "An edge or a path names a node that the graph does not have.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "oat")],
)"#,
    right: PIPE,
};

/// A port that the node does not have, or that looks the other way.
pub static UNKNOWN_PORT: Code = Code {
    id: "GR0204",
    title: "the node has no such port",
    severity: Error,
    strict: false,
    about: "An edge leaves an output and enters an input; a path starts at a node or an output and ends at a node, an \
            input, or a sink's `done`. `graphrun nodes KIND` describes the ports of a kind.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in.sound", to: "out")],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in.out", to: "out")],
)"#,
};

/// A port was left out where several would do.
pub static AMBIGUOUS_PORT: Code = Code {
    id: "GR0205",
    title: "a port must be named",
    severity: Error,
    strict: false,
    about: "A port may be left out where the node has only one that would do. Here it has several: write `node.port`.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "mix": (kind: "audio/mix"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "mix"),
        (from: "in", to: "mix.b"),
        (from: "mix", to: "out"),
    ],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "mix": (kind: "audio/mix"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "mix.a"),
        (from: "in", to: "mix.b"),
        (from: "mix", to: "out"),
    ],
)"#,
};

/// Two ends of an edge that carry different payloads.
pub static PAYLOADS_DIFFER: Code = Code {
    id: "GR0206",
    title: "the payloads of an edge differ",
    severity: Error,
    strict: false,
    about: "An output gives one type of payload and an input takes one, and both ends of an edge must agree. A node \
            between them may make the one of the other, as speech recognition makes text of audio.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "nlu": (kind: "speech/nlu"),
        "out": (kind: "text/sink"),
    },
    edges: [
        (from: "in", to: "nlu"),
        (from: "nlu", to: "out"),
    ],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "stt": (kind: "speech/stt"),
        "nlu": (kind: "speech/nlu"),
        "out": (kind: "text/sink"),
    },
    edges: [
        (from: "in", to: "stt"),
        (from: "stt", to: "nlu"),
        (from: "nlu", to: "out"),
    ],
)"#,
};

/// A required input without an edge.
pub static UNFED: Code = Code {
    id: "GR0207",
    title: "an input is fed by no edge",
    severity: Error,
    strict: false,
    about: "The node cannot do its work without this input. Inputs that a kind calls optional may stay open.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "mix": (kind: "audio/mix"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "mix.a"),
        (from: "mix", to: "out"),
    ],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "mix": (kind: "audio/mix"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "mix.a"),
        (from: "in", to: "mix.b"),
        (from: "mix", to: "out"),
    ],
)"#,
};

/// An input with two edges.
pub static FED_TWICE: Code = Code {
    id: "GR0208",
    title: "an input is fed by two edges",
    severity: Error,
    strict: false,
    about: "An input has one edge, since packets of two would arrive in no order that the file states, and the latency of \
            neither could be told. Join them in a node that has an input for each.",
    wrong: r#"
(
    nodes: {
        "one": (kind: "audio/wav-source"),
        "two": (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "one", to: "out"),
        (from: "two", to: "out"),
    ],
)"#,
    right: r#"
(
    nodes: {
        "one": (kind: "audio/wav-source"),
        "two": (kind: "audio/wav-source"),
        "mix": (kind: "audio/mix"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "one", to: "mix.a"),
        (from: "two", to: "mix.b"),
        (from: "mix", to: "out"),
    ],
)"#,
};

/// A fan-out of a payload that only moves.
pub static NOT_SHARED: Code = Code {
    id: "GR0209",
    title: "a payload cannot be shared",
    severity: Error,
    strict: false,
    about: "An output with several edges gives each receiver a handle of the same payload, which the payload's type must \
            allow. This one can only move to a single receiver.",
    wrong: r#"
(
    nodes: {
        "words": (kind: "llm/tokens"),
        "left":  (kind: "llm/token-sink"),
        "right": (kind: "llm/token-sink"),
    },
    edges: [
        (from: "words", to: "left"),
        (from: "words", to: "right"),
    ],
)"#,
    right: r#"
(
    nodes: {
        "words": (kind: "llm/tokens"),
        "left":  (kind: "llm/token-sink"),
    },
    edges: [(from: "words", to: "left")],
)"#,
};

/// A socket's end and an edge that disagree on being one.
pub static WIRE: Code = Code {
    id: "GR0210",
    title: "an edge and its ports disagree on the wire",
    severity: Error,
    strict: false,
    about: "Two nodes of one graph may be connected by a socket. Such an edge is marked wire: true and leads from the \
            sending node's wire port to the receiving node's; all other edges are queues in memory, and lead between \
            other ports.",
    wrong: r#"
(
    nodes: {
        "in":      (kind: "audio/wav-source"),
        "send":    (kind: "net/rtp-audio-out"),
        "receive": (kind: "net/udp-audio"),
        "out":     (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "send"),
        (from: "send", to: "receive"),
        (from: "receive", to: "out"),
    ],
)"#,
    right: r#"
(
    nodes: {
        "in":      (kind: "audio/wav-source"),
        "send":    (kind: "net/rtp-audio-out"),
        "receive": (kind: "net/udp-audio"),
        "out":     (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "send"),
        (from: "send", to: "receive", wire: true),
        (from: "receive", to: "out"),
    ],
)"#,
};

/// Edges in a circle.
pub static CYCLE: Code = Code {
    id: "GR0211",
    title: "edges run in a circle",
    severity: Error,
    strict: false,
    about: "A circle of edges has no first node and never ends, unless one of its edges is marked feedback: true: the end \
            of the stream does not wait for that edge, and no path follows it.",
    wrong: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "mix":  (kind: "audio/mix"),
        "rate": (kind: "audio/resample"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "mix.a"),
        (from: "mix", to: "rate"),
        (from: "rate", to: "mix.b"),
        (from: "mix", to: "out"),
    ],
)"#,
    right: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "mix":  (kind: "audio/mix"),
        "rate": (kind: "audio/resample"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "mix.a"),
        (from: "mix", to: "rate"),
        (from: "rate", to: "mix.b", feedback: true),
        (from: "mix", to: "out"),
    ],
)"#,
};

/// An edge marked as feedback that feeds nothing back.
pub static NO_FEEDBACK: Code = Code {
    id: "GR0212",
    title: "a feedback edge closes no circle",
    severity: Warning,
    strict: true,
    about: "The edge is marked feedback: true and there is no way back from its end to its start. The end of the stream \
            does not wait for a feedback edge, so that the last packets on it may be lost for nothing.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", feedback: true)],
)"#,
    right: PIPE,
};

/// A node without effect or without cause.
pub static DEAD_NODE: Code = Code {
    id: "GR0213",
    title: "a node is there for nothing",
    severity: Error,
    strict: false,
    about: "Every node has a source before it, or is one, and a sink behind it, or is one. What comes of other nodes \
            reaches nobody, and most often an edge is missing.",
    wrong: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate"),
        (from: "in", to: "out"),
    ],
)"#,
    right: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate"),
        (from: "rate", to: "out"),
    ],
)"#,
};

/// An edge that leads nowhere and is no `done`, or a `done` that leads somewhere.
pub static DONE_EDGE: Code = Code {
    id: "GR0214",
    title: "an edge and a sink's done do not fit",
    severity: Error,
    strict: false,
    about: "A sink tells by its output `done` when its effect is there: the write returned, the page was flipped. That is \
            an edge without `to`, and it needs to be stated only where it has a budget: (from: \"out.done\", budget: \
            (max: \"1 ms\")). All other edges have a `to`.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "out"),
        (from: "out.done", to: "out"),
    ],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "out"),
        (from: "out.done", budget: (max: "1 ms")),
    ],
)"#,
};

/// A graph without nodes.
pub static EMPTY_GRAPH: Code = Code {
    id: "GR0215",
    title: "the graph has no node",
    severity: Error,
    strict: false,
    about: "A graph has at least one node. `graphrun new graph` writes a first one.",
    wrong: r#"(name: "nothing")"#,
    right: PIPE,
};

/// A lane that nobody declared.
pub static UNKNOWN_LANE: Code = Code {
    id: "GR0501",
    title: "there is no such lane",
    severity: Error,
    strict: false,
    about: "A node asks for a lane that `lanes` does not declare. Lanes are declared, if only as \"name\": (), so that a \
            slip does not start a thread of its own. Nodes that name no lane get one by rule.",
    wrong: r#"
(
    lanes: { "audio": (wait: park) },
    nodes: {
        "in":  (kind: "audio/wav-source", lane: "audio"),
        "out": (kind: "audio/wav-sink", lane: "odio"),
    },
    edges: [(from: "in", to: "out")],
)"#,
    right: r#"
(
    lanes: { "audio": (wait: park) },
    nodes: {
        "in":  (kind: "audio/wav-source", lane: "audio"),
        "out": (kind: "audio/wav-sink", lane: "audio"),
    },
    edges: [(from: "in", to: "out")],
)"#,
};

/// A lane that nobody uses.
pub static UNUSED_LANE: Code = Code {
    id: "GR0502",
    title: "no node runs in a lane",
    severity: Warning,
    strict: true,
    about: "A lane is declared and no node names it, so that its priority and its CPUs are for nothing.",
    wrong: r#"
(
    lanes: { "audio": (priority: fifo(40)) },
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out")],
)"#,
    right: r#"
(
    lanes: { "audio": (priority: fifo(40)) },
    nodes: {
        "in":  (kind: "audio/wav-source", lane: "audio"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out")],
)"#,
};

/// A parameter that the kind does not have.
pub static UNKNOWN_PARAMETER: Code = Code {
    id: "GR0601",
    title: "the kind has no such parameter",
    severity: Error,
    strict: false,
    about: "`with` holds the parameters of the node's kind; `graphrun nodes KIND` lists them with their defaults.",
    wrong: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample", with: (too: 16000)),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate"),
        (from: "rate", to: "out"),
    ],
)"#,
    right: GAIN,
};

const GAIN: &str = r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample", with: (to: 16000)),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate"),
        (from: "rate", to: "out"),
    ],
)"#;

/// A parameter whose value does not fit.
pub static BAD_PARAMETER: Code = Code {
    id: "GR0602",
    title: "the value of a parameter does not fit",
    severity: Error,
    strict: false,
    about: "The value is of another type than the kind's parameter, or is none of those that it allows. Durations are \
            text with a unit here too.",
    wrong: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample", with: (to: "high")),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate"),
        (from: "rate", to: "out"),
    ],
)"#,
    right: GAIN,
};

/// A parameter without a default that is not stated.
pub static MISSING_PARAMETER: Code = Code {
    id: "GR0603",
    title: "a parameter is missing",
    severity: Error,
    strict: false,
    about: "The kind needs a parameter that has no default.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "cut": (kind: "audio/cut"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "cut"),
        (from: "cut", to: "out"),
    ],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "cut": (kind: "audio/cut", with: (after: "2 s")),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "cut"),
        (from: "cut", to: "out"),
    ],
)"#,
};
