//! Along one lineage the age at an edge is exactly the sum of the latencies of the edges before it and its own.
//!
//! Random graphs run under virtual time: fan-out, joins, one-to-many, held packets, timers, drops, late packets,
//! cancelled turns, failures with restart, lanes in any cut. Every node adds up what it sees of the stamps and
//! compares, in clock ticks and without tolerance.

use std::{cell::RefCell, collections::VecDeque, fmt::Write, sync::Once};

use graph_core::{
    Build, BuildError, Cause, Ctx, Cx, Done, Flow, In, Kind, Nanos, Node, NodeError, Out, Ports, Registry,
    Source, Stamp, Taken, measure::EdgeMeter, payload, testing,
};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

/// What a lineage has come to so far.
#[derive(Clone, Debug)]
struct Account {
    origin: Stamp,
    /// Sum of the latencies of the edges so far.
    latencies: u64,
}
payload!(Account, "account");

thread_local! {
    static VIOLATIONS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static TAKEN: RefCell<u64> = const { RefCell::new(0) };
}

/// Adds the latency of the edge just crossed, and compares.
fn arrive(ctx: &Ctx<'_>, taken: Taken<Account>) -> (Cause, Account) {
    TAKEN.with_borrow_mut(|n| *n += 1);
    let Taken { payload: mut account, cause, header } = taken;
    let wrong =
        |what: &str| VIOLATIONS.with_borrow_mut(|list| list.push(format!("{what}: {header:?} {account:?}")));
    let (Some(latency), Some(age)) = (cause.taken.since(header.began), cause.taken.since(cause.origin))
    else {
        wrong("taken before it began");
        return (cause, account);
    };
    if header.sent.since(header.began).is_none_or(|time| time < header.held) || cause.taken < header.sent {
        wrong("stamps out of order");
    }
    if cause.origin != account.origin {
        wrong("the origin changed on the way");
    }
    if account.latencies + latency.0 != age.0 {
        wrong("latencies do not add up to the age");
    }
    assert!(ctx.now() >= cause.taken);
    account.latencies += latency.0;
    (cause, account)
}

/// A small generator, so that a node behaves the same in each run of a case.
#[derive(Clone, Debug)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
struct Seeded {
    seed: u64,
}

/// Emits at due times, sometimes late, sometimes as part of a turn.
struct Ticks {
    dice: Dice,
    due: Option<Stamp>,
    left: u32,
}

impl Kind for Ticks {
    const KIND: &'static str = "test/ticks";
    const ABOUT: &'static str = "Emits on a timer.";
    type Params = Seeded;

    fn new(params: &Seeded, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Ticks { dice: Dice(params.seed), due: None, left: 60 })
    }
}

impl Source for Ticks {
    type Out = Account;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Account>) -> Result<Flow, NodeError> {
        let due = *self.due.get_or_insert(now);
        if now < due {
            cx.wake_at(due);
            return Ok(Flow::Idle);
        }
        cx.clock().advance(Nanos(self.dice.roll(300)));
        let mut cause = Cause::from_origin(due);
        if self.dice.roll(3) == 0 {
            cause = cause.in_turn(cx.open_turn());
        }
        cx.emit_as(cause, Nanos::ZERO, Account { origin: due, latencies: 0 });
        self.left -= 1;
        self.due = Some(due + Nanos(self.dice.roll(1_000)));
        Ok(if self.left == 0 { Flow::Done } else { Flow::Again })
    }
}

const WORSE: &str = "a worse day";

/// Works, emits none, one or several, at once or later in the name of a kept cause; sometimes fails, sometimes
/// cancels.
struct Busy {
    dice: Dice,
    kept: VecDeque<(Stamp, Cause, Account)>,
}

struct BusyPorts {
    input: In<Account>,
    out: Out<Account>,
}

impl Kind for Busy {
    const KIND: &'static str = "test/busy";
    const ABOUT: &'static str = "Does all that a node may do.";
    type Params = Seeded;

    fn new(params: &Seeded, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Busy { dice: Dice(params.seed), kept: VecDeque::new() })
    }
}

impl Busy {
    fn emit(
        &mut self,
        ports: &mut BusyPorts,
        ctx: &mut Ctx<'_>,
        cause: Cause,
        held: Nanos,
        account: Account,
    ) {
        ctx.clock().advance(Nanos(self.dice.roll(200)));
        ports.out.emit_as(ctx, cause, held, account);
    }
}

