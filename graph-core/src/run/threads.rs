//! A run with one thread a lane.

use std::{
    num::NonZeroU64,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Barrier,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{Builder, JoinHandle},
};

use super::{
    core::{Event, RunCore, Stopper},
    outcome::Outcome,
    prepare::Prepared,
    setup::{LaneSetup, NotMade, StartError},
    wishes,
};
use crate::{
    asset::Assets,
    lane::panic_message,
    measure::{EdgeMeter, PathMeter},
    time::{Nanos, Stamp},
    turn::Turn,
};

/// A run that is under way.
pub struct Running {
    run: Arc<RunCore>,
    threads: Vec<JoinHandle<()>>,
    edges: Vec<Arc<EdgeMeter>>,
    paths: Vec<Arc<PathMeter>>,
    events: Receiver<Event>,
    started: Stamp,
}

impl Prepared {
    /// Makes all nodes, each on its lane's thread, and then lets packets flow.
    ///
    /// # Errors
    /// The nodes that could not be made; nothing has run then.
    pub fn start(self) -> Result<Running, StartError> {
        let Prepared { lanes, run, edges, paths, assets, events } = self;
        let (reports, reported) = channel();
        let all_ended = Arc::new(Barrier::new(lanes.len()));
        let mut threads = Vec::with_capacity(lanes.len());
        let mut gates = Vec::with_capacity(lanes.len());
        let mut not_made = Vec::new();
        for lane in lanes {
            let name = lane.name.clone();
            let (gate, go) = channel();
            let thread = LaneThread {
                lane,
                run: run.clone(),
                assets: assets.clone(),
                reports: reports.clone(),
                go,
                all_ended: all_ended.clone(),
            };
            match Builder::new().name(name.clone()).spawn(move || thread.run()) {
                Ok(thread) => {
                    threads.push(thread);
                    gates.push(gate);
                }
                Err(error) => not_made.push(NotMade {
                    node: name,
                    message: format!("cannot start the lane's thread: {error}"),
                }),
            }
        }
        drop(reports);
        for _ in 0..threads.len() {
            match reported.recv() {
                Ok(failures) => not_made.extend(failures),
                Err(_) => break,
            }
        }
        if !not_made.is_empty() {
            // Lanes whose gate is gone end at once.
            drop(gates);
            threads.into_iter().for_each(|thread| drop(thread.join()));
            not_made.sort_by(|a, b| a.node.cmp(&b.node));
            return Err(StartError(not_made));
        }
        let started = run.clock.now();
        run.started(started);
        for gate in gates {
            // A lane that is gone has failed already, and `wait` tells of it.
            let _ = gate.send(());
        }
        Ok(Running { run, threads, edges, paths, events, started })
    }
}

struct LaneThread {
    lane: LaneSetup,
    run: Arc<RunCore>,
    assets: Arc<dyn Assets>,
    reports: Sender<Vec<NotMade>>,
    go: Receiver<()>,
    all_ended: Arc<Barrier>,
}

impl LaneThread {
    fn run(self) {
        // The default slack of 50 us would be added to every timer.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let (name, spec) = (self.lane.name.clone(), self.lane.spec.clone());
        let made = self.lane.make(self.run.clone(), self.assets);
        let (lane, mut failures) = match made {
            Ok(lane) => (Some(lane), Vec::new()),
            Err(failures) => (None, failures),
        };
        // After the nodes are made, so that threads of theirs do not inherit it.
        for refused in spec.iter().flat_map(wishes::ask) {
            if spec.as_ref().is_some_and(|spec| spec.strict) {
                failures.push(NotMade { node: format!("lane {name}"), message: refused });
            } else {
                self.run.tell(&format!("lane {name}"), Turn::NONE, "note:", &refused);
            }
        }
        let _ = self.reports.send(failures);
        drop(self.reports);
        let Some(mut lane) = lane else { return };
        if self.go.recv().is_err() {
            return;
        }
        lane.look_at_clock();
        // What nodes do is caught step by step; this is a fault of the runtime or of a payload that is dropped.
        let ended = catch_unwind(AssertUnwindSafe(|| lane.run_to_end()));
        if ended.is_err() {
            lane.abandon();
        }
        self.run.lane_ended(self.run.clock.now());
        // Only now can no producer of another lane send any more.
        self.all_ended.wait();
        lane.settle();
        if let Err(panic) = ended {
            resume_unwind(panic);
        }
    }
}

impl Running {
    /// Ends the run, from any thread.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.run.clone())
    }

    /// What nodes tell while they run.
    pub fn events(&self) -> &Receiver<Event> {
        &self.events
    }

    /// The meters of the edges, in the order of the plan; to be read at any time.
    pub fn edges(&self) -> &[Arc<EdgeMeter>] {
        &self.edges
    }

    /// The meters of the paths, in the order of the plan; to be read at any time.
    pub fn paths(&self) -> &[Arc<PathMeter>] {
        &self.paths
    }

    /// How long packets have flowed.
    pub fn elapsed(&self) -> Nanos {
        self.run.clock.now().since(self.started).unwrap_or(Nanos::ZERO)
    }

    /// Turns that began, and turns that had an effect at a sink.
    pub fn turns(&self) -> (u64, u64) {
        (self.run.turns.opened(), self.run.turns.answered())
    }

    /// Whether all lanes have ended.
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Waits until all lanes have ended.
    pub fn wait(self) -> Outcome {
        for thread in self.threads {
            let name = thread.thread().name().unwrap_or_default().to_owned();
            if let Err(panic) = thread.join() {
                let message = format!(
                    "the lane's thread panicked, which is a fault of the runtime: {}",
                    panic_message(&*panic)
                );
                self.run.failed(&name, &message, 0, true);
            }
        }
        Outcome::new(&self.run, self.edges, self.paths, self.started)
    }
}
