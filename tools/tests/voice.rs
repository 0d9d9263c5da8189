//! The voice graph from end to end: ten recordings of people are played into it in real time, and what it heard,
//! understood, answered and measured is compared with what they say.
#![cfg(feature = "speech")]

use std::{
    fs,
    net::UdpSocket,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use graph_nodes::{
    sound::{file::SoundReader, resample::Resampler},
    speech::{
        corpus, endpoint::Endpointing, moonshine::Moonshine, quality::WordErrors, silero::Silero, ssml, trial,
    },
    types::{Rate, SpokenPart},
};
use graphrun::assets;
use serde_json::Value;

fn asset(name: &str) -> PathBuf {
    let found = assets::resolve(&[name]).unwrap_or_else(|error| panic!("{error}: run graphrun assets pull"));
    found.into_iter().next().expect("one path for one name")
}

/// A port that nobody listens at.
fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("loopback works").port()
}

/// The wavs of the cards, then those of the novel, and their words.
fn recordings() -> (Vec<PathBuf>, String, usize) {
    let (cards, novel) = (asset("speech-cards"), asset("speech-librivox"));
    let said_at_cards = corpus::cards(&cards).expect("the cards are here");
    let said_in_novel = corpus::librivox(&novel).expect("the novel is here");
    let path = |folder: &Path, name: &str| folder.join(format!("{name}.wav"));
    let files = said_at_cards.iter().map(|recording| path(&cards, &recording.name));
    let files = files.chain(said_in_novel.iter().map(|recording| path(&novel, &recording.name))).collect();
    let words: Vec<&str> =
        said_at_cards.iter().chain(&said_in_novel).map(|recording| &*recording.words).collect();
    (files, words.join(" "), said_at_cards.len())
}

