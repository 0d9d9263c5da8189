//! Sound at another rate.

use graph_core::{Build, BuildError, Cause, Cx, Fault, Kind, Nanos, NoSample, NodeError, Sample, Transform};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    sound::{
        resample::{ResampleError, Resampler},
        sample::{ten_millis, tone},
    },
    types::{Audio, Rate},
};

/// What `audio/resample` makes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResampleParams {
    /// The rate to convert to in Hz, 4,000 to 384,000.
    pub to: u32,
    /// The rate that is expected in Hz. Any rate is converted, but the filter for this one is made before the first
    /// packet, which saves that packet up to 5 ms.
    pub from: Option<u32>,
}

impl Default for ResampleParams {
    fn default() -> Self {
        ResampleParams { to: 48_000, from: None }
    }
}

/// Converts sound of any rate; sound that has the rate already passes untouched.
///
/// The filter is flat to 0.85 of the lower rate's Nyquist frequency and looks 49 samples of the lower rate ahead: the
/// last 3 ms of a packet at 16 kHz, or 2.2 ms at 22,050 Hz, leave with the next one. A packet of another turn begins a
/// new stream: what the filter still held of the one before is dropped.
pub struct Resample {
    to: Rate,
    /// The filter for the rate that came last.
    filter: Option<(Rate, Resampler)>,
    /// The last packet that went through the filter and has not been finished.
    last: Option<Cause>,
    out: Vec<f32>,
}

impl Kind for Resample {
    const KIND: &'static str = "audio/resample";
    const ABOUT: &'static str = "Sound at another rate, the same to the bit however it is cut into packets.";
    type Params = ResampleParams;

    fn check(params: &ResampleParams) -> Vec<Fault> {
        let to = Rate(params.to);
        Fault::of("to", Resampler::new(params.from.map_or(to, Rate), to)).into_iter().collect()
    }

    fn new(params: &ResampleParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        let to = Rate(params.to);
        let from = params.from.map_or(to, Rate);
        let filter = Some((from, Resampler::new(from, to)?));
        Ok(Resample { to, filter, last: None, out: Vec::new() })
    }

    fn sample(given: Option<ResampleParams>, sample: &mut Sample<'_>) -> Result<ResampleParams, NoSample> {
        let params = given.unwrap_or(ResampleParams { to: 48_000, from: Some(22_050) });
        let from = Rate(params.from.unwrap_or(if params.to == 22_050 { 48_000 } else { 22_050 }));
        sample.feed("in", tone(from, 2 * ten_millis(from)));
        sample.every(Nanos::from_millis(20));
        Ok(params)
    }
}

impl Resample {
    fn convert(&mut self, from: Rate, samples: &[f32]) -> Result<(), ResampleError> {
        match &mut self.filter {
            Some((rate, resampler)) if *rate == from => resampler.process(samples, &mut self.out),
            other => {
                let resampler = Resampler::new(from, self.to)?;
                other.insert((from, resampler)).1.process(samples, &mut self.out);
            }
        }
        Ok(())
    }

    /// Ends the stream before a packet that does not go on with it.
    fn end_stream_before(&mut self, rate: Rate, cause: Cause) {
        let (Some(last), Some((from, resampler))) = (self.last, &mut self.filter) else { return };
        if last.turn != cause.turn {
            resampler.restart();
            self.last = None;
        } else if *from != rate {
            resampler.finish(&mut self.out);
            self.last = None;
        }
    }
}

impl Transform for Resample {
    type In = Audio;
    type Out = Audio;

    fn process(&mut self, input: Audio, cx: &mut Cx<'_, '_, Audio>) -> Result<(), NodeError> {
        let cause = cx.cause().expect("the packet in hand is a cause");
        self.out.clear();
        self.end_stream_before(input.rate, cause);
        if input.rate != self.to {
            self.convert(input.rate, &input.samples)?;
            self.last = Some(cause);
        } else if self.out.is_empty() {
            cx.emit(input);
        } else {
            self.out.extend_from_slice(&input.samples);
        }
        if !self.out.is_empty() {
            cx.emit(Audio { rate: self.to, samples: self.out.as_slice().into() });
        }
        Ok(())
    }

    fn finish(&mut self, cx: &mut Cx<'_, '_, Audio>) -> Result<(), NodeError> {
        if let (Some(last), Some((_, resampler))) = (self.last.take(), &mut self.filter) {
            self.out.clear();
            resampler.finish(&mut self.out);
            let held = cx.held_since(last);
            cx.emit_as(last, held, Audio { rate: self.to, samples: self.out.as_slice().into() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use graph_core::testing::{self, Alone};

    use super::*;

    fn alone() -> Alone {
        testing::transform::<Resample>(ResampleParams::default()).unwrap()
    }

    fn audio(rate: u32, samples: usize) -> Audio {
        Audio { rate: Rate(rate), samples: vec![0.25; samples].into() }
    }

    fn samples(alone: &mut Alone) -> usize {
        alone.out::<Audio>("out").iter().map(|audio| audio.samples.len()).sum()
    }

    #[test]
    fn sound_of_the_right_rate_passes_untouched() {
        let mut alone = alone();
        let sound = audio(48_000, 480);
        alone.feed("in", sound.clone());
        assert!(Arc::ptr_eq(&alone.out::<Audio>("out")[0].samples, &sound.samples));
    }

    #[test]
    fn the_end_of_the_stream_gives_what_the_filter_held_and_the_length_is_right() {
        let mut alone = alone();
        for _ in 0..100 {
            alone.feed("in", audio(22_050, 220));
        }
        alone.feed("in", audio(22_050, 50));
        alone.end("in");
        assert_eq!(samples(&mut alone), 48_000);
        assert!(alone.has_ended());
    }

    #[test]
    fn output_is_due_to_the_packet_that_completed_it() {
        let mut alone = alone();
        for _ in 0..3 {
            alone.advance(graph_core::Nanos::from_millis(10));
            let now = alone.now();
            alone.feed("in", audio(16_000, 160));
            assert_eq!(alone.packets::<Audio>("out")[0].header.origin, now);
        }
    }

    #[test]
    fn a_rate_that_changes_ends_one_stream_and_begins_another() {
        let mut alone = alone();
        alone.feed("in", audio(16_000, 160));
        alone.feed("in", audio(24_000, 240));
        alone.feed("in", audio(48_000, 480));
        assert_eq!(samples(&mut alone), 3 * 480);
    }

    #[test]
    fn another_turn_begins_anew_without_the_rest_of_the_one_before() {
        let mut alone = alone();
        let (first, second) = (alone.open_turn(), alone.open_turn());
        let cause = Cause::from_origin(alone.now());
        alone.feed_as("in", cause.in_turn(first), Audio { rate: Rate(16_000), samples: [1.0; 160].into() });
        alone.feed_as("in", cause.in_turn(second), Audio { rate: Rate(16_000), samples: [0.0; 160].into() });
        let sound = alone.out::<Audio>("out");
        assert!(sound[1].samples.iter().all(|&sample| sample == 0.0));
        assert_eq!(sound[0].samples.len(), sound[1].samples.len());
    }

    #[test]
    fn a_rate_that_makes_no_sense_is_told_when_the_node_is_made() {
        let params = ResampleParams { to: 1, ..ResampleParams::default() };
        let error = testing::transform::<Resample>(params).err().unwrap();
        assert_eq!(error.to_string(), "cannot resample 1 Hz: rates go from 4000 to 384000 Hz");
    }
}
