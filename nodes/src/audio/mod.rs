//! Sound in files, rates and tones.

pub mod tones;
