//! A run on one thread under virtual time: deterministic, and as fast as the nodes are.

use std::sync::Arc;

use super::{outcome::Outcome, prepare::Prepared, setup::StartError};
use crate::{
    lane::{Lane, Progress},
    time::{Nanos, Stamp},
};

impl Prepared {
    /// Runs all lanes on the calling thread, in turn, until they have ended. Time moves only when no node has
    /// anything to do, to the next timer or the end of modelled work, and when a node says that its work took time. After
    /// `limit` the sources are ended.
    ///
    /// When nothing can happen any more although nodes are open, the run ends with a failure that names them.
    ///
    /// # Errors
    /// The nodes that could not be made; nothing has run then.
    ///
    /// # Panics
    /// With a real clock.
    pub fn simulate(self, limit: Nanos) -> Result<Outcome, StartError> {
        let Prepared { lanes: setups, run, edges, paths, assets, events: _events } = self;
        assert!(run.clock.is_virtual(), "a simulation needs a virtual clock");
        let mut lanes = Vec::with_capacity(setups.len());
        let mut not_made = Vec::new();
        for lane in setups {
            match lane.make(run.clone(), Arc::clone(&assets)) {
                Ok(lane) => lanes.push(lane),
                Err(failures) => not_made.extend(failures),
            }
        }
        if !not_made.is_empty() {
            return Err(StartError(not_made));
        }
        let started = run.clock.now();
        run.started(started);
        let end = started + limit;
        let mut naps = vec![Stamp::ZERO; lanes.len()];
        while let Some(next) = turn(&mut lanes, &mut naps) {
            if run.clock.now() >= end && !run.is_stopping() {
                run.stop();
            } else if next == Stamp::MAX && !run.is_stopping() && end < Stamp::MAX {
                run.clock.advance_to(end);
            } else if next == Stamp::MAX {
                lanes.iter_mut().for_each(Lane::publish);
                let open: Vec<_> = lanes.iter().flat_map(Lane::open_nodes).collect();
                // Whoever waits has waited for ever.
                let deadlock = run.deadlock(Stamp::MAX);
                let message = deadlock.unwrap_or_else(|| {
                    format!("nothing can happen any more, and these nodes are open: {}", open.join(", "))
                });
                run.failed("graph", &message, 0, true);
                break;
            } else {
                run.clock.advance_to(if run.is_stopping() { next } else { next.min(end) });
            }
        }
        run.lane_ended(run.clock.now());
        lanes.iter_mut().for_each(Lane::settle);
        Ok(Outcome::new(&run, edges, paths, started))
    }
}

/// Steps lanes until none has anything to do. Returns when the next has, or `None` when all have ended. `naps` says until
/// when each has nothing to do unless it is woken.
fn turn(lanes: &mut [Lane], naps: &mut [Stamp]) -> Option<Stamp> {
    loop {
        let mut stepped = false;
        let mut open = false;
        let mut next = Stamp::MAX;
        for (lane, nap) in lanes.iter_mut().zip(&mut *naps) {
            if lane.look_at_clock() >= *nap || lane.is_awake() {
                match lane.modelled_turn() {
                    Progress::Stepped => {
                        stepped = true;
                        *nap = Stamp::ZERO;
                    }
                    Progress::Idle(until) => {
                        *nap = until;
                        lane.doze();
                    }
                    Progress::Ended => continue,
                }
            }
            open = true;
            next = next.min(*nap);
        }
        match (open, stepped) {
            (false, _) => return None,
            (true, false) => return Some(next),
            (true, true) => {}
        }
    }
}
