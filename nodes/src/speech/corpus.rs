//! Recordings of human speech whose words are known, for the figures of [`quality`](super::quality).

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use graph_core::{AssetRef, NoSample, Sample};
use thiserror::Error;

/// Somebody speaking, and what was said.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The file's name without its ending.
    pub name: String,
    /// Mono at 16 kHz, full scale -1.0 to 1.0.
    pub samples: Vec<f32>,
    /// The words, lower case.
    pub words: String,
}

/// A recording or its words could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// The file of transcripts.
    #[error("the transcripts in {} cannot be read: {source}", .path.display())]
    Transcripts {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line of it.
    #[error("{}: line {line}: expected `<s> words </s> (name)`", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// A recording.
    #[error("the recording {} cannot be read: {source}", .path.display())]
    Wav {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: hound::Error,
    },
    /// A recording of another shape.
    #[error("the recording {} is not mono of 16 bits at 16 kHz", .path.display())]
    Shape {
        /// The file.
        path: PathBuf,
    },
}

/// Five sentences of a novel, from the folder `librivox` of Debian's pocketsphinx-testdata.
///
/// # Errors
/// When a file is missing or of another form.
pub fn librivox(folder: &Path) -> Result<Vec<Recording>, CorpusError> {
    recordings(folder, "transcription")
}

/// Five hands of playing cards, from the folder `cards` of Debian's pocketsphinx-testdata.
///
/// # Errors
/// When a file is missing or of another form.
pub fn cards(folder: &Path) -> Result<Vec<Recording>, CorpusError> {
    recordings(folder, "cards.transcription")
}

fn recordings(folder: &Path, transcripts: &str) -> Result<Vec<Recording>, CorpusError> {
    let path = folder.join(transcripts);
    let text = fs::read_to_string(&path)
        .map_err(|source| CorpusError::Transcripts { path: path.clone(), source })?;
    let lines = text.lines().enumerate();
    lines
        .map(|(n, line)| {
            let (words, name) =
                transcript(line).ok_or(CorpusError::Line { path: path.clone(), line: n + 1 })?;
            let samples = samples(&folder.join(format!("{name}.wav")))?;
            Ok(Recording { name: name.into(), samples, words: words.into() })
        })
        .collect()
}

fn transcript(line: &str) -> Option<(&str, &str)> {
    let (words, name) = line.trim().strip_prefix("<s>")?.split_once("</s>")?;
    Some((words.trim(), name.trim().strip_prefix('(')?.strip_suffix(')')?))
}

/// The samples of a mono recording of 16 bits at 16 kHz.
///
/// # Errors
/// When the file is missing, no wav, or of another shape.
pub fn samples(path: &Path) -> Result<Vec<f32>, CorpusError> {
    let wrong = |source| CorpusError::Wav { path: path.into(), source };
    let mut reader = hound::WavReader::open(path).map_err(wrong)?;
    let spec = reader.spec();
    if (spec.channels, spec.bits_per_sample, spec.sample_rate) != (1, 16, 16_000) {
        return Err(CorpusError::Shape { path: path.into() });
    }
    let samples = reader.samples::<i16>().map(|sample| sample.map(|s| f32::from(s) / 32_768.0));
    samples.collect::<Result<_, _>>().map_err(wrong)
}

/// Somebody says "ten of clubs", at 16 kHz: what nodes that hear are benched with.
pub(crate) fn sample(sample: &Sample<'_>) -> Result<Vec<f32>, NoSample> {
    Ok(samples(&sample.asset(&AssetRef::new("asset:speech-cards/001.wav"))?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speech::fixtures::asset;

    #[test]
    fn the_ten_recordings_have_their_words() {
        let librivox = librivox(&asset("speech-librivox")).unwrap();
        let cards = cards(&asset("speech-cards")).unwrap();
        assert_eq!((librivox.len(), cards.len()), (5, 5));
        assert_eq!(librivox[1].words, "he was not an ill disposed young man");
        assert_eq!((cards[0].name.as_str(), cards[0].words.as_str()), ("001", "ten of clubs"));
        assert!(librivox.iter().chain(&cards).all(|recording| recording.samples.len() > 16_000));
    }

    #[test]
    fn a_line_of_another_form_is_told_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("transcription"), "ten of clubs (001)").unwrap();
        let error = super::librivox(folder.path()).unwrap_err();
        assert!(matches!(error, CorpusError::Line { line: 1, .. }), "{error}");
    }
}
