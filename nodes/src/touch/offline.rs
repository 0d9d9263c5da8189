//! A recording through parser and engine, without a graph: for tests, fuzzing and whoever wants to know what is in one.

use graph_core::{Nanos, Stamp};

use super::{
    device::DeviceError,
    engine::Told,
    evemu::Recording,
    frame::{DeviceId, Frame},
    fusion::{FusionError, FusionParams},
    parser::{Parser, Tally},
    surface::Orientation,
};

/// Why a recording cannot be gone through.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OfflineError {
    /// It does not say what device it is of.
    #[error("the recording does not describe its device: put the lines of a description before its events")]
    NoDevice,
    /// The device is no touchscreen.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// There is no such engine.
    #[error(transparent)]
    Engine(#[from] FusionError),
}

/// Goes through a recording, time passing as it did, and tells everything with the time since its begin. Gives its contacts.
///
/// # Errors
/// When the recording has no touchscreen, or the parameters make no engine.
pub fn fuse(
    recording: &Recording,
    params: &FusionParams,
    mut tell: impl FnMut(Nanos, Told),
) -> Result<Tally, OfflineError> {
    let about = recording.device.as_ref().ok_or(OfflineError::NoDevice)?;
    let mut parser = Parser::new(DeviceId(0), about, &Orientation::default())?;
    let mut engine = params.engine()?;
    let mut tally = Tally::default();
    // A stamp of zero is never a time.
    const BEGIN: Stamp = Stamp(1_000_000_000);
    let since = |stamp: Stamp| stamp.since(BEGIN).unwrap_or_default();
    let mut take = |frame: &Frame, now: Stamp| {
        if let Some(due) = engine.deadline().filter(|due| *due < now) {
            engine.tick(due, |told| tell(since(due), told));
        }
        tally.count(frame);
        engine.frame(frame, now, |told| tell(since(now), told));
    };
    let mut now = BEGIN;
    for &(time, event) in &recording.events {
        now = BEGIN + time;
        if let Some(frame) = parser.push(event) {
            take(frame, now);
        }
    }
    if let Some(frame) = parser.lose() {
        take(frame, now);
    }
    Ok(tally)
}
