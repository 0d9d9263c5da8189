//! What a window manager asks of a compositor, and what it is told.

use graph_core::payload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request to the compositor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum Request {
    /// Place a view in a zone.
    AssignZone {
        /// The view's number, from [`Response::Views`].
        view: u32,
        /// The zone's number, from [`Response::Zones`].
        zone: u32,
    },
    /// Which zones are there?
    Zones,
    /// Which views are there?
    Views,
    /// Which outputs are there?
    Outputs,
    /// Put a finger down, or move it.
    Touch {
        /// The finger's number.
        finger: u32,
        /// Pixels from the left of all outputs.
        x: f64,
        /// Pixels from the top of all outputs.
        y: f64,
    },
    /// Lift a finger.
    Release {
        /// The finger's number.
        finger: u32,
    },
    /// Press or release a key.
    Key {
        /// The kernel's name for it, such as `KEY_A`.
        key: String,
        /// Whether it goes down.
        pressed: bool,
    },
}
payload!(Request, "spatial request");

/// What the compositor answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Response {
    /// It is done.
    Ok,
    /// The zones.
    Zones(Vec<Zone>),
    /// The views.
    Views(Vec<View>),
    /// The outputs.
    Outputs(Vec<Output>),
    /// It is not done.
    Error(Refusal),
}
payload!(Response, "spatial response");

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The message is none.
    #[error("the request cannot be read: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such view.
    #[error("there is no view {view}")]
    NoSuchView {
        /// Its number.
        view: u32,
    },
    /// There is no such zone.
    #[error("there is no zone {zone}")]
    NoSuchZone {
        /// Its number.
        zone: u32,
    },
    /// There is no such key.
    #[error("there is no key {key:?}: write the kernel's name, such as KEY_A")]
    NoSuchKey {
        /// Its name.
        key: String,
    },
    /// The homography puts the zone nowhere on the output.
    #[error("zone {zone} is not on the output")]
    OffOutput {
        /// Its number.
        zone: u32,
    },
    /// The compositor says no in words of its own.
    #[error("the compositor refuses: {reason}")]
    Compositor {
        /// Its words.
        reason: String,
    },
}

/// Where a view may be placed: a rectangle on the plane of the zones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Its number.
    pub id: u32,
    /// Left edge, in the plane's units.
    pub x: f32,
    /// Upper edge.
    pub y: f32,
    /// Width, above zero.
    pub width: f32,
    /// Height, above zero.
    pub height: f32,
}

/// A window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Its number.
    pub id: u32,
    /// Which program it belongs to.
    pub app_id: String,
    /// Its title.
    pub title: String,
    /// Where it is on its output.
    pub geometry: Geometry,
}

/// A screen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Its number.
    pub id: u32,
    /// Its name, such as `HEADLESS-1`.
    pub name: String,
    /// Where it is among all outputs.
    pub geometry: Geometry,
}

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Left edge.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    /// Width.
    pub width: i32,
    /// Height.
    pub height: i32,
}

/// What a compositor tells unasked.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened, in the compositor's word, such as `view-mapped`.
    pub name: String,
    /// The view that it is about, where there is one.
    pub view: Option<View>,
}
payload!(Event, "compositor event");
