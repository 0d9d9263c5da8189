//! Times of packets that their meter learns of some at a time.

use std::cell::Cell;

use super::EdgeMeter;

/// Latency and age of the last packets of an edge, in nanoseconds, until they are published to its meter.
///
/// Only for an edge of which no more is measured ([`EdgeMeter::is_plain`]), and not for its worst packets, of which more
/// is kept than that. How many wait is the owner's to know, which has it where it is at hand.
#[derive(Debug)]
pub(crate) struct Pending([Cell<[u32; 2]>; Pending::ROOM as usize]);

impl Pending {
    /// A histogram lies on pages of its own, and so many visits at once cost little more than one.
    pub(crate) const ROOM: u32 = 64;

    pub(crate) fn new() -> Pending {
        Pending([const { Cell::new([0; 2]) }; Pending::ROOM as usize])
    }

    /// Keeps the times of a packet at a place below [`Pending::ROOM`].
    #[inline(always)]
    pub(crate) fn put(&self, at: u32, latency: u32, age: u32) {
        self.0[(at % Pending::ROOM) as usize].set([latency, age]);
    }

    /// Tells the meter of the first `waiting` packets.
    pub(crate) fn publish(&self, waiting: u32, meter: &EdgeMeter) {
        if waiting > 0 {
            meter.taken_plainly(&self.0[..waiting as usize]);
        }
    }
}
