//! Touchscreens: from the kernel's events, or a recording of them, to gestures and what they do.
//!
//! Pure, with time passed in: [`event`], [`evemu`], [`device`], [`surface`], [`parser`], [`tracker`], [`classifier`],
//! [`keyboard`], [`actions`], and [`engine`], which is the last four together. The rest are nodes and what they need.

pub mod actions;
pub mod classifier;
pub mod device;
pub mod engine;
pub mod evdev_source;
pub mod evemu;
pub mod event;
pub mod event_log;
pub mod frame;
pub mod fusion;
pub mod gesture;
pub mod input;
mod kernel;
pub mod keyboard;
pub mod offline;
pub mod overlay;
pub mod parse;
pub mod parser;
pub mod picture;
pub mod record;
pub mod replay;
mod screen;
pub mod script;
pub mod surface;
pub mod thresholds;
pub mod tracker;
pub mod uinput;

use graph_core::Registry;

/// Adds the kinds of this domain.
pub fn register(registry: &mut Registry) {
    registry
        .source::<evdev_source::EvdevSource>()
        .node::<event_log::EventLog>()
        .node::<fusion::Fusion>()
        .node::<overlay::Overlay>()
        .transform::<parse::Parse>()
        .sink::<record::Record>()
        .source::<replay::Replay>()
        .sink::<uinput::Uinput>();
}
