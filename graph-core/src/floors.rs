//! The least that this machine takes for what every edge does, whatever its nodes do.
//!
//! A limit below it cannot be kept, which `check` warns of. Each floor is the fastest hop that was seen, in two rounds, so that other
//! work on the machine moves it little.

use std::{
    hint::spin_loop,
    io,
    mem::MaybeUninit,
    num::NonZeroU64,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use rustix::event::{EventfdFlags, epoll, eventfd};
use serde::Serialize;

use crate::time::{Clock, Nanos, Stamp};

/// The least that this machine takes for a hop, by the way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floors {
    /// A hop inside a lane: from one reading of the clock to the next.
    pub local: Nanos,
    /// A hop to a lane that spins.
    pub spin: Nanos,
    /// A hop to a lane that sleeps without descriptors, on a futex.
    pub futex: Nanos,
    /// A hop to a lane that sleeps on descriptors, in epoll.
    pub epoll: Nanos,
    /// How late a lane that sleeps for a timer wakes.
    pub timer: Nanos,
}

/// How a thread waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It looks all the time.
    Spin,
    /// It parks on a futex.
    Futex,
    /// It waits in epoll for an event descriptor, edge-triggered.
    Epoll,
}

/// How often a way of waiting is tried.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Hops.
    pub hops: usize,
    /// From when the sleeper says that it goes to sleep until it is woken.
    pub doze: Nanos,
    /// However busy the machine is, no more hops begin after so long.
    pub patience: Nanos,
}

impl Way {
    /// Times one way of hops between two threads, from before the one that wakes does so to the first reading of the other.
    ///
    /// # Errors
    /// When the system gives no event descriptor.
    pub fn hops(self, clock: &Clock, trial: Trial) -> io::Result<Vec<Nanos>> {
        Ok(match self {
            Way::Spin => hops(clock, trial, |_| {}, look_again),
            Way::Futex => hops(clock, trial, thread::Thread::unpark, |_| thread::park()),
            Way::Epoll => {
                let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
                let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
                let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
                epoll::add(&poller, &bell, epoll::EventData::new_u64(0), flags)?;
                let ring = |_: &thread::Thread| {
                    // A full counter has woken the sleeper already.
                    let _ = rustix::io::write(&bell, &1_u64.to_ne_bytes());
                };
                let sleep = |_| {
                    let mut events = [MaybeUninit::<epoll::Event>::uninit(); 1];
                    // An interrupted wait is a short one.
                    let _ = epoll::wait(&poller, &mut events, None);
                };
                hops(clock, trial, ring, sleep)
            }
        })
    }
}

/// As whole nanoseconds: `local_ns`, `spin_ns`, ..
impl Serialize for Floors {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = [
            ("local_ns", self.local),
            ("spin_ns", self.spin),
            ("futex_ns", self.futex),
            ("epoll_ns", self.epoll),
            ("timer_ns", self.timer),
        ];
        serializer.collect_map(all.map(|(name, time)| (name, time.0)))
    }
}

const READINGS: usize = 2_000;
const ROUNDS: usize = 2;
const HOPS: usize = 120;
const SLEEPS: usize = 30;
const SLEEP: Duration = Duration::from_micros(100);
/// A round of one way of waiting is no longer, however busy the machine is.
const PATIENCE: Nanos = Nanos::from_millis(7);
/// After so many looks in vain a spinning thread sleeps a moment: the other one may wait for its core.
const LOOKS: usize = 1_000;
const MOMENT: Duration = Duration::from_micros(20);
/// From when a sleeper says that it goes to sleep until it does.
const DOZE: Nanos = Nanos::from_micros(12);
const WAYS: [(Way, Nanos); 3] = [(Way::Spin, Nanos::ZERO), (Way::Futex, DOZE), (Way::Epoll, DOZE)];

