//! What a window manager asks, on time.

use graph_core::{
    Build, BuildError, Counter, Cx, Fault, Flow, Kind, Nanos, NoSample, NodeError, Sample, Source, Stamp,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::link::refuse;
use crate::types::Request;

/// What `spatial/requests` asks, and when.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequestsParams {
    /// How many requests there are; then the stream ends.
    pub count: u64,
    /// The time from one to the next.
    pub every: Nanos,
    /// When the first is due, from the start of the run.
    pub lead: Nanos,
    /// What is asked, over and over in this order.
    pub script: Vec<Request>,
}

impl Default for RequestsParams {
    fn default() -> Self {
        RequestsParams {
            count: 1_000,
            every: Nanos::from_millis(1),
            lead: Nanos::from_millis(10),
            script: vec![Request::AssignZone { view: 1, zone: 1 }, Request::AssignZone { view: 1, zone: 2 }],
        }
    }
}

/// Asks on time, whatever becomes of the answers: a request's origin is when it was due, so lateness counts.
pub struct Requests {
    script: Vec<Request>,
    every: Nanos,
    lead: Nanos,
    next: u64,
    count: u64,
    due: Option<Stamp>,
    behind: Counter,
}

impl Kind for Requests {
    const KIND: &'static str = "spatial/requests";
    const ABOUT: &'static str = "Requests to a compositor, each at its time.";
    type Params = RequestsParams;

    fn check(params: &RequestsParams) -> Vec<Fault> {
        let message = || "it is empty: name at least one request, such as Views".to_owned();
        let fault = || Fault { param: "script", message: message() };
        params.script.is_empty().then(fault).into_iter().collect()
    }

    fn new(params: &RequestsParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        refuse(Requests::check(params))?;
        Ok(Requests {
            script: params.script.clone(),
            every: params.every,
            lead: params.lead,
            next: 0,
            count: params.count,
            due: None,
            behind: build.counter("behind schedule", "Requests that left after the next one was due."),
        })
    }

    fn sample(given: Option<RequestsParams>, sample: &mut Sample<'_>) -> Result<RequestsParams, NoSample> {
        let params = RequestsParams { count: u64::MAX, ..given.unwrap_or_default() };
        sample.every(params.every);
        Ok(params)
    }
}

impl Source for Requests {
    type Out = Request;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Request>) -> Result<Flow, NodeError> {
        let due = *self.due.get_or_insert(now + self.lead);
        if self.next == self.count {
            return Ok(Flow::Done);
        }
        if due > now {
            cx.wake_at(due);
            return Ok(Flow::Idle);
        }
        self.behind.add(u64::from(now.since(due).is_some_and(|late| late > self.every)));
        let request = &self.script[(self.next % self.script.len() as u64) as usize];
        cx.emit_from(due, request.clone());
        self.next += 1;
        self.due = Some(due + self.every);
        Ok(if self.next == self.count { Flow::Done } else { Flow::Again })
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing;

    use super::*;

    #[test]
    fn requests_come_on_time_in_the_order_of_the_script_and_end() {
        let script = vec![Request::Views, Request::Zones];
        let params = RequestsParams { count: 3, script, ..RequestsParams::default() };
        let mut alone = testing::source::<Requests>(params).unwrap();
        let start = alone.now();
        alone.advance(Nanos::from_millis(100));
        let packets = alone.packets::<Request>("out");
        let asked: Vec<_> = packets.iter().map(|packet| &packet.payload).collect();
        assert_eq!(asked, [&Request::Views, &Request::Zones, &Request::Views]);
        let due = [10, 11, 12].map(|millis| start + Nanos::from_millis(millis));
        assert_eq!(packets.iter().map(|packet| packet.header.origin).collect::<Vec<_>>(), due);
        assert!(alone.has_ended());
    }

    #[test]
    fn an_empty_script_is_refused() {
        let params = RequestsParams { script: Vec::new(), ..RequestsParams::default() };
        let error = testing::source::<Requests>(params).err().unwrap();
        assert_eq!(error.to_string(), "script: it is empty: name at least one request, such as Views");
    }
}
