//! How a node's ports come to be: described for its kind, or bound to the edges of one node.

use std::{rc::Rc, sync::atomic::Ordering};

use crate::{
    edge::{EdgeState, Rx, RxEnd, Tx, TxEnd},
    kind::{Arity, PortRole, PortSpec, Trigger},
    payload::Payload,
    port::{Done, In, Latch, Out},
    record::Recorder,
    time::Stamp,
    wire_port::{WireIn, WireInput, WireOut, WireOutput},
};

/// Declares a node's ports; see [`Node::ports`](crate::Node::ports).
///
/// Names are unique within a node. An edge may name the node alone where it has one input, or one output.
pub struct Ports<'a> {
    pub(crate) mode: Mode<'a>,
}

pub(crate) enum Mode<'a> {
    Describe(&'a mut Vec<PortSpec>),
    Bind(&'a mut Wiring),
}

/// A node's ends of edges, before it has taken them, and what the lane sees of its ports afterwards.
#[derive(Default)]
pub(crate) struct Wiring {
    pub(crate) rx: Vec<(&'static str, RxEnd)>,
    pub(crate) tx: Vec<(&'static str, TxEnd)>,
    pub(crate) done: Option<Recorder>,
    pub(crate) wire_tx: Vec<(&'static str, WireOutput)>,
    pub(crate) wire_rx: Vec<(&'static str, WireInput)>,
    pub(crate) inputs: Vec<Rc<dyn InputView>>,
    pub(crate) outputs: Vec<Rc<dyn OutputView>>,
    pub(crate) wires: Vec<Rc<WireInput>>,
}

/// What the lane sees of an edge that enters a node.
pub(crate) trait InputView {
    /// What it holds. Producers of another lane that wait for room learn of it.
    fn look(&self) -> Queued;
    /// Whether it holds a packet, for who looks often.
    fn has_packet(&self) -> bool;
    /// Whether only [`InputView::look`] tells, and not the lane's [`Place`](crate::lane::Place) of the node.
    fn must_be_asked(&self) -> bool;
    fn state(&self) -> &EdgeState;
    /// The node does not step at once with the packet that has just come, or not as usual.
    fn put_off(&self) {}
    /// Tells the meter what it does not know yet.
    fn publish(&self);
    /// Its number among the edges inside the lane, if it is one.
    fn number(&self) -> Option<usize>;
    /// Takes no more. What is queued is left.
    fn leave(&self);
}

/// What an input holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queued {
    /// Something to take.
    Packet,
    /// Nothing now.
    Nothing,
    /// Nothing any more.
    Ended,
}

/// What the lane sees of an edge that leaves a node.
pub(crate) trait OutputView {
    /// Whether a burst fits, or need not. The time that it does not is charged to the edge.
    fn has_room(&self, now: Stamp) -> bool;
    /// Whether only [`OutputView::has_room`] tells, and not the lane's [`Place`](crate::lane::Place) of the node.
    fn must_be_asked(&self) -> bool;
    /// Packets that were sent in the last step of their producer are told when it ended.
    fn stamp_unsent(&self) {}
    /// Hands over what is still here. Returns whether nothing is.
    fn flush(&self) -> bool;
    /// End of stream.
    fn close(&self);
}

impl Ports<'_> {
    /// An input whose packets make the node step. A graph without an edge here is refused.
    pub fn input<T: Payload>(&mut self, name: &'static str, about: &'static str) -> In<T> {
        self.any_input(name, about, Trigger::Trigger, true)
    }

    /// As [`Ports::input`], but may be left without an edge.
    pub fn optional_input<T: Payload>(&mut self, name: &'static str, about: &'static str) -> In<T> {
        self.any_input(name, about, Trigger::Trigger, false)
    }

    /// An optional input that is served first: a node with a packet here steps before the others of its lane, and
    /// should take from here before it takes elsewhere.
    pub fn control<T: Payload>(&mut self, name: &'static str, about: &'static str) -> In<T> {
        self.any_input(name, about, Trigger::Control, false)
    }

    /// An optional input of which only the latest value counts.
    pub fn latch<T: Payload>(&mut self, name: &'static str, about: &'static str) -> Latch<T> {
        Latch::new(self.any_input(name, about, Trigger::Latch, false))
    }

    /// An output with at most one packet for each cause.
    pub fn output<T: Payload>(&mut self, name: &'static str, about: &'static str) -> Out<T> {
        self.any_output(name, about, Arity::One, 1)
    }

    /// An output with any number of packets for each cause, at most `burst` of them in one step.
    pub fn many<T: Payload>(&mut self, name: &'static str, about: &'static str, burst: usize) -> Out<T> {
        self.any_output(name, about, Arity::Many, burst)
    }

    /// A sink's own edge, named `done`: marked when the effect has happened.
    pub fn done(&mut self) -> Done {
        match &mut self.mode {
            Mode::Describe(ports) => {
                ports.push(PortSpec::new::<()>(
                    "done",
                    "The effect of a packet has happened.",
                    PortRole::Done,
                ));
                Done::default()
            }
            Mode::Bind(wiring) => Done::new(wiring.done.take()),
        }
    }

    /// The sending end of a socket whose other end may be in the same graph.
    pub fn wire_out(&mut self, name: &'static str, about: &'static str) -> WireOut {
        match &mut self.mode {
            Mode::Describe(ports) => {
                let role = PortRole::Output { arity: Arity::Many };
                ports.push(PortSpec { wire: true, ..PortSpec::new::<Wire>(name, about, role) });
                WireOut::default()
            }
            Mode::Bind(wiring) => {
                let found = wiring.wire_tx.iter().position(|(port, _)| *port == name);
                let edge = found.map(|at| Rc::new(wiring.wire_tx.swap_remove(at).1));
                wiring.outputs.extend(edge.clone().map(|edge| edge as Rc<dyn OutputView>));
                WireOut::new(edge)
            }
        }
    }

    /// The receiving end of a socket whose other end may be in the same graph.
    pub fn wire_in(&mut self, name: &'static str, about: &'static str) -> WireIn {
        match &mut self.mode {
            Mode::Describe(ports) => {
                let role = PortRole::Input { trigger: Trigger::Trigger, required: false };
                ports.push(PortSpec { wire: true, ..PortSpec::new::<Wire>(name, about, role) });
                WireIn::default()
            }
            Mode::Bind(wiring) => {
                let found = wiring.wire_rx.iter().position(|(port, _)| *port == name);
                let input = found.map(|at| Rc::new(wiring.wire_rx.swap_remove(at).1));
                wiring.wires.extend(input.clone());
                WireIn::new(input)
            }
        }
    }

    fn any_input<T: Payload>(
        &mut self,
        name: &'static str,
        about: &'static str,
        trigger: Trigger,
        required: bool,
    ) -> In<T> {
        match &mut self.mode {
            Mode::Describe(ports) => {
                ports.push(PortSpec::new::<T>(name, about, PortRole::Input { trigger, required }));
                In::default()
            }
            Mode::Bind(wiring) => {
                let Some(at) = wiring.rx.iter().position(|(port, _)| *port == name) else {
                    return In::default();
                };
                let rx = Rx::<T>::bind(wiring.rx.swap_remove(at).1);
                wiring.inputs.push(rx.view());
                In::new(rx)
            }
        }
    }

    fn any_output<T: Payload>(
        &mut self,
        name: &'static str,
        about: &'static str,
        arity: Arity,
        burst: usize,
    ) -> Out<T> {
        let mut edges = Vec::new();
        match &mut self.mode {
            Mode::Describe(ports) => {
                let role = PortRole::Output { arity };
                ports.push(PortSpec { burst, ..PortSpec::new::<T>(name, about, role) });
            }
            Mode::Bind(wiring) => {
                while let Some(at) = wiring.tx.iter().position(|(port, _)| *port == name) {
                    let edge = Tx::<T>::bind(wiring.tx.remove(at).1, burst);
                    wiring.outputs.push(edge.view());
                    edges.push(edge);
                }
            }
        }
        Out::new(edges)
    }
}

/// What crosses the edge between two ends of a socket: nothing that the runtime carries.
pub(crate) struct Wire;

impl Payload for Wire {
    const TYPE: &'static str = "wire";
}

impl Payload for () {
    const TYPE: &'static str = "nothing";
}

impl OutputView for WireOutput {
    fn has_room(&self, _: Stamp) -> bool {
        true
    }

    fn must_be_asked(&self) -> bool {
        false
    }

    fn flush(&self) -> bool {
        true
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.consumer.wake();
    }
}
