//! The domains `audio` and `net` in whole graphs: files through a resampler under virtual time, and sound over real
//! sockets on the loopback in real time.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::{net::UdpSocket, path::Path, sync::Arc};

use graph_core::{
    Clock, Nanos, NoAssets, Registry,
    check::Plan,
    measure::EdgeMeter,
    run::{Outcome, prepare},
    testing::{plan, simulate},
};
use graph_nodes::{
    audio,
    net::{self, rtcp},
    sound::file::{SoundReader, WavWriter},
    types::Rate,
};

fn registry() -> Registry {
    let mut registry = Registry::new();
    audio::register(&mut registry);
    net::register(&mut registry);
    registry
}

/// A tone that is quiet at both ends, as whole steps of 16 bits.
fn tone(rate: u32, millis: usize) -> Vec<f32> {
    let count = rate as usize / 1_000 * millis;
    let sample = |n: usize| {
        let edge = (n.min(count - 1 - n) as f32 / count as f32).min(0.1) * 10.0;
        (0.5 * edge * (n as f32 * 440.0 * std::f32::consts::TAU / rate as f32).sin() * 32_768.0).round()
            / 32_768.0
    };
    (0..count).map(sample).collect()
}

fn write(path: &Path, rate: u32, sound: &[f32]) {
    WavWriter::create(path, Rate(rate)).unwrap().write(sound).unwrap();
}

fn read(path: &Path) -> (Rate, Vec<f32>) {
    let mut reader = SoundReader::open(path, None).unwrap();
    let mut sound = Vec::new();
    reader.read(usize::MAX, &mut sound).unwrap();
    (reader.rate(), sound)
}

/// Whether every packet that was sent was taken.
fn is_whole(edge: &EdgeMeter) -> bool {
    let counts = edge.counts();
    counts.sent > 0 && counts.sent == counts.taken
}

#[test]
fn a_wav_goes_through_a_resampler_in_another_lane_into_a_wav() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from.wav"), dir.path().join("to.wav"));
    write(&from, 22_050, &tone(22_000, 500));
    let graph = format!(
        r#"(
            name: "resample",
            lanes: {{ "one": (), "two": () }},
            nodes: {{
                "play": (kind: "audio/wav-source", lane: "one", with: (files: ["{}"])),
                "convert": (kind: "audio/resample", lane: "two", with: (to: 48000)),
                "file": (kind: "audio/wav-sink", lane: "two", with: (file: "{}")),
            }},
            edges: [(from: "play", to: "convert"), (from: "convert", to: "file")],
            paths: [(name: "whole", from: "play", to: "file.done")],
        )"#,
        from.display(),
        to.display()
    );
    let run = simulate(&graph, &registry());
    assert_eq!(run.outcome.failures, []);
    assert!(
        ["play.out -> convert.in", "convert.out -> file.in", "file.done"]
            .iter()
            .all(|edge| is_whole(run.edge(edge)))
    );
    let (rate, sound) = read(&to);
    assert_eq!((rate, sound.len()), (Rate::HZ_48000, (11_000 * 320_usize).div_ceil(147)));
}

/// An address of the loopback that is this run's own.
fn host(second_byte: u8) -> String {
    let process = std::process::id();
    format!("127.{second_byte}.{}.{}", process / 250 % 250, 1 + process % 250)
}

