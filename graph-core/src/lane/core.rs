//! What the ports and contexts of a lane's nodes share.

use std::{cell::Cell, rc::Rc, sync::Arc};

use super::{Deck, Place};
use crate::{
    bell::{Bell, Waker},
    error::NodeError,
    run::RunCore,
    time::{Clock, Stamp},
};

/// What the ports and contexts of a lane's nodes share.
pub(crate) struct LaneCore {
    pub(crate) clock: Clock,
    pub(crate) run: Arc<RunCore>,
    pub(super) deck: Rc<Deck>,
    pub(super) bell: Arc<Bell>,
    names: Vec<Arc<str>>,
    /// When each node wants to be stepped.
    alarms: Vec<Cell<Stamp>>,
    /// The earliest of them.
    pub(super) next_alarm: Cell<Stamp>,
    /// When the lane looks at what comes from outside of it.
    pub(super) attend_at: Cell<Stamp>,
    /// Causes taken in the step that is running, for the account of a failure.
    pub(super) taken: Cell<u64>,
    /// Why the step that ran last failed.
    pub(super) failure: Cell<Option<NodeError>>,
    /// The node whose modelled work occupies the lane, and until when. Only simulations look at it.
    pub(crate) occupied: Cell<Option<(usize, Stamp)>>,
}

impl LaneCore {
    pub(crate) fn new(run: Arc<RunCore>, deck: Rc<Deck>, bell: Arc<Bell>, names: Vec<Arc<str>>) -> LaneCore {
        LaneCore {
            clock: run.clock.clone(),
            run,
            deck,
            bell,
            alarms: names.iter().map(|_| Cell::new(Stamp::MAX)).collect(),
            names,
            next_alarm: Cell::new(Stamp::MAX),
            attend_at: Cell::new(Stamp::ZERO),
            taken: Cell::new(0),
            failure: Cell::new(None),
            occupied: Cell::new(None),
        }
    }

    pub(crate) fn place(&self, node: usize) -> Rc<Place> {
        self.deck.place(node).clone()
    }

    pub(crate) fn name(&self, node: usize) -> &str {
        &self.names[node]
    }

    pub(crate) fn waker(&self, node: usize) -> Waker {
        Waker::new(self.bell.clone(), node)
    }

    pub(crate) fn wake_at(&self, node: usize, stamp: Stamp) {
        self.alarms[node].set(stamp);
        self.next_alarm.set(self.next_alarm.get().min(stamp));
        self.attend_at.set(self.attend_at.get().min(stamp));
    }

    #[inline]
    pub(crate) fn took(&self) {
        self.taken.set(self.taken.get() + 1);
    }

    /// As [`LaneCore::took`], for the first packet of a step.
    #[inline]
    pub(crate) fn took_first(&self) {
        self.taken.set(1);
    }

    /// The step that is running fails for this reason.
    #[cold]
    pub(crate) fn fail(&self, error: NodeError) {
        self.failure.set(Some(error));
    }

    /// A push of this step of `node` overflowed a `full: fail` edge.
    #[cold]
    pub(crate) fn overflow(&self, node: usize) {
        self.deck.place(node).set(Place::OVERFLOWED, true);
    }

    pub(super) fn ring_alarms(&self, now: Stamp) {
        if now < self.next_alarm.get() {
            return;
        }
        let mut next = Stamp::MAX;
        for (node, alarm) in self.alarms.iter().enumerate() {
            if alarm.get() <= now {
                alarm.set(Stamp::MAX);
                self.deck.mark(node);
            } else {
                next = next.min(alarm.get());
            }
        }
        self.next_alarm.set(next);
    }
}
