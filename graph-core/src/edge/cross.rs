//! An edge between lanes: a bounded ring with one producer and one consumer.
//!
//! `drop_oldest` needs a ring from which the producer may steal; the other policies take the cheaper one.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    sync::Arc,
};

use crossbeam_queue::ArrayQueue;

#[cfg(loom)]
use super::modelled_ring as rtrb;
use super::{EdgeState, packets};
use crate::{
    file::{Capacity, Full},
    measure::Side,
    packet::Packet,
    prefetch::prefetch,
    record::Recorder,
    time::Stamp,
    wiring::{InputView, OutputView, Queued},
};

/// The producer's end as its node and its lane see it.
pub(crate) struct CrossOut<T> {
    tx: RefCell<CrossTx<T>>,
    burst: usize,
}

/// The consumer's end as its node and its lane see it.
pub(crate) struct CrossIn<T> {
    rx: RefCell<CrossRx<T>>,
    pub(crate) state: Arc<EdgeState>,
    pub(crate) recorder: Recorder,
    /// Whether a packet was taken whose producer may wait for the room and not know of it.
    owes_room: Cell<bool>,
}

/// The producer's end.
pub(crate) struct CrossTx<T> {
    pub(crate) state: Arc<EdgeState>,
    ring: TxRing<T>,
    /// So many packets surely fit: the consumer's place in the ring was seen then, and looking again costs a cache miss.
    free: usize,
    /// What a step emitted beyond its declared burst; goes out before the node steps again.
    spill: VecDeque<Packet<T>>,
}

/// The consumer's end.
pub(crate) struct CrossRx<T> {
    pub(crate) state: Arc<EdgeState>,
    ring: RxRing<T>,
}

enum TxRing<T> {
    Spsc(rtrb::Producer<Whole<T>>),
    Steal(Arc<ArrayQueue<Packet<T>>>),
}

enum RxRing<T> {
    Spsc(rtrb::Consumer<Whole<T>>),
    Steal(Arc<ArrayQueue<Packet<T>>>),
}

/// A packet that shares no cache line with its neighbours in the ring, which another core is writing or reading.
#[repr(align(64))]
struct Whole<T>(Packet<T>);

pub(crate) fn cross<T>(state: Arc<EdgeState>) -> (CrossTx<T>, CrossRx<T>) {
    let packets = packets(state.queue.capacity);
    let (tx, rx) = if state.queue.full == Full::DropOldest {
        let ring = Arc::new(ArrayQueue::new(packets));
        (TxRing::Steal(ring.clone()), RxRing::Steal(ring))
    } else {
        let (tx, rx) = rtrb::RingBuffer::new(packets);
        (TxRing::Spsc(tx), RxRing::Spsc(rx))
    };
    (
        CrossTx { state: state.clone(), ring: tx, free: packets, spill: VecDeque::new() },
        CrossRx { state, ring: rx },
    )
}

impl<T> CrossOut<T> {
    pub(crate) fn new(tx: CrossTx<T>, burst: usize) -> CrossOut<T> {
        CrossOut { tx: RefCell::new(tx), burst }
    }

    /// Queues a packet that carries its `sent`, and wakes the consumer. Returns whether the edge overflowed.
    #[inline(never)]
    pub(crate) fn push(&self, packet: Packet<T>) -> bool {
        self.tx.borrow_mut().push(packet)
    }
}

impl<T> OutputView for CrossOut<T> {
    fn has_room(&self, now: Stamp) -> bool {
        let mut tx = self.tx.borrow_mut();
        let room = tx.has_room(self.burst, now);
        tx.state.account_for_room(room, now)
    }

    fn must_be_asked(&self) -> bool {
        self.tx.borrow().state.queue.full == Full::Block
    }

    fn flush(&self) -> bool {
        self.tx.borrow_mut().flush()
    }

    fn close(&self) {
        self.tx.borrow().state.close();
    }
}

impl<T> CrossIn<T> {
    pub(crate) fn new(rx: CrossRx<T>, recorder: Recorder) -> CrossIn<T> {
        CrossIn { state: rx.state.clone(), rx: RefCell::new(rx), recorder, owes_room: Cell::new(false) }
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<Packet<T>> {
        let packet = self.rx.borrow_mut().pop()?;
        self.owes_room.set(true);
        Some(packet)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.rx.borrow().is_empty()
    }
}

impl<T> InputView for CrossIn<T> {
    fn look(&self) -> Queued {
        self.recorder.settle();
        if self.owes_room.replace(false) {
            self.state.surely_tell_of_room();
        }
        if !self.is_empty() {
            return Queued::Packet;
        }
        // Once more after the close was seen: the last push is before it.
        match self.state.is_closed() {
            false => Queued::Nothing,
            true if self.is_empty() => Queued::Ended,
            true => Queued::Packet,
        }
    }

    fn has_packet(&self) -> bool {
        self.rx.borrow_mut().fetch_front()
    }

    fn must_be_asked(&self) -> bool {
        true
    }

    fn state(&self) -> &EdgeState {
        &self.state
    }

    fn publish(&self) {}

    fn number(&self) -> Option<usize> {
        None
    }

