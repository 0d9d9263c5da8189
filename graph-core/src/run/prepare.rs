//! From a checked plan to lanes that can be started: meters, queues and their ends, before any thread is.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicBool, mpsc::Receiver},
};

use super::{
    core::{Event, RunCore, Stopper},
    deadlock::{Waits, circles},
    setup::{CrossRxSetup, LaneSetup, LocalSetup, NodeSetup},
};
use crate::{
    adapt::AnyParams,
    asset::{Assets, NoAssets},
    bell::{Bell, Waker},
    check::{Plan, PlanEdge},
    diagnostic::Diagnostics,
    edge::{EdgeState, Join, WireTable},
    file::Full,
    kind::{Arity, KindSpec, Kinds, PortRole, PortSpec},
    measure::{EdgeMeter, EdgeSpec, PathMeter, PathSpec},
    record::{PathEnd, Recorder},
    registry::Registry,
    time::Clock,
    trail::Trails,
    wire_port::{WireInput, WireOutput},
};

/// A graph whose nodes are not made yet, but all else is.
pub struct Prepared {
    pub(crate) lanes: Vec<LaneSetup>,
    pub(crate) run: Arc<RunCore>,
    pub(crate) edges: Vec<Arc<EdgeMeter>>,
    pub(crate) paths: Vec<Arc<PathMeter>>,
    pub(crate) assets: Arc<dyn Assets>,
    pub(crate) events: Receiver<Event>,
}

impl Prepared {
    /// Ends the run once it has started.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.run.clone())
    }
}

/// Makes all of a run but its nodes.
///
/// # Errors
/// What is wrong with the parameters of nodes.
pub fn prepare(
    plan: &Plan,
    registry: &Registry,
    assets: Arc<dyn Assets>,
    clock: Clock,
) -> Result<Prepared, Diagnostics> {
    let wiring = Preparation::new(plan, registry, clock);
    let lanes = wiring.lanes()?;
    let Preparation { run, edges, paths, events, .. } = wiring;
    Ok(Prepared { lanes, run, edges, paths, assets, events })
}

/// Makes all of a run under virtual time but its nodes, which are the models of `params`, one for each node of the plan.
pub(crate) fn prepare_models(plan: &Plan, modelled: &Registry, params: Vec<AnyParams>) -> Prepared {
    let mut wiring = Preparation::new(plan, modelled, Clock::new_virtual());
    wiring.models = Some(params);
    let lanes = wiring.lanes().expect("models have no parameters that could be wrong");
    let Preparation { run, edges, paths, events, .. } = wiring;
    Prepared { lanes, run, edges, paths, assets: Arc::new(NoAssets), events }
}

struct Preparation<'a> {
    plan: &'a Plan,
    registry: &'a Registry,
    /// Instead of the parameters of nodes.
    models: Option<Vec<AnyParams>>,
    run: Arc<RunCore>,
    events: Receiver<Event>,
    bells: Vec<Arc<Bell>>,
    /// Where each node of the plan is in its lane.
    places: Vec<usize>,
    edges: Vec<Arc<EdgeMeter>>,
    paths: Vec<Arc<PathMeter>>,
    /// Place among the tracked ones of each edge that a path crosses.
    tracked: HashMap<usize, usize>,
    /// By node.
    circles: Vec<usize>,
}

impl<'a> Preparation<'a> {
    fn new(plan: &'a Plan, registry: &'a Registry, clock: Clock) -> Self {
        let mut places = vec![0; plan.nodes.len()];
        let bells: Vec<_> = plan.lanes.iter().map(|lane| Arc::new(Bell::new(lane.nodes.len()))).collect();
        for lane in &plan.lanes {
            for (place, node) in plan.served(lane).into_iter().enumerate() {
                places[node] = place;
            }
        }
        let mut tracked = HashMap::new();
        for &edge in plan.paths.iter().flat_map(|path| &path.edges) {
            let next = tracked.len();
            tracked.entry(edge).or_insert(next);
        }
        let trails = Trails::new(tracked.len());
        let (run, events) = RunCore::new(clock, trails, bells.clone(), plan.warm_up);
        let edges = plan.edges.iter().map(|edge| Arc::new(edge_meter(plan, registry, edge))).collect();
        let paths = plan.paths.iter().map(|path| {
            Arc::new(PathMeter::new(&PathSpec {
                budget: &path.budget,
                edges: path.edges.len(),
                many: path.many,
                packets: path.packets,
            }))
        });
        let paths = paths.collect();
        let models = None;
        Preparation {
            plan,
            registry,
            models,
            run: Arc::new(run),
            events,
            bells,
            places,
            edges,
            paths,
            tracked,
            circles: circles(plan),
        }
    }

    fn lanes(&self) -> Result<Vec<LaneSetup>, Diagnostics> {
        let mut nodes = self.nodes()?;
        let mut locals: Vec<Vec<LocalSetup>> = self.plan.lanes.iter().map(|_| Vec::new()).collect();
        for (index, edge) in self.plan.edges.iter().enumerate() {
            self.connect(index, edge, &mut nodes, &mut locals);
        }
        let lanes = self.plan.lanes.iter().zip(locals).enumerate().map(|(index, (lane, locals))| LaneSetup {
            name: lane.name.clone(),
            spec: lane.spec.clone(),
            bell: self.bells[index].clone(),
            nodes: self
                .plan
                .served(lane)
                .into_iter()
                .map(|node| nodes[node].take().expect("a node is in one lane"))
                .collect(),
            locals,
        });
        Ok(lanes.collect())
    }