/// Player -> receiver -> sender -> glasses, over two sockets; the player sends to `player_to`.
///
/// Lead and wait are long, so that a machine that stalls neither puts a pause into the sound nor makes a packet late.
fn over_the_loopback(from: &Path, to: &Path, host: &str, player_to: &str) -> (Plan, Outcome) {
    let graph = format!(
        r#"(
            name: "loopback",
            nodes: {{
                "player": (kind: "net/speech-player",
                           with: (to: "{player_to}", files: ["{}"], lead: "50 ms", trail: "0 ms")),
                "receive": (kind: "net/udp-audio", with: (bind: "{host}:5004", wait: "500 ms")),
                "speaker": (kind: "net/rtp-audio-out", with: (to: "{host}:5006", lead: "5 s")),
                "glasses": (kind: "net/glasses", with: (bind: "{host}:5006", file: "{}")),
            }},
            edges: [
                (from: "player", to: "receive", wire: true),
                (from: "receive", to: "speaker.audio"),
                (from: "speaker", to: "glasses", wire: true),
            ],
            paths: [(name: "round trip", from: "player", to: "glasses.done")],
        )"#,
        from.display(),
        to.display()
    );
    let registry = registry();
    let plan = plan(&graph, &registry);
    let prepared = prepare(&plan, &registry, Arc::new(NoAssets), Clock::monotonic()).unwrap();
    (plan, prepared.start().unwrap().wait())
}

#[test]
fn sound_crosses_two_sockets_whole_and_its_lineage_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from.wav"), dir.path().join("to.wav"));
    let sound = tone(48_000, 300);
    write(&from, 48_000, &sound);
    let host = host(210);
    let (_, outcome) = over_the_loopback(&from, &to, &host, &format!("{host}:5004"));
    assert_eq!(outcome.failures, []);
    assert!(outcome.edges.iter().all(|edge| is_whole(edge)));
    let (rate, heard) = read(&to);
    assert_eq!(rate, Rate::HZ_48000);
    let sent = [vec![0.0; 2_400], sound].concat();
    assert!(heard == sent, "{} samples heard of {}, and not all of them the same", heard.len(), sent.len());
    assert!(outcome.elapsed >= Nanos::from_millis(350));
}

/// Forwards datagrams until a BYE, but drops every 9th, sends every 5th twice and swaps every 4th with the next.
/// Returns how many it dropped.
fn bad_network(from: UdpSocket, to: &str) -> u64 {
    let out = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (mut buffer, mut kept, mut dropped) = ([0; 2_000], None::<Vec<u8>>, 0);
    for n in 1.. {
        let len = from.recv(&mut buffer).unwrap();
        let datagram = &buffer[..len];
        let bye = rtcp::is_rtcp(datagram);
        if n % 9 == 0 && !bye {
            dropped += 1;
        } else if n % 4 == 0 && !bye && kept.is_none() {
            kept = Some(datagram.to_vec());
            continue;
        } else {
            for _ in 0..if n % 5 == 0 { 2 } else { 1 } {
                if !bye {
                    out.send_to(datagram, to).unwrap();
                }
            }
        }
        if let Some(late) = kept.take() {
            out.send_to(&late, to).unwrap();
        }
        if bye {
            out.send_to(datagram, to).unwrap();
            break;
        }
    }
    dropped
}

#[test]
fn a_bad_network_costs_what_it_drops_and_the_time_line_stays_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from.wav"), dir.path().join("to.wav"));
    write(&from, 48_000, &tone(48_000, 300));
    let host = host(211);
    let (relay, receiver) = (format!("{host}:5005"), format!("{host}:5004"));
    let socket = UdpSocket::bind(&relay).unwrap();
    let network = std::thread::spawn(move || bad_network(socket, &receiver));
    let (plan, outcome) = over_the_loopback(&from, &to, &host, &relay);
    let dropped = network.join().unwrap();
    assert_eq!(outcome.failures, []);
    let wire = plan.edges.iter().position(|edge| edge.name() == "player.wire -> receive.wire").unwrap();
    let counts = outcome.edges[wire].counts();
    assert_eq!((counts.sent, counts.lost), (35, dropped));
    assert_eq!(counts.taken, 35 - dropped);
    let note =
        |name| outcome.notes.iter().find(|note| note.node == "receive" && note.name == name).unwrap().value;
    assert!(note("duplicate") > 0 && note("reordered") > 0);
    assert_eq!((note("lost"), note("concealed"), note("garbage")), (dropped, dropped, 0));
    assert_eq!(read(&to).1.len(), 35 * 480);
}
