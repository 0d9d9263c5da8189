//! Nodes for tests of the runtime.

use std::{
    io::{ErrorKind, Read, Write},
    os::unix::net::UnixStream,
};

use graph_core::{
    Build, BuildError, Cause, Counter, Ctx, Cx, Done, Flow, In, Kind, Nanos, Node, NodeError, Out, Ports,
    Registry, Source, Stamp, Transform, payload,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// A number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number(pub u64);
payload!(Number, "number");

/// Counts from 0, a number a period, each in a turn of its own where asked.
pub(crate) struct Every {
    params: EveryParams,
    next: u64,
    due: Option<Stamp>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EveryParams {
    /// How many numbers.
    count: u64,
    /// The time between two.
    period: Nanos,
    /// Whether each is a turn.
    #[serde(default)]
    turns: bool,
    /// The number at which it fails.
    #[serde(default)]
    fails_at: Option<u64>,
}

impl Kind for Every {
    const KIND: &'static str = "test/every";
    const ABOUT: &'static str = "Counts, a number a period.";
    type Params = EveryParams;

    fn new(params: &EveryParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Every { params: params.clone(), next: 0, due: None })
    }
}

impl Source for Every {
    type Out = Number;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Number>) -> Result<Flow, NodeError> {
        let due = *self.due.get_or_insert(now);
        if now < due {
            cx.wake_at(due);
            return Ok(Flow::Idle);
        }
        if self.next == self.params.count {
            return Ok(Flow::Done);
        }
        if self.params.fails_at == Some(self.next) {
            return Err(NodeError::new("it cannot count further"));
        }
        let mut cause = Cause::from_origin(due);
        if self.params.turns {
            cause = cause.in_turn(cx.open_turn());
        }
        cx.emit_as(cause, Nanos::ZERO, Number(self.next));
        self.next += 1;
        self.due = Some(due + self.params.period);
        Ok(Flow::Again)
    }
}

/// Takes a while over each number, and fails or panics at one.
pub(crate) struct Slow {
    params: SlowParams,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlowParams {
    /// The time that a number takes.
    #[serde(default)]
    takes: Nanos,
    /// The number at which it fails.
    #[serde(default)]
    fails_at: Option<u64>,
    /// The number from which on it fails.
    #[serde(default)]
    fails_from: Option<u64>,
    /// The number at which it panics.
    #[serde(default)]
    panics_at: Option<u64>,
    /// Whether its making fails.
    #[serde(default)]
    unmakeable: bool,
}

impl Kind for Slow {
    const KIND: &'static str = "test/slow";
    const ABOUT: &'static str = "Takes a while.";
    type Params = SlowParams;

    fn new(params: &SlowParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        if params.unmakeable {
            return Err(BuildError::new("the part is missing; order one"));
        }
        Ok(Slow { params: params.clone() })
    }
}

impl Transform for Slow {
    type In = Number;
    type Out = Number;

    fn process(&mut self, number: Number, cx: &mut Cx<'_, '_, Number>) -> Result<(), NodeError> {
        cx.clock().advance(self.params.takes);
        if self.params.fails_at == Some(number.0)
            || self.params.fails_from.is_some_and(|from| number.0 >= from)
        {
            return Err(NodeError::new("the number is cursed"));
        }
        assert_ne!(self.params.panics_at, Some(number.0), "the number is doomed");
        cx.emit(number);
        Ok(())
    }
}

/// Takes numbers, one after the other.
pub(crate) struct Tell {
    params: TellParams,
    /// What it is busy with, and until when.
    busy: Option<(Cause, Stamp)>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TellParams {
    /// The time that a number takes.
    #[serde(default)]
    takes: Nanos,
}

pub(crate) struct TellPorts {
    input: In<Number>,
    done: Done,
}

impl Kind for Tell {
    const KIND: &'static str = "test/tell";
    const ABOUT: &'static str = "Takes numbers.";
    type Params = TellParams;

    fn new(params: &TellParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Tell { params: params.clone(), busy: None })
    }
}

impl Node for Tell {
    type Ports = TellPorts;

    fn ports(ports: &mut Ports<'_>) -> TellPorts {
        TellPorts { input: ports.input("in", "Numbers."), done: ports.done() }
    }

    fn step(&mut self, ports: &mut TellPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if let Some((cause, until)) = self.busy {
            if ctx.now() < until {
                return Ok(Flow::Busy);
            }
            ports.done.mark(ctx, cause, Nanos::ZERO);
        }
        self.busy = ports.input.take(ctx).map(|taken| (taken.cause, taken.cause.taken + self.params.takes));
        if let Some((_, until)) = self.busy {
            ctx.wake_at(until);
            return Ok(Flow::Busy);
        }
        Ok(Flow::Idle)
    }

