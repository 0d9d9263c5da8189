//! What the user sees of bad input: the words, and the exit status. A panic or a hang is our fault, never the input's.

#![cfg(all(feature = "audio", feature = "net"))]
#![allow(clippy::unwrap_used, reason = "the helpers of a test may unwrap like the test itself")]

mod desk;

use std::{
    fs::{self, File},
    net::{SocketAddr, UdpSocket},
    process::Stdio,
    time::Duration,
};

use desk::{Desk, Seen};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// A graph from a wav to a wav.
fn player(from: &str, to: &str) -> String {
    format!(
        r#"(
    name: "player",
    nodes: {{
        "source": (kind: "audio/wav-source", with: (files: ["{from}"], paced: false)),
        "sink": (kind: "audio/wav-sink", with: (file: "{to}")),
    }},
    edges: [(from: "source", to: "sink", budget: (max: "1 min"))],
)"#
    )
}

/// A graph that listens at `bind`.
fn listener(bind: SocketAddr) -> String {
    format!(
        r#"(
    name: "listener",
    nodes: {{
        "receive": (kind: "net/udp-audio", with: (bind: "{bind}")),
        "sink": (kind: "audio/wav-sink", with: (file: "heard.wav")),
    }},
    edges: [(from: "receive", to: "sink", budget: (max: "1 min"))],
)"#
    )
}

/// A wav of one chunk of sound that its header says has `claimed` bytes.
fn wav(format: u16, bits: u16, data: &[u8], claimed: usize) -> Vec<u8> {
    let rate = 16_000_u32;
    let mut file = Vec::new();
    file.extend_from_slice(b"RIFF");
    file.extend_from_slice(&(36 + claimed as u32).to_le_bytes());
    file.extend_from_slice(b"WAVEfmt \x10\0\0\0");
    file.extend_from_slice(&format.to_le_bytes());
    file.extend_from_slice(&1_u16.to_le_bytes());
    file.extend_from_slice(&rate.to_le_bytes());
    file.extend_from_slice(&(rate * u32::from(bits / 8)).to_le_bytes());
    file.extend_from_slice(&(bits / 8).to_le_bytes());
    file.extend_from_slice(&bits.to_le_bytes());
    file.extend_from_slice(b"data");
    file.extend_from_slice(&(claimed as u32).to_le_bytes());
    file.extend_from_slice(data);
    file
}

/// An address where nobody listens.
fn free_port() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[test]
fn a_graph_file_that_is_none_is_refused_with_its_reason() {
    let desk = Desk::new().with("empty.ron", "").with("blank.ron", " \n\t\n");
    fs::create_dir(desk.path("folder.ron")).unwrap();
    desk.run(&["check", "missing.ron"]).refused(5, &["GR0102", "missing.ron", "there is no such file"]);
    desk.run(&["missing.ron"]).refused(5, &["missing.ron", "there is no such file", "graphrun new graph"]);
    desk.run(&["check", "folder.ron"]).refused(5, &["folder.ron cannot be read: it is a folder"]);
    desk.run(&["check", "empty.ron"]).refused(5, &["empty.ron:1:1", "the file holds no graph"]);
    desk.run(&["check", "blank.ron"]).refused(5, &["blank.ron:", "the file holds no graph"]);
}

#[test]
fn bytes_that_are_no_text_are_told_by_their_place() {
    let bytes: Vec<u8> = (0..=255).rev().cycle().take(4_096).collect();
    Desk::new()
        .with("noise.ron", bytes)
        .run(&["check", "noise.ron"])
        .refused(5, &["noise.ron:1:1", "byte 1 is not UTF-8 text", "save the file as UTF-8"]);
}

#[test]
fn letters_of_many_bytes_in_the_wrong_place_are_no_panic() {
    for text in
        ["ä", "(name: \"x\" ä: 1)", "(nodes: {\"a\": ä})", "(ä)", "(name: ä", "(name: \"日", "日本: 1"]
    {
        Desk::new().with("letters.ron", text).run(&["check", "letters.ron"]).refused(5, &["letters.ron:1:"]);
    }
}

