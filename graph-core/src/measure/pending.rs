//! Times of packets that their meter learns of some at a time.

use std::cell::Cell;

use super::EdgeMeter;

/// A histogram lies on pages of its own, and 16 visits at once cost little more than one.
const TOGETHER: usize = 16;

/// Latency and age of the last packets of an edge, until they are published to its meter.
///
/// Only for an edge of which no more is measured ([`EdgeMeter::is_plain`]), and not for its worst packets, of which more
/// is kept than that.
#[derive(Debug)]
pub(crate) struct Pending {
    waiting: Cell<usize>,
    worst_from: Cell<u64>,
    times: [Cell<[u64; 2]>; TOGETHER],
}

impl Pending {
    pub(crate) fn new() -> Pending {
        Pending {
            waiting: Cell::new(0),
            worst_from: Cell::new(0),
            times: [const { Cell::new([0; 2]) }; TOGETHER],
        }
    }

    /// Whether a packet may be among the worst.
    #[inline]
    pub(crate) fn is_worst(&self, latency: u64) -> bool {
        latency >= self.worst_from.get()
    }

    /// Adds a packet. Returns whether it is time to publish.
    #[inline]
    pub(crate) fn push(&self, latency: u64, age: u64) -> bool {
        let at = self.waiting.get() % TOGETHER;
        self.times[at].set([latency, age]);
        self.waiting.set(at + 1);
        at + 1 == TOGETHER
    }

    /// Tells the meter of all packets that wait.
    #[inline(never)]
    pub(crate) fn publish(&self, meter: &EdgeMeter) {
        let waiting = self.waiting.replace(0);
        meter.taken_plainly(self.times[..waiting].iter().map(Cell::get));
        self.worst_from.set(meter.worst_from());
    }
}
