//! The micro-benchmarks of spatial IPC, each beside the crates that do the same job. Their budgets stand in
//! `graphs/spatial.ron`.
//!
//! `cargo bench -p graph-benches --features spatial --bench spatial_ipc`. `ours` is what the stages call, `pair` the plain
//! loop over a socket pair that the reference was taken with. `graph` is the same round trip through the stages and lanes of
//! a graph: the median, by the graph's own measure, since a graph asks on time whatever becomes of the answers, and a mean
//! would count each pause of the machine once for every request that comes due in it. `paced` is the plain loop with requests at
//! the graph's times.

use std::{
    hint::black_box,
    io::{Read, Write},
    os::unix::net::UnixStream,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};
use graph_core::{
    Clock, NoAssets,
    budget::{Measure, Stat},
    run::prepare,
    testing::plan,
};
use graph_nodes::{
    spatial::{
        frame::{Codec, Scratch},
        header::{Header, MessageType},
        homography::Homography,
        message::{IpcMessage, Stamping},
    },
    types::{Request, Response},
};
use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, little_endian};

const REQUEST: Request = Request::AssignZone { view: 42, zone: 3 };
const MATRIX: Homography = Homography([1.02, 0.01, 20.0, -0.01, 0.98, 30.0, 1e-4, 2e-4, 1.0]);

fn row<T>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut work: impl FnMut() -> T) {
    group.bench_function(name, |bencher| bencher.iter(&mut work));
}

/// A message as it stands on the wire: its length, and what `write` writes behind it. Returns its bytes.
fn framed(bytes: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> usize {
    bytes.clear();
    bytes.extend_from_slice(&[0; 4]);
    write(bytes);
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    black_box(bytes.as_slice()).len()
}

fn json(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("spatial_ipc/encode_request");
    let mut scratch = Scratch::default();
    row(&mut group, "ours", || {
        scratch.clear();
        Codec::Json
            .write_request(black_box(&REQUEST), Stamping::default(), &mut scratch)
            .expect("it is short");
        black_box(scratch.written().len())
    });
    let mut bytes = Vec::with_capacity(256);
    row(&mut group, "serde_json", || {
        framed(&mut bytes, |bytes| {
            serde_json::to_writer(bytes, black_box(&REQUEST)).expect("a vector takes it")
        })
    });
    row(&mut group, "sonic-rs", || {
        framed(&mut bytes, |bytes| {
            sonic_rs::to_writer(bytes, black_box(&REQUEST)).expect("a vector takes it")
        })
    });
    row(&mut group, "simd-json", || {
        framed(&mut bytes, |bytes| {
            simd_json::to_writer(bytes, black_box(&REQUEST)).expect("a vector takes it")
        })
    });
    group.finish();

    let mut group = criterion.benchmark_group("spatial_ipc/decode_response");
    let frame = *b"\x04\0\0\0\"Ok\"";
    row(&mut group, "ours", || Codec::Json.read_response(black_box(&frame)).expect("a response"));
    row(&mut group, "serde_json", || {
        serde_json::from_slice::<Response>(black_box(&frame[4..])).expect("a response")
    });
    row(&mut group, "sonic-rs", || {
        sonic_rs::from_slice::<Response>(black_box(&frame[4..])).expect("a response")
    });
    row(&mut group, "simd-json", || {
        // It writes into its input.
        let mut json = [0; 4];
        json.copy_from_slice(&frame[4..]);
        simd_json::from_slice::<Response>(black_box(&mut json)).expect("a response")
    });
    group.finish();
}

/// The header as zerocopy sees it.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct PlainHeader {
    message_type: little_endian::U32,
    payload_size: little_endian::U32,
    sequence: little_endian::U32,
    timestamp: little_endian::U64,
}

/// The header as serde sees it.
#[derive(Serialize, Deserialize)]
struct SerdeHeader {
    message_type: u32,
    payload_size: u32,
    sequence: u32,
    timestamp: u64,
}

