//! An edge inside a lane: a plain queue whose front has a place of its own, since there is seldom more.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    sync::Arc,
};

use super::{EdgeState, packets};
use crate::{
    context::Ctx,
    file::{Capacity, Full},
    kind::Trigger,
    lane::{Deck, Place},
    measure::{Pending, Side},
    packet::{Cause, Header, Packet},
    record::Recorder,
    time::Stamp,
    wiring::{InputView, OutputView, Queued},
};

/// An edge inside a lane, both ends of it.
///
/// A packet's `sent` is the end of the step that emitted it, which is not known before. Until the next step that emits
/// here it is zero, and the producer's [`Place`] has the stamp.
#[repr(C)]
pub(crate) struct Local<T> {
    /// Whether every push simply queues and marks: nothing is dropped, nobody has left, no bound is in time, and a packet
    /// makes the consumer step.
    pushes_plainly: Cell<bool>,
    /// Whether a packet of no turn that is taken is only timed, for latency and age.
    takes_plainly: Cell<bool>,
    is_published: Cell<bool>,
    triggers: bool,
    length: Cell<u32>,
    /// With so many packets the edge keeps its producer from stepping.
    full_at: Cell<u32>,
    number: u32,
    producer: Rc<Place>,
    consumer: Rc<Place>,
    /// Packets sent that the meter does not know of.
    sent: Cell<u64>,
    /// The producer's step that pushed last.
    pushed_in: Cell<u64>,
    /// Of the oldest packet.
    header: Cell<Header>,
    deck: Rc<Deck>,
    consumer_node: usize,
    producer_node: usize,
    /// Of packets taken plainly that the meter does not know of.
    pending: Pending,
    pub(crate) recorder: Recorder,
    rest: RefCell<VecDeque<Packet<T>>>,
    pub(crate) state: Arc<EdgeState>,
    burst: Cell<usize>,
    /// `None` where the queue is empty.
    payload: Cell<Option<T>>,
}

/// What an edge inside a lane joins.
#[derive(Clone)]
pub(crate) struct Ends {
    pub(crate) deck: Rc<Deck>,
    /// Of the edge among those of the lane.
    pub(crate) number: usize,
    /// By place in the lane.
    pub(crate) producer: usize,
    /// By place in the lane.
    pub(crate) consumer: usize,
}

impl<T> Local<T> {
    pub(crate) fn new(state: Arc<EdgeState>, ends: Ends, recorder: Recorder) -> Local<T> {
        let Ends { deck, number, producer, consumer } = ends;
        // A step may go over the capacity by its burst.
        let room = packets(state.queue.capacity) * 2;
        let triggers = state.trigger != Trigger::Latch;
        let pushes_plainly = triggers
            && state.queue.full == Full::Block
            && matches!(state.queue.capacity, Capacity::Packets(_))
            && producer != consumer;
        Local {
            pushes_plainly: Cell::new(pushes_plainly),
            takes_plainly: Cell::new(false),
            is_published: Cell::new(true),
            triggers,
            length: Cell::new(0),
            full_at: Cell::new(u32::MAX),
            number: u32::try_from(number).expect("edges are far fewer"),
            producer: deck.place(producer).clone(),
            consumer: deck.place(consumer).clone(),
            sent: Cell::new(0),
            pushed_in: Cell::new(0),
            header: Cell::default(),
            deck,
            consumer_node: consumer,
            producer_node: producer,
            pending: Pending::new(),
            recorder,
            rest: RefCell::new(VecDeque::with_capacity(room)),
            state,
            burst: Cell::new(1),
            payload: Cell::new(None),
        }
    }

    /// The producer emits at most so many packets in a step.
    pub(crate) fn expect_bursts(&self, burst: usize) {
        self.burst.set(burst);
        if let (Full::Block, Capacity::Packets(packets)) = (self.state.queue.full, self.state.queue.capacity)
        {
            let full_at = packets.max(burst) - burst + 1;
            self.full_at.set(u32::try_from(full_at).unwrap_or(u32::MAX));
        }
    }

    /// Queues a packet whose `sent` is the end of this step. Returns whether the edge overflowed.
    #[inline]
    pub(crate) fn push(&self, header: Header, payload: T, now: Stamp) -> bool {
        self.sent.set(self.sent.get() + 1);
        if !self.is_published.get() && self.length.get() == 0 && self.pushes_plainly.get() {
            self.put_in_front(header, payload);
            return false;
        }
        self.push_with_care(header, payload, now)
    }

    #[inline]
    fn put_in_front(&self, header: Header, payload: T) {
        self.header.set(header);
        self.payload.set(Some(payload));
        self.pushed_in.set(self.producer.step());
        self.length.set(1);
        if self.full_at.get() == 1 {
            self.producer.is_kept(true);
        }
        if self.triggers {
            self.consumer.queue_one();
            self.deck.hand_over_to(self.consumer_node);
        }
    }

