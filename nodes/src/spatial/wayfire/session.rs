//! What is asked of Wayfire and what it says: a state machine without a socket and without a clock.

use std::collections::VecDeque;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::protocol::{Call, Said, WayfireOutput, WayfireView};
use crate::{
    spatial::{
        desk::place,
        frame::Scratch,
        homography::Homography,
        message::{MessageError, read_json, write_json},
    },
    types::{Event, Output, Refusal, Request, Response, View, Zone},
};

/// What a request is to be answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// Nothing: the session asked for itself.
    Nothing,
    Done,
    Views,
    Outputs,
}

/// What became of a request, or what happened unasked.
#[derive(Clone, Debug, PartialEq)]
pub enum Told<T> {
    /// The answer to the request with this tag.
    Answer(T, Response),
    /// An event.
    Event(Event),
    /// Nothing that anybody waits for.
    Nothing,
}

/// What Wayfire said cannot be understood, so that what it says next cannot be either.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// No JSON.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// An answer that nobody asked for.
    #[error("Wayfire answered what nobody asked")]
    Unasked,
}

/// One connection to Wayfire. A request has a tag of type `T`, which its answer comes back with.
#[derive(Debug)]
pub struct Session<T> {
    zones: Vec<Zone>,
    homography: Homography,
    /// The oldest first: answers come in order.
    pending: VecDeque<(Option<T>, Wanted)>,
}

impl<T> Session<T> {
    /// A session that places views in these zones.
    pub fn new(zones: Vec<Zone>, homography: Homography) -> Session<T> {
        Session { zones, homography, pending: VecDeque::with_capacity(16) }
    }

    /// Asks for these events; to be written first.
    ///
    /// # Errors
    ///
    /// When their names are longer than a message.
    pub fn watch(&mut self, events: &[String], into: &mut Scratch) -> Result<(), MessageError> {
        write_json(&Call::watch(events), into)?;
        self.pending.push_back((None, Wanted::Nothing));
        Ok(())
    }

    /// Writes what stands for a request, or answers it at once.
    ///
    /// # Errors
    ///
    /// When it is longer than a message may be.
    pub fn ask(
        &mut self,
        request: &Request,
        tag: T,
        into: &mut Scratch,
    ) -> Result<Option<(T, Response)>, MessageError> {
        let (call, wanted) = match request {
            Request::Zones => return Ok(Some((tag, Response::Zones(self.zones.clone())))),
            Request::AssignZone { view, zone } => match place(&self.zones, &self.homography, *zone) {
                Ok(at) => (Call::configure(*view, at), Wanted::Done),
                Err(refusal) => return Ok(Some((tag, Response::Error(refusal)))),
            },
            request => {
                let wanted = match request {
                    Request::Views => Wanted::Views,
                    Request::Outputs => Wanted::Outputs,
                    _ => Wanted::Done,
                };
                (Call::of(request).expect("zones are dealt with above"), wanted)
            }
        };
        write_json(&call, into)?;
        self.pending.push_back((Some(tag), wanted));
        Ok(None)
    }

    /// Takes a whole message of Wayfire.
    ///
    /// # Errors
    ///
    /// When it is none, or answers what nobody asked.
    pub fn hear(&mut self, message: &[u8]) -> Result<Told<T>, SessionError> {
        match read_json::<Said>(message)? {
            Said::Event(happened) => Ok(Told::Event(happened.into())),
            Said::Answer(value) => {
                let (tag, wanted) = self.pending.pop_front().ok_or(SessionError::Unasked)?;
                Ok(tag.map_or(Told::Nothing, |tag| Told::Answer(tag, response(value, wanted))))
            }
        }
    }

    /// Requests of others that have no answer.
    pub fn unanswered(&self) -> usize {
        self.pending.iter().filter(|(tag, _)| tag.is_some()).count()
    }
}

fn response(value: Value, wanted: Wanted) -> Response {
    if let Some(reason) = value.get("error").and_then(Value::as_str) {
        return Response::Error(Refusal::Compositor { reason: reason.to_owned() });
    }
    let list = match wanted {
        Wanted::Views => read(value)
            .map(|views: Vec<WayfireView>| Response::Views(views.into_iter().map(View::from).collect())),
        Wanted::Outputs => read(value).map(|outputs: Vec<WayfireOutput>| {
            Response::Outputs(outputs.into_iter().map(Output::from).collect())
        }),
        Wanted::Done | Wanted::Nothing => Ok(Response::Ok),
    };
    list.unwrap_or_else(Response::Error)
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, Refusal> {
    serde_json::from_value(value)
        .map_err(|error| Refusal::Compositor { reason: format!("an answer of another form: {error}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        spatial::{
            desk::{FULL, halves},
            frame::{Codec, Framer, LIMIT},
        },
        types::Geometry,
    };

    fn session() -> (Session<u32>, Scratch) {
        (Session::new(halves(), Homography(FULL)), Scratch::default())
    }

    fn said(json: &str) -> Vec<u8> {
        [&(json.len() as u32).to_le_bytes()[..], json.as_bytes()].concat()
    }

    fn written(scratch: &Scratch) -> Vec<Value> {
        let mut framer = Framer::new(Codec::Json, LIMIT);
        let bytes = scratch.written();
        framer.space()[..bytes.len()].copy_from_slice(bytes);
        framer.filled(bytes.len());
        std::iter::from_fn(|| framer.message().unwrap().map(|message| read_json(message).unwrap())).collect()
    }

    #[test]
    fn answers_come_in_order_with_events_in_between() {
        let (mut session, mut scratch) = session();
        session.watch(&["view-mapped".to_owned()], &mut scratch).unwrap();
        assert_eq!(session.ask(&Request::Views, 1, &mut scratch).unwrap(), None);
        assert_eq!(session.ask(&Request::AssignZone { view: 7, zone: 2 }, 2, &mut scratch).unwrap(), None);
        let calls = written(&scratch);
        assert_eq!(calls[2]["data"]["geometry"]["x"], 640);
        assert_eq!(session.unanswered(), 2);
        assert_eq!(session.hear(&said(r#"{"result":"ok"}"#)).unwrap(), Told::Nothing);
        let event = r#"{"event":"view-mapped","view":null}"#;
        assert!(matches!(session.hear(&said(event)).unwrap(), Told::Event(_)));
        let view = r#"[{"id":7,"app-id":"foot","title":"t","geometry":{"x":0,"y":0,"width":9,"height":9}}]"#;
        let geometry = Geometry { x: 0, y: 0, width: 9, height: 9 };
        let views = vec![View { id: 7, app_id: "foot".into(), title: "t".into(), geometry }];
        assert_eq!(session.hear(&said(view)).unwrap(), Told::Answer(1, Response::Views(views)));
        let refused = Response::Error(Refusal::Compositor { reason: "view not found".into() });
        assert_eq!(session.hear(&said(r#"{"error":"view not found"}"#)).unwrap(), Told::Answer(2, refused));
        assert!(matches!(session.hear(&said("{}")), Err(SessionError::Unasked)));
    }

    #[test]
    fn zones_are_answered_without_wayfire() {
        let (mut session, mut scratch) = session();
        let zones = session.ask(&Request::Zones, 1, &mut scratch).unwrap();
        assert_eq!(zones, Some((1, Response::Zones(halves()))));
        let nowhere = session.ask(&Request::AssignZone { view: 1, zone: 9 }, 2, &mut scratch).unwrap();
        assert_eq!(nowhere, Some((2, Response::Error(Refusal::NoSuchZone { zone: 9 }))));
        assert!(scratch.written().is_empty());
    }
}
