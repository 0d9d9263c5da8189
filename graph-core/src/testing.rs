//! For tests: one node alone, or a whole graph, under virtual time.
//!
//! ```
//! # use graph_core::{Build, BuildError, Cx, Kind, NodeError, Transform, payload};
//! # #[derive(Clone, Debug, PartialEq)] struct Level(i32);
//! # payload!(Level, "level");
//! # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Nothing {}
//! struct Double;
//!
//! impl Kind for Double {
//!     const KIND: &'static str = "example/double";
//!     const ABOUT: &'static str = "Twice the level.";
//!     type Params = Nothing;
//!     fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
//!         Ok(Double)
//!     }
//! }
//!
//! impl Transform for Double {
//!     type In = Level;
//!     type Out = Level;
//!     fn process(&mut self, level: Level, cx: &mut Cx<'_, '_, Level>) -> Result<(), NodeError> {
//!         cx.emit(Level(level.0 * 2));
//!         Ok(())
//!     }
//! }
//!
//! let mut alone = graph_core::testing::transform::<Double>(Nothing {}).expect("made");
//! alone.feed("in", Level(21));
//! assert_eq!(alone.out::<Level>("out"), [Level(42)]);
//! ```

use std::{
    any::{Any, type_name},
    collections::HashMap,
    path::Path,
    rc::Rc,
    sync::{Arc, mpsc::Receiver},
};

use crate::{
    adapt::{AsSink, AsSource, AsTransform},
    asset::{Assets, NoAssets},
    bell::{Bell, Waker},
    budget::Budget,
    check::{Plan, check},
    diagnostic::Source as Text,
    edge::{EdgeState, Ends, Join, Local, LocalView, RxEnd, TxEnd},
    error::BuildError,
    file::{Capacity, Files, OnError, QueueSpec, WarmUp, costs_of, load},
    kind::{PortRole, PortSpec, Trigger},
    lane::{Deck, Lane, LaneCore, Place, Progress, Slot},
    measure::{EdgeMeter, EdgeSpec, PathMeter},
    node::{Node, Sink, Source, Transform},
    packet::{Cause, Header, Packet},
    payload::Payload,
    record::Recorder,
    registry::Registry,
    report::{Machine, Report, Run},
    run::{Event, Failure, Note, Outcome, RunCore, prepare},
    time::{Clock, Nanos, Stamp},
    trail::Trails,
    turn::Turn,
    wiring::{Mode, Ports, Wiring},
};

/// What waits at most on each port of a node alone.
const QUEUED: usize = 4096;

/// One node alone, under virtual time. Everything that can happen at the present time has happened when a method
/// returns.
pub struct Alone {
    lane: Lane,
    run: Arc<RunCore>,
    deck: Rc<Deck>,
    /// A `Local<T>` for each input, and its state.
    feeds: HashMap<&'static str, (Rc<dyn Any>, Arc<EdgeState>)>,
    /// A `Local<T>` for each output.
    outs: HashMap<&'static str, Rc<dyn Any>>,
    /// All of these, whatever their types are.
    queues: Queues,
    done: Arc<EdgeMeter>,
    events: Receiver<Event>,
    seq: u64,
}

/// The edges of a node alone.
#[derive(Default)]
struct Queues {
    inputs: Vec<Rc<dyn LocalView>>,
    outputs: Vec<Rc<dyn LocalView>>,
}

/// What one turn of a node alone came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// It stepped, or time passed until it wants to.
    On,
    /// Nothing makes it step any more but something from outside.
    Stuck,
    /// It has ended.
    Ended,
}

/// A [`Transform`] alone.
///
/// # Errors
/// Why it could not be made.
pub fn transform<T: Transform>(params: T::Params) -> Result<Alone, BuildError> {
    node::<AsTransform<T>>(params)
}

/// A [`Source`] alone.
///
/// # Errors
/// Why it could not be made.
pub fn source<T: Source>(params: T::Params) -> Result<Alone, BuildError> {
    node::<AsSource<T>>(params)
}

/// A [`Sink`] alone.
///
/// # Errors
/// Why it could not be made.
pub fn sink<T: Sink>(params: T::Params) -> Result<Alone, BuildError> {
    node::<AsSink<T>>(params)
}

/// A [`Node`] alone.
///
/// # Errors
/// Why it could not be made.
pub fn node<N: Node>(params: N::Params) -> Result<Alone, BuildError> {
    node_with::<N>(params, Arc::new(NoAssets))
}

