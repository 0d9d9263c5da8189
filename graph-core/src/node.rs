//! What a node is, for those who write one.
//!
//! Most nodes are a [`Source`], a [`Transform`] or a [`Sink`]. A node with several ports, or one that keeps packets,
//! is a [`Node`]. Either way it has a [`Kind`]: a name, words and parameters.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::{
    AssetRef,
    build::Build,
    context::{Ctx, Cx, SinkCx},
    error::{BuildError, NodeError},
    payload::Payload,
    sample::{NoSample, Sample},
    time::Stamp,
    wiring::Ports,
};

/// A kind of node: what the graph file names and the node reference shows.
pub trait Kind: Sized + 'static {
    /// `domain/name`, such as `speech/vad`.
    const KIND: &'static str;
    /// One sentence for the node reference.
    const ABOUT: &'static str;
    /// Whether a step may take long (a model, a blocking call): a derived lane then holds this node alone.
    const HEAVY: bool = false;
    /// Whether every packet taken gives exactly one packet at each output, whatever it holds. What the quantiles of a
    /// path's edges guarantee of the path rests on it. A [`Sink`]'s `done` is marked for every packet anyway.
    const ONE_TO_ONE: bool = false;
    /// What `with` holds: one field a parameter, its doc comment the description, `#[serde(default)]` its default.
    type Params: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// Makes a node, on the thread where it will run and before the first packet: here models are loaded, files
    /// opened and sockets bound.
    fn new(params: &Self::Params, build: &mut Build<'_>) -> Result<Self, BuildError>;

    /// What is wrong with these parameters beside their types, as far as that is known without running: told by `graphrun
    /// check` with the place of the parameter. [`Kind::new`] refuses the same, since a test may make a node without it.
    fn check(params: &Self::Params) -> Vec<Fault> {
        let _ = params;
        Vec::new()
    }

    /// The files that a node with these parameters needs, so that they are fetched before the run.
    fn assets(params: &Self::Params) -> Vec<AssetRef> {
        let _ = params;
        Vec::new()
    }

    /// Declares what the node is benched with, alone: the packets that it gets, or what happens to it from outside.
    /// `given` are the parameters of a node of a graph that is benched. Returns those to make the node with: these, or
    /// where there are none, some that make it do what it is for.
    ///
    /// A bench writes to no file and no address of the user's: parameters that name one are replaced, by something in
    /// [`Sample::dir`] or on the loopback.
    ///
    /// # Errors
    /// That there is no sample, or that what it needs is not on this machine.
    fn sample(given: Option<Self::Params>, sample: &mut Sample<'_>) -> Result<Self::Params, NoSample> {
        let _ = (given, sample);
        Err(NoSample::Undeclared)
    }
}

/// What is wrong with one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The parameter's name.
    pub param: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Fault {
    /// The fault of `param` that an attempt has, if it has one.
    pub fn of<T, E: std::fmt::Display>(param: &'static str, attempt: Result<T, E>) -> Option<Fault> {
        attempt.err().map(|error| Fault { param, message: error.to_string() })
    }
}

/// What a step leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Nothing to do until a packet, a timer, a descriptor or a waker comes.
    Idle,
    /// As `Idle`, but the packets that are queued stay there until the node is stepped for another reason: it is busy
    /// until a timer, a descriptor or a waker. The time is the packets' wait.
    Busy,
    /// There is more to do: step again as soon as the outputs have room, after the nodes nearer to a sink.
    Again,
    /// The node has ended: its outputs close, and it is not stepped again.
    Done,
}

/// The general node: any ports, any pattern of taking and emitting.
///
/// A step should be short. A node that has much to do returns [`Flow::Again`] after a part of it.
pub trait Node: Kind {
    /// The ports, as fields.
    type Ports: 'static;

    /// Declares the ports; called once to describe the kind and once for each node.
    fn ports(ports: &mut Ports<'_>) -> Self::Ports;

    /// Called when a trigger input has a packet, a timer asked for is due, a descriptor is readable, the waker was
    /// used, or the last step returned [`Flow::Again`]; and when every `block` output has room for its burst. Called
    /// once at the start, and now and then for nothing, as when a turn is cancelled: a step takes what there is.
    fn step(&mut self, ports: &mut Self::Ports, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError>;

    /// Called when all inputs have ended and the last step left no more to do ([`Flow::Again`]), or a node without
    /// inputs is to end: the last chance to emit. Called again while it returns [`Flow::Again`]; after [`Flow::Idle`],
    /// when a timer, a descriptor or a waker comes.
    fn finish(&mut self, ports: &mut Self::Ports, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        let _ = (ports, ctx);
        Ok(Flow::Done)
    }
}

/// A node with one output and no input. Its port is named `out`.
pub trait Source: Kind {
    /// What it gives.
    type Out: Payload;

    /// Gives what is due at `now` by [`Cx::emit_from`] and asks to be woken by [`Ctx::wake_at`], or returns
    /// [`Flow::Again`] to be called at once, or [`Flow::Done`] at the end.
    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Self::Out>) -> Result<Flow, NodeError>;
}

/// A node with one input and one output. Its ports are named `in` and `out`.
pub trait Transform: Kind {
    /// What it takes.
    type In: Payload;
    /// What it gives.
    type Out: Payload;
    /// Whether one input may become several outputs.
    const MANY: bool = false;

    /// Takes one packet and emits what follows from it.
    fn process(&mut self, input: Self::In, cx: &mut Cx<'_, '_, Self::Out>) -> Result<(), NodeError>;

    /// The input has ended: emits what is left.
    fn finish(&mut self, cx: &mut Cx<'_, '_, Self::Out>) -> Result<(), NodeError> {
        let _ = cx;
        Ok(())
    }
}

/// A node with one input and no output. Its port is named `in`, and the edge of its own stage `done`.
pub trait Sink: Kind {
    /// What it takes.
    type In: Payload;

    /// Takes one packet. When it returns, the effect has happened, and `done` is stamped.
    fn consume(&mut self, input: Self::In, cx: &mut SinkCx<'_, '_>) -> Result<(), NodeError>;

    /// The input has ended.
    fn finish(&mut self, cx: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        let _ = cx;
        Ok(())
    }
}
