//! Sound files: wav of any kind and headerless `s16le`, read as mono streams; wav of 16 bits, written.
//!
//! Nothing is held in memory but a buffer, and whatever a file holds, reading it gives sound or an error that says what
//! is wrong with which file.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read, Seek},
    path::{Path, PathBuf},
};

use super::pcm;
use crate::types::Rate;

/// Extensions of headerless sound.
const RAW: [&str; 3] = ["raw", "pcm", "s16le"];

/// Bytes of sound in a wav at most: its sizes are 32 bits wide, and the header needs some.
const MAX_DATA: u64 = u32::MAX as u64 - 1_024;

/// What is wrong with a sound file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be opened or made.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Reading or writing failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It has no sample.
    #[error("{} has no sound: it holds {bytes} bytes and no sample", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// It is no wav, or its header makes no sense.
    #[error("{} is not a wav file: {reason}; headerless sound must be named .raw, .pcm or .s16le", path.display())]
    NotWav {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// It is shorter than its header says.
    #[error("{} is cut short: {promised} bytes of sound expected, {found} found", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes that the header promises.
        promised: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// A wav that only few programs write.
    #[error("{}: {what} is not supported: use 8 to 32-bit integers or 32-bit floats", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it holds.
        what: String,
    },
    /// A headerless file without a rate.
    #[error("{} has no header: give its sample rate as `raw_rate`", path.display())]
    NoRate {
        /// The file.
        path: PathBuf,
    },
    /// A wav has no room for more.
    #[error("{} is full: a wav holds 4 GiB at most", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
}

/// A sound file being read, mixed down to mono.
pub struct SoundReader {
    path: PathBuf,
    rate: Rate,
    left: u64,
    samples: Samples,
}

enum Samples {
    Wav(hound::WavReader<BufReader<File>>),
    Raw(BufReader<File>),
}

impl SoundReader {
    /// Opens a wav file; one named `.raw`, `.pcm` or `.s16le` is read as headerless mono `s16le` at `raw_rate`.
    ///
    /// # Errors
    ///
    /// When it cannot be opened, holds no sample, is shorter than its header says, or of a kind that nobody can read.
    pub fn open(path: &Path, raw_rate: Option<Rate>) -> Result<SoundReader, FileError> {
        let open = |source| FileError::Open { path: path.into(), source };
        let file = File::open(path).map_err(open)?;
        let metadata = file.metadata().map_err(open)?;
        if !metadata.is_file() {
            return Err(open(io::Error::other("not a file")));
        }
        let (bytes, file) = (metadata.len(), BufReader::new(file));
        let reader = match raw_rate {
            _ if bytes == 0 => return Err(FileError::Empty { path: path.into(), bytes }),
            _ if !is_raw(path) => open_wav(path, bytes, file)?,
            None => return Err(FileError::NoRate { path: path.into() }),
            Some(_) if bytes % 2 == 1 => {
                return Err(FileError::Truncated { path: path.into(), promised: bytes + 1, found: bytes });
            }
            Some(rate) => {
                SoundReader { path: path.into(), rate, left: bytes / 2, samples: Samples::Raw(file) }
            }
        };
        if reader.left == 0 {
            return Err(FileError::Empty { path: path.into(), bytes });
        }
        Ok(reader)
    }

    /// Samples a second.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Mono samples not read yet.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Appends the next samples to `out`, at most `count`; fewer only at the end.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or turns out to be broken.
    pub fn read(&mut self, count: usize, out: &mut Vec<f32>) -> Result<(), FileError> {
        let count = self.left.min(count as u64);
        let path = &self.path;
        match &mut self.samples {
            Samples::Raw(file) => {
                let mut bytes = [0; 2];
                for _ in 0..count {
                    file.read_exact(&mut bytes)
                        .map_err(|source| FileError::Io { path: path.clone(), source })?;
                    out.push(pcm::from_s16(i16::from_le_bytes(bytes)));
                }
            }
            Samples::Wav(wav) => {
                let spec = wav.spec();
                let mixed = match spec.sample_format {
                    hound::SampleFormat::Float => {
                        mix(wav.samples::<f32>(), spec.channels, count, 1.0, finite, out)
                    }
                    hound::SampleFormat::Int => {
                        let full_scale = f64::from(2.0_f32).powi(i32::from(spec.bits_per_sample) - 1);
                        mix(
                            wav.samples::<i32>(),
                            spec.channels,
                            count,
                            full_scale,
                            |sample| sample as f32,
                            out,
                        )
                    }
                };
                mixed.map_err(|error| wav_error(path, error))?;
            }
        }
        self.left -= count;
        Ok(())
    }
}

