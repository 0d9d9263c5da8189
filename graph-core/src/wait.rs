//! Descriptors, timers and wakers in one wait.

use std::{
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
    time::Duration,
};

use rustix::{
    event::{EventfdFlags, Timespec, epoll, eventfd},
    io::Result,
};

use crate::{
    bell::Bell,
    time::{Nanos, Stamp},
};

/// What a lane sleeps in once a node of it watches a descriptor.
#[derive(Debug)]
struct Poller {
    epoll: OwnedFd,
    eventfd: Arc<OwnedFd>,
}

/// The bell's own descriptor among the nodes'.
const BELL: u64 = u64::MAX;
const EVENTS: usize = 32;

impl Poller {
    fn new() -> Result<Poller> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let eventfd = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        // Edge-triggered: nobody has to read the counter back.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &eventfd, epoll::EventData::new_u64(BELL), flags)?;
        Ok(Poller { epoll, eventfd })
    }

    fn watch(&self, fd: impl AsFd, node: usize) -> Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(node as u64), flags)
    }

    /// Sleeps until a descriptor is readable, the bell rings or the time is over; calls `ready` with each node.
    fn wait(&self, timeout: Option<Nanos>, mut ready: impl FnMut(usize)) {
        let timeout = timeout.map(|nanos| Timespec {
            tv_sec: (nanos.0 / 1_000_000_000) as i64,
            tv_nsec: (nanos.0 % 1_000_000_000) as i64,
        });
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
        // An interrupted wait is a short one.
        if let Ok((events, _)) = epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            for event in events {
                let node = event.data.u64();
                if node != BELL {
                    ready(node as usize);
                }
            }
        }
    }
}

/// How a lane sleeps: parked, or polling once a node of it watches a descriptor.
#[derive(Debug, Default)]
pub(crate) struct Sleep(Option<Poller>);

impl Sleep {
    /// Wakes `node` whenever `fd` becomes readable.
    pub(crate) fn watch(&mut self, fd: impl AsFd, node: usize) -> Result<()> {
        let poller = match self.0.take() {
            Some(poller) => poller,
            None => Poller::new()?,
        };
        self.0.insert(poller).watch(fd, node)
    }

    /// Whether a node watches a descriptor.
    pub(crate) fn is_polling(&self) -> bool {
        self.0.is_some()
    }

    /// The calling thread is the one that will sleep.
    pub(crate) fn settle(&self, bell: &Bell) {
        match &self.0 {
            Some(poller) => bell.sleep_by_polling(poller.eventfd.clone()),
            None => bell.sleep_by_parking(),
        }
    }

    /// Looks at the descriptors without sleeping.
    pub(crate) fn look(&self, ready: impl FnMut(usize)) {
        if let Some(poller) = &self.0 {
            poller.wait(Some(Nanos::ZERO), ready);
        }
    }

    /// Sleeps until `until`, the bell or a descriptor.
    pub(crate) fn sleep(&self, now: Stamp, until: Stamp, ready: impl FnMut(usize)) {
        let timeout = (until != Stamp::MAX).then(|| until.since(now).unwrap_or(Nanos::ZERO));
        match (&self.0, timeout) {
            (Some(poller), timeout) => poller.wait(timeout, ready),
            (None, Some(timeout)) => std::thread::park_timeout(Duration::from(timeout)),
            (None, None) => std::thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poller_tells_which_node_may_read_and_the_bell_wakes_it() {
        let (reader, writer) = std::os::unix::net::UnixStream::pair().expect("a socket pair");
        let mut sleep = Sleep::default();
        sleep.watch(&reader, 5).expect("watched");
        let bell = Arc::new(Bell::new(1));
        sleep.settle(&bell);
        let mut woken = Vec::new();
        sleep.look(|node| woken.push(node));
        assert!(woken.is_empty());
        std::io::Write::write_all(&mut &writer, b"x").expect("written");
        sleep.sleep(Stamp(0), Stamp::MAX, |node| woken.push(node));
        assert_eq!(woken, [5]);
        assert!(bell.doze());
        let ringer = bell.clone();
        let thread = std::thread::spawn(move || ringer.ring(0));
        sleep.sleep(Stamp(0), Stamp::MAX, |node| woken.push(node));
        thread.join().expect("the ringer ends");
        assert_eq!(woken, [5], "a ring is no descriptor");
    }
}
