//! What became of the requests.

use graph_core::{Build, BuildError, Counter, Kind, NoSample, NodeError, Sample, Sink, SinkCx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::types::Response;

/// `spatial/results` has no parameters.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResultsParams {}

/// Counts responses; a refusal is told, too.
pub struct Results {
    answered: Counter,
    refused: Counter,
}

impl Kind for Results {
    const KIND: &'static str = "spatial/results";
    const ABOUT: &'static str = "Counts what was done and what was refused.";
    type Params = ResultsParams;

    fn new(_: &ResultsParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Results {
            answered: build.counter("answered", "Requests that were done."),
            refused: build.counter("refused", "Requests that were refused."),
        })
    }

    fn sample(given: Option<ResultsParams>, sample: &mut Sample<'_>) -> Result<ResultsParams, NoSample> {
        sample.feed("in", Response::Ok);
        Ok(given.unwrap_or_default())
    }
}

impl Sink for Results {
    type In = Response;

    #[inline]
    fn consume(&mut self, response: Response, cx: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        let Response::Error(refusal) = response else {
            self.answered.add(1);
            return Ok(());
        };
        self.refused.add(1);
        let turn = cx.cause().map(|cause| cause.turn).unwrap_or_default();
        cx.tell(turn, "refused", &refusal.to_string());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing;

    use super::*;
    use crate::types::Refusal;

    #[test]
    fn a_refusal_is_told_in_words() {
        let mut alone = testing::sink::<Results>(ResultsParams {}).unwrap();
        alone.feed("in", Response::Ok);
        alone.feed("in", Response::Error(Refusal::NoSuchZone { zone: 9 }));
        assert_eq!(alone.told(), [("refused", "there is no zone 9".to_owned())]);
        assert_eq!(alone.notes().iter().map(|note| note.value).collect::<Vec<_>>(), [1, 1]);
    }
}
