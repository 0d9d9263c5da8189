//! Sound.

use std::sync::Arc;

use graph_core::payload;

/// Samples a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u32);

impl Rate {
    /// 48 kHz: RTP audio and RNNoise.
    pub const HZ_48000: Rate = Rate(48_000);
    /// 16 kHz: the speech models.
    pub const HZ_16000: Rate = Rate(16_000);
}

/// A run of mono sound. Consecutive packets of one edge are consecutive in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Audio {
    /// Samples a second.
    pub rate: Rate,
    /// Mono samples, full scale is -1.0 to 1.0.
    pub samples: Arc<[f32]>,
}

payload!(Audio, "audio");