/// A [`Node`] alone that finds its files in `assets`.
///
/// # Errors
/// Why it could not be made.
pub fn node_with<N: Node>(params: N::Params, assets: Arc<dyn Assets>) -> Result<Alone, BuildError> {
    let mut ports = Vec::new();
    N::ports(&mut Ports { mode: Mode::Describe(&mut ports) });
    let mut alone =
        Alone::new(&ports, assets, |wiring, build| crate::adapt::make::<N>(Arc::new(params), wiring, build))?;
    alone.settle();
    Ok(alone)
}

impl Alone {
    /// The node has not stepped yet.
    pub(crate) fn new(
        ports: &[PortSpec],
        assets: Arc<dyn Assets>,
        make: impl FnOnce(
            &mut Wiring,
            &mut crate::Build<'_>,
        ) -> Result<Box<dyn crate::adapt::Stepper>, BuildError>,
    ) -> Result<Alone, BuildError> {
        let bell = Arc::new(Bell::new(1));
        let (run, events) =
            RunCore::new(Clock::new_virtual(), Trails::new(0), vec![bell.clone()], WarmUp::None);
        let run = Arc::new(run);
        let deck = Rc::new(Deck::new(1, ports.len()));
        let (node, outside) = (0, 1);
        let waker = || Waker::new(bell.clone(), node);
        let queue = QueueSpec { capacity: Capacity::Packets(QUEUED), ..QueueSpec::default() };
        let state = |trigger| {
            let join =
                Join { meter: meter(), producer: waker(), consumer: waker(), trigger, feedback: false };
            Arc::new(EdgeState::new(join, queue, run.clone()))
        };
        let ends = |number, producer, consumer| Ends { deck: deck.clone(), number, producer, consumer };
        let inputs = ports.iter().filter(|port| matches!(port.role, PortRole::Input { .. })).count();
        let recorder = |meter| Recorder::new(meter, run.clone(), None, Vec::new());
        let done = meter();
        let mut wiring = Wiring { done: Some(recorder(done.clone())), ..Wiring::default() };
        let (mut feeds, mut outs) = (HashMap::new(), HashMap::new());
        let mut queues = Queues::default();
        for port in ports.iter().filter(|port| !port.wire) {
            match port.role {
                PortRole::Input { trigger, .. } => {
                    let state = state(trigger);
                    let recorder = recorder(state.meter.clone());
                    let edge = (port.link.local)(state.clone(), ends(feeds.len(), outside, node), recorder);
                    wiring.rx.push((port.name, RxEnd::Local(edge.clone())));
                    queues.inputs.push((port.link.view)(edge.clone()));
                    feeds.insert(port.name, (edge, state));
                }
                PortRole::Output { .. } => {
                    // Nobody steps for what comes out.
                    let state = state(Trigger::Latch);
                    let recorder = recorder(state.meter.clone());
                    let edge = (port.link.local)(state, ends(inputs + outs.len(), node, outside), recorder);
                    wiring.tx.push((port.name, TxEnd::Local(edge.clone())));
                    queues.outputs.push((port.link.view)(edge.clone()));
                    outs.insert(port.name, edge);
                }
                PortRole::Done => {}
            }
        }
        let core = LaneCore::new(run.clone(), deck.clone(), bell.clone(), vec!["node".into()]);
        let mut sleep = crate::wait::Sleep::default();
        let mut build = crate::Build { core: &core, node: 0, assets: &*assets, sleep: &mut sleep };
        let stepper = make(&mut wiring, &mut build)?;
        let slot =
            Slot::new(deck.place(node).clone(), wiring.inputs, wiring.outputs, wiring.wires, OnError::Fail);
        Ok(Alone {
            lane: Lane::new(core, vec![(stepper, slot)], assets, sleep),
            run,
            deck,
            feeds,
            outs,
            queues,
            done,
            events,
            seq: 0,
        })
    }

    /// Gives the node a packet that came to exist now.
    ///
    /// # Panics
    /// Without such an input, and with another payload than the input takes.
    pub fn feed<T: Payload>(&mut self, port: &str, payload: T) {
        let now = self.now();
        self.feed_as(port, Cause::from_origin(now), payload);
    }

    /// Gives the node a packet with the origin and turn of `cause`, sent now.
    ///
    /// # Panics
    /// Without such an input, and with another payload than the input takes.
    pub fn feed_as<T: Payload>(&mut self, port: &str, cause: Cause, payload: T) {
        self.push(port, cause, payload);
        self.settle();
    }

