//! What a hop costs: inside a lane, between lanes, to a lane that sleeps, and with a large payload.

use std::{hint::black_box, time::Duration};

use graph_core::{
    Clock, Nanos,
    budget::{Measure, Stat},
    floors::{Trial, Way},
};

use super::{
    Figures, ring,
    runner::{Failure, Ran, Runner, cpu},
    spread::{median, quantile},
};
use crate::{Arrive, Block, Chain, Load, Pass, Picture, chain, registry, registry_of};

/// Hops of the chain that changes lanes at each.
pub(super) const CROSSINGS: usize = 5;
/// From one packet of it to the next, which is many times what one is under way.
pub(super) const PERIOD: Nanos = Nanos::from_micros(20);
/// From one packet for a lane that sleeps to the next.
const NAP: Nanos = Nanos::from_micros(25);
/// So long after it says that it sleeps the sleeper of the floor is woken, about as the lane is: a processor that sleeps
/// for longer takes several times as long to wake.
const DOZE: Nanos = Nanos::from_micros(15);

/// Stages whose difference is what is told of a hop.
const SHORT: usize = 10;
const LONG: usize = 110;
const FLOOD: u64 = 20_000;
const SINGLE: u64 = 20_000;
const WAKES: u64 = 1_000;

/// CPU time of a hop of a chain whose nodes share a lane, by the difference of two lengths.
pub(super) fn fused<P: Load>(runner: &mut Runner) -> Result<f64, Failure> {
    let packets = runner.packets(FLOOD);
    let registry = registry_of::<P>();
    let short = runner.run(&chain(packets, SHORT, &["one"]), &registry)?.cpu;
    let long = runner.run(&chain(packets, LONG, &["one"]), &registry)?.cpu;
    Ok(per_hop(short, long, packets, LONG - SHORT))
}

pub(super) fn per_hop(short: Duration, long: Duration, packets: u64, hops: usize) -> f64 {
    (long.as_nanos() as f64 - short.as_nanos() as f64) / (packets as f64 * hops as f64)
}

/// The same nodes called one after another, and a clock reading after each.
trait Bare {
    fn call(&mut self, block: Block) -> Block;
}

impl Bare for Pass<Block> {
    fn call(&mut self, block: Block) -> Block {
        self.pass(block)
    }
}

fn bare(clock: &Clock, packets: u64, stages: usize) -> Duration {
    let mut nodes: Vec<Box<dyn Bare>> =
        (0..stages).map(|_| -> Box<dyn Bare> { Box::new(Pass::<Block>::default()) }).collect();
    let before = cpu();
    for packet in 0..packets {
        let mut block = Block::with(packet);
        for node in &mut nodes {
            block = node.call(block);
            black_box(clock.now());
        }
        black_box(block);
    }
    cpu() - before
}

/// A hop inside a lane beside its floor, and a payload by reference.
pub(super) fn inside(runner: &mut Runner, figures: &mut Figures) -> Result<(), Failure> {
    let small = fused::<Block>(runner)?;
    let packets = runner.packets(FLOOD);
    let short = bare(&runner.clock, packets, SHORT);
    let floor = per_hop(short, bare(&runner.clock, packets, LONG), packets, LONG - SHORT);
    let large = fused::<Picture>(runner)?;
    figures.put("fused-hop", small);
    figures.put("fused-floor", floor);
    figures.put("fused-ratio", small / floor);
    figures.put("fused-large", large / small);

    let ran = runner.run(&chain(packets, 100, &["one"]), &registry())?;
    figures.put("chain-p50", ran.nanos(100, Measure::Age, Stat::P50)?);
    figures.put("chain-p99", ran.nanos(100, Measure::Age, Stat::P99)?);
    Ok(())
}

/// A chain that changes between two spinning lanes at each hop, one packet in flight.
fn crossing_chain(packets: u64, sink: &str) -> String {
    let lane = |stage: usize| ["one", "two"][stage % 2];
    let with = format!("packets: {packets}, period: {}, skip: true", PERIOD.0);
    let chain = Chain::default().lane("one", "wait: poll").lane("two", "wait: poll");
    let chain = chain.then_with("paced", lane(0), &with);
    let chain = (1..CROSSINGS).fold(chain, |chain, stage| chain.then("pass", lane(stage)));
    chain.then(sink, lane(CROSSINGS)).text()
}