    fn finish(&mut self, ports: &mut TellPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        Ok(match self.step(ports, ctx)? {
            Flow::Idle => Flow::Done,
            flow => flow,
        })
    }
}

/// Cancels the turn of a number when the number after it comes, as somebody who speaks again does.
pub(crate) struct BargeIn {
    before: Option<Cause>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

pub(crate) struct BargeInPorts {
    input: In<Number>,
    out: Out<Number>,
}

impl Kind for BargeIn {
    const KIND: &'static str = "test/barge-in";
    const ABOUT: &'static str = "Cancels the turn before.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(BargeIn { before: None })
    }
}

impl Node for BargeIn {
    type Ports = BargeInPorts;

    fn ports(ports: &mut Ports<'_>) -> BargeInPorts {
        BargeInPorts { input: ports.input("in", "Numbers."), out: ports.output("out", "Numbers.") }
    }

    fn step(&mut self, ports: &mut BargeInPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if let Some(taken) = ports.input.take(ctx) {
            if let Some(before) = self.before.replace(taken.cause) {
                ctx.cancel(before.turn);
            }
            ports.out.emit(ctx, taken.payload);
        }
        Ok(Flow::Idle)
    }
}

/// Adds the latest number of its latch to each that it takes, and what came back by its feedback input.
pub(crate) struct Mix {
    back: u64,
    steps: Counter,
}

pub(crate) struct MixPorts {
    input: In<Number>,
    back: In<Number>,
    latest: graph_core::Latch<Number>,
    out: Out<Number>,
}

impl Kind for Mix {
    const KIND: &'static str = "test/mix";
    const ABOUT: &'static str = "Mixes what it takes with a latest value.";
    type Params = Nothing;

    fn new(_: &Nothing, build: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Mix { back: 0, steps: build.counter("steps", "How often it was stepped.") })
    }
}

impl Node for Mix {
    type Ports = MixPorts;

    fn ports(ports: &mut Ports<'_>) -> MixPorts {
        MixPorts {
            back: ports.control("back", "What came of it."),
            input: ports.input("in", "Numbers."),
            latest: ports.latch("latest", "What is added."),
            out: ports.output("out", "Sums."),
        }
    }

    fn step(&mut self, ports: &mut MixPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        self.steps.add(1);
        while ports.back.take(ctx).is_some() {
            self.back += 1;
        }
        if let Some(taken) = ports.input.take(ctx) {
            let latest = ports.latest.latest(ctx).map_or(0, |number| number.0);
            ports.out.emit_as(
                ctx,
                taken.cause,
                Nanos::ZERO,
                Number(taken.payload.0 * 1_000_000 + latest * 1_000 + self.back),
            );
        }
        Ok(Flow::Idle)
    }
}

/// Writes a byte to a socket, waits until it can be read at the other end, and gives it.
pub(crate) struct Echo {
    near: UnixStream,
    far: UnixStream,
    written: bool,
}

impl Kind for Echo {
    const KIND: &'static str = "test/echo";
    const ABOUT: &'static str = "Gives what comes back.";
    type Params = Nothing;

    fn new(_: &Nothing, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let (near, far) = UnixStream::pair()?;
        far.set_nonblocking(true)?;
        build.watch(&far)?;
        Ok(Echo { near, far, written: false })
    }
}

impl Source for Echo {
    type Out = Number;

    fn poll(&mut self, _: Stamp, cx: &mut Cx<'_, '_, Number>) -> Result<Flow, NodeError> {
        let mut byte = [0];
        match self.far.read(&mut byte) {
            Ok(_) => {
                cx.emit(Number(byte[0].into()));
                Ok(Flow::Done)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if !std::mem::replace(&mut self.written, true) {
                    self.near.write_all(&[42])?;
                }
                Ok(Flow::Idle)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Gives each number three times, one a step.
pub(crate) struct Thrice {
    hand: Option<(Cause, Number)>,
    left: u32,
}

pub(crate) struct ThricePorts {
    input: In<Number>,
    out: Out<Number>,
}

impl Kind for Thrice {
    const KIND: &'static str = "test/thrice";
    const ABOUT: &'static str = "Gives each number three times.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Thrice { hand: None, left: 0 })
    }
}

impl Node for Thrice {
    type Ports = ThricePorts;

    fn ports(ports: &mut Ports<'_>) -> ThricePorts {
        ThricePorts { input: ports.input("in", "Numbers."), out: ports.many("out", "Numbers.", 1) }
    }

    fn step(&mut self, ports: &mut ThricePorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if self.left == 0
            && let Some(taken) = ports.input.take(ctx)
        {
            (self.hand, self.left) = (Some((taken.cause, taken.payload)), 3);
        }
        if let (Some((cause, number)), 1..) = (&self.hand, self.left) {
            ports.out.emit_as(ctx, *cause, Nanos::ZERO, number.clone());
            self.left -= 1;
        }
        Ok(if self.left > 0 { Flow::Again } else { Flow::Idle })
    }
}

/// All of them.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.source::<Every>().source::<Echo>();
    registry.transform::<Slow>().node::<Tell>().node::<BargeIn>().node::<Mix>().node::<Thrice>();
    registry
}