    /// As [`Alone::feed_as`], and the node is not stepped yet.
    pub(crate) fn push<T: Payload>(&mut self, port: &str, cause: Cause, payload: T) {
        let now = self.now();
        let header = Header {
            seq: self.seq,
            origin: cause.origin,
            began: cause.origin,
            sent: now,
            turn: cause.turn,
            ..Header::default()
        };
        self.seq += 1;
        let (feed, _) = self.feeds.get(port).unwrap_or_else(|| panic!("the node has no input {port}"));
        let Some(edge) = feed.downcast_ref::<Local<T>>() else {
            panic!("the input {port} does not take {}", type_name::<T>());
        };
        edge.push(header, payload, now);
    }

    /// Ends an input.
    ///
    /// # Panics
    /// Without such an input.
    pub fn end(&mut self, port: &str) {
        let (_, state) = self.feeds.get(port).unwrap_or_else(|| panic!("the node has no input {port}"));
        state.close();
        self.deck.place(0).set(Place::ENDING, true);
        self.settle();
    }

    /// Ends a source as a stop of the run does.
    pub fn stop(&mut self) {
        self.run.stop();
        self.settle();
    }

    /// Lets time pass, timer by timer.
    pub fn advance(&mut self, time: Nanos) {
        let end = self.now() + time;
        while let Progress::Idle(next) = self.lane.turn() {
            if next > end {
                break;
            }
            self.run.clock.advance_to(next);
            self.settle();
        }
        self.run.clock.advance_to(end);
        self.settle();
    }

    /// What the node has emitted since this was last asked.
    ///
    /// # Panics
    /// Without such an output, and with another payload than the output gives.
    pub fn out<T: Payload>(&mut self, port: &str) -> Vec<T> {
        self.packets(port).into_iter().map(|packet| packet.payload).collect()
    }

    /// As [`Alone::out`], with the headers.
    ///
    /// # Panics
    /// Without such an output, and with another payload than the output gives.
    pub fn packets<T: Payload>(&mut self, port: &str) -> Vec<Packet<T>> {
        let out = self.outs.get(port).unwrap_or_else(|| panic!("the node has no output {port}"));
        let Some(edge) = out.downcast_ref::<Local<T>>() else {
            panic!("the output {port} does not give {}", type_name::<T>());
        };
        let packets = std::iter::from_fn(|| edge.pop()).collect();
        self.settle();
        packets
    }

    /// The meter of a sink's own edge.
    pub fn done(&self) -> &EdgeMeter {
        &self.done
    }

    /// The virtual time.
    pub fn now(&self) -> Stamp {
        self.run.clock.now()
    }

    /// Begins an interaction.
    pub fn open_turn(&self) -> Turn {
        self.run.turns.open()
    }

    /// Makes a turn void.
    pub fn cancel(&mut self, turn: Turn) {
        self.run.cancel(turn, self.now());
        self.settle();
    }

    /// Whether the node has ended.
    pub fn has_ended(&self) -> bool {
        self.lane.open_nodes().next().is_none()
    }

    /// How the node failed.
    pub fn failures(&self) -> Vec<Failure> {
        self.run.failures()
    }

    /// What the node counted.
    pub fn notes(&self) -> Vec<Note> {
        self.run.notes()
    }

    /// What the node told since this was last asked: label and words.
    pub fn told(&self) -> Vec<(&'static str, String)> {
        let told = self.events.try_iter().filter_map(|event| match event {
            Event::Told { label, text, .. } => Some((label, text)),
            Event::Failed(_) => None,
        });
        told.collect()
    }

    /// Has the node step although nothing here asks for it: something happened outside.
    pub(crate) fn wake(&self) {
        self.deck.mark(0);
    }

    /// One step, or the time until it.
    pub(crate) fn turn(&mut self) -> Turned {
        self.lane.look_at_clock();
        match self.lane.turn() {
            Progress::Stepped => Turned::On,
            Progress::Idle(Stamp::MAX) => Turned::Stuck,
            Progress::Idle(next) => {
                self.run.clock.advance_to(next);
                Turned::On
            }
            Progress::Ended => Turned::Ended,
        }
    }

    /// Packets that the node has emitted and nobody has taken.
    pub(crate) fn emitted(&self) -> usize {
        self.queues.outputs.iter().map(|edge| edge.queued()).sum()
    }

