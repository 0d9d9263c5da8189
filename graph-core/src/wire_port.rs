//! Ports that are the ends of a socket.

use std::{
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    bell::Waker,
    context::Ctx,
    edge::WireTable,
    measure::{EdgeMeter, Side},
    packet::{Cause, Header},
    port::Emitter,
    record::Recorder,
    time::Nanos,
};

/// The sending end of a socket to another node of the graph.
#[derive(Default)]
pub struct WireOut {
    edge: Option<Rc<WireOutput>>,
    emitter: Emitter,
}

/// The inside of a sending end, which the lane sees too.
pub(crate) struct WireOutput {
    pub(crate) table: Arc<WireTable>,
    pub(crate) meter: Arc<EdgeMeter>,
    pub(crate) closed: Arc<AtomicBool>,
    pub(crate) consumer: Waker,
}

impl WireOut {
    pub(crate) fn new(edge: Option<Rc<WireOutput>>) -> WireOut {
        WireOut { edge, emitter: Emitter::default() }
    }

    /// Call just before the packet is sent: it is due to `cause`, `held` of its time here was waited on purpose, and
    /// the other end will know it by `key`. Keys count up in their low bits.
    pub fn emit(&mut self, ctx: &mut Ctx<'_>, cause: Cause, held: Nanos, key: u64) {
        if let Some(edge) = &self.edge {
            let header = Header { sent: ctx.clock().now(), ..self.emitter.header(&cause, held) };
            edge.meter.sent(1);
            if edge.table.leave(key, &header) {
                edge.meter.lost(Side::Producer, 1);
            }
        }
    }

    /// Makes the node at the other end step, where no socket does.
    pub(crate) fn wake_other_end(&self) {
        if let Some(edge) = &self.edge {
            edge.consumer.wake();
        }
    }

    /// Whether the other end is in this graph.
    pub fn is_connected(&self) -> bool {
        self.edge.is_some()
    }
}

/// The receiving end of a socket from another node of the graph.
#[derive(Default)]
pub struct WireIn(Option<Rc<WireInput>>);

/// The inside of a receiving end.
pub(crate) struct WireInput {
    pub(crate) table: Arc<WireTable>,
    pub(crate) closed: Arc<AtomicBool>,
    pub(crate) recorder: Recorder,
}

impl WireInput {
    /// What was sent and has not arrived is lost.
    pub(crate) fn give_up(&self) {
        self.recorder.meter.lost(Side::Consumer, self.table.give_up());
    }
}

impl WireIn {
    pub(crate) fn new(input: Option<Rc<WireInput>>) -> WireIn {
        WireIn(input)
    }

    /// The packet known by `key` is here now: what it is a cause of. `None` where no node of this graph sent it; it
    /// then has an origin of its own.
    pub fn take(&mut self, ctx: &mut Ctx<'_>, key: u64) -> Option<Cause> {
        let wire = self.0.as_deref()?;
        let header = wire.table.take(key)?;
        let taken = ctx.clock().now();
        ctx.now = taken;
        let cause = if ctx.is_cancelled(header.turn) {
            wire.recorder.meter.cancelled(Side::Consumer);
            header.cause(taken)
        } else {
            wire.recorder.taken(&header, taken)
        };
        ctx.took(&cause);
        Some(cause)
    }

    /// Whether the other end is in this graph.
    pub fn is_connected(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the other end sends no more; what it sent may still be in the socket. The node is woken when it
    /// becomes so.
    pub fn is_closed(&self) -> bool {
        self.0.as_ref().is_some_and(|wire| wire.closed.load(Ordering::Acquire))
    }
}
