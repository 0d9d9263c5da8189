//! A lane before it is on its thread, and how it is made there.

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::Arc,
};

use super::core::RunCore;
use crate::{
    adapt::{AnyParams, Stepper},
    asset::Assets,
    bell::Bell,
    build::Build,
    edge::{EdgeState, Ends, RxEnd, TxEnd},
    error::BuildError,
    file::{LaneSpec, OnError, Wait},
    kind::LinkLocal,
    lane::{Deck, Lane, LaneCore, Slot, panic_message},
    record::Recorder,
    registry::Entry,
    time::Nanos,
    wait::Sleep,
    wire_port::{WireInput, WireOutput},
    wiring::Wiring,
};

/// A lane before it is on its thread.
pub(crate) struct LaneSetup {
    pub(crate) name: String,
    pub(crate) spec: Option<LaneSpec>,
    pub(crate) bell: Arc<Bell>,
    /// Nearest to a sink first.
    pub(crate) nodes: Vec<NodeSetup>,
    /// Edges between nodes of this lane.
    pub(crate) locals: Vec<LocalSetup>,
}

/// A node before it is on its lane.
pub(crate) struct NodeSetup {
    pub(crate) id: Arc<str>,
    pub(crate) entry: Entry,
    pub(crate) params: AnyParams,
    pub(crate) on_error: OnError,
    pub(crate) rx: Vec<CrossRxSetup>,
    pub(crate) tx: Vec<(&'static str, Box<dyn Any + Send>)>,
    pub(crate) done: Option<Recorder>,
    pub(crate) wire_tx: Vec<(&'static str, WireOutput)>,
    pub(crate) wire_rx: Vec<(&'static str, WireInput)>,
}

/// The consumer's end of an edge from another lane.
pub(crate) struct CrossRxSetup {
    pub(crate) port: &'static str,
    pub(crate) end: Box<dyn Any + Send>,
    pub(crate) recorder: Recorder,
}

/// An edge inside the lane.
pub(crate) struct LocalSetup {
    pub(crate) state: Arc<EdgeState>,
    pub(crate) link: LinkLocal,
    /// Producer and consumer by their place in the lane, with their ports.
    pub(crate) from: (usize, &'static str),
    pub(crate) to: (usize, &'static str),
    pub(crate) recorder: Recorder,
}

/// A node that could not be made.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct NotMade {
    /// The node.
    pub node: String,
    /// Why.
    pub message: String,
}

/// Nodes that could not be made, all at once; nothing has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartError(pub Vec<NotMade>);

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, failure) in self.0.iter().enumerate() {
            let line = if index == 0 { "" } else { "\n" };
            write!(f, "{line}node \"{}\": {}", failure.node, failure.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for StartError {}

impl LaneSetup {
    /// Makes the lane on the calling thread, which is the one that will run it. All nodes are tried, so that all
    /// that is wrong is told at once.
    pub(crate) fn make(self, run: Arc<RunCore>, assets: Arc<dyn Assets>) -> Result<Lane, Vec<NotMade>> {
        let deck = Rc::new(Deck::new(self.nodes.len(), self.locals.len()));
        let names = self.nodes.iter().map(|node| node.id.clone()).collect();
        let core = LaneCore::new(run, deck.clone(), self.bell, names);
        let mut wirings: Vec<Wiring> = self.nodes.iter().map(|_| Wiring::default()).collect();
        for (number, LocalSetup { state, link, from, to, recorder }) in self.locals.into_iter().enumerate() {
            let ends = Ends { deck: deck.clone(), number, producer: from.0, consumer: to.0 };
            let edge = link(state, ends, recorder);
            wirings[from.0].tx.push((from.1, TxEnd::Local(edge.clone())));
            wirings[to.0].rx.push((to.1, RxEnd::Local(edge)));
        }
        let mut sleep = Sleep::default();
        let mut slots = Vec::with_capacity(self.nodes.len());
        let mut failures = Vec::new();
        for (index, (node, mut wiring)) in self.nodes.into_iter().zip(wirings).enumerate() {
            let id = node.id.clone();
            let mut build = Build { core: &core, node: index, assets: &*assets, sleep: &mut sleep };
            // A panic while a node is made is a failure to make it.
            let made = catch_unwind(AssertUnwindSafe(|| node.make(&mut wiring, &mut build))).unwrap_or_else(
                |panic| Err(BuildError::new(format!("panicked: {}", panic_message(&*panic)))),
            );
            match made {
                Ok(slot) => slots.push(slot),
                Err(error) => failures.push(NotMade { node: id.to_string(), message: error.to_string() }),
            }
        }
        if !failures.is_empty() {
            return Err(failures);
        }
        let mut lane = Lane::new(core, slots, assets, sleep);
        lane.spin(match self.spec.and_then(|spec| spec.wait) {
            Some(Wait::Poll) => Nanos::MAX,
            Some(Wait::Spin(spin)) => spin,
            Some(Wait::Park) | None => Nanos::ZERO,
        });
        Ok(lane)
    }
}

impl NodeSetup {
    fn make(
        self,
        wiring: &mut Wiring,
        build: &mut Build<'_>,
    ) -> Result<(Box<dyn Stepper>, Slot), BuildError> {
        let rx = self.rx.into_iter();
        wiring.rx.extend(rx.map(|CrossRxSetup { port, end, recorder }| (port, RxEnd::Cross(end, recorder))));
        wiring.tx.extend(self.tx.into_iter().map(|(port, end)| (port, TxEnd::Cross(end))));
        wiring.done = self.done;
        wiring.wire_tx = self.wire_tx;
        wiring.wire_rx = self.wire_rx;
        let stepper = (self.entry.make)(self.params, wiring, build)?;
        let inputs = std::mem::take(&mut wiring.inputs);
        let outputs = std::mem::take(&mut wiring.outputs);
        let wires = std::mem::take(&mut wiring.wires);
        let slot = Slot::new(build.core.place(build.node), inputs, outputs, wires, self.on_error);
        Ok((stepper, slot))
    }
}
