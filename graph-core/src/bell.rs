//! How one lane, or a thread that is no lane, tells another that a node has something to do.
//!
//! A lane that has run out of work says so, looks once more, and parks; whoever rings wakes only a sleeper. Lanes that
//! watch file descriptors sleep in epoll and are woken by an eventfd, the others park on a futex.

use std::{
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, OnceLock},
};

use crate::sync::{
    self, Thread,
    atomic::{AtomicBool, AtomicU64, Ordering, fence},
};

/// The doorbell of one lane.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Bell {
    /// One bit a node.
    pending: Box<[AtomicU64]>,
    asleep: AtomicBool,
    /// Who sleeps.
    thread: OnceLock<Thread>,
    /// What the sleeper polls instead of parking, from when a node of its lane first watches a descriptor.
    eventfd: OnceLock<Arc<OwnedFd>>,
}

impl Bell {
    pub(crate) fn new(nodes: usize) -> Bell {
        Bell {
            pending: (0..nodes.div_ceil(64).max(1)).map(|_| AtomicU64::new(0)).collect(),
            asleep: AtomicBool::new(false),
            thread: OnceLock::new(),
            eventfd: OnceLock::new(),
        }
    }

    /// Whoever sleeps on this bell parks the calling thread.
    pub(crate) fn sleep_by_parking(&self) {
        let _ = self.thread.set(sync::current());
    }

    /// Whoever sleeps on this bell polls `eventfd` from now on.
    pub(crate) fn sleep_by_polling(&self, eventfd: Arc<OwnedFd>) {
        let _ = self.eventfd.set(eventfd);
    }

    /// Marks `node` as having something to do.
    #[inline]
    pub(crate) fn ring(&self, node: usize) {
        // Ordered before the look at `asleep`, as the sleeper's store is before its last look at `pending`.
        self.pending[node / 64].fetch_or(1 << (node % 64), Ordering::SeqCst);
        sync::in_one_order();
        if self.asleep.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Marks every node.
    pub(crate) fn ring_all(&self) {
        for word in &self.pending {
            // Not a store: what the ringers before did stays ordered before the answer.
            word.fetch_or(u64::MAX, Ordering::SeqCst);
        }
        sync::in_one_order();
        if self.asleep.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Wakes the lane if it sleeps: what the caller did before, the lane finds by itself while it is awake.
    #[inline]
    pub(crate) fn nudge(&self) {
        // Either the sleeper's last look, which comes after its own fence, sees what the caller did, or this sees that it
        // sleeps.
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        if !self.asleep.swap(false, Ordering::SeqCst) {
            return;
        }
        match (self.eventfd.get(), self.thread.get()) {
            (Some(eventfd), _) => {
                // A full counter has woken the sleeper already.
                let _ = rustix::io::write(eventfd.as_fd(), &1_u64.to_ne_bytes());
            }
            (None, Some(thread)) => thread.unpark(),
            (None, None) => {}
        }
    }

    /// Moves the marks into `ready`, word by word.
    #[inline]
    pub(crate) fn answer(&self, mut ready: impl FnMut(usize, u64)) {
        for (word, pending) in self.pending.iter().enumerate() {
            if pending.load(Ordering::Relaxed) != 0 {
                ready(word, pending.swap(0, Ordering::Acquire));
            }
        }
    }

    /// Whether somebody has rung since the last answer.
    pub(crate) fn has_rung(&self) -> bool {
        self.pending.iter().any(|word| word.load(Ordering::Relaxed) != 0)
    }

    /// Announces sleep. Returns whether nobody has rung, so that the caller may really sleep after a last look at what is
    /// only nudged for.
    pub(crate) fn doze(&self) -> bool {
        // Not a store, though on x86-64 it is the same instruction: loom does not know that a store comes after the swap of
        // who saw the store before it, and finds a wake-up lost that is not.
        self.asleep.swap(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let nothing = self.pending.iter().all(|word| word.load(Ordering::SeqCst) == 0);
        if !nothing {
            self.asleep.store(false, Ordering::SeqCst);
        }
        nothing
    }

    /// Whether nobody has ended the sleep that was announced.
    pub(crate) fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed)
    }

    /// Ends sleep, whoever ended it.
    pub(crate) fn rise(&self) {
        self.asleep.store(false, Ordering::SeqCst);
    }
}

/// Wakes one node from any thread.
///
/// A node gets one from [`Build::waker`](crate::Build::waker) and hands it to threads that are not lanes.
#[derive(Clone, Debug)]
pub struct Waker {
    bell: Arc<Bell>,
    node: usize,
}

impl Waker {
    pub(crate) fn new(bell: Arc<Bell>, node: usize) -> Waker {
        Waker { bell, node }
    }

    /// Makes the node step soon.
    #[inline]
    pub fn wake(&self) {
        self.bell.ring(self.node);
    }