    /// Packets that were fed and that the node has not taken.
    pub(crate) fn untaken(&self) -> usize {
        self.queues.inputs.iter().map(|edge| edge.queued()).sum()
    }

    /// Takes all that the node has emitted and throws it away. Returns how many packets that were.
    pub(crate) fn drain(&self) -> usize {
        self.queues.outputs.iter().map(|edge| edge.drain()).sum()
    }

    pub(crate) fn settle(&mut self) {
        self.lane.look_at_clock();
        while self.lane.turn() == Progress::Stepped {
            self.lane.look_at_clock();
        }
    }
}

fn meter() -> Arc<EdgeMeter> {
    let spec = EdgeSpec { budget: &Budget::default(), many: false, queued: true, all: true };
    Arc::new(EdgeMeter::new(&spec))
}

/// A graph that has run under virtual time.
pub struct Simulated {
    /// What was run.
    pub plan: Plan,
    /// What came of it.
    pub outcome: Outcome,
}

impl Simulated {
    /// The meter of the edge of that name: `a.out -> b.in`, or `b.done`.
    ///
    /// # Panics
    /// Without such an edge.
    pub fn edge(&self, name: &str) -> &EdgeMeter {
        let edge = self.plan.edges.iter().position(|edge| edge.name() == name);
        &self.outcome.edges[edge.unwrap_or_else(|| panic!("no edge {name}"))]
    }

    /// What is to be said of the run, of no machine in particular.
    pub fn report(&self) -> Report {
        Run {
            plan: &self.plan,
            edges: &self.outcome.edges,
            paths: &self.outcome.paths,
            benches: &[],
            overheads: &[],
            machine: Machine::default(),
            elapsed: self.outcome.elapsed,
            interactions: self.outcome.interactions.clone(),
            interrupted: false,
            simulation: None,
            notes: Vec::new(),
            failures: self.outcome.failures.clone(),
        }
        .report()
    }

    /// The meter of the path of that name.
    ///
    /// # Panics
    /// Without such a path.
    pub fn path(&self, name: &str) -> &PathMeter {
        let path = self.plan.paths.iter().position(|path| path.name == name);
        &self.outcome.paths[path.unwrap_or_else(|| panic!("no path {name}"))]
    }
}

/// Checks the graph that `text` states.
///
/// # Panics
/// With all that is wrong with it.
pub fn plan(text: &str, registry: &Registry) -> Plan {
    let name = Path::new("test.ron");
    let (graph, mut diagnostics) = load(&OneFile(text), name, &[], registry);
    let plan = graph.and_then(|graph| {
        let (plan, found) = check(&graph, registry);
        diagnostics.extend(found);
        plan
    });
    plan.unwrap_or_else(|| panic!("{diagnostics}\n{text}"))
}

/// Runs the graph that `text` states under virtual time, for at most an hour of it.
///
/// # Panics
/// With all that is wrong with the graph, and with why a node could not be made.
pub fn simulate(text: &str, registry: &Registry) -> Simulated {
    let plan = plan(text, registry);
    let prepared = match prepare(&plan, registry, Arc::new(NoAssets), Clock::new_virtual()) {
        Ok(prepared) => prepared,
        Err(diagnostics) => panic!("{diagnostics}"),
    };
    match prepared.simulate(Nanos::from_secs(3600)) {
        Ok(outcome) => Simulated { plan, outcome },
        Err(error) => panic!("{error}"),
    }
}

/// Runs the graph that `text` states under virtual time for `time`, its nodes being the models that `costs` states as a
/// costs file does.
///
/// # Panics
/// With all that is wrong with the graph or the costs.
pub fn simulate_models(text: &str, registry: &Registry, costs: &str, seed: u64, time: Nanos) -> Simulated {
    let plan = plan(text, registry);
    let prepared = costs_of(&Text::new("costs.ron", costs))
        .and_then(|costs| crate::model::prepare(&plan, registry, &costs, seed))
        .unwrap_or_else(|wrong| panic!("{wrong}\n{costs}"));
    match prepared.simulate(time) {
        Ok(outcome) => Simulated { plan, outcome },
        Err(error) => panic!("{error}"),
    }
}

/// A file system with the text under every name.
struct OneFile<'a>(&'a str);

impl Files for OneFile<'_> {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Ok(self.0.as_bytes().to_vec())
    }
}
