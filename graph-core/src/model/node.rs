//! The node that runs instead of a real one.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BinaryHeap, VecDeque},
    sync::Arc,
};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{
    Distribution,
    ports::{InputPort, OutputPort, Socket, Token},
};
use crate::{
    adapt::{AnyParams, Stepper},
    build::Build,
    context::Ctx,
    error::BuildError,
    kind::{PortRole, Trigger},
    node::Flow,
    packet::Cause,
    port::Latch,
    time::{Nanos, Stamp},
    turn::Turn,
    wiring::{Mode, Ports, Wiring},
};

/// Whether time or packets make the node step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Role {
    /// It ticks.
    Source { interval: Distribution, count: Option<u64> },
    /// It takes what comes.
    Fed,
}

/// A node's model: its connected ports and what they cost.
#[derive(Debug)]
pub(crate) struct NodeModel {
    pub(crate) role: Role,
    pub(crate) work: Distribution,
    pub(crate) quiet: Distribution,
    pub(crate) aside: bool,
    pub(crate) turns: f64,
    pub(crate) inputs: Vec<InputModel>,
    /// Inputs at the end of a feedback edge: nothing is due to what comes there, since it would be due to itself.
    pub(crate) feedback: Vec<&'static str>,
    pub(crate) outputs: Vec<OutputModel>,
    pub(crate) seed: u64,
    /// Each node draws from a stream of its own, so that another cost of one changes no other's times.
    pub(crate) stream: u64,
}

#[derive(Debug)]
pub(crate) struct InputModel {
    pub(crate) name: &'static str,
    pub(crate) trigger: Trigger,
    pub(crate) socket: Option<Arc<Socket>>,
}

#[derive(Debug)]
pub(crate) struct OutputModel {
    pub(crate) name: &'static str,
    pub(crate) role: PortRole,
    /// Packets for each cause.
    pub(crate) ratio: f64,
    pub(crate) every: Option<Distribution>,
    pub(crate) pace: Option<Distribution>,
    pub(crate) work: Option<Distribution>,
    pub(crate) held: Distribution,
    pub(crate) socket: Option<Arc<Socket>>,
}

impl OutputModel {
    /// The most packets of a step.
    fn burst(&self) -> usize {
        let at_once = self.every.is_none() && self.pace.is_none();
        if at_once { self.ratio.ceil().clamp(1.0, 1e6) as usize } else { 1 }
    }
}

/// How many there are of something that so many causes bring a share of each.
#[derive(Default)]
struct Tally {
    causes: u64,
    given: u64,
}

impl Tally {
    /// How many the next cause brings, evenly spread: of 0.25 each, every fourth brings one.
    fn next(&mut self, ratio: f64) -> u64 {
        self.causes += 1;
        // A ratio is a quotient of counts, and its multiple may be a little less than the count.
        let given = (self.causes as f64 * ratio * (1.0 + 1e-12)) as u64;
        let news = given.saturating_sub(self.given);
        self.given = given;
        news
    }
}

struct Output {
    port: OutputPort,
    tally: Tally,
    /// When the last packet leaves, where the output is paced.
    paced: Option<Stamp>,
}

/// A packet that is to be emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Emission {
    at: Stamp,
    /// Of those at the same time, the one that was drawn first.
    number: u64,
    output: usize,
    cause: Cause,
    held: Nanos,
}

