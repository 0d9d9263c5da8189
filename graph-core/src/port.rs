//! Ports: how a node takes and emits packets.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use crate::{
    context::Ctx,
    edge::{Rx, Tx},
    kind::Trigger,
    measure::Side,
    packet::{Cause, Header, Packet},
    payload::Payload,
    record::Recorder,
    time::{Nanos, Stamp},
};

/// A packet that a node took.
#[derive(Clone, Debug)]
pub struct Taken<T> {
    /// The data.
    pub payload: T,
    /// What output that is due to it names.
    pub cause: Cause,
    /// The stamps it came with.
    pub header: Header,
}

/// An input port.
pub struct In<T: Payload>(Option<Rc<Input<T>>>);

/// The inside of an input, which the lane sees too.
pub(crate) struct Input<T> {
    pub(crate) rx: RefCell<Rx<T>>,
    pub(crate) recorder: Recorder,
    pub(crate) trigger: Trigger,
    pub(crate) feedback: bool,
}

impl<T: Payload> Default for In<T> {
    fn default() -> Self {
        In(None)
    }
}

impl<T: Payload> In<T> {
    pub(crate) fn new(input: Rc<Input<T>>) -> In<T> {
        In(Some(input))
    }

    /// Takes the next packet, if there is one. Packets of cancelled turns and late ones are passed over.
    #[inline]
    pub fn take(&mut self, ctx: &mut Ctx<'_>) -> Option<Taken<T>> {
        let input = self.0.as_deref()?;
        let mut rx = input.rx.borrow_mut();
        loop {
            let packet = rx.pop()?;
            // Stamps of another lane are only comparable with a reading made after the packet came over.
            let taken = if matches!(*rx, Rx::Cross(_)) { ctx.clock().now() } else { ctx.now };
            if ctx.is_cancelled(packet.header.turn) {
                input.recorder.meter.cancelled(Side::Consumer);
                continue;
            }
            if let Some(late) = rx.state().queue.late
                && taken.since(packet.header.origin).is_some_and(|age| age > late)
            {
                input.recorder.dropped(taken);
                continue;
            }
            ctx.now = taken;
            let cause = input.recorder.taken(&packet.header, taken);
            if input.trigger != Trigger::Latch {
                ctx.took(cause);
            }
            return Some(Taken { payload: packet.payload, cause, header: packet.header });
        }
    }

    /// Whether a packet is queued.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|input| input.rx.borrow().is_empty())
    }

    /// Whether no packet will come any more.
    pub fn is_ended(&self) -> bool {
        self.0.as_ref().is_none_or(|input| input.rx.borrow().is_ended())
    }

    /// Whether an edge leads here.
    pub fn is_connected(&self) -> bool {
        self.0.is_some()
    }
}

/// An input that keeps only the latest value: a packet here is never a cause and makes no step.
pub struct Latch<T: Payload> {
    input: In<T>,
    value: Option<T>,
}

impl<T: Payload> Latch<T> {
    pub(crate) fn new(input: In<T>) -> Latch<T> {
        Latch { input, value: None }
    }

    /// The latest value; `None` before the first.
    pub fn latest(&mut self, ctx: &mut Ctx<'_>) -> Option<&T> {
        // Latching takes no time of the step: what the step emits is due to its cause alone.
        let now = ctx.now;
        while let Some(taken) = self.input.take(ctx) {
            self.value = Some(taken.payload);
        }
        ctx.now = now;
        self.value.as_ref()
    }
}

/// An output port.
pub struct Out<T: Payload>(Rc<Output<T>>);

/// The inside of an output, which the lane sees too.
pub(crate) struct Output<T> {
    pub(crate) edges: RefCell<Vec<Tx<T>>>,
    emitter: Emitter,
    pub(crate) burst: usize,
}

impl<T> Output<T> {
    pub(crate) fn new(edges: Vec<Tx<T>>, burst: usize) -> Output<T> {
        Output { edges: RefCell::new(edges), emitter: Emitter::default(), burst }
    }
}

/// Numbers the packets of a port.
#[derive(Default)]
pub(crate) struct Emitter {
    seq: Cell<u64>,
}

impl Emitter {
    #[inline]
    pub(crate) fn header(&self, cause: Cause, held: Nanos) -> Header {
        let seq = self.seq.get();
        self.seq.set(seq + 1);
        Header {
            seq,
            origin: cause.origin,
            began: cause.taken,
            sent: Stamp::ZERO,
            held,
            turn: cause.turn,
            trail: cause.trail,
        }
    }
}

impl<T: Payload> Out<T> {
    pub(crate) fn new(output: Rc<Output<T>>) -> Out<T> {
        Out(output)
    }

    /// Emits a packet due to the packet in hand: of those taken in this step, the one with the oldest origin. With
    /// none in hand it is due to itself, now.
    #[inline]
    pub fn emit(&mut self, ctx: &mut Ctx<'_>, payload: T) {
        let cause = ctx.cause().unwrap_or_else(|| Cause::from_origin(ctx.now));
        self.emit_as(ctx, cause, Nanos::ZERO, payload);
    }

    /// Emits data that came to exist on this host at `origin`. For sources.
    #[inline]
    pub fn emit_from(&mut self, ctx: &mut Ctx<'_>, origin: Stamp, payload: T) {
        self.emit_as(ctx, Cause::from_origin(origin), Nanos::ZERO, payload);
    }

    /// Emits a packet due to `cause`, of whose time here `held` was waited on purpose.
    #[inline]
    pub fn emit_as(&mut self, ctx: &mut Ctx<'_>, cause: Cause, held: Nanos, payload: T) {
        let output = &*self.0;
        let mut header = output.emitter.header(cause, held);
        let mut edges = output.edges.borrow_mut();
        let Some((last, others)) = edges.split_last_mut() else { return };
        for edge in others {
            let share = T::SHARE.expect("wiring refused a fan-out of what cannot be shared");
            push(edge, ctx, &mut header, share(&payload));
        }
        push(last, ctx, &mut header, payload);
    }

    /// Whether an edge leaves here.
    pub fn is_connected(&self) -> bool {
        !self.0.edges.borrow().is_empty()
    }
}

#[inline]
fn push<T>(edge: &mut Tx<T>, ctx: &Ctx<'_>, header: &mut Header, payload: T) {
    let overflow = match edge {
        Tx::Local(edge) => edge.push(Packet { header: *header, payload }, ctx.now),
        Tx::Cross(edge) => {
            header.sent = ctx.core.clock.now();
            edge.push(Packet { header: *header, payload })
        }
    };
    if overflow {
        ctx.overflow.set(true);
    }
}

/// A sink's own edge: stamped after the effect.
#[derive(Default)]
pub struct Done {
    recorder: Option<Recorder>,
    emitter: Emitter,
}

impl Done {
    pub(crate) fn new(recorder: Option<Recorder>) -> Done {
        Done { recorder, emitter: Emitter::default() }
    }

    /// The effect due to `cause` has happened by now; of its time here `held` was waited on purpose.
    pub fn mark(&mut self, ctx: &mut Ctx<'_>, cause: Cause, held: Nanos) {
        let now = ctx.clock().now();
        ctx.core.run.turns.effect(cause.turn, now);
        if let Some(recorder) = &self.recorder {
            let header = Header { sent: now, ..self.emitter.header(cause, held) };
            recorder.meter.sent();
            if ctx.is_cancelled(cause.turn) {
                recorder.meter.cancelled(Side::Consumer);
            } else {
                let _ = recorder.taken(&header, now);
            }
        }
    }
}
