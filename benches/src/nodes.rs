//! Nodes that do nothing, for what a runtime costs by itself.

use std::{
    marker::PhantomData,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use graph_core::{
    Build, BuildError, Cx, Flow, Kind, Nanos, NodeError, Payload, Registry, Sink, SinkCx, Source, Stamp,
    Transform, payload,
};
use rustix::event::{EventfdFlags, eventfd};
use schemars::JsonSchema;
use serde::Deserialize;

/// What travels: made from a number that the sink may read.
pub trait Load: Payload + Clone {
    /// A payload with `word` in it.
    fn with(word: u64) -> Self;
    /// The word.
    fn word(&self) -> u64;
}

/// 64 bytes.
#[derive(Clone)]
pub struct Block(pub [u64; 8]);
payload!(Block, "block");

impl Load for Block {
    fn with(word: u64) -> Block {
        Block([word; 8])
    }

    fn word(&self) -> u64 {
        self.0[0]
    }
}

/// A picture of 640 x 640 pixels of 3 bytes (1.2 MB), by reference.
#[derive(Clone)]
pub struct Picture {
    word: u64,
    pixels: Arc<[u8]>,
}
payload!(Picture, "picture");

impl Load for Picture {
    fn with(word: u64) -> Picture {
        static PIXELS: OnceLock<Arc<[u8]>> = OnceLock::new();
        Picture { word, pixels: PIXELS.get_or_init(|| vec![7; 640 * 640 * 3].into()).clone() }
    }

    fn word(&self) -> u64 {
        self.word + u64::from(self.pixels[0])
    }
}

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
pub struct Feed<P>(u64, PhantomData<P>);

impl<P: Load> Kind for Feed<P> {
    const KIND: &'static str = "bench/feed";
    const ABOUT: &'static str = "Emits packets as fast as they are taken.";
    type Params = FeedParams;

    fn new(params: &FeedParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Feed(params.packets, PhantomData))
    }
}

impl<P: Load> Source for Feed<P> {
    type Out = P;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, P>) -> Result<Flow, NodeError> {
        let Some(left) = self.0.checked_sub(1) else { return Ok(Flow::Done) };
        self.0 = left;
        cx.emit_from(now, P::with(left));
        Ok(Flow::Again)
    }
}

/// Parameters of [`Paced`].
#[derive(Clone, Deserialize, JsonSchema)]
pub struct PacedParams {
    /// How many packets to emit.
    packets: u64,
    /// From one to the next, in nanoseconds.
    period: u64,
    /// Whether a packet whose time has gone by is left out, so that there are never two under way.
    #[serde(default)]
    skip: bool,
}

/// Emits a packet each period, due by absolute times. Its word is when it was emitted, by the source's own reading.
pub struct Paced<P> {
    params: PacedParams,
    due: Option<Stamp>,
    load: PhantomData<P>,
}

impl<P: Load> Kind for Paced<P> {
    const KIND: &'static str = "bench/paced";
    const ABOUT: &'static str = "Emits a packet each period.";
    type Params = PacedParams;

    fn new(params: &PacedParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Paced { params: params.clone(), due: None, load: PhantomData })
    }
}

impl<P: Load> Source for Paced<P> {
    type Out = P;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, P>) -> Result<Flow, NodeError> {
        let period = Nanos(self.params.period);
        let mut due = self.due.unwrap_or(now + period);
        if now >= due {
            let emitted = cx.clock().now_ordered();
            cx.emit_from(due, P::with(emitted.0));
            self.params.packets -= 1;
            due = due + period;
            if self.params.skip && due <= now {
                due = now + period;
            }
        }
        if self.params.packets == 0 {
            return Ok(Flow::Done);
        }
        self.due = Some(due);
        cx.wake_at(due);
        Ok(Flow::Idle)
    }
}

/// Waits for something that never comes.
pub struct Waiting;

impl Kind for Waiting {
    const KIND: &'static str = "bench/waiting";
    const ABOUT: &'static str = "Waits for something that never comes.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Waiting)
    }
}

impl Source for Waiting {
    type Out = Block;

