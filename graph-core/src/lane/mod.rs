//! A lane: one thread's set of nodes and the order in which it steps them.
//!
//! The lane knows nothing of threads. [`Lane::turn`] runs one step or says until when there is nothing to do; a
//! thread sleeps then, a simulation moves its clock.

mod attention;
mod core;
mod deck;
mod slot;

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
    sync::Arc,
};

use attention::ATTENTION;
use slot::{State, Supply};

pub(crate) use self::{
    core::LaneCore,
    deck::{Deck, Place},
    slot::Slot,
};

use crate::{
    adapt::Stepper,
    asset::Assets,
    build::Build,
    context::Ctx,
    error::{BuildError, NodeError},
    file::{OnError, Restart},
    kind::Trigger,
    measure::MEASURED,
    node::Flow,
    prefetch::prefetch,
    run::SUSPICION,
    time::{Nanos, Stamp},
    wait::Sleep,
    wiring::InputView,
};

/// A node: what every step needs of it, and no more.
struct Seat {
    place: Rc<Place>,
    stepper: Box<dyn Stepper>,
}

/// After so many looks at what comes from outside, one step goes not to the node that is nearest to a sink but to the one
/// whose turn it is, so that a node that always has something to do starves nobody.
const LOOKS_BETWEEN_TURNS: u32 = 64;

/// Before a node that failed with nothing in hand steps again under `on_error: skip`.
const SKIP_PAUSE: Nanos = Nanos::from_millis(1);

/// What a turn of a lane came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A node stepped.
    Stepped,
    /// Nothing to do until then, or until somebody rings.
    Idle(Stamp),
    /// All nodes have closed.
    Ended,
}

const NOBODY: usize = usize::MAX;

/// One thread's set of nodes.
pub(crate) struct Lane {
    core: LaneCore,
    /// Nearest to a sink first.
    seats: Vec<Seat>,
    /// As the seats.
    slots: Vec<Slot>,
    now: Stamp,
    /// The node that is stepping, or stepped last.
    stepping: usize,
    /// Looks at what comes from outside until a step is given by turns.
    until_fair: u32,
    /// Whose turn that is.
    fair: usize,
    /// Edges inside the lane, by number.
    locals: Vec<Rc<dyn InputView>>,
    publish_at: Stamp,
    /// When it looks whether nodes that are kept from stepping are so for ever.
    suspect_at: Stamp,
    /// Counts the steps where the clock is not read after each.
    unread: u32,
    /// Whether the next step may not simply go to the node nearest to a sink.
    picks_with_care: bool,
    /// Nodes with a control input.
    controlled: Vec<usize>,
    /// Inputs from other lanes whose packets make a node step.
    from_outside: Vec<(usize, Rc<dyn InputView>)>,
    descriptors_at: Stamp,
    attention: Nanos,
    open: usize,
    assets: Arc<dyn Assets>,
    sleep: Sleep,
    /// How long it looks for work before it sleeps.
    spin: Nanos,
}

impl Lane {
    /// Its nodes, nearest to a sink first.
    pub(crate) fn new(
        core: LaneCore,
        nodes: Vec<(Box<dyn Stepper>, Slot)>,
        assets: Arc<dyn Assets>,
        sleep: Sleep,
    ) -> Lane {
        let seat =
            |(stepper, slot): (Box<dyn Stepper>, Slot)| (Seat { place: slot.place.clone(), stepper }, slot);
        let (seats, slots): (Vec<_>, Vec<_>) = nodes.into_iter().map(seat).unzip();
        let mut locals = Vec::new();
        let mut from_outside = Vec::new();
        let mut controlled = Vec::new();
        for (node, slot) in slots.iter().enumerate() {
            core.deck.mark(node);
            let inside = slot.inputs.iter().filter_map(|view| Some((view.number()?, view.clone())));
            locals.extend(inside);
            let views = slot.inputs.iter();
            let asked = views.filter(|view| view.must_be_asked() && view.state().trigger != Trigger::Latch);
            from_outside.extend(asked.map(|view| (node, view.clone())));
            if slot.inputs.iter().any(|view| view.state().trigger == Trigger::Control) {
                controlled.push(node);
            }
        }
        locals.sort_by_key(|(number, _)| *number);
        Lane {
            open: slots.len(),
            now: core.clock.now(),
            stepping: NOBODY,
            until_fair: LOOKS_BETWEEN_TURNS,
            fair: 0,
            unread: 0,
            picks_with_care: !controlled.is_empty(),
            locals: locals.into_iter().map(|(_, view)| view).collect(),
            publish_at: Stamp::ZERO,
            suspect_at: Stamp::MAX,
            controlled,
            from_outside,
            descriptors_at: Stamp::ZERO,
            // Virtual time stands still while nodes step.
            attention: if core.clock.is_virtual() { Nanos::ZERO } else { ATTENTION },
            core,
            seats,
            slots,
            assets,
            sleep,
            spin: Nanos::ZERO,
        }
    }

