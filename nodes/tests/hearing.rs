//! How well VAD and STT hear people. The figures are printed: run with `--nocapture`.
#![cfg(feature = "speech")]

use std::path::Path;

use graph_nodes::speech::{
    corpus,
    endpoint::Endpointing,
    intents::Intents,
    minilm::MiniLm,
    moonshine::Moonshine,
    nlu::Understanding,
    quality::{Detection, WordErrors, parse_rttm},
    silero::Silero,
    trial,
};

#[path = "../src/speech/fixtures.rs"]
#[allow(dead_code)]
mod fixtures;
use fixtures::asset;

fn silero() -> Silero {
    Silero::open(&asset("onnxruntime"), &asset("silero-vad")).expect("the model opens")
}

#[test]
fn speech_is_found_where_people_marked_it() {
    let folder = asset("speech-pyannote");
    let samples = corpus::samples(&folder.join("sample.wav")).unwrap();
    let there = parse_rttm(&std::fs::read_to_string(folder.join("sample.rttm")).unwrap()).unwrap();
    let found = trial::speech(&mut silero(), &Endpointing::default(), &samples).unwrap();
    let judged = Detection::of(&there, &found);
    println!("VAD on a labelled recording: precision {:.3}, recall {:.3}", judged.precision, judged.recall);
    assert!(judged.precision >= 0.95 && judged.recall >= 0.95, "{judged:?}");
}

#[test]
fn ten_recordings_are_written_down_with_few_wrong_words_and_each_has_its_intent() {
    let novel = corpus::librivox(&asset("speech-librivox")).unwrap();
    let cards = corpus::cards(&asset("speech-cards")).unwrap();
    let novel = novel.into_iter().map(|recording| (recording, "literature"));
    let cards = cards.into_iter().map(|recording| (recording, "play_card"));

    let intents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../graphs/intents.ron");
    let intents = Intents::read(&intents).unwrap();
    let mut model =
        MiniLm::open(&asset("onnxruntime"), &asset("minilm"), &asset("minilm-tokenizer"), 1).unwrap();
    let understanding = Understanding::new(&intents, |sentence| model.embed(sentence)).unwrap();
    let mut silero = silero();
    let mut total = WordErrors::default();
    for (recording, expected) in novel.chain(cards) {
        let engine = Moonshine::open(
            &asset("onnxruntime"),
            &asset("moonshine-encoder"),
            &asset("moonshine-decoder"),
            &asset("moonshine-tokenizer"),
            1,
        );
        let events = trial::utterances(&mut silero, &Endpointing::default(), &recording.samples).unwrap();
        let events = events.into_iter().map(|(_, event)| event);
        let heard = trial::transcribe(Box::new(engine.unwrap()), events).unwrap().join(" ");
        let errors = WordErrors::of(&recording.words, &heard);
        let intent = understanding.intent(&heard, &model.embed(&heard).unwrap());
        println!("{} of {} words wrong: {heard}", errors.errors, errors.words);
        assert_eq!(intent.name.as_deref(), Some(expected), "{heard} {}", intent.score);
        total = total.and(errors);
    }
    println!("word error rate {:.1} % ({} of {} words)", total.rate() * 100.0, total.errors, total.words);
    assert!(total.rate() <= 0.15);
}

#[test]
fn running_water_is_not_taken_for_speech() {
    let mut reader = hound::WavReader::open(asset("noise-water")).unwrap();
    let channels = reader.spec().channels as usize;
    let samples: Vec<f32> = reader.samples::<i16>().map(|s| f32::from(s.unwrap()) / 32_768.0).collect();
    // Near enough to 16 kHz for noise: every third of 44,100 Hz.
    let slow: Vec<f32> = samples.chunks(channels).step_by(3).map(|frame| frame[0]).collect();
    assert_eq!(trial::speech(&mut silero(), &Endpointing::default(), &slow).unwrap(), []);
}
