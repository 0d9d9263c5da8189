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
    measure::{MEASURED, Pending, Side},
    packet::{Cause, Header, Packet},
    prefetch::prefetch,
    record::Recorder,
    time::Stamp,
    trail::TrailRef,
    turn::Turn,
    wiring::{InputView, OutputView, Queued},
};

/// Slots for each packet of the capacity: a step may go over it by its burst.
pub(super) const SPARE: usize = 2;

/// An edge inside a lane, both ends of it.
///
/// A packet's `sent` is the end of the step that emitted it, which is not known before. Until the producer's next step it
/// is zero, and the producer's [`Place`] has the stamp.
// In the order in which a hop uses it: all that the plain way looks at but payload and times is one cache line.
#[repr(C, align(64))]
pub(crate) struct Local<T> {
    way: Cell<Way>,
    /// Packets that went plainly and that the meter does not know of.
    waiting: Cell<u32>,
    deck: Rc<Deck>,
    consumer_node: usize,
    /// From which latency on a packet may be among the worst.
    worst_from: Cell<u64>,
    /// Of the packet that goes plainly.
    plain: PlainHeader,
    /// `None` where the queue is empty.
    payload: Cell<Option<T>>,
    /// Times of those that wait.
    pending: Pending,
    producer: Rc<Place>,
    consumer: Rc<Place>,
    /// Of the oldest packet, where it does not go plainly.
    header: Cell<Header>,
    /// Packets sent with care that the meter does not know of.
    sent: Cell<u64>,
    /// Packets queued, where the way does not tell.
    length: Cell<u32>,
    /// With so many packets the edge keeps its producer from stepping.
    full_at: Cell<u32>,
    is_published: Cell<bool>,
    /// Whether its packets go over other edges too.
    is_shared: Cell<bool>,
    number: usize,
    producer_node: usize,
    burst: Cell<usize>,
    pub(crate) recorder: Recorder,
    rest: RefCell<VecDeque<Packet<T>>>,
    pub(crate) state: Arc<EdgeState>,
}

/// What a [`Header`] says of a packet that goes the plain way.
#[derive(Debug, Default)]
#[repr(C)]
struct PlainHeader {
    origin: Cell<Stamp>,
    began: Cell<Stamp>,
    trail: Cell<TrailRef>,
    seq: Cell<u64>,
}

impl PlainHeader {
    #[inline(always)]
    fn set(&self, cause: &Cause, seq: u64) {
        self.origin.set(cause.origin);
        self.began.set(cause.taken);
        self.trail.set(cause.trail);
        self.seq.set(seq);
    }

    fn whole(&self) -> Header {
        Header {
            seq: self.seq.get(),
            origin: self.origin.get(),
            began: self.began.get(),
            trail: self.trail.get(),
            ..Header::default()
        }
    }
}

