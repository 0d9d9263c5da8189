//! What the benches share: nodes that do nothing, and chains of them.

use std::fmt::Write;

use graph_core::{
    Build, BuildError, Cx, Flow, Kind, NodeError, Registry, Sink, SinkCx, Source, Stamp, Transform, payload,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// 64 bytes.
#[derive(Clone)]
pub struct Block(pub [u64; 8]);
payload!(Block, "block");

/// Parameters of [`Feed`].
#[derive(Deserialize, JsonSchema)]
pub struct FeedParams {
    /// How many packets to emit.
    packets: u64,
}

/// Parameters of a node without any.
#[derive(Deserialize, JsonSchema)]
pub struct Nothing {}

/// Emits packets as fast as they are taken.
pub struct Feed(u64);

impl Kind for Feed {
    const KIND: &'static str = "bench/feed";
    const ABOUT: &'static str = "Emits packets as fast as they are taken.";
    type Params = FeedParams;

    fn new(params: &FeedParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Feed(params.packets))
    }
}

impl Source for Feed {
    type Out = Block;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Block>) -> Result<Flow, NodeError> {
        let Some(left) = self.0.checked_sub(1) else { return Ok(Flow::Done) };
        self.0 = left;
        cx.emit_from(now, Block([left; 8]));
        Ok(Flow::Again)
    }
}

/// Hands on what it takes, and counts it.
pub struct Pass(u64);

impl Kind for Pass {
    const KIND: &'static str = "bench/pass";
    const ABOUT: &'static str = "Hands on what it takes, and counts it.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Pass(0))
    }
}

impl Transform for Pass {
    type In = Block;
    type Out = Block;

    fn process(&mut self, block: Block, cx: &mut Cx<'_, '_, Block>) -> Result<(), NodeError> {
        self.0 = self.0.wrapping_add(1);
        cx.emit(block);
        Ok(())
    }
}

/// Takes and forgets.
pub struct Forget(u64);

impl Kind for Forget {
    const KIND: &'static str = "bench/forget";
    const ABOUT: &'static str = "Takes and forgets.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Forget(0))
    }
}

impl Sink for Forget {
    type In = Block;

    fn consume(&mut self, block: Block, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        self.0 = std::hint::black_box(self.0.wrapping_add(block.0[0]));
        Ok(())
    }
}

/// The kinds above.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.source::<Feed>().transform::<Pass>().sink::<Forget>();
    registry
}

/// A chain of `stages` between a source and a sink, the lanes taken in turn.
pub fn chain(packets: u64, stages: usize, lanes: &[&str]) -> String {
    let lane = |stage: usize| lanes[stage % lanes.len()];
    let mut nodes =
        format!("\"s0\": (kind: \"bench/feed\", lane: \"{}\", with: (packets: {packets})),", lane(0));
    let mut edges = String::new();
    for stage in 1..=stages + 1 {
        let kind = if stage <= stages { "pass" } else { "forget" };
        let _ = write!(nodes, "\"s{stage}\": (kind: \"bench/{kind}\", lane: \"{}\"),", lane(stage));
        let _ = write!(edges, "(from: \"s{}\", to: \"s{stage}\"),", stage - 1);
    }
    let lanes: Vec<String> = lanes.iter().map(|lane| format!("\"{lane}\": ()")).collect();
    format!("(lanes: {{ {} }}, nodes: {{ {nodes} }}, edges: [ {edges} ])", lanes.join(", "))
}