impl Floors {
    /// Measures this machine; takes about 20 ms, and at most 50.
    ///
    /// # Errors
    /// When the system gives no event descriptor.
    pub fn measure() -> io::Result<Floors> {
        let clock = Clock::monotonic();
        let readings = (0..READINGS).filter_map(|_| {
            let before = clock.now();
            clock.now().since(before)
        });
        let local = typical(readings.collect());
        let mut fastest = [Nanos::MAX; 3];
        for _ in 0..ROUNDS {
            for (fastest, (way, doze)) in fastest.iter_mut().zip(WAYS) {
                let hops = way.hops(&clock, Trial { hops: HOPS, doze, patience: PATIENCE })?;
                *fastest = hops.into_iter().fold(*fastest, Nanos::min);
            }
        }
        // What was not measured is no floor.
        let [spin, futex, epoll] = fastest.map(|hop| if hop == Nanos::MAX { Nanos::ZERO } else { hop });
        // Where the cores are too busy for two threads to spin at once, waking is the best that was seen.
        let spin = spin.min(futex).min(epoll);
        Ok(Floors { local, spin, futex, epoll, timer: timer(&clock) })
    }
}

/// What a spinning thread does between two looks.
fn look_again(looks: usize) {
    if looks.is_multiple_of(LOOKS) { thread::sleep(MOMENT) } else { spin_loop() }
}

/// Hops to a thread that waits by `sleep` and is woken by `wake`.
fn hops(
    clock: &Clock,
    trial: Trial,
    wake: impl Fn(&thread::Thread),
    sleep: impl Fn(usize) + Sync,
) -> Vec<Nanos> {
    const NOTHING: u64 = 0;
    const END: u64 = u64::MAX;
    let (sent, taken) = (AtomicU64::new(NOTHING), AtomicU64::new(NOTHING));
    let waits = AtomicBool::new(false);
    let mut hops = Vec::with_capacity(trial.hops);
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            loop {
                waits.store(true, Ordering::Release);
                for looks in 1.. {
                    if sent.load(Ordering::Acquire) != NOTHING {
                        break;
                    }
                    sleep(looks);
                }
                let now = clock.now_ordered();
                if sent.swap(NOTHING, Ordering::AcqRel) == END {
                    break;
                }
                taken.store(now.0, Ordering::Release);
            }
        });
        let until = |done: &dyn Fn() -> bool| {
            for looks in 1.. {
                if done() {
                    break;
                }
                look_again(looks);
            }
        };
        let begun = clock.now();
        while hops.len() < trial.hops && clock.now() < begun + trial.patience {
            until(&|| waits.swap(false, Ordering::AcqRel));
            let dozing = clock.now() + trial.doze;
            until(&|| clock.now() >= dozing);
            let now = clock.now_ordered();
            sent.store(now.0, Ordering::Release);
            wake(sleeper.thread());
            until(&|| taken.load(Ordering::Acquire) != NOTHING);
            hops.extend(Stamp(taken.swap(NOTHING, Ordering::AcqRel)).since(now));
        }
        sent.store(END, Ordering::Release);
        wake(sleeper.thread());
    });
    hops
}

/// How late a sleep ends, with the timer slack that lanes have.
fn timer(clock: &Clock) -> Nanos {
    let late: Vec<Nanos> = thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            // Where the kernel keeps its slack, it does for lanes too.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
            let sleeps = (0..SLEEPS).filter_map(|_| {
                let due = clock.now() + SLEEP.into();
                thread::sleep(SLEEP);
                clock.now().since(due)
            });
            sleeps.collect()
        });
        sleeper.join().expect("a sleep does not panic")
    });
    late.into_iter().min().unwrap_or_default()
}

/// The median: two readings may well be the same tick of a coarse clock.
fn typical(mut times: Vec<Nanos>) -> Nanos {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_late_reading_moves_nothing() {
        assert_eq!(typical([9, 0, 900, 3, 0].map(Nanos).to_vec()), Nanos(3));
        assert_eq!(typical(Vec::new()), Nanos::ZERO);
    }

    #[test]
    fn waking_a_sleeper_takes_longer_than_reading_the_clock() {
        let floors = Floors::measure().unwrap();
        assert!(floors.local > Nanos::ZERO, "{floors:?}");
        assert!(floors.futex > floors.local && floors.epoll > floors.local, "{floors:?}");
        assert!(serde_json::to_string(&floors).unwrap().starts_with("{\"local_ns\":"), "{floors:?}");
    }
}