    fn poll(&mut self, _: Stamp, _: &mut Cx<'_, '_, Block>) -> Result<Flow, NodeError> {
        Ok(Flow::Idle)
    }
}

/// Hands on what it takes, and counts it.
pub struct Pass<P>(u64, PhantomData<P>);

impl<P> Default for Pass<P> {
    fn default() -> Self {
        Pass(0, PhantomData)
    }
}

impl<P> Pass<P> {
    /// What it does with a packet, whoever calls it.
    #[inline]
    pub fn pass(&mut self, load: P) -> P {
        self.0 = self.0.wrapping_add(1);
        load
    }
}

impl<P: Load> Kind for Pass<P> {
    const KIND: &'static str = "bench/pass";
    const ABOUT: &'static str = "Hands on what it takes, and counts it.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Pass::default())
    }
}

impl<P: Load> Transform for Pass<P> {
    type In = P;
    type Out = P;

    fn process(&mut self, load: P, cx: &mut Cx<'_, '_, P>) -> Result<(), NodeError> {
        let load = self.pass(load);
        cx.emit(load);
        Ok(())
    }
}

/// Takes and forgets.
pub struct Forget<P>(u64, PhantomData<P>);

impl<P: Load> Kind for Forget<P> {
    const KIND: &'static str = "bench/forget";
    const ABOUT: &'static str = "Takes and forgets.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Forget(0, PhantomData))
    }
}

impl<P: Load> Sink for Forget<P> {
    type In = P;

    fn consume(&mut self, load: P, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        self.0 = std::hint::black_box(self.0.wrapping_add(load.word()));
        Ok(())
    }
}

/// Takes and forgets, and watches a descriptor that never has anything, so that its lane sleeps in epoll.
pub struct Watching {
    taken: u64,
    _descriptor: OwnedFd,
}

impl Kind for Watching {
    const KIND: &'static str = "bench/watching";
    const ABOUT: &'static str = "Takes and forgets, and watches a descriptor that never has anything.";
    type Params = Nothing;

    fn new(_: &Nothing, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| BuildError::new(format!("no event descriptor: {error}")))?;
        build.watch(&descriptor)?;
        Ok(Watching { taken: 0, _descriptor: descriptor })
    }
}

impl Sink for Watching {
    type In = Block;

    fn consume(&mut self, block: Block, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        self.taken = std::hint::black_box(self.taken.wrapping_add(block.word()));
        Ok(())
    }
}

/// Arrivals of one run are no more.
const ARRIVALS: usize = 1 << 16;

static ARRIVED: Mutex<Vec<Nanos>> = Mutex::new(Vec::new());

/// Reads the clock itself when it has a packet of [`Paced`], whatever the runtime measures.
pub struct Arrive(Vec<Nanos>);

impl Arrive {
    /// How long the packets of the last run were under way.
    pub fn arrived() -> Vec<Nanos> {
        std::mem::take(&mut *ARRIVED.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Arrive {
    fn drop(&mut self) {
        *ARRIVED.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut self.0);
    }
}

impl Kind for Arrive {
    const KIND: &'static str = "bench/arrive";
    const ABOUT: &'static str = "Reads the clock itself when it has a packet.";
    type Params = Nothing;

    fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Arrive(Vec::with_capacity(ARRIVALS)))
    }
}

impl Sink for Arrive {
    type In = Block;

    fn consume(&mut self, block: Block, cx: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        let time = cx.clock().now_ordered().since(Stamp(block.word()));
        if self.0.len() < ARRIVALS {
            self.0.extend(time);
        }
        Ok(())
    }
}

/// The kinds above, with packets of one type.
pub fn registry_of<P: Load>() -> Registry {
    let mut registry = Registry::new();
    registry.source::<Feed<P>>().source::<Paced<P>>().transform::<Pass<P>>().sink::<Forget<P>>();
    registry.source::<Waiting>().sink::<Watching>().sink::<Arrive>();
    registry
}

/// The kinds above, with packets of 64 bytes.
pub fn registry() -> Registry {
    registry_of::<Block>()
}
