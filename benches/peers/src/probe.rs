//! What is measured while a chain runs, and the nodes' share in it.
//!
//! Some runtimes make their nodes themselves, from a file or a macro, so what a run wants stands in one place of the
//! process: one run at a time.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use crate::{
    clock::{self, Clock},
    packet::{Head, Load},
};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// CPU time while packets come as fast as they are taken. No stamps.
    Flood,
    /// One packet in flight, stamped in every node: each hop.
    Hops,
    /// One packet in flight, stamped at both ends: the whole chain.
    Chain,
}

/// One run of one chain.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// What is measured.
    pub mode: Mode,
    /// How many packets go through.
    pub packets: u64,
    /// Of those, how many are not timed at first.
    pub warm_up: u64,
    /// What stamps are read from.
    pub clock: Clock,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Ticks; of each hop, or of each packet from end to end.
    pub times: Vec<u64>,
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that did not follow the one before.
    pub disordered: u64,
    /// Stamps that were earlier than the stamp before.
    pub negative: u64,
    /// CPU time from the first packet's start to the last one's end.
    pub cpu: Duration,
    /// How long that was.
    pub elapsed: Duration,
}

static RUN: Mutex<Run> = Mutex::new(Run { mode: Mode::Flood, packets: 0, warm_up: 0, clock: Clock::Plain });
static SEEN: Mutex<Option<Seen>> = Mutex::new(None);
static SOURCE: Mutex<Option<Thread>> = Mutex::new(None);
static ARRIVED: OwnLine = OwnLine(AtomicU64::new(0));
/// CPU time and time when the first packet started.
static BEGAN: Mutex<(Duration, Option<Instant>)> = Mutex::new((Duration::ZERO, None));

/// On a cache line of its own, so that what lies beside it costs nothing.
#[repr(align(128))]
struct OwnLine(AtomicU64);

/// The next chain measures this.
pub fn begin(run: Run) {
    *lock(&RUN) = run;
    *lock(&SEEN) = Some(Seen::default());
    *lock(&SOURCE) = None;
    ARRIVED.0.store(0, Ordering::Release);
}

/// What the chain that runs measures.
pub fn run() -> Run {
    *lock(&RUN)
}

/// What was seen, when all of the chain's nodes are gone.
///
/// # Errors
/// When packets were lost or came out of order: then the figures mean nothing.
pub fn end() -> Result<Seen, String> {
    let seen = lock(&SEEN).take().unwrap_or_default();
    let packets = run().packets;
    if seen.arrived != packets || seen.disordered > 0 {
        return Err(format!(
            "{} of {packets} packets arrived, {} out of order: no figures from that",
            seen.arrived, seen.disordered
        ));
    }
    Ok(seen)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics with the lock held")
}

/// Hands over the sample of a node that goes.
fn collect(add: impl FnOnce(&mut Seen)) {
    if let Some(seen) = lock(&SEEN).as_mut() {
        add(seen);
    }
}

/// Blocks until the last packet has arrived, for a runtime whose ends do not wait for each other.
pub fn wait_for_all() {
    while ARRIVED.0.load(Ordering::Acquire) < run().packets {
        thread::sleep(Duration::from_micros(100));
    }
}

/// What a source does.
pub struct Feed<L: Load> {
    run: Run,
    next: u64,
    store: L::Store,
}

impl<L: Load> Default for Feed<L> {
    fn default() -> Self {
        Feed { run: run(), next: 0, store: L::Store::default() }
    }
}

impl<L: Load> Feed<L> {
    /// The next packet; none after the last.
    #[inline]
    pub fn next(&mut self) -> Option<L> {
        Some(L::make(self.head()?, &self.store))
    }

    /// The head of the next packet, for a runtime that has packets of its own.
    #[inline]
    pub fn head(&mut self) -> Option<Head> {
        let seq = self.next;
        if seq == self.run.packets {
            return None;
        }
        if seq == 0 {
            *lock(&BEGAN) = (clock::cpu(), Some(Instant::now()));
        }
        self.next += 1;
        let stamp = if self.run.mode == Mode::Flood { 0 } else { self.run.clock.ticks() };
        Some(Head { seq, stamp })
    }

