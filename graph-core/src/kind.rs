//! What is known of a node kind before any node of it exists: its ports, parameters and words for the reference.

use std::{
    any::{Any, TypeId},
    rc::Rc,
    sync::Arc,
};

use crate::{
    diagnostic::Diagnostics,
    edge::{EdgeState, Ends, LocalView, link_cross, link_local, local_view},
    file::RawWith,
    packet::Packet,
    payload::Payload,
    record::Recorder,
};

/// The node kinds that a build knows.
pub trait Kinds {
    /// What is known of a kind.
    fn get(&self, kind: &str) -> Option<&KindSpec>;

    /// All kinds, for lists and near misses.
    fn names(&self) -> Vec<&str>;

    /// The cargo feature that a build with this kind needs, where the kind exists and this build is without it.
    fn missing_feature(&self, _kind: &str) -> Option<String> {
        None
    }

    /// What is wrong with the parameters of a node of that kind, before any node is made.
    fn check_params(&self, _kind: &str, _with: &RawWith) -> Diagnostics {
        Diagnostics::new()
    }
}

/// A node kind as the registry knows it.
#[derive(Clone, Debug)]
pub struct KindSpec {
    /// `domain/name`, such as `speech/vad`.
    pub kind: &'static str,
    /// One sentence for the node reference.
    pub about: &'static str,
    /// Inputs and outputs, in the order of declaration.
    pub ports: Vec<PortSpec>,
    /// JSON schema of the parameters: names, types, defaults, descriptions.
    pub params: schemars::Schema,
    /// Whether a step may take long (a model, a blocking call), so that a derived lane holds this node alone.
    pub heavy: bool,
    /// Whether each packet taken gives exactly one at each output; see [`Kind::ONE_TO_ONE`](crate::Kind::ONE_TO_ONE).
    pub one_to_one: bool,
}

impl KindSpec {
    /// The inputs.
    pub fn inputs(&self) -> impl Iterator<Item = &PortSpec> {
        self.ports.iter().filter(|port| matches!(port.role, PortRole::Input { .. }))
    }

    /// The outputs, a sink's `done` among them.
    pub fn outputs(&self) -> impl Iterator<Item = &PortSpec> {
        self.ports.iter().filter(|port| matches!(port.role, PortRole::Output { .. }))
    }

    /// The port of that name.
    pub fn port(&self, name: &str) -> Option<&PortSpec> {
        self.ports.iter().find(|port| port.name == name)
    }
}

/// One port of a kind.
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// Its name, unique within the kind.
    pub name: &'static str,
    /// One sentence: what crosses it, in which unit and shape.
    pub about: &'static str,
    /// The payload's [`Payload::TYPE`].
    pub payload: &'static str,
    /// Which type that is: two ports may be wired when these agree.
    pub payload_id: TypeId,
    /// Whether a fan-out may share the payload.
    pub shares: bool,
    /// Whether the port is one end of a socket: such ports are wired by edges with `wire: true` only.
    pub wire: bool,
    /// What the port does.
    pub role: PortRole,
    /// How many packets a step is expected to emit here at most; 1 for an input.
    pub burst: usize,
    /// Bytes of one packet in a queue: the header and the payload itself, without what that refers to.
    pub packet_bytes: usize,
    /// Makes edges of the port's type.
    pub(crate) link: Link,
}

/// Makes both ends of an edge whose type is known to the port alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) local: LinkLocal,
    pub(crate) cross: LinkCross,
    /// A `Local<T>` as one that is asked without its type.
    pub(crate) view: fn(Rc<dyn Any>) -> Rc<dyn LocalView>,
}

/// Makes an edge inside a lane: a `Local<T>`.
pub(crate) type LinkLocal = fn(Arc<EdgeState>, Ends, Recorder) -> Rc<dyn Any>;
/// Makes an edge between lanes: a `CrossTx<T>` and a `CrossRx<T>`.
pub(crate) type LinkCross = fn(Arc<EdgeState>) -> (Box<dyn Any + Send>, Box<dyn Any + Send>);

/// What a port does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortRole {
    /// Takes packets.
    Input {
        /// Whether a packet makes the node step.
        trigger: Trigger,
        /// Whether a graph without an edge here is refused.
        required: bool,
    },
    /// Gives packets.
    Output {
        /// How many packets one cause may have here.
        arity: Arity,
    },
    /// A sink's implicit output `done`: recorded as an edge to nowhere, so that the sink's own stage has a row.
    Done,
}

/// What a packet at an input does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// It makes the node step, and is the cause of what the step emits.
    Trigger,
    /// It replaces the value before it; it neither makes the node step nor is ever a cause.
    Latch,
    /// As `Trigger`, and served before the other inputs.
    Control,
}

/// How many packets one cause may have at an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// At most one.
    One,
    /// Any number.
    Many,
}

impl PortSpec {
    /// What a packet here does; at an output, where there are none, nothing special.
    pub(crate) fn trigger(&self) -> Trigger {
        match self.role {
            PortRole::Input { trigger, .. } => trigger,
            PortRole::Output { .. } | PortRole::Done => Trigger::Trigger,
        }
    }

    pub(crate) fn new<T: Payload>(name: &'static str, about: &'static str, role: PortRole) -> PortSpec {
        PortSpec {
            name,
            about,
            payload: T::TYPE,
            payload_id: TypeId::of::<T>(),
            shares: T::SHARE.is_some(),
            wire: false,
            role,
            burst: 1,
            packet_bytes: size_of::<Packet<T>>(),
            link: Link { local: link_local::<T>, cross: link_cross::<T>, view: local_view::<T> },
        }
    }
}