/// How the next packet goes over an edge.
///
/// The plain way is for an edge that holds at most one packet, blocks and is not full with one, triggers, belongs to no path,
/// whose consumer is there, and of which only latency and age are measured: there is little to look at then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Plainly; the queue is empty.
    PlainEmpty,
    /// Plainly; one packet is queued.
    PlainOne,
    /// With care.
    Careful,
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
        let room = packets(state.queue.capacity) * SPARE;
        Local {
            way: Cell::new(Way::Careful),
            waiting: Cell::new(0),
            plain: PlainHeader::default(),
            payload: Cell::new(None),
            pending: Pending::new(),
            producer: deck.place(producer).clone(),
            consumer: deck.place(consumer).clone(),
            deck,
            consumer_node: consumer,
            worst_from: Cell::new(0),
            header: Cell::default(),
            sent: Cell::new(0),
            length: Cell::new(0),
            full_at: Cell::new(u32::MAX),
            is_published: Cell::new(true),
            is_shared: Cell::new(false),
            number,
            producer_node: producer,
            burst: Cell::new(1),
            recorder,
            rest: RefCell::new(VecDeque::with_capacity(room)),
            state,
        }
    }

    /// Whether the edge may go the plain way once its queue is empty.
    fn may_go_plainly(&self, now: Stamp) -> bool {
        self.triggers()
            && self.state.queue.full == Full::Block
            && !self.state.is_bound_in_time()
            && self.full_at.get() > 1
            && self.state.queue.late.is_none()
            && self.producer_node != self.consumer_node
            && !self.is_shared.get()
            && !self.state.is_left()
            && self.recorder.is_plain(now)
    }

    fn triggers(&self) -> bool {
        self.state.trigger != Trigger::Latch
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

    /// The producer gives other edges the same packets.
    pub(crate) fn shares(&self) {
        self.is_shared.set(true);
    }

    /// Asks for what [`Local::push_plainly`] looks at.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.way);
        prefetch(&self.payload);
    }

    /// Whether [`Local::push_plainly`] will do for a packet of no turn of which nothing was held.
    #[inline(always)]
    pub(crate) fn pushes_plainly(&self) -> bool {
        self.way.get() == Way::PlainEmpty && self.deck.is_free()
    }

    /// Queues a packet whose `sent` is the end of this step. Its consumer is the next to step, or else the packet is
    /// [put off](InputView::put_off), so that nothing is counted here.
    #[inline(always)]
    pub(crate) fn push_plainly(&self, cause: &Cause, seq: u64, payload: T) {
        self.way.set(Way::PlainOne);
        self.plain.set(cause, seq);
        self.payload.set(Some(payload));
        self.deck.hand_over_at_once(self.consumer_node);
    }

    /// Takes the first packet of a step where the edge goes the plain way; the payload is then [there](Local::payload) to
    /// be taken.
    #[inline(always)]
    pub(crate) fn take_plainly(&self, ctx: &mut Ctx<'_>) -> Option<Cause> {
        if self.way.get() != Way::PlainOne {
            return None;
        }
        let PlainHeader { origin, began, trail, .. } = &self.plain;
        let cause = Cause { origin: origin.get(), turn: Turn::NONE, taken: ctx.now, trail: trail.get() };
        let latency = cause.taken.0.wrapping_sub(began.get().0);
        let age = cause.taken.0.wrapping_sub(cause.origin.0);
        // What is out of order is not short either.
        if MEASURED && (latency >= self.worst_from.get() || age > u64::from(u32::MAX)) {
            return None;
        }
        self.way.set(Way::PlainEmpty);
        if MEASURED {
            self.pending.put(self.waiting.get(), latency as u32, age as u32);
        }
        self.waiting.set(self.waiting.get() + 1);
        if self.waiting.get() == Pending::ROOM {
            self.publish_times();
        }
        ctx.took_first(&cause);
        Some(cause)
    }

    /// The payload of the packet that was taken plainly.
    #[inline(always)]
    pub(crate) fn payload(&self) -> Option<T> {
        self.payload.take()
    }

    /// Leaves the plain way.
    fn take_care(&self) {
        match self.way.replace(Way::Careful) {
            Way::Careful => {}
            Way::PlainEmpty => self.length.set(0),
            Way::PlainOne => {
                self.length.set(1);
                self.header.set(self.plain.whole());
                self.sent.set(self.sent.get() + 1);
                self.producer.is_unsent();
                self.consumer.queue_one();
            }
        }
    }

    /// Queues a packet whose `sent` is the end of this step. Returns whether the edge overflowed.
    pub(crate) fn push(&self, mut header: Header, payload: T, now: Stamp) -> bool {
        self.take_care();
        self.sent.set(self.sent.get() + 1);
        if self.is_published.replace(false) {
            self.deck.is_unpublished(self.number);
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
        if header.sent == Stamp::ZERO {
            self.producer.is_unsent();
        }
        if self.is_empty() {
            self.state.front_is_since(now);
            self.header.set(header);
            self.payload.set(Some(payload));
        } else {
            self.rest.borrow_mut().push_back(Packet { header, payload });
        }
        self.length.set(self.length.get() + 1);
        if self.length.get() == self.full_at.get() {
            self.producer.is_kept(true);
        }
        if self.triggers() {
            self.consumer.queue_one();
            self.deck.hand_over_to(self.consumer_node);
        }
        false
    }

    pub(crate) fn pop(&self) -> Option<Packet<T>> {
        self.take_care();
        let payload = self.payload.take()?;
        let mut header = self.header.get();
        self.stamp(&mut header);
        let length = self.length.get();
        self.length.set(length - 1);
        if length > 1 {
            self.advance();
        }
        if self.triggers() {
            self.consumer.take_one();
        }
        if length == self.full_at.get() {
            self.producer.is_kept(false);
        }
        if self.producer.is_any(Place::REFUSED) {
            self.deck.mark(self.producer_node);
        }
        Some(Packet { header, payload })
    }

    /// A packet was taken with care at `now`: the next goes the plain way if it may.
    pub(crate) fn settle(&self, now: Stamp) {
        if self.is_empty() && !self.is_published.get() && self.may_go_plainly(now) {
            self.worst_from.set(self.recorder.meter.worst_from().min(u32::MAX.into()));
            self.way.set(Way::PlainEmpty);
        }
    }

    /// The next packet becomes the front.
    fn advance(&self) {
        if let Some(Packet { header, payload }) = self.rest.borrow_mut().pop_front() {
            let sent = if header.sent == Stamp::ZERO { self.producer.ended() } else { header.sent };
            self.state.front_is_since(sent);
            self.header.set(header);
            self.payload.set(Some(payload));
        }
    }

    /// Tells a packet of the producer's last step when that ended.
    fn stamp(&self, header: &mut Header) {
        if header.sent == Stamp::ZERO {
            header.sent = self.producer.ended();
            self.producer.is_sent();
        }
    }

    fn tell_meter(&self) {
        self.state.meter.sent(self.sent.take());
        self.publish_times();
    }

    #[inline(never)]
    fn publish_times(&self) {
        let packets = self.waiting.take();
        self.state.meter.sent(packets.into());
        self.pending.publish(packets, &self.recorder.meter);
    }

    pub(super) fn len(&self) -> usize {
        match self.way.get() {
            Way::PlainEmpty => 0,
            Way::PlainOne => 1,
            Way::Careful => self.length.get() as usize,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
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

    fn has_packet(&self) -> bool {
        !self.is_empty()
    }

    fn must_be_asked(&self) -> bool {
        false
    }

    fn state(&self) -> &EdgeState {
        &self.state
    }

    fn put_off(&self) {
        if self.way.get() == Way::PlainOne {
            self.take_care();
        }
    }

    fn publish(&self) {
        self.take_care();
        self.is_published.set(true);
        self.tell_meter();
    }

    fn number(&self) -> Option<usize> {
        Some(self.number)
    }

    fn leave(&self) {
        self.state.leave();
        self.tell_meter();
        while self.pop().is_some() {
            self.recorder.meter.left(1);
        }
    }
}

impl<T> OutputView for Local<T> {
    fn has_room(&self, now: Stamp) -> bool {
        self.state.account_for_room(self.state.has_room(self.len(), self.burst.get(), now), now)
    }

    fn must_be_asked(&self) -> bool {
        self.state.queue.full == Full::Block && self.state.is_bound_in_time()
    }

    fn stamp_unsent(&self) {
        self.take_care();
        // Those of the last step are at the back.
        let mut rest = self.rest.borrow_mut();
        let unsent = rest.iter_mut().rev().take_while(|packet| packet.header.sent == Stamp::ZERO);
        unsent.for_each(|packet| self.stamp(&mut packet.header));
        if !self.is_empty() {
            let mut front = self.header.get();
            self.stamp(&mut front);
            self.header.set(front);
        }
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
