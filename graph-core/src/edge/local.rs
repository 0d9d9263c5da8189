//! An edge inside a lane: a plain queue whose front has a place of its own, since there is seldom more.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    sync::Arc,
};

use super::{EdgeState, packets};
use crate::{
    file::{Capacity, Full},
    kind::Trigger,
    lane::Deck,
    measure::Side,
    packet::{Header, Packet},
    record::Recorder,
    time::Stamp,
    wiring::{InputView, OutputView, Queued},
};

/// An edge inside a lane, both ends of it.
///
/// A packet's `sent` is the end of the step that emitted it, which is not known before. Until the next step that emits
/// here it is zero, and the producer's [`Place`](crate::lane::Place) has the stamp.
pub(crate) struct Local<T> {
    /// Of the oldest packet.
    header: Cell<Header>,
    /// `None` where the queue is empty.
    payload: Cell<Option<T>>,
    length: Cell<u32>,
    /// With so many packets the edge keeps its producer from stepping.
    full_at: Cell<u32>,
    /// The step that pushed last.
    pushed_in: Cell<u64>,
    deck: Rc<Deck>,
    producer: usize,
    consumer: usize,
    triggers: bool,
    /// Whether every push simply queues: nothing is dropped, nobody has left and no bound is in time.
    is_plain: Cell<bool>,
    pub(crate) recorder: Recorder,
    rest: RefCell<VecDeque<Packet<T>>>,
    pub(crate) state: Arc<EdgeState>,
    burst: Cell<usize>,
}

/// What an edge inside a lane joins, by place in the lane.
#[derive(Clone)]
pub(crate) struct Ends {
    pub(crate) deck: Rc<Deck>,
    pub(crate) producer: usize,
    pub(crate) consumer: usize,
}

impl<T> Local<T> {
    pub(crate) fn new(state: Arc<EdgeState>, ends: Ends, recorder: Recorder) -> Local<T> {
        let Ends { deck, producer, consumer } = ends;
        // A step may go over the capacity by its burst.
        let room = packets(state.queue.capacity) * 2;
        let is_plain = state.queue.full == Full::Block
            && matches!(state.queue.capacity, Capacity::Packets(_))
            && producer != consumer;
        Local {
            header: Cell::default(),
            payload: Cell::new(None),
            length: Cell::new(0),
            full_at: Cell::new(u32::MAX),
            pushed_in: Cell::new(0),
            deck,
            producer,
            consumer,
            triggers: state.trigger != Trigger::Latch,
            is_plain: Cell::new(is_plain),
            recorder,
            rest: RefCell::new(VecDeque::with_capacity(room)),
            state,
            burst: Cell::new(1),
        }
    }

    /// The producer emits at most so many packets in a step.
    pub(crate) fn expect_bursts(&self, burst: usize) {
        self.burst.set(burst);
        if let (Full::Block, Capacity::Packets(packets)) = (self.state.queue.full, self.state.queue.capacity) {
            let full_at = packets.max(burst) - burst + 1;
            self.full_at.set(u32::try_from(full_at).unwrap_or(u32::MAX));
        }
    }

    /// Queues a packet whose `sent` is the end of this step. Returns whether the edge overflowed.
    #[inline]
    pub(crate) fn push(&self, header: Header, payload: T, now: Stamp) -> bool {
        self.state.meter.sent();
        if self.is_plain.get() {
            self.enqueue(header, payload);
            false
        } else {
            self.push_bounded(header, payload, now)
        }
    }

    fn push_bounded(&self, mut header: Header, payload: T, now: Stamp) -> bool {
        let meter = &self.state.meter;
        if self.state.is_left() {
            meter.lost(Side::Producer, 1);
            return false;
        }
        let full = self.state.queue.full;
        while full != Full::Block && self.state.is_full(self.len(), now) {
            self.state.dropped(now);
            match full {
                Full::DropOldest => drop(self.pop()),
                Full::Fail => return true,
                Full::DropNewest | Full::Block => return false,
            }
        }
        if self.producer == self.consumer {
            // It may take the packet in the very step that emits it.
            header.sent = now;
        }
        if self.is_empty() {
            self.state.front_is_since(now);
        }
        self.enqueue(header, payload);
        false
    }