fn header(criterion: &mut Criterion) {
    let fixed = bincode::config::legacy();
    let header = Header {
        message_type: MessageType::Homography,
        payload_size: 38,
        sequence: 70_123,
        timestamp: 1_234_567_890_123,
    };
    let bytes = header.to_bytes();
    let mut group = criterion.benchmark_group("spatial_ipc/header_to_bytes");
    row(&mut group, "ours", || black_box(&header).to_bytes());
    row(&mut group, "zerocopy", || {
        let header = black_box(&header);
        let plain = PlainHeader {
            message_type: 3.into(),
            payload_size: header.payload_size.into(),
            sequence: header.sequence.into(),
            timestamp: header.timestamp.into(),
        };
        let mut bytes = [0; Header::LEN];
        bytes.copy_from_slice(plain.as_bytes());
        bytes
    });
    let serde =
        SerdeHeader { message_type: 3, payload_size: 38, sequence: 70_123, timestamp: header.timestamp };
    row(&mut group, "bincode", || {
        let mut bytes = [0; Header::LEN];
        bincode::serde::encode_into_slice(black_box(&serde), &mut bytes, fixed).expect("it fits");
        bytes
    });
    group.finish();

    let mut group = criterion.benchmark_group("spatial_ipc/header_from_bytes");
    row(&mut group, "ours", || Header::from_bytes(black_box(&bytes)).expect("a header"));
    row(&mut group, "zerocopy", || {
        let plain = PlainHeader::ref_from_bytes(black_box(&bytes)).expect("20 bytes");
        (plain.message_type.get(), plain.payload_size.get(), plain.sequence.get(), plain.timestamp.get())
    });
    row(&mut group, "bincode", || {
        bincode::serde::decode_from_slice::<SerdeHeader, _>(black_box(&bytes), fixed).expect("20 bytes").0
    });
    group.finish();
}

fn packed(criterion: &mut Criterion) {
    let varint = bincode::config::standard();
    let message = IpcMessage::Request(std::borrow::Cow::Owned(REQUEST));
    let mut bytes = [0; 128];
    let mut group = criterion.benchmark_group("spatial_ipc/message_serialise");
    row(&mut group, "postcard", || {
        postcard::to_slice(black_box(&message), black_box(&mut bytes)).expect("it fits").len()
    });
    row(&mut group, "bincode", || {
        bincode::serde::encode_into_slice(black_box(&message), black_box(&mut bytes), varint)
            .expect("it fits")
    });
    group.finish();

    let mut group = criterion.benchmark_group("spatial_ipc/message_parse");
    let length = postcard::to_slice(&message, &mut bytes).expect("it fits").len();
    row(&mut group, "postcard", || {
        postcard::from_bytes::<IpcMessage<'_>>(black_box(&bytes[..length])).expect("a message")
    });
    let mut theirs = [0; 128];
    let length = bincode::serde::encode_into_slice(&message, &mut theirs, varint).expect("it fits");
    row(&mut group, "bincode", || {
        bincode::serde::decode_from_slice::<IpcMessage<'_>, _>(black_box(&theirs[..length]), varint)
            .expect("a message")
            .0
    });
    group.finish();

    let mut group = criterion.benchmark_group("spatial_ipc/homography_serialise");
    row(&mut group, "postcard", || {
        postcard::to_slice(black_box(&MATRIX), black_box(&mut bytes)).expect("it fits").len()
    });
    row(&mut group, "bincode", || {
        bincode::serde::encode_into_slice(black_box(&MATRIX), black_box(&mut bytes), varint).expect("it fits")
    });
    let mut json = Vec::with_capacity(256);
    row(&mut group, "serde_json", || {
        json.clear();
        serde_json::to_writer(&mut json, black_box(&MATRIX)).expect("a vector takes it");
        json.len()
    });
    group.finish();
}

/// Reads a message in two exact reads; `None` when the peer has hung up.
fn read(mut stream: &UnixStream, buffer: &mut [u8; 256]) -> Option<usize> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let length = u32::from_le_bytes(length) as usize;
    stream.read_exact(&mut buffer[..length]).ok()?;
    Some(length)
}

