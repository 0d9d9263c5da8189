//! The words of Wayfire's IPC (checked against 0.9 and 0.10): plugins `ipc`, `ipc-rules` and `stipc`.
//!
//! Requests are `{"method": .., "data": ..}`. They have no number: answers come in order, and events, which are objects
//! with an `event`, come in between on the same socket.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::types::{Event, Geometry, Output, Request, View};

/// A request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Call {
    /// Such as `window-rules/list-views`.
    pub method: &'static str,
    /// Its arguments.
    pub data: Value,
}

impl Call {
    fn new(method: &'static str, data: Value) -> Call {
        Call { method, data }
    }

    /// Wants these events from now on.
    pub fn watch(events: &[String]) -> Call {
        Call::new("window-rules/events/watch", json!({ "events": events }))
    }

    /// Puts a view somewhere.
    pub fn configure(view: u32, at: Geometry) -> Call {
        Call::new("window-rules/configure-view", json!({ "id": view, "geometry": at }))
    }

    /// What stands for `request`; `None` for one that is answered without Wayfire.
    pub fn of(request: &Request) -> Option<Call> {
        Some(match request {
            Request::AssignZone { .. } | Request::Zones => return None,
            Request::Views => Call::new("window-rules/list-views", json!({})),
            Request::Outputs => Call::new("window-rules/list-outputs", json!({})),
            Request::Touch { finger, x, y } => {
                Call::new("stipc/touch", json!({ "finger": finger, "x": x, "y": y }))
            }
            Request::Release { finger } => Call::new("stipc/touch_release", json!({ "finger": finger })),
            Request::Key { key, pressed } => {
                Call::new("stipc/feed_key", json!({ "key": key, "state": pressed }))
            }
        })
    }
}

/// A message of Wayfire.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Said {
    /// It happened unasked.
    Event(Happened),
    /// It answers the oldest request without an answer.
    Answer(Value),
}

/// An event.
#[derive(Debug, Deserialize)]
pub struct Happened {
    /// Its name.
    event: String,
    /// The view that it is about.
    #[serde(default)]
    view: Option<WayfireView>,
}

impl From<Happened> for Event {
    fn from(happened: Happened) -> Event {
        Event { name: happened.event, view: happened.view.map(View::from) }
    }
}

/// A view as Wayfire tells it.
#[derive(Debug, Deserialize)]
pub struct WayfireView {
    id: u32,
    #[serde(rename = "app-id", default)]
    app_id: Option<String>,
    #[serde(default)]
    title: Option<String>,
    geometry: Geometry,
}

impl From<WayfireView> for View {
    fn from(view: WayfireView) -> View {
        View {
            id: view.id,
            app_id: view.app_id.unwrap_or_default(),
            title: view.title.unwrap_or_default(),
            geometry: view.geometry,
        }
    }
}

/// An output as Wayfire tells it; it tells more.
#[derive(Debug, Deserialize)]
pub struct WayfireOutput {
    id: u32,
    name: String,
    geometry: Geometry,
}

impl From<WayfireOutput> for Output {
    fn from(output: WayfireOutput) -> Output {
        Output { id: output.id, name: output.name, geometry: output.geometry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_with_an_event_is_one_and_everything_else_an_answer() {
        let said = |json: &str| serde_json::from_str::<Said>(json).unwrap();
        let view =
            r#"{"id":7,"app-id":"foot","title":"t","geometry":{"x":1,"y":2,"width":3,"height":4},"pid":9}"#;
        let Said::Event(happened) = said(&format!(r#"{{"event":"view-mapped","view":{view}}}"#)) else {
            panic!("an event")
        };
        let event = Event::from(happened);
        let geometry = Geometry { x: 1, y: 2, width: 3, height: 4 };
        assert_eq!((event.name.as_str(), event.view.unwrap().geometry), ("view-mapped", geometry));
        let Said::Event(happened) = said(r#"{"event":"view-focused","view":null}"#) else {
            panic!("an event")
        };
        assert_eq!(Event::from(happened).view, None);
        assert!(matches!(said(r#"{"result":"ok"}"#), Said::Answer(_)));
        assert!(matches!(said("[]"), Said::Answer(_)));
    }

    #[test]
    fn requests_stand_in_wayfires_words() {
        let key = Request::Key { key: "KEY_A".into(), pressed: true };
        assert_eq!(
            serde_json::to_value(Call::of(&key)).unwrap(),
            json!({ "method": "stipc/feed_key", "data": { "key": "KEY_A", "state": true } })
        );
        let touch = Request::Touch { finger: 1, x: 2.5, y: 3.0 };
        assert_eq!(
            serde_json::to_value(Call::of(&touch)).unwrap(),
            json!({ "method": "stipc/touch", "data": { "finger": 1, "x": 2.5, "y": 3.0 } })
        );
    }
}
