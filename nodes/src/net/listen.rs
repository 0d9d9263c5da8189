//! A socket and what is heard on it: what the two receiving nodes share.

use graph_core::{Build, BuildError, Cause, Counter, Ctx, Flow, Nanos, NodeError, Stamp, WireIn};

use super::{
    receive::{Datagram, Formats, Received, Receiver},
    rtp::Header,
    socket::Receiving,
};

/// A sender that is a node of the graph and has ended: what it sent may be on its way for so long.
const LINGER: Nanos = Nanos::from_millis(200);

/// How a node listens.
pub(crate) struct Listen<'a> {
    /// Where.
    pub(crate) bind: &'a str,
    /// The payload types that are understood.
    pub(crate) formats: &'a Formats,
    /// How long packets behind a gap are held.
    pub(crate) wait: Nanos,
    /// Whether the source's BYE ends the stream.
    pub(crate) end_on_bye: bool,
    /// Silence on the socket that ends the stream.
    pub(crate) idle: Option<Nanos>,
}

/// A stream of RTP audio from a socket, each frame with the cause that its packet is.
pub(crate) struct Listener {
    socket: Receiving,
    receiver: Receiver<Cause>,
    end_on_bye: bool,
    idle: Option<Nanos>,
    /// The last datagram, or the start.
    heard: Option<Stamp>,
    /// When the sender was found to have ended.
    closed: Option<Stamp>,
    ended: bool,
    notes: Notes,
}

struct Notes {
    lost: Counter,
    late: Counter,
    reordered: Counter,
    duplicate: Counter,
    stray: Counter,
    garbage: Counter,
    concealed: Counter,
    overflowed: Counter,
    jitter: Counter,
    stamp_error: Counter,
}

impl Listener {
    pub(crate) fn new(listen: Listen<'_>, build: &mut Build<'_>) -> Result<Listener, BuildError> {
        let socket = Receiving::bind(listen.bind, build.clock().clone())?;
        build.watch(&socket)?;
        Ok(Listener {
            socket,
            receiver: Receiver::new(listen.formats.clone(), listen.wait),
            end_on_bye: listen.end_on_bye,
            idle: listen.idle,
            heard: None,
            closed: None,
            ended: false,
            notes: Notes {
                lost: build.counter("lost", "Packets that never came."),
                late: build.counter("late", "Packets that came after the wait for them was over."),
                reordered: build.counter("reordered", "Packets that came behind a later one, but in time."),
                duplicate: build.counter("duplicate", "Packets that came again."),
                stray: build.counter("stray", "Packets of another source or far from the sequence."),
                garbage: build.counter("garbage", "Datagrams that were no sound of a known payload type."),
                concealed: build.counter("concealed", "Frames made up for lost ones."),
                overflowed: build.counter("overflowed", "Datagrams that the kernel had no room for."),
                jitter: build
                    .counter("jitter, us", "Unevenness of arrival at the end (RFC 3550, section 6.4.1)."),
                stamp_error: build.counter("stamp error, ns", "The most by which a kernel stamp may be off."),
            },
        })
    }

    /// The next frame in order; `None` when there is none now, and the socket is read to its end.
    pub(crate) fn next(
        &mut self,
        wire: &mut WireIn,
        ctx: &mut Ctx<'_>,
    ) -> Result<Option<Received<Cause>>, NodeError> {
        loop {
            if let Some(frame) = self.receiver.next_frame(ctx.now()) {
                return Ok(Some(frame));
            }
            match self.socket.receive()? {
                Some((arrival, datagram)) => {
                    let now = ctx.now();
                    let arrived = arrival.arrived;
                    self.heard = Some(now);
                    self.notes.stamp_error.at_least(arrival.error.0);
                    let cause = |header: &Header| {
                        wire.take(ctx, header.wire_key()).unwrap_or(Cause::from_origin(arrived))
                    };
                    let what = self.receiver.take(now, arrived, datagram, cause);
                    self.ended |= what == Datagram::Bye && self.end_on_bye;
                }
                None if self.ended && !self.receiver.is_empty() => self.receiver.finish(ctx.now()),
                None => return Ok(None),
            }
        }
    }

    /// Asks to be woken when a gap is given up or silence ends the stream; says what the step leaves behind.
    pub(crate) fn rest(&mut self, wire: &WireIn, ctx: &mut Ctx<'_>) -> Flow {
        let now = ctx.now();
        let heard = *self.heard.get_or_insert(now);
        let mut silent = self.idle.map_or(Stamp::MAX, |idle| heard + idle);
        if wire.is_closed() {
            let closed = *self.closed.get_or_insert(now);
            silent = silent.min(closed.max(heard) + LINGER);
        }
        if self.ended || silent <= now {
            return Flow::Done;
        }
        ctx.wake_at(self.receiver.deadline().map_or(silent, |deadline| deadline.min(silent)));
        Flow::Idle
    }

    /// The stream is over: what waits behind a gap waits no more.
    pub(crate) fn end(&mut self, now: Stamp) {
        self.ended = true;
        self.receiver.finish(now);
    }

    /// Writes down what became of the datagrams; once, at the end.
    pub(crate) fn report(&self) {
        let counts = self.receiver.counts();
        let notes = &self.notes;
        notes.lost.add(counts.lost);
        notes.late.add(counts.late);
        notes.reordered.add(counts.reordered);
        notes.duplicate.add(counts.duplicate);
        notes.stray.add(counts.stray);
        notes.garbage.add(self.receiver.garbage().total());
        notes.concealed.add(self.receiver.concealed());
        notes.overflowed.add(self.socket.overflowed());
        notes.jitter.add(self.receiver.jitter().0 / 1_000);
    }
}
