//! What all lanes of a run share.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
    mpsc::{Receiver, SyncSender, sync_channel},
};

use super::{
    deadlock::{self, Waits},
    outcome::{Failure, Note},
};
use crate::{
    bell::Bell,
    file::WarmUp,
    time::{Clock, Stamp},
    trail::Trails,
    turn::{Turn, Turns},
};

/// What a run tells whoever watches it.
#[derive(Clone, Debug)]
pub enum Event {
    /// A node has something to say, such as the words it heard.
    Told {
        /// The node.
        node: String,
        /// The number of the interaction it speaks of.
        turn: Option<u64>,
        /// What it is, in a word.
        label: &'static str,
        /// The words.
        text: String,
    },
    /// A node failed.
    Failed(Failure),
}

/// Events that wait for a watcher; more are dropped.
const EVENTS: usize = 1024;

/// What all lanes of a run share.
pub(crate) struct RunCore {
    pub(crate) clock: Clock,
    pub(crate) turns: Turns,
    pub(crate) trails: Trails,
    pub(crate) warm_up: WarmUp,
    bells: Vec<Arc<Bell>>,
    /// When the warm-up by time is over.
    warm_until: AtomicU64,
    stopping: AtomicBool,
    /// Every lane ends where it stands.
    abandoned: AtomicBool,
    waits: Mutex<Vec<Waits>>,
    /// When the last lane so far ended.
    ended: AtomicU64,
    failures: Mutex<Vec<Failure>>,
    counters: Mutex<Vec<CounterEntry>>,
    events: SyncSender<Event>,
}

struct CounterEntry {
    node: String,
    name: &'static str,
    about: &'static str,
    value: Arc<AtomicU64>,
}

impl RunCore {
    pub(crate) fn new(
        clock: Clock,
        trails: Trails,
        bells: Vec<Arc<Bell>>,
        warm_up: WarmUp,
    ) -> (RunCore, Receiver<Event>) {
        let (events, watched) = sync_channel(EVENTS);
        let core = RunCore {
            clock,
            turns: Turns::default(),
            trails,
            warm_up,
            bells,
            warm_until: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            waits: Mutex::default(),
            ended: AtomicU64::new(0),
            failures: Mutex::default(),
            counters: Mutex::default(),
            events,
        };
        (core, watched)
    }

    /// All nodes are made; packets flow from now on.
    pub(crate) fn started(&self, now: Stamp) {
        if let WarmUp::Time(time) = self.warm_up {
            self.warm_until.store((now + time).0, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn is_warming_up(&self, now: Stamp) -> bool {
        now.0 < self.warm_until.load(Ordering::Relaxed)
    }

    /// A lane has ended.
    pub(crate) fn lane_ended(&self, now: Stamp) {
        self.ended.fetch_max(now.0, Ordering::Relaxed);
    }

    /// When the last lane ended.
    pub(crate) fn ended(&self) -> Stamp {
        Stamp(self.ended.load(Ordering::Relaxed))
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Ends the sources; the rest ends as their streams do.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.bells.iter().for_each(|bell| bell.ring_all());
    }

    /// The edge may be part of a deadlock.
    pub(crate) fn watch_for_deadlock(&self, edge: Waits) {
        unpoisoned(&self.waits).push(edge);
    }

    /// The cycle of full queues that the run is stuck in, in words.
    pub(crate) fn deadlock(&self, now: Stamp) -> Option<String> {
        deadlock::find(&unpoisoned(&self.waits), now)
    }

    /// Ends the run where it stands if it is stuck in a cycle of full queues.
    pub(crate) fn end_if_deadlocked(&self, now: Stamp) {
        if self.is_abandoned() {
            return;
        }
        if let Some(words) = self.deadlock(now) {
            self.failed("graph", &words, 0, true);
            self.abandoned.store(true, Ordering::SeqCst);
            self.bells.iter().for_each(|bell| bell.ring_all());
        }
    }

    #[inline]
    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    pub(crate) fn cancel(&self, turn: Turn, now: Stamp) {
        if self.turns.cancel(turn, now) {
            self.bells.iter().for_each(|bell| bell.ring_all());
        }
    }

    pub(crate) fn tell(&self, node: &str, turn: Turn, label: &'static str, text: &str) {
        let told = Event::Told { node: node.to_owned(), turn: turn.number(), label, text: text.to_owned() };
        // A full channel means that nobody watches.
        let _ = self.events.try_send(told);
    }

    /// A node failed; `lost` packets that it had taken will have no output. A fatal failure ends the run.
    pub(crate) fn failed(&self, node: &str, message: &str, lost: u64, fatal: bool) {
        let mut failures = unpoisoned(&self.failures);
        // The same fault again and again is one entry, and no news.
        match failures.iter_mut().find(|known| known.node == node && known.message == message && !fatal) {
            Some(known) => {
                known.times += 1;
                known.lost += lost;
            }
            None => {
                let failure =
                    Failure { node: node.to_owned(), message: message.to_owned(), times: 1, lost, fatal };
                let _ = self.events.try_send(Event::Failed(failure.clone()));
                failures.push(failure);
            }
        }
        drop(failures);
        if fatal {
            self.stop();
        }
    }

    pub(crate) fn add_counter(
        &self,
        node: &str,
        name: &'static str,
        about: &'static str,
        value: Arc<AtomicU64>,
    ) {
        unpoisoned(&self.counters).push(CounterEntry { node: node.to_owned(), name, about, value });
    }

    pub(crate) fn failures(&self) -> Vec<Failure> {
        unpoisoned(&self.failures).clone()
    }

    /// The counters, those of a restarted node added up.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let mut notes: Vec<Note> = Vec::new();
        for entry in unpoisoned(&self.counters).iter() {
            let value = entry.value.load(Ordering::Relaxed);
            match notes.iter_mut().find(|note| note.node == entry.node && note.name == entry.name) {
                Some(note) => note.value += value,
                None => {
                    notes.push(Note {
                        node: entry.node.clone(),
                        name: entry.name,
                        about: entry.about,
                        value,
                    });
                }
            }
        }
        notes
    }
}

/// A panic elsewhere leaves these lists whole.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a run from any thread, such as a signal handler's.
#[derive(Clone)]
pub struct Stopper(pub(crate) Arc<RunCore>);

impl Stopper {
    /// Ends the sources; what is under way is still carried to the sinks.
    pub fn stop(&self) {
        self.0.stop();
    }
}
