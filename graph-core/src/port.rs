//! Ports: how a node takes and emits packets.

use crate::{
    context::Ctx,
    edge::{EdgeState, Local, Rx, Tx},
    kind::Trigger,
    measure::{MEASURED, Side},
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
pub struct In<T: Payload>(Option<Rx<T>>);

impl<T: Payload> Default for In<T> {
    fn default() -> Self {
        In(None)
    }
}

impl<T: Payload> In<T> {
    pub(crate) fn new(edge: Rx<T>) -> In<T> {
        In(Some(edge))
    }

    /// Takes the next packet, if there is one. Packets of cancelled turns and late ones are passed over.
    #[inline(never)]
    pub fn take(&mut self, ctx: &mut Ctx<'_>) -> Option<Taken<T>> {
        match self.0.as_ref()? {
            Rx::Local(edge) => loop {
                let Packet { header, payload } = edge.pop()?;
                let is_fit = is_fit(&header, ctx.now, &edge.state, &edge.recorder, ctx);
                let cause = is_fit.then(|| edge.recorder.taken(&header, ctx.now));
                if let Some(cause) = cause {
                    hold(&cause, &edge.state, ctx);
                    return Some(Taken { payload, cause, header });
                }
            },
            Rx::Cross(edge) => loop {
                let Packet { header, payload } = edge.pop()?;
                // Stamps of another lane are only comparable with a reading made after the packet came over.
                let taken = if MEASURED { ctx.core.clock.now_ordered() } else { ctx.now };
                if is_fit(&header, taken, &edge.state, &edge.recorder, ctx) {
                    ctx.now = taken;
                    let cause = edge.recorder.taken_unsettled(&header, taken);
                    hold(&cause, &edge.state, ctx);
                    return Some(Taken { payload, cause, header });
                }
            },
        }
    }

    /// Takes the first packet of a step where nothing is to be looked at on the way, and gives it to `plainly` at once,
    /// so that it is not moved more than once. Otherwise [`In::take`] is to be tried.
    #[inline(always)]
    pub(crate) fn take_plainly<R>(
        &mut self,
        ctx: &mut Ctx<'_>,
        plainly: impl FnOnce(&mut Ctx<'_>, T, Cause) -> R,
    ) -> Option<R> {
        if let Some(Rx::Local(edge)) = &self.0
            && let Some(cause) = edge.take_plainly(ctx)
            && let Some(payload) = edge.payload()
        {
            return Some(plainly(ctx, payload, cause));
        }
        None
    }

    /// The node takes a packet in every step that finds one, so that the next may go the plain way.
    #[inline(never)]
    pub(crate) fn settle(&self, ctx: &Ctx<'_>) {
        if let Some(Rx::Local(edge)) = &self.0 {
            edge.settle(ctx.now);
        }
    }

    /// Whether a packet is queued.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            None => true,
            Some(Rx::Local(edge)) => edge.is_empty(),
            Some(Rx::Cross(edge)) => edge.is_empty(),
        }
    }

    /// Whether no packet will come any more.
    pub fn is_ended(&self) -> bool {
        // In this order: the last push is before the close.
        match &self.0 {
            None => true,
            Some(Rx::Local(edge)) => edge.state.is_closed() && edge.is_empty(),
            Some(Rx::Cross(edge)) => edge.state.is_closed() && edge.is_empty(),
        }
    }

    /// Whether an edge leads here.
    pub fn is_connected(&self) -> bool {
        self.0.is_some()
    }
}

/// Whether a packet is neither void nor late; if it is, that is counted.
#[inline]
fn is_fit(header: &Header, taken: Stamp, state: &EdgeState, recorder: &Recorder, ctx: &Ctx<'_>) -> bool {
    if ctx.is_cancelled(header.turn) {
        recorder.meter.cancelled(Side::Consumer);
        return false;
    }
    if let Some(late) = state.queue.late
        && taken.since(header.origin).is_some_and(|age| age > late)
    {
        recorder.dropped(taken);
        return false;
    }
    true
}

