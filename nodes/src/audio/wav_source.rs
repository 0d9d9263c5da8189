//! Sound from files.

use graph_core::{
    AssetRef, Build, BuildError, Counter, Cx, Flow, Kind, Nanos, NoSample, NodeError, Sample, Source, Stamp,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    sound::{
        playlist::{Frame, Options, Playlist},
        sample::second,
    },
    types::{Audio, Rate},
};

/// What `audio/wav-source` plays, and how.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WavSourceParams {
    /// Wav files of 8 to 32-bit integers or 32-bit floats, of any rate and channel count, mixed down to mono. A file
    /// named .raw, .pcm or .s16le is headerless mono s16le.
    pub files: Vec<AssetRef>,
    /// Rate of the headerless files in Hz.
    pub raw_rate: Option<u32>,
    /// Length of a frame.
    pub frame: Nanos,
    /// Whether frames come when their last sample is due; otherwise they come as fast as they are taken.
    pub paced: bool,
    /// How often the files are played; 0 for ever.
    pub repeat: u32,
    /// Silence before the first file.
    pub lead: Nanos,
    /// Silence between files.
    pub gap: Nanos,
    /// Silence after the last file.
    pub trail: Nanos,
}

impl Default for WavSourceParams {
    fn default() -> Self {
        WavSourceParams {
            files: Vec::new(),
            raw_rate: None,
            frame: Nanos::from_millis(10),
            paced: true,
            repeat: 1,
            lead: Nanos::ZERO,
            gap: Nanos::ZERO,
            trail: Nanos::ZERO,
        }
    }
}

/// Plays sound files, each at its own rate.
///
/// Paced, a frame's origin is the time at which its last sample is due: a source that is late is late by its own
/// stage, and delays no later frame.
pub struct WavSource {
    playlist: Playlist,
    frame: Nanos,
    paced: bool,
    began: Option<Stamp>,
    next: Option<Frame>,
    behind: Counter,
}

impl Kind for WavSource {
    const KIND: &'static str = "audio/wav-source";
    const ABOUT: &'static str = "Sound from wav or headerless files, in real time or as fast as it is taken.";
    type Params = WavSourceParams;

    fn new(params: &WavSourceParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let files = params.files.iter().map(|file| build.asset(file)).collect::<Result<_, _>>()?;
        let playlist = Playlist::new(Options {
            files,
            raw_rate: params.raw_rate.map(Rate),
            rate: None,
            frame: params.frame,
            lead: params.lead,
            gap: params.gap,
            trail: params.trail,
            repeat: params.repeat,
            pad: false,
        })?;
        Ok(WavSource {
            playlist,
            frame: params.frame,
            paced: params.paced,
            began: None,
            next: None,
            behind: build
                .counter("behind schedule", "Frames that came a whole frame or more after they were due."),
        })
    }

    fn assets(params: &WavSourceParams) -> Vec<AssetRef> {
        params.files.clone()
    }

    fn sample(given: Option<WavSourceParams>, sample: &mut Sample<'_>) -> Result<WavSourceParams, NoSample> {
        let params = match given {
            Some(params) => params,
            None => {
                let files = vec![second(sample.dir())?];
                WavSourceParams { files, repeat: 0, ..WavSourceParams::default() }
            }
        };
        sample.every(params.frame);
        Ok(params)
    }
}

impl Source for WavSource {
    type Out = Audio;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Audio>) -> Result<Flow, NodeError> {
        let began = *self.began.get_or_insert(now);
        let frame = match self.next.take() {
            Some(frame) => frame,
            None => match self.playlist.next_frame()? {
                Some(frame) => frame,
                None => return Ok(Flow::Done),
            },
        };
        if !self.paced {
            cx.emit_from(now, frame.audio);
            return Ok(Flow::Again);
        }
        let due = began + frame.end;
        if due > now {
            self.next = Some(frame);
            cx.wake_at(due);
            return Ok(Flow::Idle);
        }
        self.behind.add(u64::from(now >= due + self.frame));
        cx.emit_from(due, frame.audio);
        Ok(Flow::Again)
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing;

    use super::*;
    use crate::sound::file::WavWriter;

    /// A wav of a tenth of a second at 22,050 Hz, and its parameters.
    fn params() -> (tempfile::TempDir, WavSourceParams) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sound.wav");
        WavWriter::create(&path, Rate(22_050)).unwrap().write(&[0.5; 2_205]).unwrap();
        let files = vec![AssetRef::new(path.to_str().unwrap())];
        (dir, WavSourceParams { files, ..WavSourceParams::default() })
    }

    #[test]
    fn paced_frames_come_when_their_last_sample_is_due_and_that_is_their_origin() {
        let (_dir, params) = params();
        let mut alone = testing::source::<WavSource>(params).unwrap();
        let began = alone.now();
        for n in 1..=10 {
            assert!(alone.packets::<Audio>("out").is_empty());
            alone.advance(Nanos::from_millis(10));
            let packets = alone.packets::<Audio>("out");
            assert_eq!(packets.len(), 1);
            let whole_samples = n * 441 / 2;
            assert_eq!(packets[0].header.origin, began + Nanos(whole_samples * 1_000_000_000 / 22_050));
        }
        assert!(alone.has_ended());
    }

    #[test]
    fn unpaced_frames_come_at_once_and_as_they_are_taken() {
        let (_dir, params) = params();
        let mut alone = testing::source::<WavSource>(WavSourceParams { paced: false, ..params }).unwrap();
        let sound = alone.out::<Audio>("out");
        assert_eq!(sound.iter().map(|audio| audio.samples.len()).sum::<usize>(), 2_205);
        assert!(alone.has_ended());
    }

    #[test]
    fn a_file_that_is_not_there_is_told_when_the_node_is_made() {
        let files = vec![AssetRef::new("nowhere.wav")];
        let error = testing::source::<WavSource>(WavSourceParams { files, ..WavSourceParams::default() });
        assert!(error.err().unwrap().to_string().contains("nowhere.wav is not there"));
        let error = testing::source::<WavSource>(WavSourceParams::default()).err().unwrap();
        assert_eq!(error.to_string(), "no file to play: `files` is empty");
    }
}
