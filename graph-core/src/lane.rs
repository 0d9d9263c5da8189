//! A lane: one thread's set of nodes and the order in which it steps them.
//!
//! The lane knows nothing of threads. [`Lane::turn`] runs one step or says until when there is nothing to do; a
//! thread sleeps then, a simulation moves its clock.

use std::{
    any::Any,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::Arc,
};

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

/// Which nodes of a lane have something to do: one bit each, the nearest to a sink first.
#[derive(Debug)]
pub(crate) struct Marks(Box<[Cell<u64>]>);

impl Marks {
    pub(crate) fn new(nodes: usize) -> Marks {
        Marks((0..nodes.div_ceil(64).max(1)).map(|_| Cell::new(0)).collect())
    }

    #[inline]
    pub(crate) fn mark(&self, node: usize) {
        let word = &self.0[node / 64];
        word.set(word.get() | 1 << (node % 64));
    }

    #[inline]
    fn mark_word(&self, word: usize, bits: u64) {
        self.0[word].set(self.0[word].get() | bits);
    }

    #[inline]
    fn unmark(&self, node: usize) {
        let word = &self.0[node / 64];
        word.set(word.get() & !(1 << (node % 64)));
    }

    #[inline]
    fn is_marked(&self, node: usize) -> bool {
        self.0[node / 64].get() & 1 << (node % 64) != 0
    }

    fn any(&self) -> bool {
        self.0.iter().any(|word| word.get() != 0)
    }

    #[inline]
    fn first(&self) -> Option<usize> {
        let (at, word) = self.0.iter().enumerate().find(|(_, word)| word.get() != 0)?;
        Some(at * 64 + word.get().trailing_zeros() as usize)
    }
}

/// What the ports and contexts of a lane's nodes share.
pub(crate) struct LaneCore {
    pub(crate) clock: Clock,
    pub(crate) run: Arc<RunCore>,
    marks: Rc<Marks>,
    bell: Arc<Bell>,
    names: Vec<Arc<str>>,
    /// When each node wants to be stepped.
    alarms: Vec<Cell<Stamp>>,
    /// The earliest of them.
    next_alarm: Cell<Stamp>,
    /// The node whose modelled work occupies the lane, and until when. Only simulations look at it.
    pub(crate) occupied: Cell<Option<(usize, Stamp)>>,
}

