//! This project's runtime, as a graph file makes it: measuring is on, as it is by default.

use std::{
    fmt::Write,
    marker::PhantomData,
    sync::{Arc, Mutex},
};

use graph_core::{
    Build, BuildError, Clock, Cx, Flow, Kind, NoAssets, NodeError, Payload as GraphPayload, Registry, SinkCx,
    Source, Stamp, Transform, Waker, payload, run::prepare, testing::plan,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    cpus::cpus,
    packet::{Large, Load, Payload, Small},
    peer::{Chain, Failure, Peer, Setup},
    probe::{Feed, Sink, Stage},
};

payload!(Small, "small");
payload!(Large, "large");

/// A chain in one lane, or in two of which every hop crosses.
pub struct Ours {
    /// 1 or 2.
    pub lanes: usize,
}

impl Peer for Ours {
    fn name(&self) -> &'static str {
        "ours"
    }

    fn version(&self) -> String {
        env!("VERSION_GRAPH_CORE").into()
    }

    fn setup(&self, _: Chain) -> Option<Setup> {
        let lanes = match self.lanes {
            1 => "one lane",
            _ => "two pinned lanes that poll, every hop crosses, queues of 8 (the default)",
        };
        let words = format!("{lanes}; measuring on: latency and age of every edge stamped and recorded");
        Some(Setup { words, threads: self.lanes })
    }

    fn run(&self, chain: Chain) -> Result<(), Failure> {
        let mut registry = Registry::new();
        match chain.payload {
            Payload::Small => register::<Small>(&mut registry),
            Payload::Large => register::<Large>(&mut registry),
        }
        let plan = plan(&self.graph(chain.stages), &registry);
        let prepared = prepare(&plan, &registry, Arc::new(NoAssets), Clock::monotonic())
            .map_err(|diagnostics| diagnostics.to_string())?;
        let outcome = prepared.start()?.wait();
        *SOURCE.lock().expect("nothing panics with the lock held") = None;
        match outcome.failures.as_slice() {
            [] => Ok(()),
            [first, ..] => Err(first.message.clone().into()),
        }
    }
}

impl Ours {
    fn graph(&self, stages: usize) -> String {
        let lane = |node: usize| node % self.lanes;
        let mut nodes = format!("\"0\": (kind: \"peers/feed\", lane: \"{}\"),", lane(0));
        let mut edges = String::new();
        for node in 1..=stages + 1 {
            let kind = if node <= stages { "stage" } else { "sink" };
            let _ = write!(nodes, "\"{node}\": (kind: \"peers/{kind}\", lane: \"{}\"),", lane(node));
            let _ = write!(edges, "(from: \"{}\", to: \"{node}\"),", node - 1);
        }
        let lanes = match self.lanes {
            1 => "\"0\": ()".to_owned(),
            _ => {
                let cpus = cpus();
                let lane = |at: usize| format!("\"{at}\": (wait: poll, cpus: [{}])", cpus[at % cpus.len()]);
                [lane(0), lane(1)].join(", ")
            }
        };
        format!("(lanes: {{ {lanes} }}, nodes: {{ {nodes} }}, edges: [ {edges} ])")
    }
}

fn register<L: Load + GraphPayload>(registry: &mut Registry) {
    registry.source::<First<L>>().transform::<Middle<L>>().sink::<Last<L>>();
}

/// Wakes the source from another lane, when the packet in flight has arrived.
static SOURCE: Mutex<Option<Waker>> = Mutex::new(None);

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct First<L: Load>(Feed<L>);

impl<L: Load> Kind for First<L> {
    const KIND: &'static str = "peers/feed";
    const ABOUT: &'static str = "Gives the packets of the bench.";
    type Params = Nothing;

    fn new(_: &Nothing, build: &mut Build<'_>) -> Result<Self, BuildError> {
        *SOURCE.lock().expect("nothing panics with the lock held") = Some(build.waker());
        Ok(First(Feed::default()))
    }
}

impl<L: Load + GraphPayload> Source for First<L> {
    type Out = L;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, L>) -> Result<Flow, NodeError> {
        if !self.0.may_send() {
            return Ok(Flow::Idle);
        }
        let Some(packet) = self.0.next() else { return Ok(Flow::Done) };
        cx.emit_from(now, packet);
        Ok(Flow::Again)
    }
}

struct Middle<L>(Stage, PhantomData<L>);

impl<L: Load> Kind for Middle<L> {
    const KIND: &'static str = "peers/stage";
    const ABOUT: &'static str = "Hands on what it takes.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Middle(Stage::default(), PhantomData))
    }
}

impl<L: Load + GraphPayload> Transform for Middle<L> {
    type In = L;
    type Out = L;

    fn process(&mut self, mut packet: L, cx: &mut Cx<'_, '_, L>) -> Result<(), NodeError> {
        self.0.pass(packet.head());
        cx.emit(packet);
        Ok(())
    }
}

struct Last<L> {
    sink: Sink,
    source: Option<Waker>,
    load: PhantomData<L>,
}

impl<L: Load> Kind for Last<L> {
    const KIND: &'static str = "peers/sink";
    const ABOUT: &'static str = "Takes the packets of the bench.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Last { sink: Sink::default(), source: None, load: PhantomData })
    }
}

impl<L: Load + GraphPayload> graph_core::Sink for Last<L> {
    type In = L;

    fn consume(&mut self, packet: L, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        self.sink.take(packet);
        if self.sink.is_single() {
            if self.source.is_none() {
                self.source = SOURCE.lock().expect("nothing panics with the lock held").clone();
            }
            if let Some(source) = &self.source {
                source.wake();
            }
        }
        Ok(())
    }
}