    #[inline]
    fn enqueue(&self, header: Header, payload: T) {
        let (length, step) = (self.length.get(), self.deck.step());
        if length == 0 {
            self.header.set(header);
            self.payload.set(Some(payload));
        } else {
            self.enqueue_behind(header, payload, step);
        }
        self.pushed_in.set(step);
        self.length.set(length + 1);
        if length + 1 == self.full_at.get() {
            let full = &self.deck.place(self.producer).full;
            full.set(full.get() + 1);
        }
        if self.triggers {
            let queued = &self.deck.place(self.consumer).queued;
            queued.set(queued.get() + 1);
            self.deck.mark(self.consumer);
        }
    }

    fn enqueue_behind(&self, header: Header, payload: T, step: u64) {
        let mut rest = self.rest.borrow_mut();
        if self.pushed_in.get() != step {
            // Those of the step before: its end is known, and will not be for long.
            let sent = self.deck.place(self.producer).ended.get();
            let unsent = rest.iter_mut().rev().take_while(|packet| packet.header.sent == Stamp::ZERO);
            unsent.for_each(|packet| packet.header.sent = sent);
            let front = self.header.get();
            if front.sent == Stamp::ZERO {
                self.header.set(Header { sent, ..front });
            }
        }
        rest.push_back(Packet { header, payload });
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<Packet<T>> {
        let payload = self.payload.take()?;
        let mut header = self.header.get();
        if header.sent == Stamp::ZERO {
            header.sent = self.deck.place(self.producer).ended.get();
        }
        let length = self.length.get();
        self.length.set(length - 1);
        if length > 1 {
            self.advance();
        }
        if self.triggers {
            let queued = &self.deck.place(self.consumer).queued;
            queued.set(queued.get() - 1);
        }
        if length == self.full_at.get() {
            let full = &self.deck.place(self.producer).full;
            full.set(full.get() - 1);
            self.tell_of_room();
        } else if !self.is_plain.get() {
            self.tell_of_room();
        }
        Some(Packet { header, payload })
    }

    /// The next packet becomes the front.
    fn advance(&self) {
        if let Some(Packet { header, payload }) = self.rest.borrow_mut().pop_front() {
            let sent = match header.sent {
                Stamp::ZERO => self.deck.place(self.producer).ended.get(),
                sent => sent,
            };
            self.state.front_is_since(sent);
            self.header.set(header);
            self.payload.set(Some(payload));
        }
    }

    fn tell_of_room(&self) {
        if self.deck.place(self.producer).refused.get() {
            self.deck.mark(self.producer);
        }
    }

    fn len(&self) -> usize {
        self.length.get() as usize
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.length.get() == 0
    }
}

impl<T> InputView for Local<T> {
    #[inline]
    fn look(&self) -> Queued {
        match (self.is_empty(), self.state.is_closed()) {
            (false, _) => Queued::Packet,
            (true, false) => Queued::Nothing,
            (true, true) => Queued::Ended,
        }
    }

    fn must_be_asked(&self) -> bool {
        false
    }

    fn state(&self) -> &EdgeState {
        &self.state
    }

    fn leave(&self) {
        self.state.leave();
        while self.pop().is_some() {
            self.recorder.meter.left(1);
        }
        self.is_plain.set(false);
    }
}

impl<T> OutputView for Local<T> {
    fn has_room(&self, now: Stamp) -> bool {
        self.state.account_for_room(self.state.has_room(self.len(), self.burst.get(), now), now)
    }

    fn must_be_asked(&self) -> bool {
        self.state.queue.full == Full::Block && self.state.is_bound_in_time()
    }

    fn flush(&self) -> bool {
        true
    }

    fn close(&self) {
        self.state.close();
        self.deck.place(self.consumer).ending.set(true);
        self.deck.mark(self.consumer);
    }
}