    /// Whether a packet may be sent: always, or only when the one before has arrived.
    #[inline]
    pub fn may_send(&self) -> bool {
        !self.is_single() || ARRIVED.0.load(Ordering::Acquire) == self.next
    }

    /// Whether there is one packet in flight at most.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.run.mode != Mode::Flood
    }

    /// Whether none was sent yet.
    #[inline]
    pub fn is_first(&self) -> bool {
        self.next == 0
    }

    /// Blocks the thread until a packet may be sent.
    pub fn wait(&self) {
        while !self.may_send() {
            let mut source = lock(&SOURCE);
            if source.is_none() {
                *source = Some(thread::current());
            }
            drop(source);
            if !self.may_send() {
                thread::park();
            }
        }
    }
}

/// What a stage does.
pub struct Stage {
    stamps: bool,
    clock: Clock,
    warm_up: u64,
    negative: u64,
    times: Vec<u64>,
}

impl Default for Stage {
    fn default() -> Self {
        let run = run();
        let stamps = run.mode == Mode::Hops;
        Stage {
            stamps,
            clock: run.clock,
            warm_up: run.warm_up,
            negative: 0,
            times: Vec::with_capacity(if stamps { run.packets as usize } else { 0 }),
        }
    }
}

impl Stage {
    /// A packet comes by. The hop ends and the next one begins with one reading.
    #[inline]
    pub fn pass(&mut self, head: &mut Head) {
        if self.stamps {
            let now = self.clock.ticks();
            self.record(*head, now);
            head.stamp = now;
        }
    }

    #[inline]
    fn record(&mut self, head: Head, now: u64) {
        if head.seq >= self.warm_up {
            match now.checked_sub(head.stamp) {
                Some(time) => self.times.push(time),
                None => self.negative += 1,
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        collect(|seen| {
            seen.times.append(&mut self.times);
            seen.negative += self.negative;
        });
    }
}

/// What a sink does.
pub struct Sink {
    run: Run,
    arrived: u64,
    disordered: u64,
    last: Stage,
    sum: u64,
}

impl Default for Sink {
    fn default() -> Self {
        let run = run();
        let stamps = run.mode != Mode::Flood;
        let times = Vec::with_capacity(if stamps { run.packets as usize } else { 0 });
        let last = Stage { stamps, clock: run.clock, warm_up: run.warm_up, negative: 0, times };
        Sink { run, arrived: 0, disordered: 0, last, sum: 0 }
    }
}

impl Sink {
    /// A packet is at its end. Whether it was the last.
    #[inline]
    pub fn take(&mut self, mut packet: impl Load) -> bool {
        let word = packet.word();
        self.arrive(*packet.head(), word)
    }

    /// As [`take`](Self::take), for a runtime that has packets of its own.
    #[inline]
    pub fn arrive(&mut self, mut head: Head, word: u64) -> bool {
        self.last.pass(&mut head);
        self.sum = std::hint::black_box(self.sum.wrapping_add(word));
        self.disordered += u64::from(head.seq != self.arrived);
        self.arrived += 1;
        if self.is_single() {
            ARRIVED.0.store(self.arrived, Ordering::Release);
        }
        let all = self.arrived == self.run.packets;
        if all {
            ARRIVED.0.store(self.arrived, Ordering::Release);
            let cpu = clock::cpu();
            let (cpu_began, began) = *lock(&BEGAN);
            let elapsed = began.map_or(Duration::ZERO, |began| began.elapsed());
            collect(|seen| (seen.cpu, seen.elapsed) = (cpu.saturating_sub(cpu_began), elapsed));
        }
        all
    }

    /// Whether there is one packet in flight at most.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.run.mode != Mode::Flood
    }

    /// Wakes a source that blocks in [`Feed::wait`].
    pub fn wake_source(&self) {
        if self.is_single()
            && let Some(source) = lock(&SOURCE).as_ref()
        {
            source.unpark();
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        collect(|seen| {
            seen.arrived += self.arrived;
            seen.disordered += self.disordered;
        });
    }
}