/// Runs the voice graph on `files` with ports of its own. Gives its JSON report, stderr and the answers' wav.
fn run(folder: &Path, files: &[PathBuf]) -> (Value, Output, PathBuf) {
    let (speech, answers) = (free_port(), free_port());
    let wav = folder.join("answers.wav");
    let overlay = folder.join("ten.ron");
    let text = format!(
        r#"(nodes: {{
            "player": (with: (to: "127.0.0.1:{speech}", files: {files:?}, gap: "3500 ms", trail: "3500 ms")),
            "receive": (with: (bind: "127.0.0.1:{speech}")),
            "speaker": (with: (to: "127.0.0.1:{answers}")),
            "glasses": (with: (bind: "127.0.0.1:{answers}", file: {wav:?})),
        }})"#
    );
    fs::write(&overlay, text).expect("the overlay is written");
    let report = folder.join("report.json");
    let output = Command::new(env!("CARGO_BIN_EXE_graphrun"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../graphs/voice.ron"))
        .args(["--format", "json", "--with"])
        .arg(&overlay)
        .arg("--output")
        .arg(&report)
        .output()
        .expect("graphrun runs");
    let told = String::from_utf8_lossy(&output.stderr);
    let json = fs::read_to_string(&report).unwrap_or_else(|error| panic!("{error}: {told}"));
    (serde_json::from_str(&json).expect("the report is JSON"), output, wav)
}

/// What nodes told by that label, in order: `turn 3  heard some words  (stt)`.
fn told(stderr: &str, label: &str) -> Vec<String> {
    let lines = stderr.lines().filter_map(|line| {
        let (turn, rest) = line.split_once("  ")?;
        let words = rest.strip_prefix(label)?.strip_prefix(' ')?;
        turn.starts_with("turn ")
            .then(|| words.rsplit_once("  (").map_or(words, |(words, _)| words).to_owned())
    });
    lines.collect()
}

/// What our own recogniser hears in a wav.
fn heard_in(wav: &Path) -> String {
    let mut reader = SoundReader::open(wav, None).expect("the answers are a wav");
    let (rate, mut sound, mut samples) = (reader.rate(), Vec::new(), Vec::new());
    let count = usize::try_from(reader.left()).expect("it fits");
    reader.read(count, &mut sound).expect("it is whole");
    let mut resampler = Resampler::new(rate, Rate::HZ_16000).expect("usual rates");
    resampler.process(&sound, &mut samples);
    let mut silero = Silero::open(&asset("onnxruntime"), &asset("silero-vad")).expect("the model opens");
    let engine = Moonshine::open(
        &asset("onnxruntime"),
        &asset("moonshine-encoder"),
        &asset("moonshine-decoder"),
        &asset("moonshine-tokenizer"),
        1,
    );
    let events = trial::utterances(&mut silero, &Endpointing::default(), &samples).expect("the model runs");
    let events = events.into_iter().map(|(_, event)| event);
    trial::transcribe(Box::new(engine.expect("the model opens")), events).expect("the model runs").join(" ")
}

/// The words of an answer, whatever its markup.
fn words(answer: &str) -> String {
    let spoken = ssml::parse(answer).spoken();
    let texts = spoken.parts.iter().filter_map(|part| match part {
        SpokenPart::Text { text, .. } => Some(text.to_string()),
        SpokenPart::Break(_) => None,
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[test]
fn people_are_heard_understood_and_answered_and_every_edge_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let (files, said, hands) = recordings();
    let (report, output, wav) = run(folder.path(), &files);
    let stderr = String::from_utf8_lossy(&output.stderr);

    let heard = told(&stderr, "heard");
    let errors = WordErrors::of(&said, &heard.join(" "));
    println!("word error rate {:.1} % ({} of {} words)", errors.rate() * 100.0, errors.errors, errors.words);
    assert!(errors.rate() <= 0.15, "{heard:#?}");

    let intents = told(&stderr, "intent");
    assert_eq!(intents.len(), heard.len(), "every utterance has an intent\n{stderr}");
    let (cards, novel) = intents.split_at(hands.min(intents.len()));
    assert!(cards.iter().all(|intent| intent == "play_card"), "{intents:?}");
    assert!(!novel.is_empty() && novel.iter().all(|intent| intent == "literature"), "{intents:?}");

    let answers: Vec<String> = told(&stderr, "answer").iter().map(|answer| words(answer)).collect();
    let understood = heard_in(&wav);
    let errors = WordErrors::of(&answers.join(" "), &understood);
    println!("the answers: {:.1} % of the words misheard by our own recogniser", errors.rate() * 100.0);
    // The query tone before an answer is mostly heard as a short word of its own.
    assert!(errors.rate() <= 0.3, "said {answers:#?}\nheard {understood}");

    let status = output.status.code();
    assert!(
        matches!(status, Some(0 | 1)),
        "a budget may fail on a busy machine, nothing else: {status:?}\n{stderr}"
    );
    assert_eq!(report["exit_code"].as_i64().map(|code| code as i32), status);
    assert_eq!(report["failures"].as_array().map(Vec::len), Some(0), "{}", report["failures"]);
    for edge in report["edges"].as_array().expect("edges") {
        let name = format!("{} -> {}", edge["from"], edge["to"]);
        let counts = &edge["counts"];
        let count = |what: &str| counts[what].as_u64().unwrap_or_else(|| panic!("{name} has no {what}"));
        assert!(count("taken") > 0, "{name}: {counts}");
        let gone = count("dropped") + count("cancelled") + count("lost") + count("left");
        assert_eq!(count("sent"), count("taken") + gone, "{name}: {counts}");
        assert!(edge["latency"]["n"].as_u64() > Some(0), "{name}");
    }
    for path in report["paths"].as_array().expect("paths") {
        assert!(path["latency"]["n"].as_u64() >= Some(hands as u64), "{path}");
        let sum = |figures: &Value| figures["mean_ns"].as_f64().expect("a mean");
        let parts: f64 = path["parts"].as_array().expect("parts").iter().map(sum).sum();
        let whole = sum(&path["latency"]);
        assert!(
            (parts - whole).abs() <= path["parts"].as_array().map_or(0, Vec::len) as f64,
            "{parts} of {whole}"
        );
    }
}
