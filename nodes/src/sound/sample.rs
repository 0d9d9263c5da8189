//! Sound that nodes are benched with.

use std::path::Path;

use graph_core::AssetRef;

use super::file::{FileError, WavWriter};
use crate::types::{Audio, Rate};

/// So much of a tone of 220 Hz.
pub(crate) fn tone(rate: Rate, samples: usize) -> Audio {
    let step = 220.0 * std::f32::consts::TAU / rate.0 as f32;
    Audio { rate, samples: (0..samples).map(|n| 0.3 * (n as f32 * step).sin()).collect() }
}

/// Samples in 10 ms, rounded down.
pub(crate) fn ten_millis(rate: Rate) -> usize {
    (rate.0 / 100) as usize
}

/// A wav in `dir`: a second of the tone at 48 kHz.
pub(crate) fn second(dir: &Path) -> Result<AssetRef, FileError> {
    let path = dir.join("second.wav");
    let mut file = WavWriter::create(&path, Rate::HZ_48000)?;
    file.write(&tone(Rate::HZ_48000, 48_000).samples)?;
    file.flush()?;
    Ok(AssetRef::new(path.to_string_lossy()))
}