fn is_raw(path: &Path) -> bool {
    path.extension().is_some_and(|extension| RAW.iter().any(|raw| extension.eq_ignore_ascii_case(raw)))
}

fn open_wav(path: &Path, bytes: u64, mut file: BufReader<File>) -> Result<SoundReader, FileError> {
    let io_error = |source| FileError::Io { path: path.into(), source };
    let (spec, samples) = {
        let probe = hound::WavReader::new(&mut file).map_err(|error| wav_error(path, error))?;
        (probe.spec(), probe.len())
    };
    let supported = match spec.sample_format {
        hound::SampleFormat::Int => matches!(spec.bits_per_sample, 8 | 16 | 24 | 32),
        hound::SampleFormat::Float => spec.bits_per_sample == 32,
    };
    if !supported || spec.sample_rate == 0 {
        let what = format!("{}-bit sound at {} Hz", spec.bits_per_sample, spec.sample_rate);
        return Err(FileError::Unsupported { path: path.into(), what });
    }
    let promised = u64::from(samples) * u64::from(spec.bits_per_sample / 8);
    let found = bytes.saturating_sub(file.stream_position().map_err(io_error)?);
    if found < promised {
        return Err(FileError::Truncated { path: path.into(), promised, found });
    }
    file.rewind().map_err(io_error)?;
    let wav = hound::WavReader::new(file).map_err(|error| wav_error(path, error))?;
    let left = u64::from(samples) / u64::from(spec.channels);
    Ok(SoundReader { path: path.into(), rate: Rate(spec.sample_rate), left, samples: Samples::Wav(wav) })
}

fn mix<S>(
    mut samples: impl Iterator<Item = hound::Result<S>>,
    channels: u16,
    count: u64,
    full_scale: f64,
    value: fn(S) -> f32,
    out: &mut Vec<f32>,
) -> hound::Result<()> {
    let scale = (1.0 / (full_scale * f64::from(channels))) as f32;
    for _ in 0..count {
        let mut sum = 0.0;
        for sample in samples.by_ref().take(channels.into()) {
            sum += value(sample?);
        }
        out.push(sum * scale);
    }
    Ok(())
}

/// One sample that is no number would silence every filter after it for good.
fn finite(sample: f32) -> f32 {
    if sample.is_finite() { sample } else { 0.0 }
}

fn wav_error(path: &Path, error: hound::Error) -> FileError {
    let path = path.to_owned();
    match error {
        hound::Error::IoError(source) if source.raw_os_error().is_some() => FileError::Io { path, source },
        hound::Error::IoError(_) => FileError::NotWav { path, reason: "it ends too early".into() },
        hound::Error::FormatError(reason) => FileError::NotWav { path, reason: reason.into() },
        _ => FileError::Unsupported { path, what: "its encoding".into() },
    }
}

/// A mono wav of 16 bits being written.
///
/// Its header is brought up to date with every second of sound and when the writer is dropped, so that a run that is
/// broken off leaves a wav that plays. Until the first flush it is a file beside the one asked for, `NAME.part`: a file of
/// that name stays as it is until there is sound to replace it, and may even be what the sound is read from.
pub struct WavWriter {
    path: PathBuf,
    /// The file that is written, until it takes its name.
    part: Option<PathBuf>,
    wav: hound::WavWriter<BufWriter<File>>,
    rate: Rate,
    written: u64,
    unflushed: u32,
}

