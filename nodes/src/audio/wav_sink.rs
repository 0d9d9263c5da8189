//! Sound into a file.

use std::path::PathBuf;

use graph_core::{Build, BuildError, Kind, Nanos, NoSample, NodeError, Sample, Sink, SinkCx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    sound::{
        file::WavWriter,
        sample::{ten_millis, tone},
    },
    types::{Audio, Rate},
};

/// Where `audio/wav-sink` writes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WavSinkParams {
    /// The wav file; one that is there is made anew.
    pub file: PathBuf,
}

/// Writes sound as a mono wav of 16 bits, at the rate it comes in.
///
/// The file is whole after every second of sound and when the run ends, however it ends.
pub struct WavSink {
    writer: WavWriter,
}

impl Kind for WavSink {
    const KIND: &'static str = "audio/wav-sink";
    const ABOUT: &'static str = "A mono wav of 16 bits, at the rate of the sound.";
    type Params = WavSinkParams;

    fn new(params: &WavSinkParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        // Made before the first packet, so that a place that cannot be written to is told at once.
        let writer = WavWriter::create(&params.file, Rate::HZ_48000)?;
        Ok(WavSink { writer })
    }

    fn sample(_: Option<WavSinkParams>, sample: &mut Sample<'_>) -> Result<WavSinkParams, NoSample> {
        sample.feed("in", tone(Rate::HZ_48000, ten_millis(Rate::HZ_48000)));
        sample.every(Nanos::from_millis(10));
        // A minute of sound.
        sample.life(6_000);
        Ok(WavSinkParams { file: sample.dir().join("sample.wav") })
    }
}

impl Sink for WavSink {
    type In = Audio;

    fn consume(&mut self, input: Audio, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        if input.rate != self.writer.rate() {
            if self.writer.written() > 0 {
                return Err(NodeError::new(format!(
                    "the rate changed from {} to {} Hz, and a wav has one: put an audio/resample before the sink",
                    self.writer.rate().0,
                    input.rate.0
                )));
            }
            self.writer.restart(input.rate)?;
        }
        Ok(self.writer.write(&input.samples)?)
    }

    fn finish(&mut self, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        Ok(self.writer.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing;

    use super::*;
    use crate::sound::file::SoundReader;

    fn audio(rate: u32, samples: &[f32]) -> Audio {
        Audio { rate: Rate(rate), samples: samples.into() }
    }

    #[test]
    fn sound_is_written_at_its_rate_and_done_is_marked() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("out.wav");
        let mut alone = testing::sink::<WavSink>(WavSinkParams { file: file.clone() }).unwrap();
        alone.feed("in", audio(22_050, &[0.5, -0.5]));
        alone.feed("in", audio(22_050, &[0.25]));
        alone.end("in");
        let mut sound = Vec::new();
        let mut reader = SoundReader::open(&file, None).unwrap();
        reader.read(9, &mut sound).unwrap();
        assert_eq!((reader.rate(), sound), (Rate(22_050), vec![0.5, -0.5, 0.25]));
        assert!(alone.has_ended() && alone.failures().is_empty());
    }

    #[test]
    fn a_rate_that_changes_is_an_error_that_names_the_cure() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("out.wav");
        let mut alone = testing::sink::<WavSink>(WavSinkParams { file }).unwrap();
        alone.feed("in", audio(22_050, &[0.5]));
        alone.feed("in", audio(48_000, &[0.5]));
        assert_eq!(
            alone.failures()[0].message,
            "the rate changed from 22050 to 48000 Hz, and a wav has one: put an audio/resample before the sink"
        );
    }

    #[test]
    fn a_place_that_cannot_be_written_to_is_told_when_the_node_is_made() {
        let error =
            testing::sink::<WavSink>(WavSinkParams { file: "/nowhere/out.wav".into() }).err().unwrap();
        assert!(error.to_string().contains("cannot open /nowhere/out.wav"), "{error}");
    }
}
