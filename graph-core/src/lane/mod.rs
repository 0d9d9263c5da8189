//! A lane: one thread's set of nodes and the order in which it steps them.
//!
//! The lane knows nothing of threads. [`Lane::turn`] runs one step or says until when there is nothing to do; a
//! thread sleeps then, a simulation moves its clock.

mod deck;

use std::{
    any::Any,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
    sync::Arc,
};

pub(crate) use deck::Deck;

use crate::{
    adapt::Stepper,
    asset::Assets,
    bell::{Bell, Waker},
    build::Build,
    context::Ctx,
    error::{BuildError, NodeError},
    file::{OnError, Restart},
    kind::Trigger,
    node::Flow,
    run::RunCore,
    time::{Clock, Nanos, Stamp},
    wait::Sleep,
    wire_port::WireInput,
    wiring::{InputView, OutputView, Queued},
};

/// What the ports and contexts of a lane's nodes share.
pub(crate) struct LaneCore {
    pub(crate) clock: Clock,
    pub(crate) run: Arc<RunCore>,
    deck: Rc<Deck>,
    bell: Arc<Bell>,
    names: Vec<Arc<str>>,
    /// When each node wants to be stepped.
    alarms: Vec<Cell<Stamp>>,
    /// The earliest of them.
    next_alarm: Cell<Stamp>,
    /// When the lane looks at what comes from outside of it.
    attend_at: Cell<Stamp>,
    /// Causes taken in the step that is running, for the account of a failure.
    taken: Cell<u64>,
    /// Whether a push of this step overflowed a `full: fail` edge.
    overflowed: Cell<bool>,
}

impl LaneCore {
    pub(crate) fn new(run: Arc<RunCore>, deck: Rc<Deck>, bell: Arc<Bell>, names: Vec<Arc<str>>) -> LaneCore {
        LaneCore {
            clock: run.clock.clone(),
            run,
            deck,
            bell,
            alarms: names.iter().map(|_| Cell::new(Stamp::MAX)).collect(),
            names,
            next_alarm: Cell::new(Stamp::MAX),
            attend_at: Cell::new(Stamp::ZERO),
            taken: Cell::new(0),
            overflowed: Cell::new(false),
        }
    }

    pub(crate) fn name(&self, node: usize) -> &str {
        &self.names[node]
    }

    pub(crate) fn waker(&self, node: usize) -> Waker {
        Waker::new(self.bell.clone(), node)
    }

    pub(crate) fn wake_at(&self, node: usize, stamp: Stamp) {
        self.alarms[node].set(stamp);
        self.next_alarm.set(self.next_alarm.get().min(stamp));
        self.attend_at.set(self.attend_at.get().min(stamp));
    }

    #[inline]
    pub(crate) fn took(&self) {
        self.taken.set(self.taken.get() + 1);
    }

    #[cold]
    pub(crate) fn overflow(&self) {
        self.overflowed.set(true);
    }

    fn ring_alarms(&self, now: Stamp) {
        if now < self.next_alarm.get() {
            return;
        }
        let mut next = Stamp::MAX;
        for (node, alarm) in self.alarms.iter().enumerate() {
            if alarm.get() <= now {
                alarm.set(Stamp::MAX);
                self.deck.mark(node);
            } else {
                next = next.min(alarm.get());
            }
        }
        self.next_alarm.set(next);
    }
}

/// A node and how it stands.
pub(crate) struct Slot {
    stepper: Box<dyn Stepper>,
    state: State,
    /// Whether it runs until it is told to stop.
    is_source: bool,
    /// Whether a packet may wait on an input that its place on the deck does not tell of.
    asks_inputs: bool,
    /// Whether an output may be full that its place on the deck does not tell of.
    asks_outputs: bool,
    /// Failures in a row.
    failures: u32,
    inputs: Vec<Rc<dyn InputView>>,
    outputs: Vec<Rc<dyn OutputView>>,
    /// Sockets from other nodes of the graph: a node with one ends by itself, when the other end has, and not by a
    /// stop.
    wires: Vec<Rc<WireInput>>,
    on_error: OnError,
}

