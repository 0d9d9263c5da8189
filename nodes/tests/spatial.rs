//! Spatial IPC in whole graphs, over real sockets and in real time.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::{
    io::{Read, Write},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener, UnixStream},
    },
    sync::Arc,
    thread,
};

use graph_core::{
    Clock, NoAssets, Registry,
    check::Plan,
    run::{Outcome, prepare},
    testing::plan,
};
use graph_nodes::spatial;

fn name(test: &str) -> String {
    format!("graphrun-graph-{test}-{}", std::process::id())
}

fn run(text: &str) -> (Plan, Outcome) {
    let mut registry = Registry::new();
    spatial::register(&mut registry);
    let plan = plan(text, &registry);
    let prepared = prepare(&plan, &registry, Arc::new(NoAssets), Clock::monotonic()).unwrap();
    let outcome = prepared.start().unwrap().wait();
    assert_eq!(outcome.failures, []);
    (plan, outcome)
}

fn note(outcome: &Outcome, node: &str, name: &str) -> u64 {
    outcome.notes.iter().find(|note| note.node == node && note.name == name).unwrap().value
}

#[test]
fn every_request_is_answered_and_its_lineage_crosses_the_socket_twice() {
    for codec in ["json", "packed"] {
        let socket = format!("@{}", name(codec));
        let (plan, outcome) = run(&format!(
            r#"(
                name: "spatial",
                nodes: {{
                    "requests": (kind: "spatial/requests", with: (count: 500, every: "100 us",
                                 script: [AssignZone(view: 1, zone: 2), Views, AssignZone(view: 9, zone: 1)])),
                    "encode": (kind: "spatial/encode", with: (codec: {codec})),
                    "client": (kind: "spatial/client", with: (socket: "{socket}")),
                    "server": (kind: "spatial/server", with: (socket: "{socket}", codec: {codec})),
                    "receive": (kind: "spatial/receive", with: (codec: {codec})),
                    "decode": (kind: "spatial/decode", with: (codec: {codec})),
                    "results": (kind: "spatial/results"),
                }},
                edges: [
                    (from: "requests", to: "encode"),
                    (from: "encode", to: "client.in"),
                    (from: "client.connection", to: "receive.connection"),
                    (from: "client.wire", to: "server.requests", wire: true),
                    (from: "server.responses", to: "receive.wire", wire: true),
                    (from: "receive", to: "decode"),
                    (from: "decode", to: "results"),
                ],
                paths: [(name: "round trip", from: "encode", to: "results.in", via: ["server"])],
            )"#
        ));
        for (edge, meter) in plan.edges.iter().zip(&outcome.edges) {
            let counts = meter.counts();
            assert!(counts.sent > 0 && counts.sent == counts.taken, "{}: {counts:?}", edge.name());
        }
        assert_eq!(outcome.paths[0].counts().completed, 500);
        assert_eq!((note(&outcome, "results", "answered"), note(&outcome, "results", "refused")), (334, 166));
    }
}

/// Reads one request, whole.
fn read(stream: &mut UnixStream) -> bool {
    let mut length = [0; 4];
    stream.read_exact(&mut length).is_ok()
        && stream.read_exact(&mut vec![0; u32::from_le_bytes(length) as usize]).is_ok()
}

const OK: &[u8] = b"\x04\0\0\0\"Ok\"";

/// Answers well twice on each connection and then misbehaves, in another way each time; the last one behaves.
fn bad_server(listener: &UnixListener) {
    let misbehaviours: [&[u8]; 4] = [b"", b"\xff\xff\xff\xff huge", b"\x04\0\0\0\"O", b"\x02\0\0\0{]"];
    let all = misbehaviours.iter().map(Some).chain([None]);
    for (n, (last, stream)) in all.zip(listener.incoming()).enumerate() {
        let mut stream = stream.unwrap();
        let mut asked = 0;
        while read(&mut stream) {
            asked += 1;
            match last {
                Some(bytes) if asked > 2 => {
                    stream.write_all(bytes).unwrap();
                    if n != 0 {
                        break;
                    }
                    // The first one stalls instead.
                }
                // Bytes that come one by one are whole in the end.
                _ => OK.iter().for_each(|byte| drop(stream.write_all(&[*byte]))),
            }
        }
    }
}

#[test]
fn a_peer_that_stalls_dies_and_sends_garbage_is_counted_and_the_graph_goes_on() {
    let name = name("bad");
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let server = thread::spawn(move || bad_server(&listener));
    let (_, outcome) = run(&format!(
        r#"(
            name: "spatial",
            nodes: {{
                "requests": (kind: "spatial/requests", with: (count: 500, every: "2 ms")),
                "encode": (kind: "spatial/encode"),
                "client": (kind: "spatial/client", with: (socket: "@{name}", patience: "300 ms", retry: "1 ms")),
                "receive": (kind: "spatial/receive"),
                "decode": (kind: "spatial/decode"),
                "results": (kind: "spatial/results"),
            }},
            edges: [
                (from: "requests", to: "encode"),
                (from: "encode", to: "client.in"),
                (from: "client.connection", to: "receive.connection"),
                (from: "receive", to: "decode"),
                (from: "decode", to: "results"),
            ],
        )"#
    ));
    server.join().unwrap();
    assert_eq!((note(&outcome, "client", "connected"), note(&outcome, "client", "failed")), (5, 4));
    assert_eq!(note(&outcome, "decode", "garbage"), 1);
    let answered = note(&outcome, "results", "answered");
    let rest = note(&outcome, "client", "unanswered") + note(&outcome, "client", "unsent");
    assert!(answered > 100, "{answered}");
    assert_eq!(answered + 1 + rest, 500);
}

#[test]
fn the_graph_that_ships_answers_every_request_and_ends() {
    let text = include_str!("../../graphs/spatial.ron");
    // A socket and a length of this test's own; threads of its own priority are the machine's to refuse.
    let text = text.replace("graphrun-spatial.sock", &format!("@{}", name("ships"))).replace("10000", "1000");
    let (plan, outcome) = run(&text);
    assert_eq!(note(&outcome, "results", "answered"), 1_000);
    let trips = plan.paths.iter().zip(&outcome.paths);
    for (path, meter) in trips {
        let counts = meter.counts();
        assert_eq!((counts.completed, counts.left), (1_000, 0), "{}", path.name);
    }
}