impl LaneCore {
    pub(crate) fn new(
        run: Arc<RunCore>,
        marks: Rc<Marks>,
        bell: Arc<Bell>,
        names: Vec<Arc<str>>,
    ) -> LaneCore {
        LaneCore {
            clock: run.clock.clone(),
            run,
            marks,
            bell,
            alarms: names.iter().map(|_| Cell::new(Stamp::MAX)).collect(),
            names,
            next_alarm: Cell::new(Stamp::MAX),
            occupied: Cell::new(None),
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
    }

    fn ring_alarms(&self, now: Stamp) {
        if now < self.next_alarm.get() {
            return;
        }
        let mut next = Stamp::MAX;
        for (node, alarm) in self.alarms.iter().enumerate() {
            if alarm.get() <= now {
                alarm.set(Stamp::MAX);
                self.marks.mark(node);
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
    inputs: Vec<SlotInput>,
    outputs: Vec<Rc<dyn OutputView>>,
    /// Whether it runs until it is told to stop.
    is_source: bool,
    /// Sockets from other nodes of the graph: a node with one ends by itself, when the other end has, and not by a
    /// stop.
    wires: Vec<Rc<WireInput>>,
    on_error: OnError,
    state: State,
    /// Failures in a row.
    failures: u32,
}

/// An input as its lane sees it.
struct SlotInput {
    view: Rc<dyn InputView>,
    role: Trigger,
    feedback: bool,
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
        let inputs: Vec<_> = inputs
            .into_iter()
            .map(|view| SlotInput { role: view.role(), feedback: view.is_feedback(), view })
            .collect();
        let feeds = |input: &SlotInput| input.role != Trigger::Latch && !input.feedback;
        let is_source = wires.is_empty() && !inputs.iter().any(feeds);
        Slot { stepper, inputs, outputs, is_source, wires, on_error, state: State::Running, failures: 0 }
    }

    fn has_urgent_packet(&self) -> bool {
        self.inputs.iter().any(|input| input.role == Trigger::Control && input.view.look() == Queued::Packet)
    }

    /// What its trigger inputs hold.
    #[inline]
    fn supply(&self) -> Supply {
        let (mut packet, mut fed, mut open) = (false, false, false);
        for input in self.inputs.iter().filter(|input| input.role != Trigger::Latch) {
            let queued = input.view.look();
            packet |= queued == Queued::Packet;
            fed |= !input.feedback;
            open |= !input.feedback && queued != Queued::Ended;
        }
        match (packet, fed && !open) {
            (true, _) => Supply::Packet,
            (false, true) => Supply::Ended,
            (false, false) => Supply::Nothing,
        }
    }

    fn has_room(&self, now: Stamp) -> bool {
        // All of them, so that each edge knows that it keeps the node.
        let mut room = true;
        for output in &self.outputs {
            room &= output.has_room(now);
        }
        room
    }
}

/// A busy lane looks at its descriptors after so many steps.
const STEPS_BETWEEN_LOOKS: u32 = 64;

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
    /// Nodes with a control input.
    controlled: Vec<usize>,
    open: usize,
    now: Stamp,
    assets: Arc<dyn Assets>,
    sleep: Sleep,
    /// How long it looks for work before it sleeps.
    spin: Nanos,
}

impl Lane {
    pub(crate) fn new(core: LaneCore, slots: Vec<Slot>, assets: Arc<dyn Assets>, sleep: Sleep) -> Lane {
        for node in 0..slots.len() {
            core.marks.mark(node);
        }
        let has_control = |slot: &Slot| slot.inputs.iter().any(|input| input.role == Trigger::Control);
        Lane {
            controlled: (0..slots.len()).filter(|&node| has_control(&slots[node])).collect(),
            open: slots.len(),
            now: core.clock.now(),
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
        let mut steps = 0_u32;
        loop {
            match self.turn() {
                Progress::Stepped => {
                    steps = steps.wrapping_add(1);
                    if steps.is_multiple_of(STEPS_BETWEEN_LOOKS) {
                        self.sleep.look(|node| self.core.marks.mark(node));
                    }
                }
                Progress::Idle(until) => self.rest(until),
                Progress::Ended => return,
            }
        }
    }

    /// Sleeps until `until` or a ring. With a spin, the lane spins for so long before it sleeps, and wakes so much
    /// before `until` to spin up to it.
    fn rest(&mut self, until: Stamp) {
        let now = self.look_at_clock();
        let until_sleep = now + self.spin;
        self.spin_until(until.min(until_sleep));
        let wake = if until == Stamp::MAX { until } else { until - self.spin };
        if self.core.marks.any() {
            return;
        }
        if self.now < wake && self.core.bell.doze() {
            self.sleep.sleep(self.now, wake, |node| self.core.marks.mark(node));
            self.core.bell.rise();
            self.look_at_clock();
        }
        if self.spin > Nanos::ZERO && self.now >= wake {
            self.spin_until(until);
        }
    }

    fn spin_until(&mut self, until: Stamp) {
        while self.now < until && !self.core.bell.has_rung() && !self.core.marks.any() {
            self.sleep.look(|node| self.core.marks.mark(node));
            std::hint::spin_loop();
            self.look_at_clock();
        }
    }

    /// Time has passed: a sleep, or other lanes' steps in a simulation.
    pub(crate) fn look_at_clock(&mut self) -> Stamp {
        self.now = self.core.clock.now();
        self.now
    }

    /// Ends all nodes where they stand, and the run with them, so that no other lane waits for this one.
    pub(crate) fn abandon(&mut self) {
        self.core.run.stop();
        for slot in self.slots.iter().filter(|slot| slot.state != State::Closed) {
            slot.outputs.iter().for_each(|output| output.close());
            slot.inputs.iter().for_each(|input| input.view.leave());
        }
    }

    /// Accounts for what is still on the way to this lane, when no other lane can send any more.
    pub(crate) fn settle(&mut self) {
        for slot in &self.slots {
            slot.inputs.iter().for_each(|input| input.view.leave());
            slot.wires.iter().for_each(|wire| wire.give_up());
        }
    }

    /// The nodes that have not closed.
    pub(crate) fn open_nodes(&self) -> impl Iterator<Item = &str> {
        let open = self.slots.iter().enumerate().filter(|(_, slot)| slot.state != State::Closed);
        open.map(|(node, _)| self.core.name(node))
    }

    /// Steps the ready node that is nearest to a sink.
    pub(crate) fn turn(&mut self) -> Progress {
        let core = &self.core;
        core.bell.answer(|word, bits| core.marks.mark_word(word, bits));
        core.ring_alarms(self.now);
        let urgent = self.controlled.iter().copied();
        let urgent = urgent
            .filter(|&node| core.marks.is_marked(node))
            .find(|&node| self.slots[node].has_urgent_packet());
        match urgent.or_else(|| core.marks.first()) {
            // A stop marks more than there are.
            Some(node) if node >= self.slots.len() => core.marks.unmark(node),
            Some(node) => self.run(node),
            None if self.open == 0 => return Progress::Ended,
            None => return Progress::Idle(core.next_alarm.get()),
        }
        Progress::Stepped
    }

    /// As [`Lane::turn`] under virtual time, where work is modelled: the lane does nothing while it is occupied, and then
    /// steps the node that occupied it, whose output is made and waits for no room.
    pub(crate) fn modelled_turn(&mut self) -> Progress {
        let Some((node, until)) = self.core.occupied.get() else { return self.turn() };
        if self.now < until {
            return Progress::Idle(until);
        }
        self.core.occupied.set(None);
        match self.slots[node].state {
            State::Running => self.step_now(node),
            _ => self.finish_now(node),
        }
        Progress::Stepped
    }

    fn run(&mut self, node: usize) {
        self.core.marks.unmark(node);
        let slot = &mut self.slots[node];
        if slot.state == State::Running && slot.is_source && self.core.run.is_stopping() {
            slot.state = State::Finishing;
        }
        match slot.state {
            State::Running => self.step(node),
            State::Restarting(_) if slot.is_source && self.core.run.is_stopping() => self.close(node),
            State::Restarting(at) if at <= self.now => self.restart(node),
            State::Restarting(at) => self.core.wake_at(node, at),
            State::Finishing => self.finish(node),
            State::Closing => self.close(node),
            State::Closed => {}
        }
    }

    fn step(&mut self, node: usize) {
        if self.slots[node].has_room(self.now) {
            self.step_now(node);
        }
    }

    #[inline]
    fn step_now(&mut self, node: usize) {
        let slot = &mut self.slots[node];
        let mut ctx = Ctx::new(&self.core, node, self.now);
        let result = guarded(&mut ctx, |ctx| slot.stepper.step(ctx));
        self.now = self.core.clock.now();
        for output in &slot.outputs {
            output.commit(self.now);
        }
        match result {
            Ok(flow) => {
                // A step with nothing in hand proves nothing.
                if ctx.taken > 0 || slot.is_source {
                    slot.failures = 0;
                }
                match flow {
                    Flow::Done => self.finish(node),
                    Flow::Again => self.core.marks.mark(node),
                    Flow::Busy => {}
                    Flow::Idle => match slot.supply() {
                        Supply::Packet => self.core.marks.mark(node),
                        Supply::Ended => self.finish(node),
                        Supply::Nothing => {}
                    },
                }
            }
            Err(error) => {
                let lost = ctx.taken;
                self.failed(node, &error, lost);
            }
        }
    }

    fn finish(&mut self, node: usize) {
        let slot = &mut self.slots[node];
        slot.state = State::Finishing;
        if slot.has_room(self.now) {
            self.finish_now(node);
        }
    }

    fn finish_now(&mut self, node: usize) {
        let slot = &mut self.slots[node];
        let mut ctx = Ctx::new(&self.core, node, self.now);
        let result = guarded(&mut ctx, |ctx| slot.stepper.finish(ctx));
        self.now = self.core.clock.now();
        for output in &slot.outputs {
            output.commit(self.now);
        }
        match result {
            Ok(Flow::Again) => self.core.marks.mark(node),
            Ok(Flow::Idle | Flow::Busy) => {}
            Ok(Flow::Done) => self.close(node),
            Err(error) => {
                let fatal = slot.on_error == OnError::Fail;
                self.core.run.failed(self.core.name(node), &error.to_string(), 0, fatal);
                self.close(node);
            }
        }
    }

    fn close(&mut self, node: usize) {
        let slot = &mut self.slots[node];
        slot.state = State::Closing;
        let mut flushed = true;
        for output in &slot.outputs {
            flushed &= output.flush();
        }
        if flushed {
            slot.state = State::Closed;
            slot.outputs.iter().for_each(|output| output.close());
            slot.inputs.iter().for_each(|input| input.view.leave());
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
                    self.core.marks.mark(node);
                } else {
                    // It failed with nothing in hand and would again: a pause keeps the lane from spinning over it.
                    self.core.wake_at(node, self.now + SKIP_PAUSE);
                }
                Some(())
            }
            OnError::Restart(restart) => back_off(restart, slot.failures).map(|wait| {
                let at = self.now + wait;
                slot.state = State::Restarting(at);
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
                self.core.marks.mark(node);
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

/// Runs a step; a panic and an overflow become errors.
fn guarded(
    ctx: &mut Ctx<'_>,
    step: impl FnOnce(&mut Ctx<'_>) -> Result<Flow, NodeError>,
) -> Result<Flow, NodeError> {
    // What a panicking step leaves half done is the node's own state, which a restart throws away.
    match catch_unwind(AssertUnwindSafe(|| step(ctx))) {
        Ok(Ok(_)) if ctx.overflow.get() => Err(NodeError::new(
            "an output edge with `full: fail` overflowed; give it more capacity or another policy",
        )),
        Ok(result) => result,
        Err(panic) => Err(NodeError::new(format!("panicked: {}", panic_message(&*panic)))),
    }
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text,
        (None, None) => "no message",
    }
}