#[test]
fn brackets_without_end_do_not_overflow_the_stack() {
    for deep in ["(".repeat(200_000), format!("(name: {}", "[".repeat(200_000)), "Some(".repeat(50_000)] {
        Desk::new().with("deep.ron", deep).run(&["check", "deep.ron"]).refused(5, &["deep.ron:1:"]);
    }
}

#[test]
fn every_fault_of_a_graph_is_told_at_once_with_its_place_and_a_mend() {
    let graph = r#"(
    nodes: {
        "source": (kind: "audio/wav-sorce"),
        "sink": (kind: "audio/wav-sink", with: (file: 3, fle: "x")),
        "late": (kind: "audio/resample", with: (to: "high")),
        "late": (kind: "audio/resample"),
    },
    edges: [
        (from: "nobody", to: "sink"),
        (from: "late.sound", to: "sink", budget: (max: 5)),
    ],
)"#;
    Desk::new().with("g.ron", graph).run(&["check", "g.ron"]).refused(
        5,
        &[
            "g.ron:3:26: error",
            "did you mean `audio/wav-source`?",
            "`audio/wav-sink` has no parameter `fle`",
            "the parameter `file`: expected text in quotes",
            "the parameter `to`: expected a whole number",
            "g.ron:6:9: error",
            "there is no node `nobody`",
            "`sound`",
            "5 ms",
        ],
    );
}

#[test]
fn circles_and_two_edges_into_one_input_are_refused() {
    let graph = r#"(
    nodes: {
        "source": (kind: "audio/wav-source", with: (files: ["x.wav"])),
        "up": (kind: "audio/resample"),
        "down": (kind: "audio/resample"),
        "sink": (kind: "audio/wav-sink", with: (file: "y.wav")),
    },
    edges: [
        (from: "up", to: "down"),
        (from: "down", to: "up"),
        (from: "source", to: "sink"),
        (from: "down", to: "sink"),
    ],
)"#;
    Desk::new().with("g.ron", graph).run(&["g.ron"]).refused(
        5,
        &[
            "the edges run in a circle: up -> down -> up",
            "feedback: true",
            "the input `sink.in` is fed by two edges",
        ],
    );
}