impl Ord for Emission {
    fn cmp(&self, other: &Emission) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Emission {
    fn partial_cmp(&self, other: &Emission) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A node that takes a packet, occupies its lane for as long as the packet costs, and emits.
struct ModelNode {
    model: Arc<NodeModel>,
    /// Control inputs first.
    inputs: Vec<(InputPort, &'static str)>,
    controls: usize,
    /// The other input that is looked at first.
    first: usize,
    latches: Vec<Latch<Token>>,
    outputs: Vec<Output>,
    dice: ChaCha8Rng,
    /// What the packet in work gives, soonest first, and when it is done with.
    in_work: VecDeque<Emission>,
    busy_until: Stamp,
    is_at_work: bool,
    /// When it let others step between two packets of one cause.
    paused: Option<Stamp>,
    /// What is held, or made aside.
    later: BinaryHeap<Reverse<Emission>>,
    /// When the work aside is done.
    aside_until: Stamp,
    emissions: u64,
    /// Of a source: when the next packet is due, and how many there were.
    due: Option<Stamp>,
    ticks: u64,
    turns: Tally,
    turn: Turn,
}

/// Makes the model of a node and binds its ports.
pub(crate) fn make(
    params: AnyParams,
    wiring: &mut Wiring,
    _: &mut Build<'_>,
) -> Result<Box<dyn Stepper>, BuildError> {
    let model = params.downcast::<NodeModel>().expect("a modelled registry is used with models");
    Ok(Box::new(ModelNode::new(model, &mut Ports { mode: Mode::Bind(wiring) })))
}

impl ModelNode {
    fn new(model: Arc<NodeModel>, ports: &mut Ports<'_>) -> ModelNode {
        let mut dice = ChaCha8Rng::seed_from_u64(model.seed);
        dice.set_stream(model.stream);
        let (mut controls, mut inputs, mut latches) = (Vec::new(), Vec::new(), Vec::new());
        for InputModel { name, trigger, socket } in &model.inputs {
            match (socket, trigger) {
                (Some(socket), _) => {
                    inputs.push((InputPort::Wire(ports.wire_in(name, ""), socket.clone()), *name));
                }
                (None, Trigger::Latch) => latches.push(ports.latch(name, "")),
                (None, Trigger::Control) => controls.push((InputPort::Queue(ports.control(name, "")), *name)),
                (None, Trigger::Trigger) => inputs.push((InputPort::Queue(ports.input(name, "")), *name)),
            }
        }
        let outputs = model.outputs.iter().map(|output| {
            let port = match (&output.socket, output.role) {
                (Some(socket), _) => OutputPort::Wire(ports.wire_out(output.name, ""), socket.clone(), 0),
                (None, PortRole::Done) => OutputPort::Done(ports.done()),
                (None, _) => OutputPort::Queue(ports.many(output.name, "", output.burst())),
            };
            Output { port, tally: Tally::default(), paced: None }
        });
        let controlled = controls.len();
        controls.append(&mut inputs);
        ModelNode {
            outputs: outputs.collect(),
            model: model.clone(),
            inputs: controls,
            controls: controlled,
            first: 0,
            latches,
            dice,
            in_work: VecDeque::new(),
            busy_until: Stamp::ZERO,
            is_at_work: false,
            paused: None,
            later: BinaryHeap::new(),
            aside_until: Stamp::ZERO,
            emissions: 0,
            due: None,
            ticks: 0,
            turns: Tally::default(),
            turn: Turn::NONE,
        }
    }

    /// Goes on with the work, and emits what is done. Returns what to tell the lane while there is more: between two
    /// packets of one cause others may step, as between two parts of a long step.
    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> Option<Flow> {
        let now = ctx.now();
        if let Some(paused) = self.paused.take() {
            let pause = now.since(paused).unwrap_or_default();
            self.in_work.iter_mut().for_each(|emission| emission.at = emission.at + pause);
            self.busy_until = self.busy_until + pause;
        }
        let mut has_emitted = false;
        while let Some(emission) = self.in_work.pop_front_if(|next| next.at <= now) {
            self.emit(emission, ctx);
            has_emitted = true;
        }
        let until = self.in_work.front().map_or(self.busy_until, |next| next.at);
        if until <= now {
            return None;
        }
        if has_emitted {
            self.paused = Some(now);
            return Some(Flow::Again);
        }
        ctx.occupy(until);
        Some(Flow::Busy)
    }

    /// Emits what was held until now. Returns when there is more.
    fn release(&mut self, ctx: &mut Ctx<'_>) -> Option<Stamp> {
        loop {
            match self.later.peek() {
                Some(Reverse(next)) if next.at > ctx.now() => return Some(next.at),
                _ => {
                    let Reverse(emission) = self.later.pop()?;
                    self.emit(emission, ctx);
                }
            }
        }
    }

    fn emit(&mut self, Emission { output, cause, held, .. }: Emission, ctx: &mut Ctx<'_>) {
        self.outputs[output].port.emit(cause, held, ctx, &mut self.dice);
    }

    /// The next packet. What is fed back gives nothing, where it would be due to itself.
    fn take(&mut self, ctx: &mut Ctx<'_>) -> Option<Cause> {
        let others = self.inputs.len() - self.controls;
        for n in 0..self.inputs.len() {
            let at = if n < self.controls { n } else { self.controls + (self.first + n) % others };
            while let Some(cause) = self.inputs[at].0.take(ctx) {
                if self.model.feedback.contains(&self.inputs[at].1) {
                    continue;
                }
                // The inputs take turns.
                self.first += usize::from(n >= self.controls);
                return Some(cause);
            }
        }
        None
    }

    /// The tick of a source that is due.
    fn tick(&mut self, now: Stamp, interval: &Distribution, count: Option<u64>) -> Option<Cause> {
        let mut draw = || interval.draw(&mut self.dice).max(Nanos(1));
        let due = *self.due.get_or_insert_with(|| now + draw());
        if due > now {
            return None;
        }
        self.ticks += 1;
        let is_last = count.is_some_and(|count| self.ticks >= count);
        self.due = Some(if is_last { Stamp::MAX } else { due + draw() });
        Some(Cause::from_origin(due))
    }

    /// Draws what a cause costs and what it gives.
    fn begin(&mut self, mut cause: Cause, ctx: &mut Ctx<'_>) {
        let model = self.model.clone();
        if self.turns.next(model.turns) > 0 {
            self.turn = ctx.open_turn();
        }
        if model.turns > 0.0 {
            cause = cause.in_turn(self.turn);
        }
        let begins = if model.aside { self.aside_until.max(ctx.now()) } else { ctx.now() };
        let work = begins + model.work.draw(&mut self.dice);
        let mut ends = None;
        for (index, output) in model.outputs.iter().enumerate() {
            let mut done = Vec::new();
            for _ in 0..self.outputs[index].tally.next(output.ratio) {
                done.push(match (done.last(), &output.every, &output.work) {
                    (Some(&before), Some(every), _) => before + every.draw(&mut self.dice),
                    (_, _, Some(own)) => begins + own.draw(&mut self.dice),
                    (Some(_), None, None) => begins + model.work.draw(&mut self.dice),
                    (None, _, None) => work,
                });
            }
            done.sort_unstable();
            for at in done {
                ends = ends.max(Some(at));
                self.schedule(index, output, cause, at);
            }
        }
        self.in_work.make_contiguous().sort_unstable();
        let ends = ends.unwrap_or_else(|| begins + model.quiet.draw(&mut self.dice));
        if model.aside {
            self.aside_until = ends;
        } else {
            self.busy_until = ends;
        }
    }

    /// A packet is made at `done`, and leaves then or once it was held.
    fn schedule(&mut self, index: usize, output: &OutputModel, cause: Cause, done: Stamp) {
        let mut at = done + output.held.draw(&mut self.dice);
        if let Some(pace) = &output.pace {
            let paced = &mut self.outputs[index].paced;
            at = paced.map_or(at, |last| at.max(last + pace.draw(&mut self.dice)));
            *paced = Some(at);
        }
        let held = at.since(done).unwrap_or_default();
        let emission = Emission { at, number: self.emissions, output: index, cause, held };
        self.emissions += 1;
        if held == Nanos::ZERO && !self.model.aside {
            self.in_work.push_back(emission);
        } else {
            self.later.push(Reverse(emission));
        }
    }

    /// Whether nothing comes through its sockets any more, on which a lane does not look.
    fn is_cut_off(&self) -> bool {
        self.inputs.iter().any(|(input, _)| input.is_wire())
            && self.inputs.iter().all(|(input, _)| input.is_ended())
    }
}

impl Stepper for ModelNode {
    fn step(&mut self, ctx: &mut Ctx<'_>) -> Option<Flow> {
        for latch in &mut self.latches {
            latch.latest(ctx);
        }
        if let Some(flow) = self.go_on(ctx) {
            return Some(flow);
        }
        if std::mem::take(&mut self.is_at_work) {
            // What is next is the lane's choice.
            return Some(Flow::Again);
        }
        let held_until = self.release(ctx);
        let model = self.model.clone();
        let mut cause = self.take(ctx);
        if let Role::Source { interval, count } = &model.role {
            cause = self.tick(ctx.now(), interval, *count);
        }
        if let Some(cause) = cause {
            self.begin(cause, ctx);
            let flow = self.go_on(ctx);
            self.is_at_work = flow.is_some();
            return Some(flow.unwrap_or(Flow::Again));
        }
        if self.is_cut_off() || self.due == Some(Stamp::MAX) {
            return Some(Flow::Done);
        }
        let arrivals = self.inputs.iter().filter_map(|(input, _)| input.next());
        if let Some(next) = arrivals.chain(held_until).chain(self.due).min() {
            ctx.wake_at(next);
        }
        Some(Flow::Idle)
    }

    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Option<Flow> {
        if let Some(flow) = self.go_on(ctx) {
            return Some(flow);
        }
        match self.release(ctx) {
            Some(next) => {
                ctx.wake_at(next);
                Some(Flow::Idle)
            }
            None => Some(Flow::Done),
        }
    }

    fn remake(&mut self, _: &mut Build<'_>) -> Result<(), BuildError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_each_cause_is_spread_evenly_and_counts_exactly() {
        let every_fourth: Vec<_> = {
            let mut tally = Tally::default();
            (0..8).map(|_| tally.next(0.25)).collect()
        };
        assert_eq!(every_fourth, [0, 0, 0, 1, 0, 0, 0, 1]);
        for (given, causes) in [(1, 3), (7, 10), (1, 49), (14, 1), (1_000_003, 1_000_000)] {
            let mut tally = Tally::default();
            let sum: u64 = (0..causes).map(|_| tally.next(given as f64 / causes as f64)).sum();
            assert_eq!(sum, given, "{given} of {causes}");
        }
    }
}