impl WavWriter {
    /// Makes the file, or makes it anew.
    ///
    /// # Errors
    ///
    /// When it cannot be made, or the rate is one that a wav cannot state.
    pub fn create(path: &Path, rate: Rate) -> Result<WavWriter, FileError> {
        if rate.0 == 0 || rate.0 > u32::MAX / 2 {
            return Err(FileError::Unsupported {
                path: path.into(),
                what: format!("a rate of {} Hz", rate.0),
            });
        }
        // A device or a pipe is written as it is.
        let part = (!path.exists() || path.is_file()).then(|| {
            let mut name = path.as_os_str().to_owned();
            name.push(".part");
            PathBuf::from(name)
        });
        let file = File::create(part.as_deref().unwrap_or(path))
            .map_err(|source| FileError::Open { path: path.into(), source })?;
        let spec = hound::WavSpec {
            channels: 1,
            sample_rate: rate.0,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        let wav =
            hound::WavWriter::new(BufWriter::new(file), spec).map_err(|error| write_error(path, error))?;
        Ok(WavWriter { path: path.into(), part, wav, rate, written: 0, unflushed: 0 })
    }

    /// Begins anew at another rate; what was written goes.
    ///
    /// # Errors
    ///
    /// As [`WavWriter::create`].
    pub fn restart(&mut self, rate: Rate) -> Result<(), FileError> {
        if let Some(part) = self.part.take() {
            // The old writer's last words go to a file without a name, not into the new one.
            let _ = fs::remove_file(part);
        }
        self.written = 0;
        *self = WavWriter::create(&self.path, rate)?;
        Ok(())
    }

    /// Samples a second.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Samples written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Appends samples.
    ///
    /// # Errors
    ///
    /// When the disk is full, or the wav is.
    pub fn write(&mut self, samples: &[f32]) -> Result<(), FileError> {
        if (self.written + samples.len() as u64) * 2 > MAX_DATA {
            return Err(FileError::Full { path: self.path.clone() });
        }
        for &sample in samples {
            self.wav.write_sample(pcm::to_s16(sample)).map_err(|error| write_error(&self.path, error))?;
        }
        self.written += samples.len() as u64;
        self.unflushed += samples.len() as u32;
        if self.unflushed >= self.rate.0 {
            self.flush()?;
        }
        Ok(())
    }

    /// Makes what is on disk a whole wav.
    ///
    /// # Errors
    ///
    /// When the disk is full.
    pub fn flush(&mut self) -> Result<(), FileError> {
        self.unflushed = 0;
        self.wav.flush().map_err(|error| write_error(&self.path, error))?;
        if let Some(part) = self.part.take() {
            fs::rename(part, &self.path)
                .map_err(|source| FileError::Io { path: self.path.clone(), source })?;
        }
        Ok(())
    }
}

impl Drop for WavWriter {
    fn drop(&mut self) {
        if self.written > 0 {
            // The wav itself is ended by its own drop; whoever wants to know of a failure has flushed.
            let _ = self.flush();
        } else if let Some(part) = self.part.take() {
            let _ = fs::remove_file(part);
        }
    }
}

fn write_error(path: &Path, error: hound::Error) -> FileError {
    let source = match error {
        hound::Error::IoError(source) => source,
        other => io::Error::other(other),
    };
    FileError::Io { path: path.into(), source }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spec(channels: u16, bits: u16, format: hound::SampleFormat) -> hound::WavSpec {
        hound::WavSpec { channels, sample_rate: 22_050, bits_per_sample: bits, sample_format: format }
    }

    fn write_wav<S: hound::Sample>(path: &Path, spec: hound::WavSpec, samples: impl IntoIterator<Item = S>) {
        let mut writer = hound::WavWriter::create(path, spec).unwrap();
        for sample in samples {
            writer.write_sample(sample).unwrap();
        }
        writer.finalize().unwrap();
    }

    fn read_all(path: &Path, raw_rate: Option<Rate>) -> Result<(Rate, Vec<f32>), FileError> {
        let mut reader = SoundReader::open(path, raw_rate)?;
        let mut out = Vec::new();
        while reader.left() > 0 {
            reader.read(7, &mut out)?;
        }
        Ok((reader.rate(), out))
    }

    #[test]
    fn every_depth_and_channel_count_becomes_mono_at_full_scale() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sound.wav");
        for (bits, half) in [(8, 1 << 6), (16, 1 << 14), (24, 1 << 22), (32, 1 << 30)] {
            write_wav(&path, spec(1, bits, hound::SampleFormat::Int), [half, -half, 0, -2 * half]);
            assert_eq!(
                read_all(&path, None).unwrap(),
                (Rate(22_050), vec![0.5, -0.5, 0.0, -1.0]),
                "{bits} bits"
            );
        }
        write_wav(&path, spec(2, 32, hound::SampleFormat::Float), [0.5_f32, 0.25, -1.0, 1.0, f32::NAN, 1.0]);
        assert_eq!(read_all(&path, None).unwrap().1, [0.375, 0.0, 0.5]);
        write_wav(&path, spec(6, 16, hound::SampleFormat::Int), [6_000_i32; 12]);
        let six = read_all(&path, None).unwrap().1;
        assert!(six.len() == 2 && six.iter().all(|s| (s - 6_000.0 / 32_768.0).abs() < 1e-6));
    }

