//! A connection that one node writes to and another reads from.

use std::{
    io,
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use graph_core::{BuildError, Fault, Nanos, Waker, payload};

use super::{frame::FrameError, socket::SocketError};

/// Why a connection is over.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// Nobody listens, or has time.
    #[error("no connection: {0}")]
    NotThere(#[from] SocketError),
    /// The peer hung up.
    #[error("the peer hung up")]
    Ended,
    /// The peer hung up within a message, sent a length that is none, or the like.
    #[error("the peer sent garbage: {0}")]
    Garbage(#[from] FrameError),
    /// The peer answered what nobody asked.
    #[error("the peer sent an answer that nobody asked for")]
    Unasked,
    /// The peer keeps its socket and does not answer.
    #[error("the peer has not answered for {after}")]
    Stalled {
        /// For how long.
        after: Nanos,
    },
    /// The socket is broken.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
}

/// A connection to a server, to be read by whoever gets it.
#[derive(Clone, Debug)]
pub struct Connection(Arc<Link>);
payload!(Connection, "connection");

/// A bit of the count of answers: the connection is over, and the count stays.
const OVER: u64 = 1 << 63;

/// What the writing and the reading end of a connection share.
#[derive(Debug)]
pub struct Link {
    /// The socket, which does not block.
    pub(super) stream: UnixStream,
    /// See [`number`](super::socket::number).
    pub(super) number: u64,
    sent: AtomicU64,
    answered: AtomicU64,
    /// Why it is over.
    over: OnceLock<LinkError>,
    /// Whether the writer wants to know of every answer.
    awaited: AtomicBool,
    writer: Option<Waker>,
}

impl Connection {
    /// A connection just made; `writer` wakes the node that writes to it, if one does.
    pub fn new(stream: UnixStream, number: u64, writer: Option<Waker>) -> Connection {
        Connection(Arc::new(Link {
            stream,
            number,
            sent: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            over: OnceLock::new(),
            awaited: AtomicBool::new(false),
            writer,
        }))
    }
}

impl std::ops::Deref for Connection {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.0
    }
}

impl Link {
    /// The next request is about to be written; returns its key on the wire.
    pub fn sending(&self) -> u64 {
        self.number + self.sent.fetch_add(1, Ordering::Relaxed)
    }

    /// The next answer has come; returns its key on the wire, or `None` when nobody asked, or the connection is over
    /// and the request counts as unanswered.
    pub fn answer(&self) -> Option<u64> {
        let count = self.answered.load(Ordering::Acquire);
        // Whatever the peer answers was counted before it was written.
        if count >= self.sent.load(Ordering::Relaxed) {
            return None;
        }
        // Only the end of the connection comes in between.
        self.answered.compare_exchange(count, count + 1, Ordering::AcqRel, Ordering::Acquire).ok()?;
        if self.awaited.load(Ordering::Acquire) {
            self.wake_writer();
        }
        Some(self.number + count)
    }

    /// Requests that have an answer; no more will, once the connection is over.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Acquire) & !OVER
    }

    /// Wakes the writer at every answer from now on.
    pub fn await_answers(&self) {
        self.awaited.store(true, Ordering::Release);
    }

    /// The connection is over; the first reason counts. The other end of it, and the peer, see it at once.
    pub fn fail(&self, error: LinkError) {
        let _ = self.over.set(error);
        self.answered.fetch_or(OVER, Ordering::AcqRel);
        // It may be closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
        self.wake_writer();
    }

    fn wake_writer(&self) {
        if let Some(writer) = &self.writer {
            writer.wake();
        }
    }

    /// Ends the connection if `result` is an error.
    pub fn settle(&self, result: io::Result<()>) {
        if let Err(error) = result {
            self.fail(error.into());
        }
    }

    /// All has been written: the peer is told that no more comes, and may still answer.
    pub fn hang_up(&self) {
        // It may be closed already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Why it is over.
    pub fn over(&self) -> Option<&LinkError> {
        if self.answered.load(Ordering::Acquire) & OVER == 0 { None } else { self.over.get() }
    }
}

/// How long to wait before the next attempt: twice as long after each failure, within bounds.
#[derive(Clone, Copy, Debug)]
pub struct BackOff {
    first: Nanos,
    longest: Nanos,
    failures: u32,
}

impl BackOff {
    /// Waits `first` after the first failure, and never longer than `longest`.
    pub fn new(first: Nanos, longest: Nanos) -> BackOff {
        BackOff { first, longest, failures: 0 }
    }

    /// It failed again.
    pub fn failed(&mut self) -> Nanos {
        let wait = self.first.0.saturating_mul(1 << self.failures.min(40)).min(self.longest.0);
        self.failures += 1;
        Nanos(wait)
    }

    /// It worked.
    pub fn worked(&mut self) {
        self.failures = 0;
    }
}

/// A wait of zero would be attempts without an end.
pub(super) fn wait_faults(waits: [(&'static str, Nanos); 2]) -> Vec<Fault> {
    let none = |(param, wait): &(&'static str, Nanos)| (*wait == Nanos::ZERO).then_some(*param);
    let message = || "a wait above zero is needed, such as \"5 ms\"".to_owned();
    waits.iter().filter_map(none).map(|param| Fault { param, message: message() }).collect()
}

/// The first fault as words.
pub(super) fn refuse(faults: Vec<Fault>) -> Result<(), BuildError> {
    match faults.into_iter().next() {
        Some(fault) => Err(BuildError::new(format!("{}: {}", fault.param, fault.message))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_begin_anew_after_a_success() {
        let mut back_off = BackOff::new(Nanos(10), Nanos(50));
        assert_eq!([(); 5].map(|()| back_off.failed().0), [10, 20, 40, 50, 50]);
        back_off.worked();
        assert_eq!(back_off.failed(), Nanos(10));
        for _ in 0..100 {
            back_off.failed();
        }
        assert_eq!(back_off.failed(), Nanos(50));
    }
}
