//! An edge inside a lane: a plain ring.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    sync::Arc,
};

use super::{EdgeState, packets};
use crate::{file::Full, lane::Marks, measure::Side, packet::Packet, time::Stamp};

/// Slots for each packet of the capacity: a step may go over it by its burst.
pub(super) const SPARE: usize = 2;

/// Both ends of an edge inside a lane.
pub(crate) struct Local<T> {
    pub(crate) state: Arc<EdgeState>,
    queue: RefCell<VecDeque<Packet<T>>>,
    /// Packets at the back whose `sent` is the end of the step that is running.
    unsent: Cell<usize>,
    waits_for_room: Cell<bool>,
    marks: Rc<Marks>,
    producer: usize,
    consumer: usize,
}

impl<T> Local<T> {
    pub(crate) fn new(state: Arc<EdgeState>, marks: Rc<Marks>, producer: usize, consumer: usize) -> Local<T> {
        let room = packets(state.queue.capacity) * SPARE;
        Local {
            state,
            queue: RefCell::new(VecDeque::with_capacity(room)),
            unsent: Cell::new(0),
            waits_for_room: Cell::new(false),
            marks,
            producer,
            consumer,
        }
    }

    /// Whether a burst fits. If not, the producer is marked when there is room.
    #[inline]
    pub(crate) fn has_room(&self, burst: usize, now: Stamp) -> bool {
        let room = self.state.has_room(self.queue.borrow().len(), burst, now);
        self.waits_for_room.set(!room);
        room
    }

    /// Queues a packet; its `sent` is filled in by [`Local::commit`]. Returns whether the edge overflowed.
    #[inline]
    pub(crate) fn push(&self, packet: Packet<T>, now: Stamp) -> bool {
        let meter = &self.state.meter;
        meter.sent();
        if self.state.is_left() {
            meter.lost(Side::Producer, 1);
            return false;
        }
        let mut queue = self.queue.borrow_mut();
        while self.state.queue.full != Full::Block && self.state.is_full(queue.len(), now) {
            self.state.dropped(now);
            match self.state.queue.full {
                Full::DropOldest => {
                    queue.pop_front();
                    self.look_at_front(&queue);
                    self.unsent.set(self.unsent.get().min(queue.len()));
                }
                Full::Fail => return true,
                Full::DropNewest | Full::Block => return false,
            }
        }
        if queue.is_empty() {
            self.state.front_is_since(now);
        }
        queue.push_back(packet);
        self.unsent.set(self.unsent.get() + 1);
        if self.state.triggers {
            self.marks.mark(self.consumer);
        }
        false
    }

    /// The step that pushed ended at `now`.
    #[inline]
    pub(crate) fn commit(&self, now: Stamp) {
        let unsent = self.unsent.replace(0);
        if unsent > 0 {
            for packet in self.queue.borrow_mut().iter_mut().rev().take(unsent) {
                packet.header.sent = now;
            }
        }
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<Packet<T>> {
        let mut queue = self.queue.borrow_mut();
        let packet = queue.pop_front()?;
        match queue.front() {
            Some(front) => self.state.front_is_since(front.header.sent),
            // Begins at the front again, so that a queue of one stays in the same cache lines.
            None => queue.clear(),
        }
        if self.waits_for_room.replace(false) {
            self.marks.mark(self.producer);
        }
        Some(packet)
    }

    fn look_at_front(&self, queue: &VecDeque<Packet<T>>) {
        if let Some(front) = queue.front() {
            self.state.front_is_since(front.header.sent);
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.borrow().is_empty()
    }

    pub(crate) fn close(&self) {
        self.state.close();
        self.marks.mark(self.consumer);
    }
}
