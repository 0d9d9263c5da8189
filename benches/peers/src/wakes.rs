//! Ways for one thread to wait for another, each alone.

use std::{
    hint::spin_loop,
    os::fd::OwnedFd,
    sync::{
        OnceLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use rustix::{
    event::{EventfdFlags, epoll, eventfd},
    io,
    thread::futex,
};

use crate::{
    clock::{Clock, nanos},
    cpus::{cpus, pin},
    packet::{Head, Load, Small},
    peer::Failure,
};

/// How long the sleeper has to fall asleep.
const ASLEEP: Duration = Duration::from_micros(50);

/// A way to wait. Each wake ends one wait.
pub trait Way: Sync + Sized {
    /// Whether the waiting thread sleeps.
    const SLEEPS: bool = true;

    /// Made by the thread that will wait.
    fn new() -> io::Result<Self>;
    /// Returns after a wake.
    fn wait(&self) -> io::Result<()>;
    /// Ends the wait.
    fn wake(&self) -> io::Result<()>;
}

/// Looks at a word all the time.
pub struct Spin(AtomicU32);

impl Way for Spin {
    const SLEEPS: bool = false;

    fn new() -> io::Result<Self> {
        Ok(Spin(AtomicU32::new(0)))
    }

    fn wait(&self) -> io::Result<()> {
        while self.0.load(Ordering::Acquire) == 0 {
            spin_loop();
        }
        self.0.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        self.0.store(1, Ordering::Release);
        Ok(())
    }
}

/// The system call itself.
pub struct Futex(AtomicU32);

impl Way for Futex {
    fn new() -> io::Result<Self> {
        Ok(Futex(AtomicU32::new(0)))
    }

    fn wait(&self) -> io::Result<()> {
        while self.0.swap(0, Ordering::Acquire) == 0 {
            match futex::wait(&self.0, futex::Flags::PRIVATE, 0, None) {
                Ok(()) | Err(io::Errno::AGAIN | io::Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        self.0.store(1, Ordering::Release);
        futex::wake(&self.0, futex::Flags::PRIVATE, 1).map(drop)
    }
}

/// The standard library's.
pub struct Park {
    woken: AtomicU32,
    sleeper: Thread,
}

impl Way for Park {
    fn new() -> io::Result<Self> {
        Ok(Park { woken: AtomicU32::new(0), sleeper: thread::current() })
    }

    fn wait(&self) -> io::Result<()> {
        while self.woken.swap(0, Ordering::Acquire) == 0 {
            thread::park();
        }
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        self.woken.store(1, Ordering::Release);
        self.sleeper.unpark();
        Ok(())
    }
}

/// A descriptor that is never read: each write is an edge.
pub struct Edge(Descriptors);

impl Way for Edge {
    fn new() -> io::Result<Self> {
        Ok(Edge(Descriptors::new(epoll::EventFlags::IN | epoll::EventFlags::ET)?))
    }

    fn wait(&self) -> io::Result<()> {
        self.0.wait()
    }

    fn wake(&self) -> io::Result<()> {
        self.0.wake()
    }
}

/// A descriptor that is read after each wake.
pub struct Level(Descriptors);

impl Way for Level {
    fn new() -> io::Result<Self> {
        Ok(Level(Descriptors::new(epoll::EventFlags::IN)?))
    }

    fn wait(&self) -> io::Result<()> {
        self.0.wait()?;
        io::read(&self.0.event, &mut [0; 8]).map(drop)
    }

    fn wake(&self) -> io::Result<()> {
        self.0.wake()
    }
}

struct Descriptors {
    epoll: OwnedFd,
    event: OwnedFd,
}

impl Descriptors {
    fn new(flags: epoll::EventFlags) -> io::Result<Descriptors> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let event = eventfd(0, EventfdFlags::CLOEXEC)?;
        epoll::add(&epoll, &event, epoll::EventData::new_u64(0), flags)?;
        Ok(Descriptors { epoll, event })
    }

    fn wait(&self) -> io::Result<()> {
        let mut events =
            [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }];
        loop {
            match epoll::wait(&self.epoll, &mut events, None) {
                Ok(0) | Err(io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn wake(&self) -> io::Result<()> {
        io::write(&self.event, &1_u64.to_ne_bytes()).map(drop)
    }
}

/// The first two processors.
fn two() -> Result<[usize; 2], Failure> {
    match cpus().as_slice() {
        [one, other, ..] => Ok([*one, *other]),
        _ => Err("this needs two processors".into()),
    }
}

/// One way of so many wakes, in picoseconds. The threads are pinned to two processors; the one that wakes spins until the
/// other has had time to fall asleep.
pub fn one_way<W: Way + Send>(wakes: usize) -> Result<Vec<u64>, Failure> {
    let [here, there] = two()?;
    let (waiting, stamp) = (AtomicU64::new(0), AtomicU64::new(0));
    let way = OnceLock::<W>::new();
    let waker = || {
        for wake in 1..=wakes as u64 {
            while waiting.load(Ordering::Acquire) < wake {
                spin_loop();
            }
            if W::SLEEPS {
                let begun = Instant::now();
                while begun.elapsed() < ASLEEP {
                    spin_loop();
                }
            }
            stamp.store(Clock::Ordered.ticks(), Ordering::Release);
            way.get().ok_or("nobody waits")?.wake()?;
        }
        Ok(())
    };
    let sleeper = || {
        let made = W::new()?;
        let made = way.get_or_init(|| made);
        let mut times = Vec::with_capacity(wakes);
        for wake in 1..=wakes as u64 {
            waiting.store(wake, Ordering::Release);
            made.wait()?;
            let now = Clock::Ordered.ticks();
            times.push(picos(now.saturating_sub(stamp.load(Ordering::Acquire))));
        }
        Ok(times)
    };
    // If one cannot go on, the other must not wait for it.
    let give_up = || waiting.store(u64::MAX, Ordering::Release);
    both(here, waker, there, sleeper, give_up)
}

/// Runs one thread on each of two processors, and returns what the second one found.
fn both<T: Send>(
    here: usize,
    first: impl FnOnce() -> Result<(), Failure> + Send,
    there: usize,
    second: impl FnOnce() -> Result<T, Failure> + Send,
    give_up: impl Fn() + Sync,
) -> Result<T, Failure> {
    thread::scope(|scope| {
        let first = scope.spawn(|| pin(here).and_then(|()| first()));
        let second = scope.spawn(|| pin(there).and_then(|()| second()).inspect_err(|_| give_up()));
        let found = second.join().map_err(|_| "a thread panicked")?;
        first.join().map_err(|_| "a thread panicked")??;
        found
    })
}

/// One way of so many packets over a bare rtrb ring between two spinning threads, one in flight, in picoseconds.
pub fn ring(packets: usize) -> Result<Vec<u64>, Failure> {
    let [here, there] = two()?;
    let (mut tx, mut rx) = rtrb::RingBuffer::<Small>::new(64);
    let arrived = AtomicU64::new(0);
    let producer = || {
        for seq in 0..packets as u64 {
            while arrived.load(Ordering::Acquire) < seq {
                spin_loop();
            }
            let packet = Small::make(Head { seq, stamp: Clock::Ordered.ticks() }, &());
            tx.push(packet).map_err(|_| "the ring is full with one packet")?;
        }
        Ok(())
    };
    let consumer = || {
        let mut times = Vec::with_capacity(packets);
        while times.len() < packets {
            let Ok(mut packet) = rx.pop() else {
                spin_loop();
                continue;
            };
            let now = Clock::Ordered.ticks();
            let Head { seq, stamp } = *packet.head();
            times.push(picos(now.saturating_sub(stamp)));
            arrived.store(seq + 1, Ordering::Release);
        }
        Ok(times)
    };
    both(here, producer, there, consumer, || arrived.store(u64::MAX, Ordering::Release))
}

fn picos(ticks: u64) -> u64 {
    (nanos(ticks as f64) * 1_000.0) as u64
}