    /// Wakes the node's lane if it sleeps.
    #[inline]
    pub(crate) fn nudge(&self) {
        self.bell.nudge();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(bell: &Bell) -> Vec<(usize, u64)> {
        let mut marks = Vec::new();
        bell.answer(|word, bits| marks.push((word, bits)));
        marks
    }

    #[test]
    fn a_ring_marks_its_node_until_it_is_answered() {
        let bell = Bell::new(70);
        bell.ring(3);
        bell.ring(69);
        assert_eq!(answered(&bell), [(0, 1 << 3), (1, 1 << 5)]);
        assert!(answered(&bell).is_empty());
    }

    #[test]
    fn nobody_dozes_over_a_ring() {
        let bell = Bell::new(1);
        bell.ring(0);
        assert!(!bell.doze());
        answered(&bell);
        assert!(bell.doze());
    }

    #[test]
    fn a_ring_wakes_a_parked_sleeper() {
        let bell = Arc::new(Bell::new(1));
        let ringer = bell.clone();
        bell.sleep_by_parking();
        assert!(bell.doze());
        let thread = std::thread::spawn(move || ringer.ring(0));
        while bell.asleep.load(Ordering::SeqCst) {
            std::thread::park();
        }
        thread.join().expect("the ringer ends");
        assert_eq!(answered(&bell), [(0, 1)]);
    }

    #[test]
    fn a_ring_finds_a_sleeper_that_has_come_to_poll_after_it_used_to_park() {
        let bell = Bell::new(1);
        bell.sleep_by_parking();
        let flags = rustix::event::EventfdFlags::NONBLOCK;
        let eventfd = Arc::new(rustix::event::eventfd(0, flags).expect("an eventfd"));
        bell.sleep_by_polling(eventfd.clone());
        assert!(bell.doze());
        bell.ring(0);
        let mut rings = [0; 8];
        rustix::io::read(&eventfd, &mut rings).expect("the sleeper was rung");
        assert_eq!(u64::from_ne_bytes(rings), 1);
    }
}

#[cfg(all(test, loom))]
mod interleavings {
    use super::*;
    use crate::sync::{explore, spawn};

    /// As a lane rests: it announces sleep, looks once more, and sleeps.
    fn rest(bell: &Bell, heard: impl Fn() -> bool) {
        if bell.doze() {
            if !heard() {
                loom::thread::park();
            }
            bell.rise();
        }
    }

    /// Sleeps until all of `nodes` have been rung for.
    fn await_rings(bell: &Bell, nodes: u64) {
        bell.sleep_by_parking();
        let mut marks = 0;
        loop {
            bell.answer(|_, bits| marks |= bits);
            if marks == nodes {
                return;
            }
            rest(bell, || false);
        }
    }

    #[test]
    fn nobody_sleeps_over_a_ring_and_what_was_done_before_it_is_seen() {
        explore(4, || {
            let bell = Arc::new(Bell::new(1));
            let done = Arc::new(AtomicBool::new(false));
            let sleeper = spawn({
                let (bell, done) = (bell.clone(), done.clone());
                move || {
                    await_rings(&bell, 1);
                    assert!(done.load(Ordering::Relaxed));
                }
            });
            done.store(true, Ordering::Relaxed);
            bell.ring(0);
            sleeper.join().unwrap();
        });
    }

    #[test]
    fn nobody_sleeps_over_one_of_two_rings() {
        explore(3, || {
            let bell = Arc::new(Bell::new(2));
            let [sleeper, ringer] = [bell.clone(), bell.clone()];
            let sleeper = spawn(move || await_rings(&sleeper, 0b11));
            let ringer = spawn(move || ringer.ring(0));
            bell.ring(1);
            ringer.join().unwrap();
            sleeper.join().unwrap();
        });
    }

    #[test]
    fn nobody_sleeps_over_a_ring_for_every_node() {
        explore(4, || {
            let bell = Arc::new(Bell::new(1));
            let sleeper = bell.clone();
            let sleeper = spawn(move || await_rings(&sleeper, u64::MAX));
            bell.ring_all();
            sleeper.join().unwrap();
        });
    }

    #[test]
    fn nobody_sleeps_over_what_was_done_before_a_nudge() {
        explore(4, || {
            let bell = Arc::new(Bell::new(1));
            let pushed = Arc::new(AtomicU64::new(0));
            let sleeper = spawn({
                let (bell, pushed) = (bell.clone(), pushed.clone());
                move || {
                    bell.sleep_by_parking();
                    for packet in 1..=2 {
                        let has_come = || pushed.load(Ordering::Acquire) >= packet;
                        while !has_come() {
                            rest(&bell, has_come);
                        }
                    }
                }
            });
            for packet in 1..=2 {
                pushed.store(packet, Ordering::Release);
                bell.nudge();
            }
            sleeper.join().unwrap();
        });
    }
}