/// The plain loop: a client that writes and reads, and a thread that reads, parses and answers.
struct Pair {
    client: UnixStream,
    server: Option<thread::JoinHandle<()>>,
    scratch: Scratch,
}

impl Pair {
    fn new() -> Pair {
        let (client, server) = UnixStream::pair().expect("a socket pair");
        let answer = move || {
            let (mut buffer, mut scratch) = ([0; 256], Scratch::default());
            while let Some(length) = read(&server, &mut buffer) {
                black_box(serde_json::from_slice::<Request>(&buffer[..length]).expect("a request"));
                scratch.clear();
                Codec::Json
                    .write_response(&Response::Ok, Stamping::default(), &mut scratch)
                    .expect("it is short");
                if (&server).write_all(scratch.written()).is_err() {
                    return;
                }
            }
        };
        Pair { client, server: Some(thread::spawn(answer)), scratch: Scratch::default() }
    }

    fn ask(&mut self) -> Response {
        self.scratch.clear();
        Codec::Json.write_request(&REQUEST, Stamping::default(), &mut self.scratch).expect("it is short");
        (&self.client).write_all(self.scratch.written()).expect("the server lives");
        let mut buffer = [0; 256];
        let length = read(&self.client, &mut buffer).expect("the server lives");
        serde_json::from_slice(&buffer[..length]).expect("a response")
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = self.client.shutdown(std::net::Shutdown::Both);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

const EVERY: Duration = Duration::from_micros(50);

/// Median round trip through a graph, by its own measure, in nanoseconds.
fn through_a_graph(requests: u64) -> u64 {
    let registry = graph_nodes::registry();
    let socket = format!("@graphrun-bench-{}", std::process::id());
    let text = format!(
        r#"(
            name: "spatial",
            warm_up: 20,
            lanes: {{
                "manager": (priority: fifo(40), wait: spin("100 us")),
                "compositor": (priority: fifo(40), wait: spin("100 us")),
            }},
            nodes: {{
                "requests": (kind: "spatial/requests", lane: "manager",
                             with: (count: {}, every: "{} us", script: [AssignZone(view: 1, zone: 2)])),
                "encode": (kind: "spatial/encode", lane: "manager"),
                "client": (kind: "spatial/client", lane: "manager", with: (socket: "{socket}")),
                "server": (kind: "spatial/server", lane: "compositor", with: (socket: "{socket}")),
                "receive": (kind: "spatial/receive", lane: "manager"),
                "decode": (kind: "spatial/decode", lane: "manager"),
                "results": (kind: "spatial/results", lane: "manager"),
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
        )"#,
        requests + 20,
        EVERY.as_micros(),
    );
    let prepared = prepare(&plan(&text, &registry), &registry, Arc::new(NoAssets), Clock::monotonic())
        .unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let outcome = prepared.start().unwrap_or_else(|error| panic!("{error}")).wait();
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    let snapshot = outcome.paths[0].snapshot(Measure::Latency).expect("a path has its latency");
    snapshot.stat(Stat::P50).expect("requests were answered").0
}

fn socket(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("spatial_ipc/socket_round_trip");
    let mut pair = Pair::new();
    row(&mut group, "pair", || pair.ask());
    group.bench_function("paced", |bencher| {
        bencher.iter_custom(|requests| {
            let (mut spent, mut due) = (Duration::ZERO, Instant::now());
            for _ in 0..requests {
                due += EVERY;
                while Instant::now() < due {
                    std::hint::spin_loop();
                }
                let begun = Instant::now();
                black_box(pair.ask());
                spent += begun.elapsed();
            }
            spent
        });
    });
    group.bench_function("graph", |bencher| {
        bencher.iter_custom(|requests| Duration::from_nanos(through_a_graph(requests) * requests));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(100).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = json, header, packed, socket
}
criterion_main!(benches);
