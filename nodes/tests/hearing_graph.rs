//! The hearing stages wired as a graph: recordings in, answers out.
#![cfg(feature = "speech")]

use std::{path::PathBuf, sync::Mutex};

use graph_core::{
    Build, BuildError, Cx, Flow, Kind, Nanos, NodeError, Registry, Sink, SinkCx, Source, Stamp, testing,
};
use graph_nodes::{
    speech::{self, corpus},
    types::{Audio, Rate, Reply},
};
use schemars::JsonSchema;
use serde::Deserialize;

#[allow(dead_code)]
#[path = "../src/speech/fixtures.rs"]
mod fixtures;
use fixtures::asset;

const PIECE: Nanos = Nanos::from_millis(10);
const SAMPLES: usize = 160;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlayerParams {
    folder: PathBuf,
}

/// The five card recordings with a second of silence after each, in real time.
struct Player {
    sound: Vec<f32>,
    played: usize,
    due: Option<Stamp>,
}

impl Kind for Player {
    const KIND: &'static str = "test/player";
    const ABOUT: &'static str = "People who name cards.";
    type Params = PlayerParams;

    fn new(params: &PlayerParams, _: &mut Build<'_>) -> Result<Player, BuildError> {
        let mut sound = Vec::new();
        for recording in corpus::cards(&params.folder)? {
            sound.extend(recording.samples);
            sound.extend([0.0; 16_000]);
        }
        Ok(Player { sound, played: 0, due: None })
    }
}

impl Source for Player {
    type Out = Audio;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Audio>) -> Result<Flow, NodeError> {
        let due = *self.due.get_or_insert(now);
        if now >= due {
            let end = self.sound.len().min(self.played + SAMPLES);
            if self.played == end {
                return Ok(Flow::Done);
            }
            let samples = self.sound[self.played..end].into();
            cx.emit_from(due, Audio { rate: Rate::HZ_16000, samples });
            self.played = end;
            self.due = Some(due + PIECE);
        }
        cx.wake_at(self.due.unwrap_or(now));
        Ok(Flow::Idle)
    }
}

static ANSWERS: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct Listener;

impl Kind for Listener {
    const KIND: &'static str = "test/listener";
    const ABOUT: &'static str = "Keeps the answers.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Listener, BuildError> {
        Ok(Listener)
    }
}

impl Sink for Listener {
    type In = Reply;

    fn consume(&mut self, reply: Reply, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        ANSWERS.lock().expect("no holder panics").push(reply.markup.to_string());
        Ok(())
    }
}

fn graph() -> String {
    let path = |name| asset(name).display().to_string();
    let intents = concat!(env!("CARGO_MANIFEST_DIR"), "/../graphs/intents.ron");
    format!(
        r#"(
            name: "hearing",
            nodes: {{
                "player": (kind: "test/player", with: (folder: "{cards}")),
                "vad": (kind: "speech/vad", with: (hang_over: "400 ms", library: "{ort}", model: "{silero}")),
                "stt": (kind: "speech/stt", with: (
                    partials: "0 s", library: "{ort}", encoder: "{encoder}", decoder: "{decoder}",
                    vocabulary: "{vocabulary}",
                )),
                "nlu": (kind: "speech/nlu", with: (
                    intents: "{intents}", library: "{ort}", model: "{minilm}", tokenizer: "{tokenizer}",
                )),
                "answer": (kind: "speech/answer", with: (intents: "{intents}")),
                "listener": (kind: "test/listener"),
            }},
            edges: [
                (from: "player", to: "vad"),
                (from: "vad", to: "stt", queue: (capacity: 32), budget: (cost: (max: "100 ms"))),
                (from: "stt.text", to: "nlu"),
                (from: "nlu", to: "answer"),
                (from: "answer", to: "listener"),
            ],
            paths: [
                (name: "understanding", from: "player", to: "listener.done", budget: (cost: (max: "500 ms"))),
            ],
        )"#,
        cards = path("speech-cards"),
        ort = path("onnxruntime"),
        silero = path("silero-vad"),
        encoder = path("moonshine-encoder"),
        decoder = path("moonshine-decoder"),
        vocabulary = path("moonshine-tokenizer"),
        minilm = path("minilm"),
        tokenizer = path("minilm-tokenizer"),
    )
}

#[test]
fn a_graph_answers_each_utterance_and_waits_for_nothing_but_the_hang_over() {
    let mut registry = Registry::new();
    speech::register(&mut registry);
    registry.source::<Player>().sink::<Listener>();
    let run = testing::simulate(&graph(), &registry);
    assert_eq!(run.outcome.failures, []);
    assert_eq!((run.outcome.interactions.begun, run.outcome.interactions.answered), (5, 5));
    let answers = ANSWERS.lock().unwrap();
    assert_eq!(answers[0], "Noted. You played Ten of clubs.");
    assert!(answers.len() == 5 && answers.iter().all(|answer| answer.starts_with("Noted.")), "{answers:?}");

    let path = run.path("understanding");
    assert_eq!(path.counts().completed, 5);
    let held = path.snapshot(graph_core::budget::Measure::Latency).unwrap().max().unwrap();
    assert!((390.0..=420.0).contains(&held.as_millis_f64()), "{held}");
}
