//! What sources hand to the parser: devices that come and go, and their events.

use std::sync::Arc;

use arrayvec::ArrayVec;
use graph_core::{Nanos, payload};

use super::{device::Description, event::Event, frame::DeviceId};

/// Events that travel in one packet at most; a longer frame travels in several.
pub const BURST: usize = 64;

/// Events in the order that the device sent them.
pub type Events = ArrayVec<Event, BURST>;

/// News of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Which.
    pub device: DeviceId,
    /// What of it.
    pub news: News,
}
payload!(Input, "touch input");

/// What can happen with a device.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all are events, and they must not be allocated")]
pub enum News {
    /// It is there. What touches it already comes as events.
    Added(Arc<Description>),
    /// Events up to a report, or as many as a packet holds.
    Events(Events),
    /// It is gone.
    Removed,
}

/// Events of a recording that belong together, at most as many as a packet holds, each with its time.
pub(crate) fn bursts(events: &[(Nanos, Event)]) -> Vec<(Nanos, Events)> {
    let mut bursts = Vec::new();
    let mut burst = Events::new();
    for (number, (time, event)) in events.iter().enumerate() {
        burst.push(*event);
        if event.is_report() || burst.is_full() || number + 1 == events.len() {
            bursts.push((*time, std::mem::take(&mut burst)));
        }
    }
    bursts
}
