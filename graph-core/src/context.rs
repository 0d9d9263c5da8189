//! What a node sees of the run while it steps.

use std::ops::{Deref, DerefMut};

use crate::{
    error::NodeError,
    lane::LaneCore,
    node::Flow,
    packet::Cause,
    payload::Payload,
    port::Out,
    time::{Clock, Nanos, Stamp},
    turn::Turn,
};

/// The run as one step of one node sees it.
pub struct Ctx<'a> {
    pub(crate) core: &'a LaneCore,
    pub(crate) node: usize,
    /// When the step began; moved on by taking from another lane.
    pub(crate) now: Stamp,
    pub(crate) cause: Option<Cause>,
}

impl<'a> Ctx<'a> {
    pub(crate) fn new(core: &'a LaneCore, node: usize, now: Stamp) -> Ctx<'a> {
        Ctx { core, node, now, cause: None }
    }

    /// When the step began: the `taken` of the packet in hand. Logic that wants the time uses this.
    #[inline]
    pub fn now(&self) -> Stamp {
        self.now
    }

    /// The run's clock, for a node that must know how long something took in the middle of a step.
    pub fn clock(&self) -> &Clock {
        &self.core.clock
    }

    /// What output is due to unless it names another cause: of the packets taken in this step, the one with the
    /// oldest origin.
    #[inline]
    pub fn cause(&self) -> Option<Cause> {
        self.cause
    }

    /// How long the node has kept `cause` until this step began: what it waited on purpose, if it did nothing else.
    pub fn held_since(&self, cause: Cause) -> Nanos {
        self.now.since(cause.taken).unwrap_or(Nanos::ZERO)
    }

    /// Asks for a step at `stamp`. Asking again replaces the time asked for before.
    pub fn wake_at(&mut self, stamp: Stamp) {
        self.core.wake_at(self.node, stamp);
    }

    /// Keeps the whole lane from stepping until `stamp`; then this node is the first to step. For models of work, under
    /// virtual time.
    pub(crate) fn occupy(&self, until: Stamp) {
        self.core.occupied.set(Some((self.node, until)));
    }

    /// Begins an interaction. Output belongs to it when its cause does: see [`Cause::in_turn`].
    pub fn open_turn(&mut self) -> Turn {
        self.core.run.turns.open()
    }

    /// Makes a turn void at once wherever its packets are.
    pub fn cancel(&mut self, turn: Turn) {
        self.core.run.cancel(turn, self.core.clock.now());
    }

    /// Whether `turn` is void.
    #[inline]
    pub fn is_cancelled(&self, turn: Turn) -> bool {
        self.core.run.turns.is_cancelled(turn)
    }

    /// Whether the turn of the packet in hand is void: a long step looks now and then and gives up.
    #[inline]
    pub fn cancelled(&self) -> bool {
        self.cause.is_some_and(|cause| self.is_cancelled(cause.turn))
    }

    /// Tells whoever watches the run, such as "heard" and the words. Never blocks; dropped when nobody keeps up.
    pub fn tell(&mut self, turn: Turn, label: &'static str, text: &str) {
        self.core.run.tell(self.core.name(self.node), turn, label, text);
    }

    /// What a step came to, as its lane is told.
    #[inline(always)]
    pub(crate) fn told(&self, result: Result<Flow, NodeError>) -> Option<Flow> {
        match result {
            Ok(flow) => Some(flow),
            Err(error) => {
                self.core.fail(error);
                None
            }
        }
    }

    /// Makes the first packet of a step the one in hand.
    #[inline(always)]
    pub(crate) fn took_first(&mut self, cause: &Cause) {
        self.core.took_first();
        self.cause = Some(*cause);
    }

    #[inline(always)]
    pub(crate) fn took(&mut self, cause: &Cause) {
        self.core.took();
        if self.cause.is_none_or(|before| cause.origin < before.origin) {
            self.cause = Some(*cause);
        }
    }
}

/// The run as a node with one output sees it.
pub struct Cx<'c, 'a, T: Payload> {
    pub(crate) ctx: &'c mut Ctx<'a>,
    pub(crate) out: &'c mut Out<T>,
}

impl<T: Payload> Cx<'_, '_, T> {
    /// Emits a packet due to the packet in hand.
    #[inline]
    pub fn emit(&mut self, payload: T) {
        self.out.emit(self.ctx, payload);
    }

    /// Emits a packet due to `cause`, of whose time here `held` was waited on purpose.
    #[inline]
    pub fn emit_as(&mut self, cause: Cause, held: Nanos, payload: T) {
        self.out.emit_as(self.ctx, cause, held, payload);
    }

    /// Emits data that came to exist on this host at `origin`. For sources.
    #[inline]
    pub fn emit_from(&mut self, origin: Stamp, payload: T) {
        self.out.emit_from(self.ctx, origin, payload);
    }
}

/// The run as a node without outputs sees it.
pub struct SinkCx<'c, 'a> {
    pub(crate) ctx: &'c mut Ctx<'a>,
}

impl<'a, T: Payload> Deref for Cx<'_, 'a, T> {
    type Target = Ctx<'a>;

    fn deref(&self) -> &Ctx<'a> {
        self.ctx
    }
}

impl<'a> Deref for SinkCx<'_, 'a> {
    type Target = Ctx<'a>;

    fn deref(&self) -> &Ctx<'a> {
        self.ctx
    }
}

impl<'a, T: Payload> DerefMut for Cx<'_, 'a, T> {
    fn deref_mut(&mut self) -> &mut Ctx<'a> {
        self.ctx
    }
}

impl<'a> DerefMut for SinkCx<'_, 'a> {
    fn deref_mut(&mut self) -> &mut Ctx<'a> {
        self.ctx
    }
}