impl Node for Busy {
    type Ports = BusyPorts;

    fn ports(ports: &mut Ports<'_>) -> BusyPorts {
        BusyPorts { input: ports.input("in", "Accounts."), out: ports.many("out", "Accounts.", 2) }
    }

    fn step(&mut self, ports: &mut BusyPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        while self.kept.front().is_some_and(|(due, ..)| *due <= ctx.now()) {
            let (_, cause, account) = self.kept.pop_front().expect("looked at");
            let held = ctx.held_since(cause);
            self.emit(ports, ctx, cause, held, account);
        }
        if let Some(taken) = ports.input.take(ctx) {
            let (cause, account) = arrive(ctx, taken);
            match self.dice.roll(12) {
                0 => return Err(NodeError::new("a bad day")),
                1 => panic!("{WORSE}"),
                2 => ctx.cancel(cause.turn),
                3 | 4 => {
                    let due = ctx.now() + Nanos(self.dice.roll(2_000));
                    let due = self.kept.back().map_or(due, |(last, ..)| due.max(*last));
                    self.kept.push_back((due, cause, account));
                }
                5 => {}
                6 | 7 => {
                    for _ in 0..3 {
                        self.emit(ports, ctx, cause, Nanos::ZERO, account.clone());
                    }
                }
                _ => self.emit(ports, ctx, cause, Nanos::ZERO, account),
            }
        }
        if let Some((due, ..)) = self.kept.front() {
            ctx.wake_at(*due);
        }
        Ok(Flow::Idle)
    }

    fn finish(&mut self, ports: &mut BusyPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        let Some((due, cause, account)) = self.kept.pop_front() else { return Ok(Flow::Done) };
        if due > ctx.now() {
            self.kept.push_front((due, cause, account));
            ctx.wake_at(due);
            return Ok(Flow::Idle);
        }
        let held = ctx.held_since(cause);
        self.emit(ports, ctx, cause, held, account);
        Ok(Flow::Again)
    }
}

/// Pairs what comes at its two inputs; the one that came first is held.
struct Pair {
    kept: [VecDeque<(Cause, Account)>; 2],
}

struct PairPorts {
    inputs: [In<Account>; 2],
    out: Out<Account>,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

impl Kind for Pair {
    const KIND: &'static str = "test/pair";
    const ABOUT: &'static str = "Joins two streams.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Pair { kept: Default::default() })
    }
}

impl Node for Pair {
    type Ports = PairPorts;

    fn ports(ports: &mut Ports<'_>) -> PairPorts {
        PairPorts {
            inputs: [ports.input("left", "Accounts."), ports.input("right", "Accounts.")],
            out: ports.output("out", "Accounts."),
        }
    }

    fn step(&mut self, ports: &mut PairPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        for (input, kept) in ports.inputs.iter_mut().zip(&mut self.kept) {
            if let Some(taken) = input.take(ctx) {
                kept.push_back(arrive(ctx, taken));
            }
        }
        let [left, right] = &mut self.kept;
        if left.is_empty() || right.is_empty() {
            return Ok(Flow::Idle);
        }
        let (left, right) = (left.pop_front().expect("not empty"), right.pop_front().expect("not empty"));
        let (cause, account) = if left.0.origin <= right.0.origin { left } else { right };
        let held = ctx.held_since(cause);
        ports.out.emit_as(ctx, cause, held, account);
        Ok(Flow::Idle)
    }
}

/// Takes its time and ends the lineage.
struct End {
    dice: Dice,
}

impl Kind for End {
    const KIND: &'static str = "test/end";
    const ABOUT: &'static str = "Ends a lineage.";
    type Params = Seeded;

    fn new(params: &Seeded, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(End { dice: Dice(params.seed) })
    }
}

struct EndPorts {
    input: In<Account>,
    done: Done,
}

impl Node for End {
    type Ports = EndPorts;

    fn ports(ports: &mut Ports<'_>) -> EndPorts {
        EndPorts { input: ports.input("in", "Accounts."), done: ports.done() }
    }

