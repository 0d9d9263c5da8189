//! Edges: typed, bounded queues from one output to one input.

mod cross;
#[cfg(all(test, loom))]
mod interleavings;
mod link;
mod local;
#[cfg(loom)]
mod modelled_ring;
mod ring;
mod wire;

use std::sync::Arc;

pub(crate) use link::{LocalView, Rx, RxEnd, Tx, TxEnd, link_cross, link_local, local_view};
pub(crate) use local::{Ends, Local};
pub use ring::RingKind;
pub(crate) use wire::WireTable;

use crate::{
    bell::Waker,
    file::{Capacity, Full, QueueSpec},
    kind::Trigger,
    measure::{EdgeMeter, Side},
    run::RunCore,
    sync::atomic::{AtomicBool, AtomicU64, Ordering, fence},
    time::{Nanos, Stamp},
};

/// What a queue that is bound in time holds at most, in packets.
const TIMED_PACKETS: usize = 1024;

/// How many packets a queue of that capacity holds at most.
pub(crate) fn packets(capacity: Capacity) -> usize {
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
    /// What a packet does at its consumer.
    pub(crate) trigger: Trigger,
    /// Whether the edge closes a cycle on purpose.
    pub(crate) feedback: bool,
    /// The producer sends no more.
    closed: AtomicBool,
    /// The consumer takes no more.
    gone: AtomicBool,
    /// The producer waits for room.
    blocked: AtomicBool,
    /// When the producer was first kept from stepping by this edge; 0 while it is not. Only the producer's lane
    /// uses it.
    blocked_since: AtomicU64,
    /// A lower bound of when the front was sent, where the queue is bound in time.
    front_sent: AtomicU64,
}

/// What an edge joins.
pub(crate) struct Join {
    pub(crate) meter: Arc<EdgeMeter>,
    pub(crate) producer: Waker,
    pub(crate) consumer: Waker,
    pub(crate) trigger: Trigger,
    pub(crate) feedback: bool,
}

impl EdgeState {
    pub(crate) fn new(join: Join, queue: QueueSpec, run: Arc<RunCore>) -> EdgeState {
        let Join { meter, producer, consumer, trigger, feedback } = join;
        EdgeState {
            meter,
            queue,
            run,
            producer,
            consumer,
            trigger,
            feedback,
            closed: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            blocked: AtomicBool::new(false),
            blocked_since: AtomicU64::new(0),
            front_sent: AtomicU64::new(0),
        }
    }

    /// When the edge began to keep its producer from stepping; `None` while it does not.
    pub(crate) fn kept_since(&self) -> Option<Stamp> {
        let since = self.blocked_since.load(Ordering::Acquire);
        (since != 0).then_some(Stamp(since))
    }

