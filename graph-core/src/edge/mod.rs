//! Edges: typed, bounded queues from one output to one input.

mod cross;
mod link;
mod local;
mod wire;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

pub(crate) use cross::{CrossRx, CrossTx};
pub(crate) use link::{Rx, Tx, link_cross, link_local};
pub(crate) use local::Local;
pub(crate) use wire::WireTable;

use crate::{
    bell::Waker,
    file::{Capacity, Full, QueueSpec},
    measure::{EdgeMeter, Side},
    run::RunCore,
    time::{Nanos, Stamp},
};

/// What a queue that is bound in time holds at most, in packets.
pub(crate) const TIMED_PACKETS: usize = 1024;

fn packets(capacity: Capacity) -> usize {
    match capacity {
        Capacity::Packets(packets) => packets.max(1),
        Capacity::Time(_) => TIMED_PACKETS,
    }
}

/// What both ends of an edge see.
pub(crate) struct EdgeState {
    pub(crate) meter: Arc<EdgeMeter>,
    pub(crate) queue: QueueSpec,
    run: Arc<RunCore>,
    producer: Waker,
    consumer: Waker,
    /// The producer sends no more.
    closed: AtomicBool,
    /// The consumer takes no more.
    gone: AtomicBool,
    /// The producer waits for room.
    blocked: AtomicBool,
    /// When the producer was first kept from stepping by this edge; 0 while it is not. Only the producer's lane
    /// uses it.
    blocked_since: AtomicU64,
    /// When the packet taken last was sent: a lower bound of the front's.
    front_sent: AtomicU64,
}

impl EdgeState {
    pub(crate) fn new(
        meter: Arc<EdgeMeter>,
        queue: QueueSpec,
        run: Arc<RunCore>,
        producer: Waker,
        consumer: Waker,
    ) -> EdgeState {
        EdgeState {
            meter,
            queue,
            run,
            producer,
            consumer,
            closed: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            blocked: AtomicBool::new(false),
            blocked_since: AtomicU64::new(0),
            front_sent: AtomicU64::new(0),
        }
    }

    /// End of stream: what is queued is the last. Ordered after every push before it.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.consumer.wake();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// The consumer takes no more: what is sent from now on is lost.
    pub(crate) fn leave(&self) {
        self.gone.store(true, Ordering::Release);
        self.producer.wake();
    }

    pub(crate) fn is_left(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Whether a queue of `length` packets takes `burst` more.
    #[inline]
    fn has_room(&self, length: usize, burst: usize, now: Stamp) -> bool {
        if self.queue.full != Full::Block || length == 0 {
            return true;
        }
        match self.queue.capacity {
            Capacity::Packets(packets) => length + burst <= packets.max(burst),
            Capacity::Time(bound) => length + burst <= TIMED_PACKETS && !self.is_over_time(bound, now),
        }
    }

    /// Whether a queue of `length` packets is full for one more.
    #[inline]
    fn is_full(&self, length: usize, now: Stamp) -> bool {
        match self.queue.capacity {
            Capacity::Packets(packets) => length >= packets.max(1),
            Capacity::Time(bound) => length >= TIMED_PACKETS || length > 0 && self.is_over_time(bound, now),
        }
    }

    fn is_over_time(&self, bound: Nanos, now: Stamp) -> bool {
        now.since(Stamp(self.front_sent.load(Ordering::Relaxed))).is_some_and(|waited| waited >= bound)
    }

    /// The producer found a packet that does not fit.
    fn dropped(&self, now: Stamp) {
        self.meter.dropped(Side::Producer, self.run.is_warming_up(now));
    }

    /// Asks to be woken when there is room. The caller looks once more afterwards.
    fn ask_for_room(&self) {
        self.blocked.store(true, Ordering::SeqCst);
    }

    /// The edge keeps its producer from stepping.
    pub(crate) fn blocked(&self, now: Stamp) {
        if self.blocked_since.load(Ordering::Relaxed) == 0 {
            self.blocked_since.store(now.0, Ordering::Relaxed);
        }
    }

    /// The edge does not keep its producer from stepping any more: the time it did is charged to it.
    #[inline]
    pub(crate) fn unblocked(&self, now: Stamp) {
        let since = self.blocked_since.load(Ordering::Relaxed);
        if since != 0 {
            self.blocked_since.store(0, Ordering::Relaxed);
            self.meter.blocked(now.since(Stamp(since)).unwrap_or(Nanos::ZERO));
        }
    }

    /// A packet that was sent at `sent` left the queue.
    #[inline]
    fn freed(&self, sent: Stamp) {
        if matches!(self.queue.capacity, Capacity::Time(_)) {
            self.front_sent.store(sent.0, Ordering::Relaxed);
        }
    }

    /// Wakes the producer if it waits for room. Ordered after the removal from the queue.
    #[inline]
    fn tell_of_room(&self) {
        if self.blocked.load(Ordering::SeqCst) && self.blocked.swap(false, Ordering::SeqCst) {
            self.producer.wake();
        }
    }
}