    #[test]
    fn headerless_sound_is_read_at_the_given_rate() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sound.RAW");
        std::fs::write(&path, [0x00, 0x40, 0x00, 0xc0]).unwrap();
        assert_eq!(read_all(&path, Some(Rate(16_000))).unwrap(), (Rate(16_000), vec![0.5, -0.5]));
        let error = read_all(&path, None).unwrap_err().to_string();
        assert!(error.ends_with("sound.RAW has no header: give its sample rate as `raw_rate`"), "{error}");
    }

    #[test]
    fn every_unreadable_file_says_what_is_wrong() {
        let dir = tempfile::tempdir().unwrap();
        let says = |name: &str, bytes: Option<&[u8]>| {
            let path = dir.path().join(name);
            if let Some(bytes) = bytes {
                std::fs::write(&path, bytes).unwrap();
            }
            let error = read_all(&path, Some(Rate(16_000))).unwrap_err().to_string();
            error.replace(&format!("{}/", dir.path().display()), "")
        };
        assert_eq!(says("gone.wav", None), "cannot open gone.wav: No such file or directory (os error 2)");
        assert_eq!(says("", None), "cannot open : not a file");
        assert_eq!(says("empty.wav", Some(&[])), "empty.wav has no sound: it holds 0 bytes and no sample");
        assert_eq!(says("empty.raw", Some(&[])), "empty.raw has no sound: it holds 0 bytes and no sample");
        assert_eq!(
            says("odd.raw", Some(&[1, 2, 3])),
            "odd.raw is cut short: 4 bytes of sound expected, 3 found"
        );
        assert_eq!(
            says("text.wav", Some(b"What is this?")),
            "text.wav is not a wav file: no RIFF tag found; headerless sound must be named .raw, .pcm or .s16le"
        );
        assert_eq!(
            says("stub.wav", Some(b"RIFF\x24\0\0\0WAVEfmt ")),
            "stub.wav is not a wav file: it ends too early; headerless sound must be named .raw, .pcm or .s16le"
        );
        let path = dir.path().join("whole.wav");
        write_wav(&path, spec(1, 16, hound::SampleFormat::Int), [1_i16; 100]);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(
            says("cut.wav", Some(&whole[..whole.len() - 50])),
            "cut.wav is cut short: 200 bytes of sound expected, 150 found"
        );
        let mut adpcm = whole.clone();
        adpcm[20] = 2;
        assert_eq!(
            says("adpcm.wav", Some(&adpcm)),
            "adpcm.wav: its encoding is not supported: use 8 to 32-bit integers or 32-bit floats"
        );
        write_wav::<i16>(&path, spec(1, 16, hound::SampleFormat::Int), []);
        assert_eq!(says("whole.wav", None), "whole.wav has no sound: it holds 44 bytes and no sample");
    }

    #[test]
    fn what_is_written_is_read_back_and_whole_before_it_is_finished() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.wav");
        let mut writer = WavWriter::create(&path, Rate(8_000)).unwrap();
        let sound: Vec<f32> = (0..8_100).map(|n| n as f32 / 16_384.0).collect();
        writer.write(&sound[..8_000]).unwrap();
        assert_eq!(read_all(&path, None).unwrap(), (Rate(8_000), sound[..8_000].to_vec()), "after a second");
        writer.write(&sound[8_000..]).unwrap();
        drop(writer);
        assert_eq!(read_all(&path, None).unwrap().1, sound);
    }

    #[test]
    fn a_file_that_cannot_be_made_says_so() {
        let error = WavWriter::create(Path::new("/nowhere/out.wav"), Rate(8_000)).err().unwrap().to_string();
        assert_eq!(error, "cannot open /nowhere/out.wav: No such file or directory (os error 2)");
        assert!(WavWriter::create(Path::new("/nowhere/out.wav"), Rate(0)).is_err());
    }

    proptest! {
        #[test]
        fn a_wav_with_any_bytes_changed_never_panics(
            changes in prop::collection::vec((0..64_usize, any::<u8>()), 1..6),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("odd.wav");
            write_wav(&path, spec(2, 16, hound::SampleFormat::Int), [1_000_i16; 20]);
            let mut bytes = std::fs::read(&path).unwrap();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            std::fs::write(&path, &bytes).unwrap();
            let _ = read_all(&path, None);
        }
    }
}
