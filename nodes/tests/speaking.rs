//! How well the answer's voice is understood: our own recogniser writes down what our own voice says. The figures are
//! printed: run with `--nocapture`.
#![cfg(feature = "speech")]

use std::{error::Error, time::Duration};

use graph_nodes::{
    speech::{
        moonshine::Moonshine,
        quality::WordErrors,
        ssml,
        stt::{Progress, SpeechToText},
        tts_decoder::{Chunks, Decoder},
        tts_encoder::Encoder,
    },
    types::{Latent, SpokenPart},
};

#[path = "../src/speech/fixtures.rs"]
#[allow(dead_code)]
mod fixtures;
use fixtures::asset;

/// What is written, and what a listener writes down.
const ANSWERS: &[(&str, &str)] = &[
    ("Okay, the kitchen light is on.", ""),
    ("I have set a timer for ten minutes, and it will ring at half past four.", ""),
    ("Sorry, I did not understand that.", ""),
    (
        "Your next appointment is with Dr. Miller on Tuesday.",
        "your next appointment is with doctor miller on tuesday",
    ),
    ("I turned off the lamp in the living room.", ""),
    ("The battery of your glasses is at 40%.", "the battery of your glasses is at forty percent"),
    ("There are three new messages, and one of them is important.", ""),
    ("I could not find anything about that, please ask me again.", ""),
    ("The meeting has been moved to Wednesday because the other room was taken.", ""),
    ("Turn left at the next corner, then walk straight ahead.", ""),
    ("Do you want me to read the whole article, or only a summary?", ""),
    ("The window is open and the heating is still running.", ""),
    ("He said that he would bring it over after the party.", ""),
    ("Nobody has been at the front door today.", ""),
    ("I added milk, butter, eggs and bread to your shopping list.", ""),
    ("It looks like the network is down, so I will try again in a minute.", ""),
    ("Remember to water the plants and feed the cat before you leave.", ""),
    ("The university library closes at ten in the evening.", ""),
    ("Would you like to call your mother back?", ""),
    ("The question is whether they can finish the work before the end of the year.", ""),
    (
        "<speak>The <say-as interpret-as='ordinal'>3</say-as> train leaves <emphasis>now</emphasis>.</speak>",
        "the third train leaves now",
    ),
];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Studio {
    encoder: Encoder,
    decoder: Decoder,
    recogniser: Moonshine,
}

impl Studio {
    fn open() -> Result<Studio> {
        let library = asset("onnxruntime");
        let encoder = Encoder::open(
            &library,
            &asset("piper-joe-encoder"),
            &asset("piper-joe-json"),
            &asset("cmudict"),
            1,
            true,
        )?;
        let rate = encoder.voice().rate;
        let decoder = Decoder::open(&library, &asset("piper-joe-decoder"), rate, Chunks::default(), 1)?;
        let recogniser = Moonshine::open(
            &library,
            &asset("moonshine-encoder"),
            &asset("moonshine-decoder"),
            &asset("moonshine-tokenizer"),
            1,
        )?;
        Ok(Studio { encoder, decoder, recogniser })
    }

    fn say(&mut self, markup: &str) -> Result<Vec<f32>> {
        let mut sound = Vec::new();
        for part in &*ssml::parse(markup).spoken().parts {
            let SpokenPart::Text { text, prosody } = part else { continue };
            let frames = self.encoder.encode(text, prosody.rate)?.ok_or("nothing to say")?;
            let latent = Latent {
                values: frames.values.into(),
                channels: frames.channels,
                frames: frames.frames,
                lead: Duration::ZERO,
                volume_db: prosody.volume_db,
                last: true,
            };
            self.decoder.begin(latent)?;
            while let Some(chunk) = self.decoder.next_chunk()? {
                sound.extend_from_slice(&chunk);
            }
        }
        Ok(sound)
    }

    fn write_down(&mut self, sound: &[f32]) -> Result<String> {
        self.recogniser.begin(&to_16_khz(sound));
        loop {
            if let Progress::Done(text) = self.recogniser.step()? {
                return Ok(text);
            }
        }
    }
}

/// From 22,050 Hz by straight lines between the samples, which a recogniser does not mind.
fn to_16_khz(sound: &[f32]) -> Vec<f32> {
    let step = 22_050.0 / 16_000.0;
    let len = (sound.len() as f64 / step) as usize;
    (0..len)
        .map(|n| {
            let at = n as f64 * step;
            let (left, share) = (at as usize, at.fract() as f32);
            let right = sound.get(left + 1).unwrap_or(&sound[left]);
            sound[left] * (1.0 - share) + right * share
        })
        .collect()
}

#[test]
fn answers_are_understood_by_our_own_recogniser() {
    let mut studio = Studio::open().unwrap();
    let mut total = WordErrors::default();
    for (markup, said) in ANSWERS {
        let sound = studio.say(markup).unwrap();
        let heard = studio.write_down(&sound).unwrap();
        let said = if said.is_empty() { markup } else { said };
        let errors = WordErrors::of(said, &heard);
        if errors.errors > 0 {
            println!("said:  {said}\nheard: {heard}");
        }
        total = total.and(errors);
    }
    println!(
        "TTS heard by STT: {} of {} words wrong, {:.1} %",
        total.errors,
        total.words,
        100.0 * total.rate()
    );
    assert!(total.rate() <= 0.05, "{total:?}");
}
