//! Sound, louder or softer: say here what the node is for.

use graph_core::{Build, BuildError, Cx, Kind, Nanos, NoSample, NodeError, Sample, Transform};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::types::{Audio, Rate};

/// What `domain/template` does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TemplateParams {
    /// What every sample is multiplied with.
    pub factor: f32,
}

impl Default for TemplateParams {
    fn default() -> Self {
        TemplateParams { factor: 1.0 }
    }
}

/// Multiplies every sample.
pub struct Template {
    factor: f32,
}

impl Kind for Template {
    const KIND: &'static str = "domain/template";
    const ABOUT: &'static str = "Sound, louder or softer.";
    type Params = TemplateParams;

    fn new(params: &TemplateParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        if !params.factor.is_finite() {
            return Err(BuildError::new("`factor` is not finite: give a number"));
        }
        Ok(Template { factor: params.factor })
    }

    fn sample(given: Option<TemplateParams>, sample: &mut Sample<'_>) -> Result<TemplateParams, NoSample> {
        sample.feed("in", Audio { rate: Rate::HZ_48000, samples: [0.25; 480].into() });
        sample.every(Nanos::from_millis(10));
        Ok(given.unwrap_or(TemplateParams { factor: 0.5 }))
    }
}

impl Transform for Template {
    type In = Audio;
    type Out = Audio;

    fn process(&mut self, input: Audio, cx: &mut Cx<'_, '_, Audio>) -> Result<(), NodeError> {
        let samples = input.samples.iter().map(|sample| sample * self.factor).collect();
        cx.emit(Audio { samples, ..input });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_multiplied() {
        let mut alone = graph_core::testing::transform::<Template>(TemplateParams { factor: 0.5 }).unwrap();
        alone.feed("in", Audio { rate: Rate::HZ_48000, samples: [1.0, -0.5].into() });
        assert_eq!(alone.out::<Audio>("out")[0].samples[..], [0.5, -0.25]);
    }
}
