//! GR03: paths; GR04: budgets.

use super::Code;
use crate::diagnostic::Severity::{Error, Note, Warning};

/// A path that leads nowhere.
pub static NO_ROUTE: Code = Code {
    id: "GR0301",
    title: "a path has no route",
    severity: Error,
    strict: false,
    about: "No row of edges leads from the path's start to its end by way of the places in `via`. A path follows edges in \
            their direction and does not follow feedback edges.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out")],
    paths: [(name: "whole", from: "out", to: "in")],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out")],
    paths: [(name: "whole", from: "in", to: "out.done")],
)"#,
};

/// A path with more than one route.
pub static SEVERAL_ROUTES: Code = Code {
    id: "GR0302",
    title: "a path has more than one route",
    severity: Error,
    strict: false,
    about: "Where routes differ, a path names a node or a port that only the one which is meant passes: via: [\"rate\"]. \
            To measure both, state two paths.",
    wrong: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "mix":  (kind: "audio/mix"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "mix.a"),
        (from: "in", to: "rate"),
        (from: "rate", to: "mix.b"),
        (from: "mix", to: "out"),
    ],
    paths: [(name: "whole", from: "in", to: "out.done")],
)"#,
    right: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "mix":  (kind: "audio/mix"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "mix.a"),
        (from: "in", to: "rate"),
        (from: "rate", to: "mix.b"),
        (from: "mix", to: "out"),
    ],
    paths: [(name: "whole", from: "in", to: "out.done", via: ["rate"])],
)"#,
};

/// A path that counts packets where each cause has one.
pub static NO_PACKETS: Code = Code {
    id: "GR0303",
    title: "a path counts packets where each cause has one",
    severity: Error,
    strict: false,
    about: "`packets: 15` says that a limit of the path covers the first 15 packets of one cause, as of one question. That \
            has a meaning only where an output on the way gives many packets a cause.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out")],
    paths: [(name: "whole", from: "in", to: "out.done", packets: 15)],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out")],
    paths: [(name: "whole", from: "in", to: "out.done")],
)"#,
};

/// An overhead of a path that the graph does not have.
pub static UNKNOWN_PATH: Code = Code {
    id: "GR0304",
    title: "there is no such path",
    severity: Error,
    strict: false,
    about: "An overhead compares two paths of the graph by their names.",
    wrong: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "left":  (kind: "audio/wav-sink"),
        "right": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate"),
        (from: "rate", to: "left"),
        (from: "in", to: "right"),
    ],
    paths: [(name: "by rate", from: "in", to: "left.done")],
    overheads: [(name: "rate", path: "by rate", direct: "direct", budget: (p50: "300 us"))],
)"#,
    right: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "left":  (kind: "audio/wav-sink"),
        "right": (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate"),
        (from: "rate", to: "left"),
        (from: "in", to: "right"),
    ],
    paths: [
        (name: "by rate", from: "in", to: "left.done"),
        (name: "direct", from: "in", to: "right.done"),
    ],
    overheads: [(name: "rate", path: "by rate", direct: "direct", budget: (p50: "300 us"))],
)"#,
};

/// Limits of edges that exceed their path's.
pub static OVER_ALLOCATED: Code = Code {
    id: "GR0401",
    title: "the limits of edges exceed that of their path",
    severity: Warning,
    strict: true,
    about: "Each edge may keep its limit and the path still break its own. Maxima add along a path, and so do means; where \
            an output gives many packets, the intervals between as many as the path covers are added. Lower the limit of \
            an edge, or raise that of the path with a `basis` that says why.",
    wrong: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate", budget: (max: "3 ms")),
        (from: "rate", to: "out", budget: (max: "3 ms")),
    ],
    paths: [(name: "whole", from: "in", to: "out", budget: (max: "5 ms"))],
)"#,
    right: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate", budget: (max: "3 ms")),
        (from: "rate", to: "out", budget: (max: "1 ms")),
    ],
    paths: [(name: "whole", from: "in", to: "out", budget: (max: "5 ms"))],
)"#,
};

/// Limits of edges that use up their path's.
pub static FULLY_ALLOCATED: Code = Code {
    id: "GR0402",
    title: "the limits of edges use up that of their path",
    severity: Note,
    strict: false,
    about: "The limits of the edges add up to exactly the path's. Nothing is wrong; another edge on this path would need \
            time taken from the others.",
    wrong: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate", budget: (max: "3 ms")),
        (from: "rate", to: "out", budget: (max: "2 ms")),
    ],
    paths: [(name: "whole", from: "in", to: "out", budget: (max: "5 ms"))],
)"#,
    right: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate", budget: (max: "3 ms")),
        (from: "rate", to: "out", budget: (max: "1 ms")),
    ],
    paths: [(name: "whole", from: "in", to: "out", budget: (max: "5 ms"))],
)"#,
};

