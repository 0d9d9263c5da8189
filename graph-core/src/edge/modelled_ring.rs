//! A ring of one producer and one consumer in rtrb's place, with its interface and its orders, that a model checker sees into.

use std::{
    cell::Cell,
    sync::{Arc, Mutex},
};

use crate::sync::atomic::{AtomicUsize, Ordering};

pub(super) struct RingBuffer<T> {
    taken: AtomicUsize,
    pushed: AtomicUsize,
    /// Never contended: the counts say whose turn it is.
    slots: Box<[Mutex<Option<T>>]>,
}

pub(super) struct Producer<T> {
    ring: Arc<RingBuffer<T>>,
    pushed: usize,
    /// As last seen.
    taken: Cell<usize>,
}

pub(super) struct Consumer<T> {
    ring: Arc<RingBuffer<T>>,
    taken: usize,
    /// As last seen.
    pushed: usize,
    /// Already out of its slot, which is not free before it is popped.
    front: Option<T>,
}

#[derive(Debug)]
pub(super) enum PushError<T> {
    Full(T),
}

#[derive(Debug)]
pub(super) struct Empty;

impl<T> RingBuffer<T> {
    #[expect(clippy::new_ret_no_self, reason = "rtrb's interface")]
    pub(super) fn new(capacity: usize) -> (Producer<T>, Consumer<T>) {
        let ring = Arc::new(RingBuffer {
            taken: AtomicUsize::new(0),
            pushed: AtomicUsize::new(0),
            slots: (0..capacity).map(|_| Mutex::new(None)).collect(),
        });
        let producer = Producer { ring: ring.clone(), pushed: 0, taken: Cell::new(0) };
        (producer, Consumer { ring, taken: 0, pushed: 0, front: None })
    }

    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }

    fn swap(&self, place: usize, packet: Option<T>) -> Option<T> {
        let mut slot = self.slots[place % self.slots.len()].try_lock().expect("one end at a time");
        std::mem::replace(&mut *slot, packet)
    }
}

impl<T> Producer<T> {
    pub(super) fn buffer(&self) -> &RingBuffer<T> {
        &self.ring
    }

    pub(super) fn slots(&self) -> usize {
        self.taken.set(self.ring.taken.load(Ordering::Acquire));
        self.ring.capacity() - (self.pushed - self.taken.get())
    }

    pub(super) fn push(&mut self, packet: T) -> Result<(), PushError<T>> {
        if self.pushed - self.taken.get() == self.ring.capacity() && self.slots() == 0 {
            return Err(PushError::Full(packet));
        }
        assert!(self.ring.swap(self.pushed, Some(packet)).is_none(), "a packet was overwritten");
        self.pushed += 1;
        self.ring.pushed.store(self.pushed, Ordering::Release);
        Ok(())
    }
}

impl<T> Consumer<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.taken == self.pushed && self.ring.pushed.load(Ordering::Acquire) == self.taken
    }

    pub(super) fn peek(&mut self) -> Result<&T, Empty> {
        if self.front.is_none() {
            if self.taken == self.pushed {
                self.pushed = self.ring.pushed.load(Ordering::Acquire);
            }
            if self.taken == self.pushed {
                return Err(Empty);
            }
            self.front = self.ring.swap(self.taken, None);
        }
        self.front.as_ref().ok_or(Empty)
    }

    pub(super) fn pop(&mut self) -> Result<T, Empty> {
        self.peek()?;
        self.taken += 1;
        self.ring.taken.store(self.taken, Ordering::Release);
        self.front.take().ok_or(Empty)
    }
}
