//! A Piper voice's description: the `.onnx.json` beside the model.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use thiserror::Error;

use crate::types::Rate;

/// Why a description could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VoiceError {
    /// The file could not be read.
    #[error("cannot read the voice's description {}: {source}; run `graphrun assets pull`, or give the path of the .onnx.json", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no description of a Piper voice.
    #[error("not a Piper voice's description: {0}")]
    NotAVoice(#[from] serde_json::Error),
    /// It lacks a sign without which nothing can be said.
    #[error("the voice's phoneme_id_map has no `{sign}`")]
    NoSign {
        /// The sign.
        sign: char,
    },
    /// It is taught in another language.
    #[error("the voice speaks `{language}`; text can be read to voices of `en-us` only")]
    Language {
        /// Its espeak voice.
        language: String,
    },
    /// It has several speakers.
    #[error("the voice has {speakers} speakers, only voices with one can be used")]
    Speakers {
        /// How many.
        speakers: u32,
    },
}

#[derive(Deserialize)]
struct Description {
    audio: AudioPart,
    espeak: EspeakPart,
    inference: Scales,
    #[serde(default = "one")]
    num_speakers: u32,
    phoneme_id_map: BTreeMap<char, Vec<i64>>,
}

#[derive(Deserialize)]
struct AudioPart {
    sample_rate: u32,
}

#[derive(Deserialize)]
struct EspeakPart {
    voice: String,
}

fn one() -> u32 {
    1
}

/// How a voice varies. All are without unit.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Scales {
    /// Variation of the sound; 0 makes it the same each time.
    #[serde(rename = "noise_scale")]
    pub noise: f32,
    /// Length of the sounds; 2 is half as fast.
    #[serde(rename = "length_scale")]
    pub length: f32,
    /// Variation of the lengths; 0 makes them the same each time.
    #[serde(rename = "noise_w")]
    pub length_noise: f32,
}

/// What it takes to talk to a voice's model.
#[derive(Clone, Debug)]
pub struct Voice {
    /// Of its sound.
    pub rate: Rate,
    /// As its maker advises.
    pub scales: Scales,
    ids: BTreeMap<char, Vec<i64>>,
}

const PAD: char = '_';
const START: char = '^';
const END: char = '$';

impl Voice {
    /// Reads a `.onnx.json`.
    ///
    /// # Errors
    /// When the file cannot be read or describes a voice that is not one American English speaker.
    pub fn load(path: &Path) -> Result<Self, VoiceError> {
        let json = fs::read_to_string(path)
            .map_err(|source| VoiceError::Unreadable { path: path.into(), source })?;
        Voice::parse(&json)
    }

    /// Takes a description as JSON.
    ///
    /// # Errors
    /// As [`Voice::load`].
    pub fn parse(json: &str) -> Result<Self, VoiceError> {
        let description: Description = serde_json::from_str(json)?;
        if description.espeak.voice != "en-us" {
            return Err(VoiceError::Language { language: description.espeak.voice });
        }
        if description.num_speakers != 1 {
            return Err(VoiceError::Speakers { speakers: description.num_speakers });
        }
        let ids = description.phoneme_id_map;
        match [PAD, START, END].into_iter().find(|sign| !ids.contains_key(sign)) {
            Some(sign) => Err(VoiceError::NoSign { sign }),
            None => {
                Ok(Voice { rate: Rate(description.audio.sample_rate), scales: description.inference, ids })
            }
        }
    }

    /// Whether the voice knows a phoneme.
    pub fn has(&self, phoneme: char) -> bool {
        self.ids.contains_key(&phoneme)
    }

    /// The model's input for a text in IPA: start, each phoneme's ids, end, with padding between. Phonemes that the
    /// voice does not know are left out.
    pub fn ids(&self, phonemes: &str) -> Vec<i64> {
        let mut ids = Vec::with_capacity(2 * phonemes.len() + 3);
        for sign in [START].into_iter().chain(phonemes.chars()) {
            if let Some(of_sign) = self.ids.get(&sign) {
                ids.extend_from_slice(of_sign);
                ids.extend_from_slice(&self.ids[&PAD]);
            }
        }
        ids.extend_from_slice(&self.ids[&END]);
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speech::fixtures::asset;

    fn description(voice: &str, speakers: u32, signs: &str) -> String {
        format!(
            r#"{{"audio": {{"sample_rate": 22050, "quality": "x"}}, "espeak": {{"voice": "{voice}"}},
                "inference": {{"noise_scale": 0.667, "length_scale": 1, "noise_w": 0.8}},
                "num_speakers": {speakers}, "phoneme_id_map": {{{signs}}}}}"#
        )
    }

    const SIGNS: &str = r#""_": [0], "^": [1], "$": [2], "a": [14], "b": [15, 16]"#;

    #[test]
    fn ids_stand_between_start_and_end_with_padding() {
        let voice = Voice::parse(&description("en-us", 1, SIGNS)).unwrap();
        assert_eq!(voice.ids("a?b"), [1, 0, 14, 0, 15, 16, 0, 2]);
        assert_eq!(voice.ids(""), [1, 0, 2]);
    }

    #[test]
    fn a_voice_that_cannot_be_used_says_why() {
        for (json, message) in [
            (
                description("de", 1, SIGNS),
                "the voice speaks `de`; text can be read to voices of `en-us` only",
            ),
            (
                description("en-us", 904, SIGNS),
                "the voice has 904 speakers, only voices with one can be used",
            ),
            (description("en-us", 1, r#""_": [0], "^": [1]"#), "the voice's phoneme_id_map has no `$`"),
        ] {
            assert_eq!(Voice::parse(&json).unwrap_err().to_string(), message);
        }
        assert!(matches!(Voice::parse("{}").unwrap_err(), VoiceError::NotAVoice(_)));
        let error = Voice::load(Path::new("/nowhere/voice.json")).unwrap_err();
        assert!(error.to_string().contains("run `graphrun assets pull`"), "{error}");
    }

    #[test]
    fn the_shipped_voice_is_read() {
        let voice = Voice::load(&asset("piper-joe-json")).unwrap();
        assert_eq!(voice.rate, Rate(22_050));
        assert_eq!(voice.scales, Scales { noise: 0.667, length: 1.0, length_noise: 0.8 });
    }
}
