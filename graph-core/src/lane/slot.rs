//! How a node of a lane stands: whether it runs, and what its edges hold.

use std::rc::Rc;

use super::Place;
use crate::{
    file::OnError,
    kind::Trigger,
    time::Stamp,
    wire_port::WireInput,
    wiring::{InputView, OutputView, Queued},
};

/// How a node stands.
pub(crate) struct Slot {
    pub(super) place: Rc<Place>,
    pub(super) state: State,
    /// Whether it runs until it is told to stop.
    pub(super) is_source: bool,
    /// Failures in a row.
    pub(super) failures: u32,
    pub(super) inputs: Vec<Rc<dyn InputView>>,
    pub(super) outputs: Vec<Rc<dyn OutputView>>,
    /// Sockets from other nodes of the graph: a node with one ends by itself, when the other end has, and not by a
    /// stop.
    pub(super) wires: Vec<Rc<WireInput>>,
    pub(super) on_error: OnError,
}

/// What the trigger inputs of a node hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Supply {
    /// Something to take.
    Packet,
    /// Nothing now.
    Nothing,
    /// Nothing any more, feedback excepted.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    /// Failed; is made anew at this time.
    Restarting(Stamp),
    /// No more input comes.
    Finishing,
    /// Emits no more, but not all has been handed over.
    Closing,
    Closed,
}

impl Slot {
    pub(crate) fn new(
        place: Rc<Place>,
        inputs: Vec<Rc<dyn InputView>>,
        outputs: Vec<Rc<dyn OutputView>>,
        wires: Vec<Rc<WireInput>>,
        on_error: OnError,
    ) -> Slot {
        let feeds =
            |input: &&Rc<dyn InputView>| input.state().trigger != Trigger::Latch && !input.state().feedback;
        let is_source = wires.is_empty() && inputs.iter().filter(feeds).count() == 0;
        place.set(Place::SPECIAL, is_source);
        place.set(Place::ASKS_INPUTS, inputs.iter().any(|input| input.must_be_asked()));
        place.set(Place::ASKS_OUTPUTS, outputs.iter().any(|output| output.must_be_asked()));
        Slot { place, state: State::Running, is_source, failures: 0, inputs, outputs, wires, on_error }
    }

    pub(super) fn has_urgent_packet(&self) -> bool {
        let urgent = |input: &Rc<dyn InputView>| {
            input.state().trigger == Trigger::Control && input.look() == Queued::Packet
        };
        self.inputs.iter().any(urgent)
    }

    /// What its trigger inputs hold.
    pub(super) fn supply(&self) -> Supply {
        let (mut packet, mut fed, mut open) = (false, false, false);
        for input in self.inputs.iter().filter(|input| input.state().trigger != Trigger::Latch) {
            let queued = input.look();
            let feedback = input.state().feedback;
            packet |= queued == Queued::Packet;
            fed |= !feedback;
            open |= !feedback && queued != Queued::Ended;
        }
        match (packet, fed && !open) {
            (true, _) => Supply::Packet,
            (false, true) => Supply::Ended,
            (false, false) => Supply::Nothing,
        }
    }

    pub(super) fn enter(&mut self, state: State) {
        self.state = state;
        let is_running = state == State::Running;
        self.place.set(Place::DEAF, !is_running);
        self.place.set(Place::SPECIAL, self.is_source || !is_running || self.failures > 0);
    }

    /// Lets producers of other lanes know of the room that the step made.
    pub(super) fn settle_inputs(&self) {
        for input in &self.inputs {
            input.look();
        }
    }
}