/// What the trigger inputs of a node hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Supply {
    /// Something to take.
    Packet,
    /// Nothing now.
    Nothing,
    /// Nothing any more, feedback excepted.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
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
        stepper: Box<dyn Stepper>,
        inputs: Vec<Rc<dyn InputView>>,
        outputs: Vec<Rc<dyn OutputView>>,
        wires: Vec<Rc<WireInput>>,
        on_error: OnError,
    ) -> Slot {
        let feeds = |input: &&Rc<dyn InputView>| {
            input.state().trigger != Trigger::Latch && !input.state().feedback
        };
        Slot {
            stepper,
            state: State::Running,
            is_source: wires.is_empty() && inputs.iter().filter(feeds).count() == 0,
            asks_inputs: inputs.iter().any(|input| input.must_be_asked()),
            asks_outputs: outputs.iter().any(|output| output.must_be_asked()),
            failures: 0,
            inputs,
            outputs,
            wires,
            on_error,
        }
    }

    fn has_urgent_packet(&self) -> bool {
        let urgent = |input: &Rc<dyn InputView>| {
            input.state().trigger == Trigger::Control && input.look() == Queued::Packet
        };
        self.inputs.iter().any(urgent)
    }

    /// What its trigger inputs hold.
    fn supply(&self) -> Supply {
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

    /// Lets producers of other lanes know of the room that the step made.
    fn settle_inputs(&self) {
        for input in &self.inputs {
            input.look();
        }
    }
}

/// A busy lane looks so often at what comes from other lanes.
const ATTENTION: Nanos = Nanos(500);

/// A busy lane looks so often at its descriptors, which is a system call.
const DESCRIPTORS: Nanos = Nanos::from_micros(50);

/// So many steps go to the nodes nearest to a sink; the next goes to the one whose turn it is, so that a node that always
/// has something to do starves nobody.
const STEPS_BY_NEARNESS: u32 = 63;

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

