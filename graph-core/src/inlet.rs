//! How threads that are no lanes hand data to a node: callbacks of sound cards, GStreamer, network libraries.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crossbeam_queue::ArrayQueue;

use crate::{
    bell::Waker,
    time::{Clock, Stamp},
};

struct Shared<T> {
    queue: ArrayQueue<(Stamp, T)>,
    refused: AtomicU64,
    waker: Waker,
    clock: Clock,
}

/// The foreign thread's end; any number of threads may hold a clone.
pub struct Inlet<T>(Arc<Shared<T>>);

impl<T> Clone for Inlet<T> {
    fn clone(&self) -> Self {
        Inlet(self.0.clone())
    }
}

/// The node's end.
pub struct InletPort<T>(Arc<Shared<T>>);

pub(crate) fn inlet<T: Send>(capacity: usize, waker: Waker, clock: Clock) -> (Inlet<T>, InletPort<T>) {
    let queue = ArrayQueue::new(capacity.max(1));
    let shared = Arc::new(Shared { queue, refused: AtomicU64::new(0), waker, clock });
    (Inlet(shared.clone()), InletPort(shared))
}

impl<T> Inlet<T> {
    /// Hands over a piece that came to exist now, and wakes the node. Never blocks and never allocates; gives the
    /// piece back when there is no room, which is counted.
    pub fn try_send(&self, piece: T) -> Result<(), T> {
        self.try_send_at(self.0.clock.now(), piece)
    }

    /// As [`Inlet::try_send`], for a piece whose origin is known better: the device's stamp.
    pub fn try_send_at(&self, origin: Stamp, piece: T) -> Result<(), T> {
        let sent = self.0.queue.push((origin, piece)).map_err(|(_, piece)| {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
            piece
        });
        self.0.waker.wake();
        sent
    }
}

impl<T> InletPort<T> {
    /// The oldest piece and its origin.
    pub fn take(&mut self) -> Option<(Stamp, T)> {
        self.0.queue.pop()
    }

    /// Pieces that found no room so far.
    pub fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bell::Bell;

    #[test]
    fn pieces_arrive_in_order_with_their_origins_and_what_does_not_fit_is_counted() {
        let clock = Clock::new_virtual();
        let bell = Arc::new(Bell::new(1));
        let (inlet, mut port) = inlet(2, Waker::new(bell.clone(), 0), clock.clone());
        let elsewhere = inlet.clone();
        let thread = std::thread::spawn(move || {
            [elsewhere.try_send("a"), elsewhere.try_send_at(Stamp(7), "b"), elsewhere.try_send("c")]
        });
        assert_eq!(thread.join().expect("the thread ends"), [Ok(()), Ok(()), Err("c")]);
        assert!(!bell.doze(), "the node was woken");
        assert_eq!(port.take(), Some((clock.now(), "a")));
        assert_eq!(port.take(), Some((Stamp(7), "b")));
        assert_eq!((port.take(), port.refused()), (None, 1));
    }
}