    #[inline(never)]
    fn push_with_care(&self, mut header: Header, payload: T, now: Stamp) -> bool {
        if self.is_published.replace(false) {
            self.deck.is_unpublished(self.number as usize);
        }
        if self.state.is_left() {
            self.state.meter.lost(Side::Producer, 1);
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
        if self.producer_node == self.consumer_node {
            // It may take the packet in the very step that emits it.
            header.sent = now;
        }
        if self.is_empty() {
            self.state.front_is_since(now);
            self.put_in_front(header, payload);
        } else {
            self.put_behind(header, payload);
        }
        false
    }

    fn put_behind(&self, header: Header, payload: T) {
        let mut rest = self.rest.borrow_mut();
        if self.pushed_in.get() != self.producer.step() {
            // Those of the step before: its end is known, and will not be for long.
            let sent = self.producer.ended();
            let unsent = rest.iter_mut().rev().take_while(|packet| packet.header.sent == Stamp::ZERO);
            unsent.for_each(|packet| packet.header.sent = sent);
            let front = self.header.get();
            if front.sent == Stamp::ZERO {
                self.header.set(Header { sent, ..front });
            }
        }
        rest.push_back(Packet { header, payload });
        self.pushed_in.set(self.producer.step());
        self.length.set(self.length.get() + 1);
        if self.length.get() == self.full_at.get() {
            self.producer.is_kept(true);
        }
        if self.triggers {
            self.consumer.queue_one();
            self.deck.hand_over_to(self.consumer_node);
        }
    }

    /// Takes the oldest packet where that is simple: `None` also where it is not. Then [`Local::pop`] does it.
    #[inline]
    pub(crate) fn take_plainly(&self, ctx: &mut Ctx<'_>) -> Option<(T, Cause)> {
        let (length, now) = (self.length.get(), ctx.now);
        if length != 1 || !self.takes_plainly.get() {
            return None;
        }
        let header = self.header.get();
        let sent = self.producer.ended();
        let (latency, age) = (now.0.wrapping_sub(header.began.0), now.0.wrapping_sub(header.origin.0));
        let work = sent.0.wrapping_sub(header.began.0).wrapping_sub(header.held.0);
        let wait = now.0.wrapping_sub(sent.0);
        let in_order = ((latency | age | work | wait) as i64) >= 0;
        if header.sent != Stamp::ZERO || header.turn.is_some() || !in_order || self.pending.is_worst(latency)
        {
            return None;
        }
        let payload = self.payload.take()?;
        self.length.set(0);
        self.consumer.take_one();
        if self.full_at.get() == 1 {
            self.has_room_again();
        }
        if self.pending.push(latency, age) {
            self.pending.publish(&self.recorder.meter);
        }
        let cause = Cause { origin: header.origin, taken: now, turn: header.turn, trail: header.trail };
        ctx.took(cause);
        Some((payload, cause))
    }

    pub(crate) fn pop(&self) -> Option<Packet<T>> {
        let payload = self.payload.take()?;
        let mut header = self.header.get();
        if header.sent == Stamp::ZERO {
            header.sent = self.producer.ended();
        }
        let length = self.length.get();
        self.length.set(length - 1);
        if length > 1 {
            self.advance();
        }
        if self.triggers {
            self.consumer.take_one();
        }
        if length == self.full_at.get() {
            self.has_room_again();
        } else if !self.pushes_plainly.get() {
            self.tell_of_room();
        }
        Some(Packet { header, payload })
    }

    /// The next packet becomes the front.
    fn advance(&self) {
        if let Some(Packet { header, payload }) = self.rest.borrow_mut().pop_front() {
            let sent = match header.sent {
                Stamp::ZERO => self.producer.ended(),
                sent => sent,
            };
            self.state.front_is_since(sent);
            self.header.set(header);
            self.payload.set(Some(payload));
        }
    }

    #[cold]
    fn has_room_again(&self) {
        self.producer.is_kept(false);
        self.tell_of_room();
    }

    fn tell_of_room(&self) {
        if self.producer.is_any(Place::REFUSED) {
            self.deck.mark(self.producer_node);
        }
    }

    fn tell_meter(&self) {
        self.state.meter.sent(self.sent.take());
        self.pending.publish(&self.recorder.meter);
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

    fn publish(&self) {
        self.is_published.set(true);
        self.tell_meter();
        self.takes_plainly.set(self.triggers && self.state.queue.late.is_none() && self.recorder.is_plain());
    }

    fn number(&self) -> Option<usize> {
        Some(self.number as usize)
    }

    fn leave(&self) {
        self.state.leave();
        self.tell_meter();
        while self.pop().is_some() {
            self.recorder.meter.left(1);
        }
        self.pushes_plainly.set(false);
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
        self.tell_meter();
        self.state.close();
        self.consumer.set(Place::ENDING, true);
        self.deck.mark(self.consumer_node);
    }
}