/// Of the edges between lanes the one in the middle.
fn crossing(ran: &Ran, measure: Measure, stat: Stat) -> Result<f64, Failure> {
    let edges: Result<Vec<f64>, Failure> =
        (0..CROSSINGS).map(|edge| ran.nanos(edge, measure, stat)).collect();
    median(edges?).ok_or_else(|| "the chain has no edge".into())
}

/// A hop between two spinning lanes beside bare rings, and a payload by reference.
pub(super) fn between(runner: &mut Runner, figures: &mut Figures) -> Result<(), Failure> {
    let packets = runner.packets(SINGLE);
    let text = crossing_chain(packets, "forget");
    let small = runner.run(&text, &registry_of::<Block>())?;
    let mut bare = ring::hops(&runner.clock, packets);
    let large = runner.run(&text, &registry_of::<Picture>())?;
    let none = || Failure::from("the bare rings have no sample");
    for (stat, at, wait, floor, ratio, latency, latency_floor, latency_ratio) in [
        (
            Stat::P50,
            0.5,
            "cross-p50",
            "cross-floor-p50",
            "cross-ratio-p50",
            "cross-latency-p50",
            "cross-latency-floor-p50",
            "cross-latency-ratio-p50",
        ),
        (
            Stat::P99,
            0.99,
            "cross-p99",
            "cross-floor-p99",
            "cross-ratio-p99",
            "cross-latency-p99",
            "cross-latency-floor-p99",
            "cross-latency-ratio-p99",
        ),
    ] {
        let (ours, theirs) =
            (crossing(&small, Measure::Wait, stat)?, quantile(&mut bare.wait, at).ok_or_else(none)?);
        figures.put(wait, ours);
        figures.put(floor, theirs);
        figures.put(ratio, ours / theirs);
        let (ours, theirs) =
            (crossing(&small, Measure::Latency, stat)?, quantile(&mut bare.latency, at).ok_or_else(none)?);
        figures.put(latency, ours);
        figures.put(latency_floor, theirs);
        figures.put(latency_ratio, ours / theirs);
    }
    let [small, large] = [&small, &large].map(|ran| crossing(ran, Measure::Latency, Stat::P50));
    figures.put("cross-large", large? / small?);
    Ok(())
}

/// A hop to a lane that sleeps, beside the floor of its way of waiting.
pub(super) fn parked(runner: &mut Runner, figures: &mut Figures) -> Result<(), Failure> {
    let packets = runner.packets(WAKES);
    for (way, sink, hop, floor, ratio) in [
        (Way::Futex, "forget", "futex-hop", "futex-floor", "futex-ratio"),
        (Way::Epoll, "watching", "epoll-hop", "epoll-floor", "epoll-ratio"),
    ] {
        let with = format!("packets: {packets}, period: {}, skip: true", NAP.0);
        let chain = Chain::default().lane("awake", "wait: poll").lane("asleep", "wait: park");
        let text = chain.then_with("paced", "awake", &with).then(sink, "asleep").text();
        let ours = runner.run(&text, &registry())?.nanos(0, Measure::Wait, Stat::P50)?;
        let trial = Trial { hops: packets as usize, doze: DOZE, patience: Nanos::from_secs(2) };
        let mut hops = way.hops(&runner.clock, trial)?;
        let theirs = quantile(&mut hops, 0.5).ok_or("the floor has no sample")?;
        figures.put(hop, ours);
        figures.put(floor, theirs);
        figures.put(ratio, ours / theirs);
    }
    Ok(())
}

/// What is compared between a build that measures and one that does not: a hop inside a lane, and a hop between two by
/// the ends' own readings.
pub(super) fn pair(runner: &mut Runner) -> Result<[f64; 2], Failure> {
    let fused = fused::<Block>(runner)?;
    let packets = runner.packets(SINGLE);
    runner.run(&crossing_chain(packets, "arrive"), &registry())?;
    let whole = quantile(&mut Arrive::arrived(), 0.5).ok_or("nothing arrived")?;
    Ok([fused, whole / CROSSINGS as f64])
}