    /// Looks for work for so long before it sleeps, and before a timer is due.
    pub(crate) fn spin(&mut self, spin: Nanos) {
        self.spin = spin;
    }

    /// Runs on the calling thread until all nodes have closed.
    pub(crate) fn run_to_end(&mut self) {
        self.sleep.settle(&self.core.bell);
        // One guard around all steps, since one around each costs more than a step of a small node.
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run_until_panic())) {
            self.panicked(panic);
        }
    }

    fn run_until_panic(&mut self) {
        loop {
            match self.advance() {
                Progress::Stepped => {}
                Progress::Idle(until) => self.rest(until),
                Progress::Ended => return,
            }
        }
    }

    /// As [`Lane::advance`], whatever the node does.
    pub(crate) fn turn(&mut self) -> Progress {
        match catch_unwind(AssertUnwindSafe(|| self.advance())) {
            Ok(progress) => progress,
            Err(panic) => {
                self.panicked(panic);
                Progress::Stepped
            }
        }
    }

    /// As [`Lane::turn`] under virtual time, where work may be modelled: an occupied lane does nothing until that is over,
    /// and then steps the node whose work it was. What that has made waits for no room.
    pub(crate) fn modelled_turn(&mut self) -> Progress {
        self.core.bell.rise();
        let Some((node, until)) = self.core.occupied.get() else { return self.turn() };
        if self.now < until {
            return Progress::Idle(until);
        }
        self.core.occupied.set(None);
        if self.slots[node].state == State::Running {
            self.call(node, |stepper, ctx| stepper.step(ctx));
        } else {
            self.call(node, |stepper, ctx| stepper.finish(ctx));
        }
        Progress::Stepped
    }

    /// Under virtual time: there is nothing to do, and the lane is left alone until somebody wakes it.
    pub(crate) fn doze(&self) {
        // Nobody tells of a descriptor.
        if !self.sleep.is_polling() {
            self.core.bell.doze();
        }
    }

    /// Whether the lane may have something to do before the time that it told.
    pub(crate) fn is_awake(&self) -> bool {
        self.core.occupied.get().is_none() && !self.core.bell.is_asleep()
    }

    /// What a panicking step leaves half done is the node's own state, which a restart throws away.
    fn panicked(&mut self, panic: Box<dyn Any + Send>) {
        let node = std::mem::replace(&mut self.stepping, NOBODY);
        if node == NOBODY {
            resume_unwind(panic);
        }
        let error = NodeError::new(format!("panicked: {}", panic_message(&*panic)));
        self.now = self.core.clock.now();
        self.core.deck.place(node).end_step(self.now);
        self.stepped(node, Err(error));
    }

    /// Ends all nodes where they stand, and the run with them, so that no other lane waits for this one.
    pub(crate) fn abandon(&mut self) {
        self.core.run.stop();
        self.open = 0;
        for slot in self.slots.iter_mut().filter(|slot| slot.state != State::Closed) {
            slot.enter(State::Closed);
            slot.outputs.iter().for_each(|output| output.close());
            slot.inputs.iter().for_each(|input| input.leave());
        }
    }

    /// Accounts for what is still on the way to this lane, when no other lane can send any more.
    pub(crate) fn settle(&mut self) {
        for slot in &self.slots {
            slot.inputs.iter().for_each(|input| input.leave());
            slot.wires.iter().for_each(|wire| wire.give_up());
        }
    }

    /// The nodes that have not closed.
    pub(crate) fn open_nodes(&self) -> impl Iterator<Item = &str> {
        let open = self.slots.iter().enumerate().filter(|(_, slot)| slot.state != State::Closed);
        open.map(|(node, _)| self.core.name(node))
    }

    /// Steps the ready node that is nearest to a sink. A panic of a node goes through.
    #[inline(always)]
    fn advance(&mut self) -> Progress {
        if self.now >= self.core.attend_at.get() {
            self.attend();
        }
        let Some(node) = self.pick() else { return self.advance_if_any() };
        self.step(node);
        Progress::Stepped
    }

    #[inline(never)]
    fn advance_if_any(&mut self) -> Progress {
        self.attend();
        match self.pick() {
            Some(node) => self.step(node),
            None if self.open == 0 => return Progress::Ended,
            None if self.core.run.is_abandoned() => {
                self.abandon();
                return Progress::Ended;
            }
            None => return Progress::Idle(self.core.next_alarm.get()),
        }
        Progress::Stepped
    }

    #[inline(always)]
    fn pick(&mut self) -> Option<usize> {
        match self.core.deck.take_next() {
            None => self.pick_with_care(),
            next => next,
        }
    }

    #[inline(never)]
    fn pick_with_care(&mut self) -> Option<usize> {
        let deck = &self.core.deck;
        if let Some(next) = deck.next() {
            // It may not be the one to step.
            self.slots[next].inputs.iter().for_each(|input| input.put_off());
        }
        if !self.picks_with_care {
            return deck.take_first();
        }
        let mut marked = self.controlled.iter().copied().filter(|&node| deck.is_marked(node));
        let picked = if let Some(urgent) = marked.find(|&node| self.slots[node].has_urgent_packet()) {
            deck.take(urgent);
            Some(urgent)
        } else if self.until_fair > 0 {
            deck.take_first()
        } else {
            self.until_fair = LOOKS_BETWEEN_TURNS;
            self.picks_with_care = !self.controlled.is_empty();
            let picked = deck.take_from(self.fair);
            self.fair = picked.map_or(self.fair, |node| node + 1);
            picked
        };
        if self.picks_with_care {
            deck.hold();
        }
        picked
    }

    #[inline(always)]
    fn step(&mut self, node: usize) {
        let seat = &mut self.seats[node];
        if !seat.place.may_step() {
            return self.step_with_care(node);
        }
        self.stepping = node;
        self.core.taken.set(0);
        // Whom it feeds is mostly the one before it.
        if let Some(likely) = self.seats.get(node.wrapping_sub(1)) {
            prefetch(&*likely.stepper);
        }
        let seat = &mut self.seats[node];
        let flow = seat.stepper.step(&mut Ctx::new(&self.core, node, self.now));
        if MEASURED || self.unread.is_multiple_of(16) {
            self.now = self.core.clock.now();
        }
        if !MEASURED {
            self.unread = self.unread.wrapping_add(1);
        }
        seat.place.end_step(self.now);
        if !seat.place.is_done() || flow != Some(Flow::Idle) {
            self.told(node, flow);
        }
    }

    #[inline(never)]
    fn step_with_care(&mut self, node: usize) {
        self.stepping = NOBODY;
        let slot = &mut self.slots[node];
        slot.inputs.iter().for_each(|input| input.put_off());
        if slot.state == State::Running && slot.is_source && self.core.run.is_stopping() {
            slot.enter(State::Finishing);
        }
        match slot.state {
            State::Running => {
                if self.has_room(node) {
                    self.call(node, |stepper, ctx| stepper.step(ctx));
                }
            }
            State::Restarting(_) if slot.is_source && self.core.run.is_stopping() => self.close(node),
            State::Restarting(at) if at <= self.now => self.restart(node),
            State::Restarting(at) => self.core.wake_at(node, at),
            State::Finishing => self.finish(node),
            State::Closing => self.close(node),
            State::Closed => {}
        }
    }

    fn call(&mut self, node: usize, call: impl FnOnce(&mut dyn Stepper, &mut Ctx<'_>) -> Option<Flow>) {
        let slot = &mut self.slots[node];
        if slot.place.has_unsent() {
            // The end of the step before is known, and will not be any more after this one.
            slot.outputs.iter().for_each(|output| output.stamp_unsent());
        }
        slot.place.set(Place::DEAF, slot.state != State::Running);
        self.stepping = node;
        self.core.taken.set(0);
        let stepper = &mut *self.seats[node].stepper;
        let flow = call(stepper, &mut Ctx::new(&self.core, node, self.now));
        self.now = self.core.clock.now();
        slot.place.end_step(self.now);
        self.told(node, flow);
    }

    /// Whether the outputs have room for a step; if not, the node is marked when they have.
    fn has_room(&mut self, node: usize) -> bool {
        let slot = &self.slots[node];
        if !slot.place.is_any(Place::FULL | Place::REFUSED | Place::ASKS_OUTPUTS) {
            return true;
        }
        // All of them, so that each edge knows whether it keeps the node.
        let mut room = true;
        for output in &slot.outputs {
            room &= output.has_room(self.now);
        }
        slot.place.set(Place::REFUSED, !room);
        if !room {
            slot.place.set(Place::DEAF, true);
            self.suspect_at = self.suspect_at.min(self.now + SUSPICION);
        }
        room
    }

    /// A step of `node` is over after which it is not simply done.
    #[inline(never)]
    fn told(&mut self, node: usize, flow: Option<Flow>) {
        if flow == Some(Flow::Idle) && self.seats[node].place.is_done_with_one() {
            return self.core.deck.mark(node);
        }
        let failure =
            || self.core.failure.take().unwrap_or_else(|| NodeError::new("failed and did not say why"));
        let result = flow.ok_or_else(failure);
        self.stepped(node, result);
    }

    /// Acts on what a step of `node` led to.
    fn stepped(&mut self, node: usize, mut result: Result<Flow, NodeError>) {
        self.stepping = NOBODY;
        let slot = &mut self.slots[node];
        if slot.place.is_any(Place::OVERFLOWED) {
            slot.place.set(Place::OVERFLOWED, false);
            result = result.and_then(|_| {
                Err(NodeError::new(
                    "an output edge with `full: fail` overflowed; give it more capacity or another policy",
                ))
            });
        }
        if slot.failures > 0 && result.is_ok() && (self.core.taken.get() > 0 || slot.is_source) {
            // A step with nothing in hand proves nothing.
            slot.failures = 0;
            slot.enter(slot.state);
        }
        slot.settle_inputs();
        match (slot.state, result) {
            (State::Finishing, Ok(Flow::Done)) => self.close(node),
            (State::Finishing, Ok(Flow::Idle | Flow::Busy)) => {}
            (_, Ok(Flow::Again)) => self.core.deck.mark(node),
            (_, Ok(Flow::Done)) => self.finish(node),
            (_, Ok(Flow::Busy)) => slot.place.set(Place::DEAF, true),
            (_, Ok(Flow::Idle)) => match slot.supply() {
                Supply::Packet => self.core.deck.mark(node),
                Supply::Ended => self.finish(node),
                Supply::Nothing => {}
            },
            (State::Finishing, Err(error)) => {
                let fatal = slot.on_error == OnError::Fail;
                self.core.run.failed(self.core.name(node), &error.to_string(), 0, fatal);
                self.close(node);
            }
            (_, Err(error)) => self.failed(node, &error, self.core.taken.get()),
        }
    }

    fn finish(&mut self, node: usize) {
        self.slots[node].enter(State::Finishing);
        if self.has_room(node) {
            self.call(node, |stepper, ctx| stepper.finish(ctx));
        }
    }

    fn close(&mut self, node: usize) {
        let slot = &mut self.slots[node];
        slot.enter(State::Closing);
        let mut flushed = true;
        for output in &slot.outputs {
            flushed &= output.flush();
        }
        if flushed {
            slot.enter(State::Closed);
            slot.outputs.iter().for_each(|output| output.close());
            slot.inputs.iter().for_each(|input| input.leave());
            self.open -= 1;
        }
    }

    fn failed(&mut self, node: usize, error: &NodeError, lost: u64) {
        let slot = &mut self.slots[node];
        slot.failures += 1;
        slot.enter(slot.state);
        let again = match slot.on_error {
            OnError::Fail => None,
            OnError::Skip => {
                if lost > 0 {
                    self.core.deck.mark(node);
                } else {
                    // It failed with nothing in hand and would again: a pause keeps the lane from spinning over it.
                    self.core.wake_at(node, self.now + SKIP_PAUSE);
                }
                Some(())
            }
            OnError::Restart(restart) => back_off(restart, slot.failures).map(|wait| {
                let at = self.now + wait;
                slot.enter(State::Restarting(at));
                self.core.wake_at(node, at);
            }),
        };
        self.core.run.failed(self.core.name(node), &error.to_string(), lost, again.is_none());
        if again.is_none() {
            self.close(node);
        }
    }

    fn restart(&mut self, node: usize) {
        let stepper = &mut self.seats[node].stepper;
        let mut build = Build { core: &self.core, node, assets: &*self.assets, sleep: &mut self.sleep };
        // A panic while it is made is a failure to make it.
        let made = catch_unwind(AssertUnwindSafe(|| stepper.remake(&mut build)))
            .unwrap_or_else(|panic| Err(BuildError::new(format!("panicked: {}", panic_message(&*panic)))));
        match made {
            Ok(()) => {
                self.slots[node].enter(State::Running);
                self.core.deck.mark(node);
                // It may be the first of its lane that watches a descriptor.
                self.sleep.settle(&self.core.bell);
            }
            Err(error) => self.failed(node, &NodeError::new(format!("cannot restart: {error}")), 0),
        }
    }
}

/// The wait before the restart after `failures` failures in a row; `None` when there were too many.
fn back_off(restart: Restart, failures: u32) -> Option<Nanos> {
    if restart.times.is_some_and(|times| failures > times) {
        return None;
    }
    let doubled = restart.first.0.saturating_mul(1 << (failures - 1).min(40));
    Some(Nanos(doubled.min(restart.max.0)))
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text,
        (None, None) => "no message",
    }
}
