//! What a graph does that has little to do: how late its timers are, what it takes to wait, and how it begins.

use std::{thread, time::Duration};

use graph_core::{
    Nanos,
    budget::{Measure, Stat},
};

use super::{
    Figures,
    hops::per_hop,
    runner::{Beginning, Failure, Runner, cpu},
};
use crate::{Chain, registry};

const TICKS: u64 = 600;
const IDLE: Duration = Duration::from_secs(3);
const NODES: usize = 1_000;
const SHORT: usize = 12;
const PACKETS: u64 = 3_000;
const LANES: usize = 8;

/// How late a source with a period of 1 ms is served.
pub(super) fn pacing(runner: &mut Runner, figures: &mut Figures) -> Result<(), Failure> {
    // A quantile of 99 % wants 299 samples.
    let ticks = if runner.quick { 50 } else { TICKS };
    for (id, wait) in [("pacing-spin", "wait: spin(\"100 us\")"), ("pacing-park", "wait: park")] {
        let with = format!("packets: {ticks}, period: {}", Nanos::from_millis(1).0);
        let chain = Chain::default().lane("one", wait).then_with("paced", "one", &with);
        let ran = runner.run(&chain.then("forget", "one").text(), &registry())?;
        figures.put(id, ran.nanos(0, Measure::Latency, Stat::P99)?);
    }
    Ok(())
}

/// What a graph takes that has nothing, or next to nothing, to do.
pub(super) fn idle(runner: &mut Runner, figures: &mut Figures) -> Result<(), Failure> {
    let time = if runner.quick { IDLE / 30 } else { IDLE };
    let with = format!("packets: 1000000, period: {}", Nanos::from_millis(20).0);
    for (id, source, with) in [("idle-timers", "paced", with.as_str()), ("idle-waiting", "waiting", "")] {
        let lanes = ["audio", "text", "models", "net"];
        let chain = lanes.iter().fold(Chain::default(), |chain, lane| chain.lane(lane, ""));
        let chain = chain.then_with(source, "audio", with);
        let chain = lanes.iter().fold(chain, |chain, lane| chain.then("pass", lane).then("pass", lane));
        let mut share = 0.0;
        runner.run_while(&chain.then("forget", "net").text(), &registry(), |running| {
            let before = cpu();
            thread::sleep(time);
            share = (cpu() - before).as_secs_f64() / time.as_secs_f64() * 100.0;
            running.stopper().stop();
        })?;
        figures.put(id, share);
    }
    Ok(())
}

/// A chain of so many nodes, a part of it in each of so many lanes.
fn parts(packets: u64, nodes: usize, lanes: usize) -> String {
    let lane = |node: usize| format!("lane {}", node * lanes / nodes);
    let chain = (0..lanes).fold(Chain::default(), |chain, at| chain.lane(&format!("lane {at}"), ""));
    let chain = chain.then_with("feed", &lane(0), &format!("packets: {packets}"));
    let chain = (1..nodes - 1).fold(chain, |chain, node| chain.then("pass", &lane(node)));
    chain.then("forget", &lane(nodes - 1)).text()
}

/// How a graph of 1,000 nodes begins and runs.
pub(super) fn thousand(runner: &mut Runner, figures: &mut Figures) -> Result<(), Failure> {
    let packets = runner.packets(PACKETS);
    let registry = registry();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    for (lanes, begins, hop, ratio) in [
        (1, ["one-load", "one-check", "one-prepare", "one-start", "one-total"], "one-hop", "one-ratio"),
        (
            LANES,
            ["eight-load", "eight-check", "eight-prepare", "eight-start", "eight-total"],
            "eight-hop",
            "eight-ratio",
        ),
    ] {
        let ran = runner.run(&parts(packets, NODES, lanes), &registry)?;
        let Beginning { load, check, prepare, start } = ran.beginning;
        let times = [load, check, prepare, start, load + check + prepare + start];
        for (id, time) in begins.into_iter().zip(times) {
            figures.put(id, millis(time));
        }
        let per_hop = |long: Duration, short: Duration, nodes| per_hop(short, long, packets, nodes - SHORT);
        let short = runner.run(&parts(packets, SHORT, lanes), &registry)?.cpu;
        let hundred = runner.run(&parts(packets, NODES / 10, lanes), &registry)?.cpu;
        let thousand = per_hop(ran.cpu, short, NODES);
        figures.put(hop, thousand);
        figures.put(ratio, thousand / per_hop(hundred, short, NODES / 10));
    }
    Ok(())
}