#[test]
fn a_refused_graph_is_json_for_programs() {
    let seen =
        Desk::new().with("g.ron", "(nodes: {}, edgs: [])").run(&["check", "g.ron", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(seen.status, Some(5));
    assert_eq!((json["schema_version"].as_u64(), json["exit_code"].as_u64()), (Some(1), Some(5)));
    let edgs = json["diagnostics"].as_array().unwrap().iter().find(|one| one["column"] == 13).unwrap();
    assert_eq!((edgs["file"].as_str(), edgs["line"].as_u64()), (Some("g.ron"), Some(1)));
    assert_eq!(edgs["help"].as_str(), Some("did you mean `edges`?"));
}

#[test]
fn a_sound_file_that_cannot_be_read_is_told_with_its_node() {
    let desk = Desk::new()
        .with("empty.wav", "")
        .with("soundless.wav", wav(1, 16, &[], 0))
        .with("text.wav", "this is no sound")
        .with("header.wav", &wav(1, 16, &[0; 100], 100)[..30])
        .with("cut.wav", wav(1, 16, &[0; 1_000], 32_000))
        .with("law.wav", wav(7, 8, &[0x55; 800], 800));
    fs::create_dir(desk.path("folder.wav")).unwrap();
    for (file, words) in [
        ("missing.wav", "missing.wav is not there"),
        ("empty.wav", "empty.wav has no sound"),
        ("soundless.wav", "soundless.wav has no sound"),
        ("text.wav", "text.wav is not a wav file: no RIFF tag found"),
        ("header.wav", "header.wav is not a wav file: it ends too early"),
        ("cut.wav", "cut.wav is cut short: 32000 bytes of sound expected, 1000 found"),
        ("law.wav", "use 8 to 32-bit integers or 32-bit floats"),
        ("folder.wav", "cannot open folder.wav"),
    ] {
        fs::write(desk.path("g.ron"), player(file, "out.wav")).unwrap();
        desk.run(&["g.ron"]).refused(6, &["node \"source\"", words]);
    }
}

#[test]
fn sound_of_8_bits_and_of_floats_is_played() {
    let floats: Vec<u8> = (0..800).flat_map(|at| ((at as f32 * 0.1).sin() * 0.5).to_le_bytes()).collect();
    let odd: Vec<u8> =
        [f32::NAN, f32::INFINITY, f32::MAX, -0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    for (sound, samples) in [
        (wav(1, 8, &[200; 800], 800), 800),
        (wav(3, 32, &floats, floats.len()), 800),
        (wav(3, 32, &odd.repeat(200), 3_200), 800),
    ] {
        let desk = Desk::new().with("in.wav", sound).with("g.ron", player("in.wav", "out.wav"));
        let seen = desk.run(&["g.ron"]);
        assert_eq!(seen.status, Some(0), "{}{}", seen.stderr, seen.stdout);
        assert_eq!(fs::metadata(desk.path("out.wav")).unwrap().len(), 44 + 2 * samples);
    }
}

#[test]
fn a_place_that_cannot_be_written_to_is_told_before_the_run() {
    let desk = Desk::new().with("in.wav", wav(1, 16, &[0; 3_200], 3_200));
    let desk = desk.with("g.ron", player("in.wav", "nowhere/out.wav"));
    desk.run(&["g.ron"]).refused(6, &["node \"sink\"", "cannot open nowhere/out.wav"]);
}

#[test]
fn a_full_disk_fails_the_node_and_the_report_says_so() {
    let sound = vec![1; 320_000];
    let desk = Desk::new().with("in.wav", wav(1, 16, &sound, sound.len()));
    let desk = desk.with("g.ron", player("in.wav", "/dev/full"));
    let seen = desk.run(&["g.ron"]);
    seen.refused(6, &["node sink failed: /dev/full: No space left on device"]);
    assert!(seen.stdout.contains("FAIL"), "{}", seen.stdout);
}

#[test]
fn a_report_that_cannot_be_written_is_told_before_the_run() {
    let desk = Desk::new().with("in.wav", wav(1, 16, &[0; 3_200], 3_200));
    let desk = desk.with("g.ron", player("in.wav", "out.wav"));
    desk.run(&["g.ron", "--output", "nowhere/report.txt"]).refused(2, &["cannot write nowhere/report.txt"]);
    assert!(!desk.path("out.wav").exists(), "nothing has run");
    desk.run(&["g.ron", "--output", "/dev/full"]).refused(6, &["cannot write /dev/full"]);
}

#[test]
fn an_unknown_asset_is_told_with_its_nearest_name() {
    Desk::new()
        .with("g.ron", player("asset:speech-card/001.wav", "out.wav"))
        .run(&["g.ron"])
        .refused(6, &["there is no asset `speech-card`; did you mean `speech-cards`?"]);
}

#[test]
fn a_missing_asset_without_a_place_to_put_it_says_what_to_set() {
    let desk = Desk::new().with("g.ron", player("asset:noise-water", "out.wav"));
    let bare = desk.command(&["g.ron"]).env_clear().stderr(Stdio::piped()).stdout(Stdio::piped()).spawn();
    Seen::of(bare.unwrap()).refused(6, &["set GRAPHRUN_ASSETS to a directory"]);
    let odd =
        desk.command(&["g.ron"]).env("GRAPHRUN_ASSETS", "/dev/null/assets").stderr(Stdio::piped()).spawn();
    Seen::of(odd.unwrap()).refused(6, &["cannot write `/dev/null/assets`"]);
}

#[test]
fn a_busy_port_is_told_before_the_run() {
    let holder = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap();
    Desk::new().with("g.ron", listener(port)).run(&["g.ron", "--for", "1 s"]).refused(
        6,
        &["node \"receive\"", &format!("port {} of 127.0.0.1 is in use", port.port()), "choose another port"],
    );
}

#[test]
fn a_listener_that_nobody_talks_to_has_no_data_and_does_not_pass() {
    let seen = Desk::new().with("g.ron", listener(free_port())).run(&["g.ron", "--for", "200 ms"]);
    seen.refused(4, &[]);
    assert!(seen.stdout.contains("no-data: nothing was measured"), "{}", seen.stdout);
}

#[test]
fn random_datagrams_are_counted_and_do_no_harm() {
    let port = free_port();
    let desk = Desk::new().with("g.ron", listener(port));
    let mut child = desk.start(&["g.ron", "--for", "1500 ms", "--format", "json"]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(port).unwrap();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    // A datagram to a port where nobody listens yet makes the next one fail.
    let mut in_a_row = 0;
    while in_a_row < 500 && child.try_wait().unwrap().is_none() {
        let length = usize::from(byte()) * 6;
        let mut datagram: Vec<u8> = (0..length).map(|_| byte()).collect();
        if let [first, second, ..] = datagram.as_mut_slice()
            && length.is_multiple_of(4)
        {
            (*first, *second) = (0x80 | (*first & 0x3f), 96);
        }
        in_a_row = socket.send(&datagram).map_or(0, |_| in_a_row + 1);
        std::thread::sleep(Duration::from_micros(500));
    }
    let seen = Seen::of(child);
    assert!(matches!(seen.status, Some(0 | 4)), "{:?} {}", seen.status, seen.stderr);
    let json: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap();
    let counts = &json["edges"][0]["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    let ends = ["taken", "dropped", "cancelled", "lost", "left"].map(count);
    assert_eq!(count("sent"), ends.iter().sum::<u64>(), "{counts}");
    let garbage = json["notes"].as_array().unwrap().iter().any(|note| {
        note["name"].as_str() == Some("garbage") && note["value"].as_f64().is_some_and(|value| value > 0.0)
    });
    assert!(garbage, "{}", json["notes"]);
}

#[test]
fn a_player_that_nobody_hears_plays_to_its_end() {
    let desk = Desk::new().with("in.wav", wav(1, 16, &[0; 3_200], 3_200));
    let graph = format!(
        r#"(
    nodes: {{
        "source": (kind: "audio/wav-source", with: (files: ["in.wav"])),
        "up": (kind: "audio/resample", with: (to: 48000)),
        "out": (kind: "net/rtp-audio-out", with: (to: "{}")),
    }},
    edges: [(from: "source", to: "up"), (from: "up", to: "out.audio", budget: (max: "1 min"))],
)"#,
        free_port()
    );
    let seen = desk.with("g.ron", graph).run(&["g.ron"]);
    seen.refused(0, &[]);
}

#[test]
fn an_interrupt_ends_the_sources_and_the_report_is_told() {
    let desk = Desk::new().with("in.wav", wav(1, 16, &[0; 32_000], 32_000));
    let graph = player("in.wav", "out.wav").replace("paced: false", "repeat: 0");
    for (signal, times, report) in
        [(Signal::SIGINT, 1, true), (Signal::SIGTERM, 1, true), (Signal::SIGINT, 3, false)]
    {
        fs::write(desk.path("g.ron"), &graph).unwrap();
        _ = fs::remove_file(desk.path("out.wav"));
        let mut child = desk.start(&["g.ron"]);
        // The sink has written the first second of sound when its file is longer than a header.
        let runs = || fs::metadata(desk.path("out.wav")).is_ok_and(|file| file.len() > 44);
        while !runs() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        for _ in 0..times {
            _ = kill(Pid::from_raw(child.id() as i32), signal);
            std::thread::sleep(Duration::from_millis(2));
        }
        let seen = Seen::of(child);
        assert!(matches!(seen.status, Some(0 | 130)), "{:?} {}", seen.status, seen.stderr);
        assert!(seen.stderr.contains("graphrun: ending"), "{}", seen.stderr);
        assert!(!report || seen.stdout.contains("pass"), "{}", seen.stdout);
    }
}

#[test]
fn a_closed_stderr_or_stdout_does_not_change_the_verdict() {
    let desk = Desk::new().with("in.wav", wav(1, 16, &[0; 3_200], 3_200));
    let desk = desk.with("good.ron", player("in.wav", "out.wav")).with("bad.ron", "(");
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let closed = || std::io::pipe().unwrap().1;
    for (graph, status) in [("bad.ron", 5), ("missing.ron", 5), ("good.ron", 0)] {
        let to_full = desk.command(&[graph]).stdout(Stdio::null()).stderr(full()).status().unwrap();
        let to_nobody = desk.command(&[graph]).stdout(Stdio::null()).stderr(closed()).status().unwrap();
        assert_eq!((to_full.code(), to_nobody.code()), (Some(status), Some(status)), "{graph}");
    }
    let head = desk.command(&["good.ron"]).stdout(closed()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(head.code(), Some(0));
}

#[test]
#[cfg(not(feature = "speech"))]
fn a_kind_of_a_feature_that_is_not_built_names_the_feature() {
    let graph = r#"(nodes: {"vad": (kind: "speech/vad")}, edges: [])"#;
    Desk::new()
        .with("g.ron", graph)
        .run(&["check", "g.ron"])
        .refused(5, &["speech/vad", "not in this build", "the cargo feature `speech`"]);
}

#[test]
fn a_check_finds_what_only_the_node_itself_knows_without_running() {
    let graph = r#"(
    nodes: {
        "in": (kind: "audio/wav-source", with: (files: ["here.wav", "gone.wav"])),
        "more": (kind: "audio/wav-source", with: (files: ["asset:speech-card/001.wav"])),
        "out": (kind: "net/rtp-audio-out", with: (to: "glasses", payload_type: 200)),
    },
    edges: [(from: "in", to: "out.audio"), (from: "more", to: "out.tone")],
)"#;
    let desk = Desk::new().with("g.ron", graph);
    desk.run(&["check", "g.ron"]).refused(
        5,
        &[
            "g.ron:5:55: error",
            "the parameter `to`: \"glasses\" is no address",
            "g.ron:5:80: error",
            "from 0 to 127",
        ],
    );
    let graph = graph.replace("glasses", "127.0.0.1:9").replace("200", "96");
    let desk = desk.with("g.ron", graph).with("here.wav", "");
    desk.run(&["check", "g.ron"]).refused(
        5,
        &[
            "g.ron:3:69: error",
            "there is no file gone.wav",
            "g.ron:4:59: error",
            "did you mean `speech-cards`?",
        ],
    );
}

#[test]
fn a_limit_that_this_machine_cannot_keep_is_refused_by_a_strict_check_only() {
    let graph = player("in.wav", "out.wav").replace("1 min", "2 ns");
    let desk = Desk::new().with("in.wav", "").with("g.ron", graph);
    desk.run(&["check", "g.ron", "--strict"]).refused(5, &["GR0406", "one reading of the clock to the next"]);
    let seen = desk.run(&["check", "g.ron", "--plan", "--format", "json"]);
    assert_eq!(seen.status, Some(0), "{}", seen.stderr);
    let json: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(json["diagnostics"][0]["code"], "GR0406");
    assert_eq!(json["plan"]["lanes"][0]["nodes"], serde_json::json!(["sink", "source"]));
    assert_eq!(json["plan"]["edges"][0]["ring"], "local");
    assert_eq!(json["plan"]["bytes"], json["plan"]["edges"][0]["bytes"]);
    assert!(json["floors"]["futex_ns"].as_u64() > json["floors"]["local_ns"].as_u64());
    assert_eq!(json["queues"][0]["open"], serde_json::json!(["sink.done"]));
}