    fn step(&mut self, ports: &mut EndPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if let Some(taken) = ports.input.take(ctx) {
            let (cause, _) = arrive(ctx, taken);
            ctx.clock().advance(Nanos(self.dice.roll(100)));
            ports.done.mark(ctx, cause, Nanos::ZERO);
        }
        Ok(Flow::Idle)
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.source::<Ticks>().node::<Busy>().node::<Pair>().node::<End>();
    registry
}

/// A random graph: what each inner node takes from, as a number to be brought into range.
#[derive(Clone, Debug)]
struct Shape {
    sources: usize,
    inner: Vec<(bool, usize, usize)>,
    seed: u64,
    lanes: usize,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let inner = prop::collection::vec((any::<bool>(), any::<usize>(), any::<usize>()), 0..6);
    (1..3_usize, inner, any::<u32>(), 1..4_usize).prop_map(|(sources, inner, seed, lanes)| Shape {
        sources,
        inner,
        seed: u64::from(seed),
        lanes,
    })
}

impl Shape {
    /// The graph file, and one route from a source to a sink in it.
    fn text(&self) -> String {
        let mut dice = Dice(self.seed);
        let mut nodes = String::new();
        let mut edges: Vec<(String, String)> = Vec::new();
        let mut outputs: Vec<String> = Vec::new();
        let mut node = |name: &str, kind: &str, with: &str, dice: &mut Dice| {
            let lane = dice.roll(self.lanes as u64);
            let _ = writeln!(
                nodes,
                "\"{name}\": (kind: \"{kind}\", lane: \"l{lane}\", on_error: restart(first: \"1 us\"), with: ({with})),"
            );
        };
        for source in 0..self.sources {
            let name = format!("ticks{source}");
            node(&name, "test/ticks", &format!("seed: {}", dice.roll(1 << 30)), &mut dice);
            outputs.push(name);
        }
        for (index, (pair, left, right)) in self.inner.iter().enumerate() {
            let (left, right) = (left % outputs.len(), right % outputs.len());
            let name = format!("inner{index}");
            if *pair && left != right {
                node(&name, "test/pair", "", &mut dice);
                edges.push((outputs[left].clone(), format!("{name}.left")));
                edges.push((outputs[right].clone(), format!("{name}.right")));
            } else {
                node(&name, "test/busy", &format!("seed: {}", dice.roll(1 << 30)), &mut dice);
                edges.push((outputs[left].clone(), name.clone()));
            }
            outputs.push(name);
        }
        for (index, output) in outputs.iter().enumerate() {
            if !edges.iter().any(|(from, _)| from == output) {
                let name = format!("end{index}");
                node(&name, "test/end", &format!("seed: {}", dice.roll(1 << 30)), &mut dice);
                edges.push((output.clone(), name));
            }
        }
        let mut text =
            format!("(lanes: {{ \"l0\": (), \"l1\": (), \"l2\": () }},\nnodes: {{\n{nodes}}},\nedges: [\n");
        for (from, to) in &edges {
            let full = ["block", "drop_oldest", "drop_newest"][dice.roll(3) as usize];
            let late = if dice.roll(4) == 0 { ", late: \"900 ns\"" } else { "" };
            let capacity = 1 + dice.roll(4);
            let _ = writeln!(
                text,
                "(from: \"{from}\", to: \"{to}\", queue: (capacity: {capacity}, full: {full}{late}), measure: all),"
            );
        }
        text.push_str("])");
        text
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn age_is_the_sum_of_latencies_in_every_graph(shape in shapes()) {
        VIOLATIONS.with_borrow_mut(Vec::clear);
        TAKEN.with_borrow_mut(|n| *n = 0);
        let text = shape.text();
        quiet();
        let run = testing::simulate(&text, &registry());
        let violations = VIOLATIONS.with_borrow(Clone::clone);
        prop_assert!(violations.is_empty(), "{text}\n{violations:#?}");
        prop_assert!(TAKEN.with_borrow(|n| *n) > 0, "nothing was taken in {text}");
        for (edge, meter) in run.plan.edges.iter().zip(&run.outcome.edges) {
            let counts = meter.counts();
            prop_assert!(counts.balance(), "{}: {counts:?} in {text}", edge.name());
            prop_assert_eq!(negatives(meter), 0, "{}", edge.name());
        }
        let fatal: Vec<_> = run.outcome.failures.iter().filter(|failure| failure.fatal).collect();
        prop_assert!(fatal.is_empty(), "{fatal:?} in {text}");
    }
}

/// Nodes that panic are part of the test; their messages are not.
fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.payload_as_str() != Some(WORSE) {
                loud(panic);
            }
        }));
    });
}

fn negatives(meter: &EdgeMeter) -> u64 {
    graph_core::budget::Measure::ALL.iter().map(|&measure| meter.negative(measure)).sum()
}
