//! Several sound files as one stream of frames, each with the time at which it ends.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
};

use graph_core::Nanos;

use super::{
    file::{FileError, SoundReader},
    resample::{ResampleError, Resampler},
};
use crate::types::{Audio, Rate};

/// Samples read from a file at a time.
const BLOCK: usize = 1_024;

/// What a playlist plays, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Sound files, see [`SoundReader::open`].
    pub files: Vec<PathBuf>,
    /// Rate of the headerless ones.
    pub raw_rate: Option<Rate>,
    /// The rate of the stream; `None` leaves each file its own.
    pub rate: Option<Rate>,
    /// Length of a frame. Where it is no whole number of samples, frames differ by one.
    pub frame: Nanos,
    /// Silence before the first file.
    pub lead: Nanos,
    /// Silence between files.
    pub gap: Nanos,
    /// Silence after the last file.
    pub trail: Nanos,
    /// How often the files are played; 0 for ever.
    pub repeat: u32,
    /// Whether silence fills the last frame up.
    pub pad: bool,
}

/// Why a playlist cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaylistError {
    /// Nothing to play.
    #[error("no file to play: `files` is empty")]
    NoFile,
    /// Frames without a sample.
    #[error("a frame of {frame} holds no sample at {} Hz", rate.0)]
    Frame {
        /// Length of a frame.
        frame: Nanos,
        /// Rate of a file.
        rate: Rate,
    },
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file has a rate that cannot be converted.
    #[error("{}: {source}", path.display())]
    Rate {
        /// The file.
        path: PathBuf,
        /// Which rate.
        source: ResampleError,
    },
}

/// A run of sound and when its last sample is over, counted from the start of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The sound.
    pub audio: Audio,
    /// Time from the start of the stream to the end of the frame.
    pub end: Nanos,
}

/// Files being played; one is open at a time.
pub struct Playlist {
    options: Options,
    /// The rate of each file's part of the stream.
    rates: Vec<Rate>,
    parts: VecDeque<Part>,
    rounds_left: Option<u32>,
    playing: Option<Playing>,
    run: Run,
    block: Vec<f32>,
    resampled: Vec<f32>,
}

#[derive(Clone, Copy)]
enum Part {
    Silence(Nanos, Rate),
    File(usize),
}

struct Playing {
    rate: Rate,
    sound: Sound,
}

enum Sound {
    Silence(u64),
    File(Box<(SoundReader, Option<Resampler>)>),
}

/// The stream since the rate last changed.
struct Run {
    rate: Rate,
    began: Nanos,
    /// Samples given out.
    given: u64,
    frames: u64,
    ready: VecDeque<f32>,
}

impl Run {
    fn new(rate: Rate, began: Nanos) -> Self {
        Run { rate, began, given: 0, frames: 0, ready: VecDeque::new() }
    }

    fn end(&self) -> Nanos {
        self.began + Nanos((u128::from(self.given) * 1_000_000_000 / u128::from(self.rate.0)) as u64)
    }

    fn next_frame(&self, frame: Nanos) -> usize {
        let end = u128::from(self.frames + 1) * u128::from(frame.0) * u128::from(self.rate.0) / 1_000_000_000;
        end as usize - self.given as usize
    }

    fn take(&mut self, count: usize) -> Frame {
        self.given += count as u64;
        self.frames += 1;
        let samples = self.ready.drain(..count).collect();
        Frame { audio: Audio { rate: self.rate, samples }, end: self.end() }
    }
}