    fn nodes(&self) -> Result<Vec<Option<NodeSetup>>, Diagnostics> {
        let mut wrong = Diagnostics::default();
        let mut nodes = Vec::new();
        for (index, node) in self.plan.nodes.iter().enumerate() {
            let entry = self.registry.entry(&node.kind).expect("the check found the kind");
            let params = match &self.models {
                Some(models) => Ok(models[index].clone()),
                None => (entry.parse)(&node.with, &entry.spec),
            };
            let params = match params {
                Ok(params) => params,
                Err(diagnostics) => {
                    wrong.extend(diagnostics);
                    continue;
                }
            };
            nodes.push(Some(NodeSetup {
                id: node.id.as_str().into(),
                entry: entry.clone(),
                params,
                on_error: node.on_error,
                rx: Vec::new(),
                tx: Vec::new(),
                done: None,
                wire_tx: Vec::new(),
                wire_rx: Vec::new(),
            }));
        }
        if wrong.is_empty() { Ok(nodes) } else { Err(wrong) }
    }

    fn connect(
        &self,
        index: usize,
        edge: &PlanEdge,
        nodes: &mut [Option<NodeSetup>],
        locals: &mut [Vec<LocalSetup>],
    ) {
        let recorder = self.recorder(index);
        let from = edge.from.node;
        let from_port = port(self.plan, self.registry, from, edge.from.port);
        let Some(to) = &edge.to else {
            node(nodes, from).done = Some(recorder);
            return;
        };
        let to_port = port(self.plan, self.registry, to.node, to.port);
        if edge.wire {
            let table = Arc::new(WireTable::default());
            let closed = Arc::new(AtomicBool::new(false));
            let output = WireOutput {
                table: table.clone(),
                meter: self.edges[index].clone(),
                closed: closed.clone(),
                consumer: self.waker(to.node),
            };
            node(nodes, from).wire_tx.push((from_port.name, output));
            node(nodes, to.node).wire_rx.push((to_port.name, WireInput { table, closed, recorder }));
            return;
        }
        let queue = edge.queue.before(to_port);
        let join = Join {
            meter: self.edges[index].clone(),
            producer: self.waker(from),
            consumer: self.waker(to.node),
            trigger: to_port.trigger(),
            feedback: edge.feedback,
        };
        let state = Arc::new(EdgeState::new(join, queue, self.run.clone()));
        if queue.full == Full::Block && self.circles[from] == self.circles[to.node] {
            self.run.watch_for_deadlock(Waits {
                edge: edge.name().to_string(),
                capacity: queue.capacity,
                producer: from,
                consumer: to.node,
                burst: from_port.burst,
                state: state.clone(),
            });
        }
        if edge.crosses {
            let (tx, rx) = (from_port.link.cross)(state);
            node(nodes, from).tx.push((from_port.name, tx));
            node(nodes, to.node).rx.push(CrossRxSetup { port: to_port.name, end: rx, recorder });
        } else {
            locals[self.plan.nodes[from].lane].push(LocalSetup {
                state,
                link: from_port.link.local,
                from: (self.places[from], from_port.name),
                to: (self.places[to.node], to_port.name),
                recorder,
            });
        }
    }

    fn recorder(&self, edge: usize) -> Recorder {
        let ending = self.plan.paths.iter().zip(&self.paths);
        let ending =
            ending.filter(|(path, _)| path.edges.last() == Some(&edge)).map(|(path, meter)| PathEnd {
                edges: path.edges.iter().map(|edge| self.tracked[edge]).collect(),
                meter: meter.clone(),
                hops: Vec::with_capacity(path.edges.len()),
            });
        let tracked = self.tracked.get(&edge).copied();
        Recorder::new(self.edges[edge].clone(), self.run.clone(), tracked, ending.collect())
    }

    fn waker(&self, node: usize) -> Waker {
        Waker::new(self.bells[self.plan.nodes[node].lane].clone(), self.places[node])
    }
}

fn edge_meter(plan: &Plan, registry: &Registry, edge: &PlanEdge) -> EdgeMeter {
    EdgeMeter::new(&EdgeSpec {
        budget: &edge.budget,
        many: is_many(plan, registry, edge),
        queued: edge.crosses || edge.wire,
        all: edge.measure_all,
    })
}

fn is_many(plan: &Plan, registry: &Registry, edge: &PlanEdge) -> bool {
    port(plan, registry, edge.from.node, edge.from.port).role == PortRole::Output { arity: Arity::Many }
}

fn port<'a>(plan: &Plan, registry: &'a Registry, node: usize, port: usize) -> &'a PortSpec {
    let kind: &KindSpec = registry.get(&plan.nodes[node].kind).expect("the check found the kind");
    &kind.ports[port]
}

fn node(nodes: &mut [Option<NodeSetup>], index: usize) -> &mut NodeSetup {
    nodes[index].as_mut().expect("nodes are taken after all edges are connected")
}