/// A path with a limit that its edges' limits do not bound.
pub static OPEN_SUM: Code = Code {
    id: "GR0403",
    title: "an edge of a path has no limit",
    severity: Note,
    strict: false,
    about: "The path has a limit on a maximum or a mean, and an edge on it has none that counts towards it: the sum is \
            open, and the edges may keep their limits while the path breaks its own. A limit on `cost` bounds the cost; \
            one on the latency bounds the latency and the cost; `cost` and `held` together bound the latency.",
    wrong: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate", budget: (max: "3 ms")),
        (from: "rate", to: "out"),
    ],
    paths: [(name: "whole", from: "in", to: "out", budget: (max: "5 ms"))],
)"#,
    right: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate", budget: (max: "3 ms")),
        (from: "rate", to: "out", budget: (max: "1 ms")),
    ],
    paths: [(name: "whole", from: "in", to: "out", budget: (max: "5 ms"))],
)"#,
};

/// A limit on a measure that the edge does not have.
pub static NO_SUCH_MEASURE: Code = Code {
    id: "GR0404",
    title: "an edge has no such measure",
    severity: Error,
    strict: false,
    about: "`first`, `last`, `interval` and `rate` tell the packets of one cause apart, and this edge's output gives at \
            most one packet a cause. `graphrun nodes KIND` says which outputs give many.",
    wrong: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", budget: (first: (max: "5 ms")))],
)"#,
    right: r#"
(
    nodes: {
        "in":  (kind: "audio/wav-source"),
        "out": (kind: "audio/wav-sink"),
    },
    edges: [(from: "in", to: "out", budget: (latency: (max: "5 ms")))],
)"#,
};

/// A limit on the wait that a full queue breaks.
pub static QUEUE_TOO_LONG: Code = Code {
    id: "GR0405",
    title: "a full queue waits longer than its limit allows",
    severity: Note,
    strict: false,
    about: "A packet that enters a full queue is taken after as many services of its consumer as the queue holds packets. \
            A service is what the limits of the edges behind the consumer let it take, with the nodes of its lane that \
            step next. Where that is more than the edge's limit on `wait`, the queue may fill up and break the limit while \
            its consumer keeps its own. Make the queue shorter, or let it drop: full: drop_oldest, or late: \"50 ms\".",
    wrong: r#"
(
    nodes: {
        "in":   (kind: "audio/wav-source"),
        "rate": (kind: "audio/resample"),
        "out":  (kind: "audio/wav-sink"),
    },
    edges: [
        (from: "in", to: "rate", queue: (capacity: 8), budget: (wait: (max: "5 ms"))),
        (from: "rate", to: "out", budget: (max: "1 ms")),
        (from: "out.done", budget: (max: "1 ms")),
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
        (from: "in", to: "rate", queue: (capacity: 2), budget: (wait: (max: "5 ms"))),
        (from: "rate", to: "out", budget: (max: "1 ms")),
        (from: "out.done", budget: (max: "1 ms")),
    ],
)"#,
};

/// A limit that no node can keep on this machine.
pub static BELOW_FLOOR: Code = Code {
    id: "GR0406",
    title: "a limit is below what this machine can keep",
    severity: Warning,
    strict: true,
    about: "The machine takes some time for a hop whatever the nodes do: to read the clock inside a lane, to reach a lane that \
            spins, or to wake one that sleeps. `graphrun check` measures that here, in some milliseconds, and `graphrun \
            doctor` prints it. A limit below it cannot be kept. Raise it, put the nodes in one lane, or let the consumer's \
            lane wait by `poll` or `spin`; what is shorter than a hop is a matter for `benches`.",
    wrong: r#"
(
    lanes: { "ears": (), "voice": () },
    nodes: {
        "in":   (kind: "audio/wav-source", lane: "ears"),
        "out":  (kind: "audio/wav-sink", lane: "voice"),
    },
    edges: [(from: "in", to: "out", budget: (max: "500 ns"))],
)"#,
    right: r#"
(
    lanes: { "ears": (), "voice": (wait: spin("50 us")) },
    nodes: {
        "in":   (kind: "audio/wav-source", lane: "ears"),
        "out":  (kind: "audio/wav-sink", lane: "voice"),
    },
    edges: [(from: "in", to: "out", budget: (max: "500 ns"))],
)"#,
};
