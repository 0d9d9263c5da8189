//! Times of packets that their meter learns of some at a time.

use std::cell::Cell;

use super::EdgeMeter;

/// A histogram lies on pages of its own, and so many visits at once cost little more than one.
const TOGETHER: usize = 64;

/// Latency and age of the last packets of an edge, until they are published to its meter.
///
/// Only for an edge of which no more is measured ([`EdgeMeter::is_plain`]), and not for its worst packets, of which more
/// is kept than that.
#[derive(Debug)]
pub(crate) struct Pending {
    waiting: Cell<usize>,
    times: [Cell<[u32; 2]>; TOGETHER],
}

impl Pending {
    pub(crate) fn new() -> Pending {
        Pending { waiting: Cell::new(0), times: [const { Cell::new([0; 2]) }; TOGETHER] }
    }

    /// Adds a packet. Returns whether it is time to publish.
    #[inline(always)]
    pub(crate) fn push(&self, latency: u32, age: u32) -> bool {
        let at = self.waiting.get() % TOGETHER;
        self.times[at].set([latency, age]);
        self.waiting.set(at + 1);
        at + 1 == TOGETHER
    }

    /// Tells the meter of all packets that wait.
    #[inline(never)]
    pub(crate) fn publish(&self, meter: &EdgeMeter) {
        let waiting = self.waiting.replace(0);
        if waiting > 0 {
            meter.taken_plainly(&self.times[..waiting]);
        }
    }
}