/// One thread's set of nodes.
pub(crate) struct Lane {
    core: LaneCore,
    /// Nearest to a sink first.
    slots: Vec<Slot>,
    now: Stamp,
    /// The node that is stepping.
    stepping: Option<usize>,
    /// Steps until one is given by turns.
    until_fair: u32,
    /// Whose turn that is.
    fair: usize,
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
    pub(crate) fn new(core: LaneCore, slots: Vec<Slot>, assets: Arc<dyn Assets>, sleep: Sleep) -> Lane {
        let mut from_outside = Vec::new();
        let mut controlled = Vec::new();
        for (node, slot) in slots.iter().enumerate() {
            core.deck.mark(node);
            let views = slot.inputs.iter();
            let asked = views.filter(|view| view.must_be_asked() && view.state().trigger != Trigger::Latch);
            from_outside.extend(asked.map(|view| (node, view.clone())));
            if slot.inputs.iter().any(|view| view.state().trigger == Trigger::Control) {
                controlled.push(node);
            }
        }
        Lane {
            open: slots.len(),
            now: core.clock.now(),
            stepping: None,
            until_fair: STEPS_BY_NEARNESS,
            fair: 0,
            controlled,
            from_outside,
            descriptors_at: Stamp::ZERO,
            // Virtual time stands still while nodes step.
            attention: if core.clock.is_virtual() { Nanos::ZERO } else { ATTENTION },
            core,
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

    /// What a panicking step leaves half done is the node's own state, which a restart throws away.
    fn panicked(&mut self, panic: Box<dyn Any + Send>) {
        let Some(node) = self.stepping.take() else { resume_unwind(panic) };
        let error = NodeError::new(format!("panicked: {}", panic_message(&*panic)));
        self.now = self.core.clock.now();
        self.core.deck.place(node).ended.set(self.now);
        self.stepped(node, Err(error));
    }

    /// Sleeps until `until` or a ring. With a spin, the lane spins for so long before it sleeps, and wakes so much
    /// before `until` to spin up to it.
    fn rest(&mut self, until: Stamp) {
        let now = self.look_at_clock();
        let until_sleep = now + self.spin;
        self.spin_until(until.min(until_sleep));
        let wake = if until == Stamp::MAX { until } else { until - self.spin };
        if self.core.deck.any() {
            return;
        }
        if self.now < wake && self.core.bell.doze() {
            // Announced: from here on whoever sends rings, and what was sent before is seen.
            if !self.hears_from_outside() {
                let core = &self.core;
                self.sleep.sleep(self.now, wake, |node| core.deck.mark(node));
            }
            self.core.bell.rise();
            self.look_at_clock();
        }
        if self.spin > Nanos::ZERO && self.now >= wake {
            self.spin_until(until);
        }
    }

    fn spin_until(&mut self, until: Stamp) {
        while self.now < until && !self.core.bell.has_rung() && !self.hears_from_outside() {
            let core = &self.core;
            self.sleep.look(|node| core.deck.mark(node));
            if core.deck.any() {
                return;
            }
            std::hint::spin_loop();
            self.look_at_clock();
        }
    }

    /// Marks the nodes that have packets from other lanes. Returns whether there is one.
    fn hears_from_outside(&self) -> bool {
        let deck = &self.core.deck;
        let mut heard = false;
        for (node, view) in &self.from_outside {
            if !deck.place(*node).deaf.get() && view.look() == Queued::Packet {
                deck.mark(*node);
                heard = true;
            }
        }
        heard
    }

    /// Time has passed: a sleep, or other lanes' steps in a simulation.
    pub(crate) fn look_at_clock(&mut self) -> Stamp {
        self.now = self.core.clock.now_ordered();
        self.now
    }

    /// Ends all nodes where they stand, and the run with them, so that no other lane waits for this one.
    pub(crate) fn abandon(&mut self) {
        self.core.run.stop();
        for slot in self.slots.iter().filter(|slot| slot.state != State::Closed) {
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
    fn advance(&mut self) -> Progress {
        if self.now >= self.core.attend_at.get() {
            self.attend();
        }
        let node = match self.pick() {
            Some(node) => node,
            None => {
                self.attend();
                match self.pick() {
                    Some(node) => node,
                    None if self.open == 0 => return Progress::Ended,
                    None => return Progress::Idle(self.core.next_alarm.get()),
                }
            }
        };
        self.core.deck.unmark(node);
        self.step(node);
        Progress::Stepped
    }

    /// Marks the nodes that have something to do for a reason outside of this lane.
    fn attend(&mut self) {
        let Lane { core, now, .. } = self;
        core.bell.answer(|word, bits| core.deck.mark_word(word, bits));
        core.ring_alarms(*now);
        if *now >= self.descriptors_at {
            self.sleep.look(|node| core.deck.mark(node));
            self.descriptors_at = *now + DESCRIPTORS;
        }
        self.hears_from_outside();
        self.core.attend_at.set((self.now + self.attention).min(self.core.next_alarm.get()));
    }

    #[inline]
    fn pick(&mut self) -> Option<usize> {
        let deck = &self.core.deck;
        if !self.controlled.is_empty() {
            let marked = self.controlled.iter().copied().filter(|&node| deck.is_marked(node));
            if let Some(urgent) = marked.into_iter().find(|&node| self.slots[node].has_urgent_packet()) {
                return Some(urgent);
            }
        }
        if self.until_fair > 0 {
            self.until_fair -= 1;
            return deck.first();
        }
        self.until_fair = STEPS_BY_NEARNESS;
        let node = deck.first_from(self.fair)?;
        self.fair = node + 1;
        Some(node)
    }

    #[inline]
    fn step(&mut self, node: usize) {
        let slot = &mut self.slots[node];
        if slot.state != State::Running || slot.is_source {
            return self.step_with_care(node);
        }
        self.step_running(node);
    }

    fn step_with_care(&mut self, node: usize) {
        let slot = &mut self.slots[node];
        if slot.state == State::Running && slot.is_source && self.core.run.is_stopping() {
            slot.state = State::Finishing;
        }
        match slot.state {
            State::Running => self.step_running(node),
            State::Restarting(_) if slot.is_source && self.core.run.is_stopping() => self.close(node),
            State::Restarting(at) if at <= self.now => self.restart(node),
            State::Restarting(at) => self.core.wake_at(node, at),
            State::Finishing => self.finish(node),
            State::Closing => self.close(node),
            State::Closed => {}
        }
    }

    #[inline]
    fn step_running(&mut self, node: usize) {
        if !self.has_room(node) {
            return;
        }
        let mut ctx = Ctx::new(&self.core, node, self.now);
        let result = self.slots[node].stepper.step(&mut ctx);
        self.stepped(node, result);
    }

    /// Whether the node may step, and if so, it does now.
    #[inline]
    fn has_room(&mut self, node: usize) -> bool {
        let core = &self.core;
        let place = core.deck.place(node);
        if place.full.get() > 0 || place.refused.get() || self.slots[node].asks_outputs {
            // All of them, so that each edge knows whether it keeps the node.
            let mut room = true;
            for output in &self.slots[node].outputs {
                room &= output.has_room(self.now);
            }
            place.refused.set(!room);
            if !room {
                place.deaf.set(true);
                return false;
            }
        }
        core.deck.begin_step();
        core.taken.set(0);
        self.stepping = Some(node);
        true
    }

    /// The step of `node` is over.
    #[inline]
    fn stepped(&mut self, node: usize, result: Result<Flow, NodeError>) {
        self.now = self.core.clock.now();
        self.stepping = None;
        let slot = &mut self.slots[node];
        let place = self.core.deck.place(node);
        place.ended.set(self.now);
        place.deaf.set(slot.state != State::Running);
        if self.core.overflowed.get() {
            return self.overflowed(node, result);
        }
        if slot.failures > 0 && result.is_ok() && (self.core.taken.get() > 0 || slot.is_source) {
            // A step with nothing in hand proves nothing.
            slot.failures = 0;
        }
        if slot.state == State::Running
            && let Ok(Flow::Idle) = result
            && !slot.asks_inputs
            && !place.ending.get()
        {
            if place.queued.get() > 0 {
                self.core.deck.mark(node);
            }
            return;
        }
        self.stepped_otherwise(node, result);
    }

    fn stepped_otherwise(&mut self, node: usize, result: Result<Flow, NodeError>) {
        let slot = &mut self.slots[node];
        slot.settle_inputs();
        match (slot.state, result) {
            (State::Finishing, Ok(Flow::Done)) => self.close(node),
            (State::Finishing, Ok(Flow::Idle | Flow::Busy)) => {}
            (_, Ok(Flow::Again)) => self.core.deck.mark(node),
            (_, Ok(Flow::Done)) => self.finish(node),
            (_, Ok(Flow::Busy)) => self.core.deck.place(node).deaf.set(true),
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

    #[cold]
    fn overflowed(&mut self, node: usize, result: Result<Flow, NodeError>) {
        self.core.overflowed.set(false);
        let overflow = || {
            NodeError::new("an output edge with `full: fail` overflowed; give it more capacity or another policy")
        };
        self.stepped_otherwise(node, result.and_then(|_| Err(overflow())));
    }

    fn finish(&mut self, node: usize) {
        self.slots[node].state = State::Finishing;
        if !self.has_room(node) {
            return;
        }
        let mut ctx = Ctx::new(&self.core, node, self.now);
        let result = self.slots[node].stepper.finish(&mut ctx);
        self.stepped(node, result);
    }

    fn close(&mut self, node: usize) {
        let slot = &mut self.slots[node];
        slot.state = State::Closing;
        self.core.deck.place(node).deaf.set(true);
        let mut flushed = true;
        for output in &slot.outputs {
            flushed &= output.flush();
        }
        if flushed {
            slot.state = State::Closed;
            slot.outputs.iter().for_each(|output| output.close());
            slot.inputs.iter().for_each(|input| input.leave());
            self.open -= 1;
        }
    }

    fn failed(&mut self, node: usize, error: &NodeError, lost: u64) {
        let slot = &mut self.slots[node];
        slot.failures += 1;
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
                slot.state = State::Restarting(at);
                self.core.deck.place(node).deaf.set(true);
                self.core.wake_at(node, at);
            }),
        };
        self.core.run.failed(self.core.name(node), &error.to_string(), lost, again.is_none());
        if again.is_none() {
            self.close(node);
        }
    }

    fn restart(&mut self, node: usize) {
        let slot = &mut self.slots[node];
        let mut build = Build { core: &self.core, node, assets: &*self.assets, sleep: &mut self.sleep };
        // A panic while it is made is a failure to make it.
        let made = catch_unwind(AssertUnwindSafe(|| slot.stepper.remake(&mut build)))
            .unwrap_or_else(|panic| Err(BuildError::new(format!("panicked: {}", panic_message(&*panic)))));
        match made {
            Ok(()) => {
                slot.state = State::Running;
                self.core.deck.place(node).deaf.set(false);
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
