//! Sound in files, rates and tones.

pub mod resample;
pub mod tones;
pub mod wav_sink;
pub mod wav_source;

use graph_core::Registry;

/// Adds the kinds of this domain.
pub fn register(registry: &mut Registry) {
    registry
        .transform::<resample::Resample>()
        .node::<tones::Tones>()
        .sink::<wav_sink::WavSink>()
        .source::<wav_source::WavSource>();
}