    /// Whether the queue has no room for `burst` more, as far as its meter knows.
    pub(crate) fn seems_full(&self, burst: usize, now: Stamp) -> bool {
        let queued = usize::try_from(self.meter.counts().queued()).unwrap_or(usize::MAX);
        !self.has_room(queued, burst, now)
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

    /// Whether a queue of `length` packets takes `burst` more. Nobody takes what is left once the consumer is gone, so
    /// that it keeps no producer.
    #[inline]
    fn has_room(&self, length: usize, burst: usize, now: Stamp) -> bool {
        if self.queue.full != Full::Block || length == 0 || self.is_left() {
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

    #[inline]
    fn is_bound_in_time(&self) -> bool {
        matches!(self.queue.capacity, Capacity::Time(_))
    }

    fn is_over_time(&self, bound: Nanos, now: Stamp) -> bool {
        now.since(Stamp(self.front_sent.load(Ordering::Relaxed))).is_some_and(|waited| waited >= bound)
    }

    /// A packet was handed over to another lane.
    #[inline]
    fn tell_of_packet(&self) {
        if self.trigger != Trigger::Latch {
            self.consumer.nudge();
        }
    }

    /// The producer found a packet that does not fit.
    fn dropped(&self, now: Stamp) {
        self.meter.dropped(Side::Producer, self.run.is_warming_up(now));
    }

    /// Asks to be woken when there is room. The caller looks once more afterwards.
    fn ask_for_room(&self) {
        self.blocked.store(true, Ordering::Relaxed);
        // Pairs with the fence in `surely_tell_of_room`: either the caller sees the room, or the consumer sees the wish.
        fence(Ordering::SeqCst);
    }

    /// The producer wanted to step, and there was room or not: the time that the edge kept it is charged to the edge.
    #[inline]
    fn account_for_room(&self, room: bool, now: Stamp) -> bool {
        let since = self.blocked_since.load(Ordering::Relaxed);
        if room && since != 0 {
            self.blocked_since.store(0, Ordering::Relaxed);
            self.meter.blocked(now.since(Stamp(since)).unwrap_or(Nanos::ZERO));
        } else if !room && since == 0 {
            self.blocked_since.store(now.0, Ordering::Release);
        }
        room
    }

    /// No packet in the queue was sent before `sent`.
    #[inline]
    fn front_is_since(&self, sent: Stamp) {
        if self.is_bound_in_time() {
            self.front_sent.fetch_max(sent.0, Ordering::Relaxed);
        }
    }

    /// Wakes the producer if it is seen to wait for room; called after the removal from the queue. It may be missed: who
    /// calls this calls [`EdgeState::surely_tell_of_room`] before long.
    #[inline]
    fn tell_of_room(&self) {
        if self.blocked.load(Ordering::Relaxed) && self.blocked.swap(false, Ordering::Relaxed) {
            self.producer.wake();
        }
    }

    /// Wakes the producer if it waits for room.
    #[inline]
    fn surely_tell_of_room(&self) {
        if self.queue.full == Full::Block {
            fence(Ordering::SeqCst);
            self.tell_of_room();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{cross::cross, *};
    use crate::{
        bell::Bell,
        budget::Budget,
        file::WarmUp,
        lane::Deck,
        measure::{Counts, EdgeSpec},
        packet::{Header, Packet},
        record::Recorder,
        time::Clock,
        trail::Trails,
    };

    fn state(capacity: Capacity, full: Full) -> Arc<EdgeState> {
        let spec = EdgeSpec { budget: &Budget::default(), many: false, queued: true, all: false };
        let (run, _) = RunCore::new(Clock::new_virtual(), Trails::new(0), Vec::new(), WarmUp::None);
        let bell = Arc::new(Bell::new(2));
        let queue = QueueSpec { capacity, full, ..QueueSpec::default() };
        let waker = |node| Waker::new(bell.clone(), node);
        let meter = Arc::new(EdgeMeter::new(&spec));
        let join = Join {
            meter,
            producer: waker(0),
            consumer: waker(1),
            trigger: Trigger::Trigger,
            feedback: false,
        };
        Arc::new(EdgeState::new(join, queue, Arc::new(run)))
    }

    fn sent_at(sent: u64) -> Packet<()> {
        Packet { header: Header { sent: Stamp(sent), ..Header::default() }, payload: () }
    }

    #[test]
    fn a_queue_bound_in_time_goes_by_its_front_and_not_by_what_was_taken_long_ago() {
        for full in [Full::DropNewest, Full::DropOldest] {
            let (mut tx, mut rx) = cross::<()>(state(Capacity::Time(Nanos(5)), full));
            let local = state(Capacity::Time(Nanos(5)), full);
            let deck = std::rc::Rc::new(Deck::new(2, 1));
            let ends = Ends { deck: deck.clone(), number: 0, producer: 0, consumer: 1 };
            let recorder = Recorder::new(local.meter.clone(), local.run.clone(), None, Vec::new());
            let edge = Local::new(local.clone(), ends, recorder);
            for sent in [100, 1_000, 1_001] {
                tx.push(sent_at(sent));
                edge.push(Header::default(), (), Stamp(sent));
                deck.place(0).end_step(Stamp(sent));
                if sent == 100 {
                    assert!(rx.pop().is_some() && edge.pop().is_some());
                }
            }
            assert_eq!((tx.state.meter.counts().dropped, local.meter.counts().dropped), (0, 0), "{full:?}");
            tx.push(sent_at(1_005));
            edge.push(Header::default(), (), Stamp(1_005));
            // A ring that is stolen from shows its front only when that is gone.
            let stolen = if full == Full::DropOldest { 2 } else { 1 };
            assert_eq!(
                (tx.state.meter.counts().dropped, local.meter.counts().dropped),
                (stolen, 1),
                "{full:?}"
            );
        }
    }

    #[test]
    fn an_edge_that_nobody_takes_from_any_more_keeps_no_producer() {
        let (mut tx, mut rx) = cross::<()>(state(Capacity::Packets(1), Full::Block));
        for sent in [1, 2, 3] {
            tx.push(sent_at(sent));
        }
        assert!(!tx.has_room(1, Stamp(4)), "one in the ring, two beside it");
        tx.state.leave();
        assert!(tx.has_room(1, Stamp(5)));
        tx.push(sent_at(6));
        assert!(rx.pop().is_some());
        tx.state.meter.left(1);
        let counts = tx.state.meter.counts();
        assert_eq!((counts, counts.balance()), (Counts { sent: 4, lost: 3, left: 1, ..counts }, true));
    }

    #[test]
    fn a_producer_that_was_refused_is_woken_by_the_next_packet_taken() {
        let state = state(Capacity::Packets(1), Full::Block);
        let (mut tx, mut rx) = cross::<()>(state.clone());
        tx.push(sent_at(1));
        tx.push(sent_at(2));
        assert!(!tx.flush());
        assert!(state.blocked.load(Ordering::Relaxed));
        assert!(rx.pop().is_some());
        state.surely_tell_of_room();
        assert!(!state.blocked.load(Ordering::Relaxed), "the wish was answered");
        assert!(tx.flush());
    }
}