/// Makes a packet the one in hand, unless it came to a latch.
#[inline]
fn hold(cause: &Cause, state: &EdgeState, ctx: &mut Ctx<'_>) {
    if state.trigger != Trigger::Latch {
        ctx.took(cause);
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
pub struct Out<T: Payload> {
    /// The last of its edges; it gets the payload itself.
    last: Option<Tx<T>>,
    /// The others; they get a share of it.
    others: Box<[Tx<T>]>,
    emitter: Emitter,
}

/// Numbers the packets of a port.
#[derive(Default)]
pub(crate) struct Emitter {
    seq: u64,
}

impl Emitter {
    /// The number of the next packet.
    #[inline(always)]
    fn next(&mut self) -> u64 {
        let seq = self.seq;
        self.seq += 1;
        seq
    }

    /// The header of the next packet, whose `sent` is not known yet.
    #[inline(always)]
    pub(crate) fn header(&mut self, cause: &Cause, held: Nanos) -> Header {
        Header {
            seq: self.next(),
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
    pub(crate) fn new(mut edges: Vec<Tx<T>>) -> Out<T> {
        if edges.len() > 1 {
            edges.iter().for_each(Tx::shares);
        }
        let last = edges.pop();
        Out { last, others: edges.into(), emitter: Emitter::default() }
    }

    /// Asks for what the next packet looks at.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        if let Some(Tx::Local(edge)) = &self.last {
            edge.prefetch();
        }
    }

    /// Emits a packet due to the packet in hand: of those taken in this step, the one with the oldest origin. With
    /// none in hand it is due to itself, now.
    #[inline(always)]
    pub fn emit(&mut self, ctx: &mut Ctx<'_>, payload: T) {
        // Only one call where anything is to be looked at, so that a small node's `process` is inlined into its step.
        if let Some(cause) = &ctx.cause
            && let Some(edge) = plain(&self.last, cause, Nanos::ZERO)
        {
            edge.push_plainly(cause, self.emitter.next(), payload);
        } else {
            self.emit_with_care(ctx, payload);
        }
    }

    #[inline(never)]
    fn emit_with_care(&mut self, ctx: &mut Ctx<'_>, payload: T) {
        let cause = ctx.cause.unwrap_or_else(|| Cause::from_origin(ctx.now));
        self.put_with_care(ctx, &cause, Nanos::ZERO, payload);
    }

    /// Emits data that came to exist on this host at `origin`. For sources.
    #[inline]
    pub fn emit_from(&mut self, ctx: &mut Ctx<'_>, origin: Stamp, payload: T) {
        self.put(ctx, &Cause::from_origin(origin), Nanos::ZERO, payload);
    }

    /// Emits a packet due to `cause`, of whose time here `held` was waited on purpose.
    #[inline]
    pub fn emit_as(&mut self, ctx: &mut Ctx<'_>, cause: Cause, held: Nanos, payload: T) {
        self.put(ctx, &cause, held, payload);
    }

    #[inline(always)]
    fn put(&mut self, ctx: &Ctx<'_>, cause: &Cause, held: Nanos, payload: T) {
        if let Some(edge) = plain(&self.last, cause, held) {
            edge.push_plainly(cause, self.emitter.next(), payload);
        } else {
            self.put_with_care(ctx, cause, held, payload);
        }
    }

    #[inline(never)]
    fn put_with_care(&mut self, ctx: &Ctx<'_>, cause: &Cause, held: Nanos, payload: T) {
        let header = self.emitter.header(cause, held);
        let Some(last) = &self.last else { return };
        for edge in &self.others {
            let share = T::SHARE.expect("wiring refused a fan-out of what cannot be shared");
            push(edge, ctx, header, share(&payload));
        }
        push(last, ctx, header, payload);
    }

    /// Whether an edge leaves here.
    pub fn is_connected(&self) -> bool {
        self.last.is_some()
    }
}

/// The edge that takes a packet without a look at anything, if there is one.
#[inline(always)]
fn plain<'a, T>(last: &'a Option<Tx<T>>, cause: &Cause, held: Nanos) -> Option<&'a Local<T>> {
    match last {
        Some(Tx::Local(edge)) if edge.pushes_plainly() && held == Nanos::ZERO && !cause.turn.is_some() => {
            Some(edge)
        }
        _ => None,
    }
}

fn push<T>(edge: &Tx<T>, ctx: &Ctx<'_>, header: Header, payload: T) {
    let overflow = match edge {
        Tx::Local(edge) => edge.push(header, payload, ctx.now),
        Tx::Cross(edge) => {
            let sent = if MEASURED { ctx.core.clock.now_ordered() } else { ctx.now };
            edge.push(Packet { header: Header { sent, ..header }, payload })
        }
    };
    if overflow {
        ctx.core.overflow(ctx.node);
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
            let header = Header { sent: now, ..self.emitter.header(&cause, held) };
            recorder.meter.sent(1);
            if ctx.is_cancelled(cause.turn) {
                recorder.meter.cancelled(Side::Consumer);
            } else {
                let _ = recorder.taken(&header, now);
            }
        }
    }
}
