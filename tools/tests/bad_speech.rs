//! What the user sees of sound in which nobody speaks, or of which the end is missing.
//!
//! These run the real models, which the first of them fetches into the user's cache.

#![cfg(feature = "speech")]
#![allow(clippy::unwrap_used, reason = "the helpers of a test may unwrap like the test itself")]

mod desk;

use std::fs;

use desk::{Desk, Seen};
use graphrun::assets::{self, Store};

/// Hears a file as fast as it can, and answers into another.
const GRAPH: &str = r#"(
    name: "hearing",
    nodes: {
        "source": (kind: "audio/wav-source", with: (files: ["FILE"], paced: false)),
        "to16k": (kind: "audio/resample", with: (to: 16000)),
        "vad": (kind: "speech/vad"),
        "stt": (kind: "speech/stt"),
        "nlu": (kind: "speech/nlu", with: (intents: "intents.ron")),
        "answer": (kind: "speech/answer", with: (intents: "intents.ron")),
        "ssml": (kind: "speech/ssml"),
        "encoder": (kind: "speech/tts-encoder"),
        "decoder": (kind: "speech/tts-decoder"),
        "sink": (kind: "audio/wav-sink", with: (file: "answer.wav")),
    },
    edges: [
        (from: "source", to: "to16k"),
        (from: "to16k", to: "vad"),
        (from: "vad", to: "stt"),
        (from: "stt.text", to: "nlu", budget: (max: "1 min")),
        (from: "nlu", to: "answer"),
        (from: "answer", to: "ssml"),
        (from: "ssml", to: "encoder"),
        (from: "encoder", to: "decoder"),
        (from: "decoder", to: "sink", budget: (first: (max: "1 min"))),
    ],
)"#;

fn hear(desk: Desk, file: &str) -> (Desk, Seen) {
    let desk = desk
        .with("intents.ron", include_str!("../../graphs/intents.ron"))
        .with("g.ron", GRAPH.replace("FILE", file));
    let seen = desk.run(&["g.ron"]);
    (desk, seen)
}

/// A wav of 16 kHz.
fn wav(samples: &[i16]) -> Vec<u8> {
    let bytes = 2 * samples.len() as u32;
    let mut file = Vec::new();
    file.extend_from_slice(b"RIFF");
    file.extend_from_slice(&(36 + bytes).to_le_bytes());
    file.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data");
    file.extend_from_slice(&bytes.to_le_bytes());
    samples.iter().for_each(|sample| file.extend_from_slice(&sample.to_le_bytes()));
    file
}

#[track_caller]
fn has_no_data(seen: &Seen) {
    seen.refused(4, &[]);
    assert!(!seen.stderr.contains("heard"), "{}", seen.stderr);
    assert!(seen.stdout.contains("no-data: nothing was measured"), "{}", seen.stdout);
    assert!(!seen.stdout.contains(" pass"), "nothing passes without data: {}", seen.stdout);
}

#[test]
fn silence_opens_no_utterance_and_its_limits_have_no_data() {
    let (_desk, seen) = hear(Desk::new().with("silence.wav", wav(&[0; 48_000])), "silence.wav");
    has_no_data(&seen);
}

#[test]
fn running_water_opens_no_utterance_and_its_limits_have_no_data() {
    let (_desk, seen) = hear(Desk::new(), "asset:noise-water");
    has_no_data(&seen);
}

#[test]
fn hiss_opens_no_utterance_and_its_limits_have_no_data() {
    let mut state = 1_u32;
    let hiss: Vec<i16> = (0..48_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 20) as i16 - 2_048
        })
        .collect();
    let (_desk, seen) = hear(Desk::new().with("hiss.wav", wav(&hiss)), "hiss.wav");
    has_no_data(&seen);
}

#[test]
fn speech_cut_at_the_end_of_the_stream_still_is_an_utterance_with_an_answer() {
    assets::ensure(&["speech-cards"], &mut |_| ()).unwrap();
    let whole = fs::read(Store::shipped().unwrap().path("speech-cards/001.wav")).unwrap();
    // In the middle of the last word of "ten of clubs", with no silence behind it.
    let samples: Vec<i16> =
        whole[44..44 + 22_800].chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
    let (desk, seen) = hear(Desk::new().with("cut.wav", wav(&samples)), "cut.wav");
    seen.refused(0, &["heard Ten of"]);
    assert!(fs::metadata(desk.path("answer.wav")).unwrap().len() > 20_000, "an answer was spoken");
}