impl Playlist {
    /// Looks at every file.
    ///
    /// # Errors
    ///
    /// When there is none, one cannot be read, or a frame would hold no sample.
    pub fn new(options: Options) -> Result<Playlist, PlaylistError> {
        let rates = options
            .files
            .iter()
            .map(|path| {
                let reader = SoundReader::open(path, options.raw_rate)?;
                let rate = options.rate.unwrap_or(reader.rate());
                resampler(path, reader.rate(), rate)?;
                match u128::from(options.frame.0) * u128::from(rate.0) < 1_000_000_000 {
                    true => Err(PlaylistError::Frame { frame: options.frame, rate }),
                    false => Ok(rate),
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        let Some(&first) = rates.first() else { return Err(PlaylistError::NoFile) };
        let mut playlist = Playlist {
            parts: VecDeque::from([Part::Silence(options.lead, first)]),
            rounds_left: (options.repeat > 0).then_some(options.repeat),
            rates,
            playing: None,
            run: Run::new(first, Nanos::ZERO),
            block: Vec::new(),
            resampled: Vec::new(),
            options,
        };
        playlist.plan_round();
        Ok(playlist)
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    ///
    /// When a file cannot be read to its end.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, PlaylistError> {
        loop {
            let wanted = self.run.next_frame(self.options.frame);
            if self.run.ready.len() >= wanted {
                return Ok(Some(self.run.take(wanted)));
            }
            if self.playing.is_none() {
                self.playing = self.next_part()?;
            }
            match &self.playing {
                Some(playing) if playing.rate == self.run.rate => self.fill()?,
                _ if !self.run.ready.is_empty() => {
                    if self.options.pad {
                        self.run.ready.resize(wanted, 0.0);
                    }
                    return Ok(Some(self.run.take(self.run.ready.len())));
                }
                Some(playing) => self.run = Run::new(playing.rate, self.run.end()),
                None => return Ok(None),
            }
        }
    }

    /// Queues one round of all files, unless all rounds are played.
    fn plan_round(&mut self) {
        let last = self.rates[self.rates.len() - 1];
        match &mut self.rounds_left {
            Some(0) => return,
            Some(rounds) => *rounds -= 1,
            None => {}
        }
        for (file, &rate) in self.rates.iter().enumerate() {
            self.parts.extend([Part::File(file), Part::Silence(self.options.gap, rate)]);
        }
        if self.rounds_left == Some(0) {
            self.parts.pop_back();
            self.parts.push_back(Part::Silence(self.options.trail, last));
        }
    }

    fn next_part(&mut self) -> Result<Option<Playing>, PlaylistError> {
        if self.parts.is_empty() {
            self.plan_round();
        }
        Ok(match self.parts.pop_front() {
            None => None,
            Some(Part::Silence(length, rate)) => {
                let samples = u128::from(length.0) * u128::from(rate.0) / 1_000_000_000;
                Some(Playing { rate, sound: Sound::Silence(samples as u64) })
            }
            Some(Part::File(file)) => {
                let (path, rate) = (&self.options.files[file], self.rates[file]);
                let reader = SoundReader::open(path, self.options.raw_rate)?;
                let resampler = resampler(path, reader.rate(), rate)?;
                Some(Playing { rate, sound: Sound::File(Box::new((reader, resampler))) })
            }
        })
    }

    /// Moves some of the part that plays to the ready samples.
    fn fill(&mut self) -> Result<(), PlaylistError> {
        let Some(playing) = &mut self.playing else { return Ok(()) };
        let ready = &mut self.run.ready;
        let over = match &mut playing.sound {
            Sound::Silence(left) => {
                let now = (*left).min(BLOCK as u64);
                ready.extend(std::iter::repeat_n(0.0, now as usize));
                *left -= now;
                *left == 0
            }
            Sound::File(file) => {
                let (reader, resampler) = file.as_mut();
                self.block.clear();
                reader.read(BLOCK, &mut self.block)?;
                let over = reader.left() == 0;
                match resampler {
                    None => ready.extend(&self.block),
                    Some(resampler) => {
                        self.resampled.clear();
                        resampler.process(&self.block, &mut self.resampled);
                        if over {
                            resampler.finish(&mut self.resampled);
                        }
                        ready.extend(&self.resampled);
                    }
                }
                over
            }
        };
        if over {
            self.playing = None;
        }
        Ok(())
    }
}

fn resampler(path: &Path, from: Rate, to: Rate) -> Result<Option<Resampler>, PlaylistError> {
    if from == to {
        return Ok(None);
    }
    let made = Resampler::new(from, to);
    made.map(Some).map_err(|source| PlaylistError::Rate { path: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Nanos = Nanos::from_millis(10);

    /// A directory with raw files of so many samples, each of one value.
    fn files(sounds: &[(&str, usize, f32)]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let dir = tempfile::tempdir().unwrap();
        let paths = sounds.iter().map(|&(name, samples, value)| {
            let path = dir.path().join(name);
            if name.ends_with(".raw") {
                let mut bytes = vec![0; samples * 2];
                super::super::pcm::to_s16le(&vec![value; samples], &mut bytes);
                std::fs::write(&path, bytes).unwrap();
            } else {
                let mut wav = super::super::file::WavWriter::create(&path, Rate(22_050)).unwrap();
                wav.write(&vec![value; samples]).unwrap();
            }
            path
        });
        let paths = paths.collect();
        (dir, paths)
    }

    fn options(files: Vec<PathBuf>) -> Options {
        Options {
            files,
            raw_rate: Some(Rate(16_000)),
            rate: None,
            frame: FRAME,
            lead: Nanos::ZERO,
            gap: Nanos::ZERO,
            trail: Nanos::ZERO,
            repeat: 1,
            pad: false,
        }
    }

    fn play(options: Options) -> Vec<Frame> {
        let mut playlist = Playlist::new(options).unwrap();
        std::iter::from_fn(|| playlist.next_frame().unwrap()).collect()
    }

    fn millis(frames: &[Frame]) -> Vec<f64> {
        frames.iter().map(|frame| frame.end.as_millis_f64()).collect()
    }

    #[test]
    fn frames_go_on_over_files_and_silences_and_end_when_they_should() {
        let (_dir, files) = files(&[("a.raw", 200, 0.5), ("b.raw", 100, 0.25)]);
        let frames = play(Options {
            lead: Nanos::from_millis(5),
            gap: Nanos::from_millis(10),
            trail: Nanos::from_millis(2),
            ..options(files)
        });
        let sound: Vec<f32> = frames.iter().flat_map(|frame| frame.audio.samples.to_vec()).collect();
        let parts = [(0.0, 80), (0.5, 200), (0.0, 160), (0.25, 100), (0.0, 32)];
        assert_eq!(sound, parts.map(|(value, count)| vec![value; count]).concat());
        assert_eq!(millis(&frames), [10.0, 20.0, 30.0, 35.75]);
    }

    #[test]
    fn a_frame_that_is_no_whole_number_of_samples_carries_the_rest() {
        let (_dir, files) = files(&[("a.wav", 22_050, 0.5)]);
        let frames = play(options(files));
        let lengths: Vec<_> = frames.iter().map(|frame| frame.audio.samples.len()).collect();
        assert_eq!(lengths[..4], [220, 221, 220, 221]);
        assert_eq!((frames.len(), frames[99].end), (100, Nanos::from_secs(1)));
    }

    #[test]
    fn files_of_different_rates_keep_them_or_become_one() {
        let (_dir, files) = files(&[("a.raw", 1_000, 0.5), ("b.wav", 2_205, 0.5)]);
        let frames = play(options(files.clone()));
        assert_eq!(frames[6].audio.rate, Rate(16_000));
        assert_eq!(frames[6].audio.samples.len(), 40, "a short frame before the rate changes");
        assert_eq!(frames[7].audio.rate, Rate(22_050));
        assert_eq!(frames.last().unwrap().end, Nanos(162_500_000));

        let frames = play(Options { rate: Some(Rate::HZ_48000), pad: true, ..options(files) });
        assert!(frames.iter().all(|f| f.audio.rate == Rate::HZ_48000 && f.audio.samples.len() == 480));
        assert_eq!(frames.len(), 17, "162.5 ms, filled up");
        assert!((frames[3].audio.samples[5] - 0.5).abs() < 1e-3);
    }

    #[test]
    fn rounds_are_counted_and_0_never_ends() {
        let (_dir, files) = files(&[("a.raw", 160, 0.5)]);
        let gap = Nanos::from_millis(10);
        let loud = |frames: &[Frame]| -> Vec<_> { frames.iter().map(|f| f.audio.samples[0] > 0.0).collect() };
        let frames = play(Options { repeat: 3, gap, ..options(files.clone()) });
        assert_eq!(loud(&frames), [true, false, true, false, true]);
        let mut endless = Playlist::new(Options { repeat: 0, gap, ..options(files) }).unwrap();
        let frames: Vec<_> = (0..1_000).map(|_| endless.next_frame().unwrap().unwrap()).collect();
        assert_eq!(loud(&frames[997..]), [false, true, false]);
        assert_eq!(frames[999].end, Nanos::from_secs(10));
    }

    #[test]
    fn what_cannot_be_played_says_why_before_anything_plays() {
        let (dir, files) = files(&[("a.raw", 160, 0.5)]);
        let says = |options| Playlist::new(options).err().unwrap().to_string();
        assert_eq!(says(options(Vec::new())), "no file to play: `files` is empty");
        assert_eq!(
            says(Options { frame: Nanos(1_000), ..options(files.clone()) }),
            "a frame of 1 us holds no sample at 16000 Hz"
        );
        let raw_rate = Some(Rate(1));
        let error = says(Options { raw_rate, rate: Some(Rate::HZ_48000), ..options(files.clone()) });
        assert!(error.ends_with("a.raw: cannot resample 1 Hz: rates go from 4000 to 384000 Hz"), "{error}");
        let gone = dir.path().join("gone.wav");
        assert!(says(options(vec![files[0].clone(), gone])).contains("gone.wav: No such file"));
    }
}