    fn leave(&self) {
        self.recorder.settle();
        self.state.leave();
        while self.pop().is_some() {
            self.recorder.meter.left(1);
        }
    }
}

impl<T> CrossTx<T> {
    fn len(&mut self) -> usize {
        match &self.ring {
            TxRing::Spsc(ring) => {
                self.free = ring.slots();
                ring.buffer().capacity() - self.free
            }
            TxRing::Steal(ring) => ring.len(),
        }
    }

    /// Whether a burst fits. If not, the producer is woken when there is room.
    pub(crate) fn has_room(&mut self, burst: usize, now: Stamp) -> bool {
        if self.surely_has_room(burst) {
            return true;
        }
        if self.fits(burst, now) {
            return true;
        }
        self.state.ask_for_room();
        self.fits(burst, now)
    }

    fn fits(&mut self, burst: usize, now: Stamp) -> bool {
        if !self.pour() {
            return false;
        }
        let length = self.len();
        self.state.has_room(length, burst, now)
    }

    #[inline]
    fn surely_has_room(&self, burst: usize) -> bool {
        match self.state.queue.capacity {
            Capacity::Packets(packets) => self.spill.is_empty() && self.free >= burst.min(packets),
            Capacity::Time(_) => false,
        }
    }

    /// Moves the spill into the ring. Returns whether none is here any more; if not, the producer is woken when there
    /// is room.
    pub(crate) fn flush(&mut self) -> bool {
        if self.pour() {
            return true;
        }
        self.state.ask_for_room();
        self.pour()
    }

    /// Moves as much of the spill into the ring as fits, or gives it up where nobody takes any more. Returns whether
    /// none is here any more.
    fn pour(&mut self) -> bool {
        if self.spill.is_empty() {
            return true;
        }
        if self.state.is_left() {
            self.state.meter.lost(Side::Producer, self.spill.len() as u64);
            self.spill.clear();
            return true;
        }
        let before = self.spill.len();
        while let Some(packet) = self.spill.pop_front() {
            if let Err(packet) = self.offer(packet) {
                self.spill.push_front(packet);
                break;
            }
        }
        if self.spill.len() < before {
            self.state.tell_of_packet();
        }
        self.spill.is_empty()
    }

    /// Queues a packet that carries its `sent`, and wakes the consumer. Returns whether the edge overflowed.
    pub(crate) fn push(&mut self, packet: Packet<T>) -> bool {
        self.state.meter.sent(1);
        if self.state.is_left() {
            self.state.meter.lost(Side::Producer, 1);
            return false;
        }
        let sent = packet.header.sent;
        if self.state.is_bound_in_time() && self.len() == 0 && self.spill.is_empty() {
            self.state.front_is_since(sent);
        }
        let refused = match self.state.queue.full {
            Full::DropOldest => {
                self.make_room(sent);
                if let TxRing::Steal(ring) = &self.ring
                    && ring.force_push(packet).is_some()
                {
                    self.state.dropped(sent);
                }
                false
            }
            Full::Block => {
                if !self.spill.is_empty() {
                    self.spill.push_back(packet);
                } else if let Err(packet) = self.offer(packet) {
                    self.spill.push_back(packet);
                }
                false
            }
            Full::DropNewest | Full::Fail => {
                let length = self.len();
                self.state.is_full(length, sent) || self.offer(packet).is_err()
            }
        };
        if refused {
            self.state.dropped(sent);
            return self.state.queue.full == Full::Fail;
        }
        self.state.tell_of_packet();
        false
    }

    /// Drops the oldest packets until the queue is within its bound; of a bound in time, until one is that was within it,
    /// since this ring does not show its front.
    fn make_room(&self, now: Stamp) {
        let TxRing::Steal(ring) = &self.ring else { return };
        while self.state.is_full(ring.len(), now)
            && let Some(oldest) = ring.pop()
        {
            self.state.front_is_since(oldest.header.sent);
            self.state.dropped(now);
        }
    }

    fn offer(&mut self, packet: Packet<T>) -> Result<(), Packet<T>> {
        match &mut self.ring {
            TxRing::Spsc(ring) => {
                self.free = self.free.saturating_sub(1);
                ring.push(Whole(packet)).map_err(|rtrb::PushError::Full(Whole(packet))| packet)
            }
            TxRing::Steal(ring) => ring.push(packet),
        }
    }
}

impl<T> CrossRx<T> {
    pub(crate) fn pop(&mut self) -> Option<Packet<T>> {
        let packet = match &mut self.ring {
            RxRing::Spsc(ring) => {
                let Whole(packet) = ring.pop().ok()?;
                if self.state.is_bound_in_time()
                    && let Ok(Whole(front)) = ring.peek()
                {
                    self.state.front_is_since(front.header.sent);
                }
                packet
            }
            RxRing::Steal(ring) => {
                let packet = ring.pop()?;
                self.state.front_is_since(packet.header.sent);
                packet
            }
        };
        self.state.tell_of_room();
        Some(packet)
    }

    /// Whether there is a packet. If so, it is on its way from the other core's cache when it is taken.
    #[inline]
    fn fetch_front(&mut self) -> bool {
        match &mut self.ring {
            RxRing::Spsc(ring) => ring.peek().map(prefetch).is_ok(),
            RxRing::Steal(ring) => !ring.is_empty(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.ring {
            RxRing::Spsc(ring) => ring.is_empty(),
            RxRing::Steal(ring) => ring.is_empty(),
        }
    }
}
