//! GStreamer: buffers pushed from pad to pad by a call, or from queue to queue by a thread each.
//!
//! The bench's own pads stand at both ends, so that no source or sink element costs anything.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use gstreamer::{
    Buffer, BufferPool, Caps, ClockTime, Element, ElementFactory, FlowError, FlowSuccess, FormattedSegment,
    Pad, PadDirection, PadLinkCheck, PadProbeReturn, PadProbeType, State, event, prelude::*,
};

use crate::{
    packet::{Head, LARGE_BYTES, Payload, Small},
    peer::{Chain, Failure, Peer, Setup},
    probe::{self, Feed, Mode, Sink, Stage},
};

/// Buffers of the pool: fewer than fit the queues, so that large ones do not fill the memory.
const BUFFERS: u32 = 256;
/// Buffers that a queue holds; its limits in bytes and time are off.
const QUEUED: u32 = 200;

/// A chain of identity elements, with a queue before each or without.
pub struct Gst {
    /// Whether every stage has a queue, and with it a thread.
    pub queues: bool,
}

impl Peer for Gst {
    fn name(&self) -> &'static str {
        if self.queues { "gst-queue" } else { "gst-identity" }
    }

    fn version(&self) -> String {
        let (major, minor, micro, _) = gstreamer::version();
        format!("{major}.{minor}.{micro} (gstreamer-rs {})", env!("VERSION_GSTREAMER"))
    }

    fn setup(&self, chain: Chain) -> Option<Setup> {
        let stage = if self.queues {
            format!("queue (max-size-buffers {QUEUED}, silent) ! identity a stage, a thread each")
        } else {
            "identity (silent, no handoffs) a stage, one thread".into()
        };
        let words =
            format!("{stage}; buffers from a pool, pushed from a bare pad; hops stamped by pad probes");
        Some(Setup { words, threads: if self.queues { chain.stages + 1 } else { 1 } })
    }

    fn run(&self, chain: Chain) -> Result<(), Failure> {
        gstreamer::init()?;
        let pool = pool(match chain.payload {
            Payload::Small => size_of::<Small>(),
            Payload::Large => LARGE_BYTES,
        })?;
        let line = self.line(chain.stages)?;
        let pushed = line.push(&pool);
        for element in &line.elements {
            element.set_state(State::Null)?;
        }
        line.source.set_active(false)?;
        pool.set_active(false)?;
        pushed
    }
}

/// When the packet in flight was stamped last: buffers have no room for it.
type Last = Arc<AtomicU64>;

/// What is pushed into the source goes through the elements to the end.
struct Line {
    source: Pad,
    elements: Vec<Element>,
    /// Keeps the pad behind the last element.
    _end: Pad,
    last: Last,
}

impl Gst {
    fn line(&self, stages: usize) -> Result<Line, Failure> {
        let last = Last::default();
        let source = Pad::builder(PadDirection::Src).name("source").build();
        let (mut elements, mut before) = (Vec::new(), source.clone());
        for _ in 0..stages {
            if self.queues {
                let queue = ElementFactory::make("queue")
                    .property("max-size-buffers", QUEUED)
                    .property("max-size-bytes", 0_u32)
                    .property("max-size-time", 0_u64)
                    .property("silent", true)
                    .build()?;
                before = link(&before, &queue)?;
                elements.push(queue);
            }
            let identity = ElementFactory::make("identity").property("signal-handoffs", false).build()?;
            before = link(&before, &identity)?;
            if probe::run().mode == Mode::Hops {
                stamp(&identity.static_pad("sink").ok_or("identity has no sink pad")?, last.clone());
            }
            elements.push(identity);
        }
        let end = end(last.clone());
        before.link_full(&end, PadLinkCheck::empty())?;
        end.set_active(true)?;
        // From the sink on, so that nothing is pushed into an element that is not ready.
        for element in elements.iter().rev() {
            element.set_state(State::Playing)?;
        }
        source.set_active(true)?;
        source.push_event(event::StreamStart::new("peers"));
        source.push_event(event::Caps::new(&Caps::builder("application/x-packets").build()));
        source.push_event(event::Segment::new(&FormattedSegment::<ClockTime>::new()));
        Ok(Line { source, elements, _end: end, last })
    }
}

impl Line {
    fn push(&self, pool: &BufferPool) -> Result<(), Failure> {
        let mut feed = Feed::<Small>::default();
        loop {
            feed.wait();
            let Some(Head { seq, stamp }) = feed.head() else { break };
            let mut buffer = pool.acquire_buffer(None)?;
            buffer.get_mut().ok_or("the pool gave a buffer that is in use")?.set_offset(seq);
            self.last.store(stamp, Ordering::Release);
            self.source.push(buffer)?;
        }
        // Threads of queues may still be at work.
        probe::wait_for_all();
        Ok(())
    }
}

fn link(before: &Pad, element: &Element) -> Result<Pad, Failure> {
    let sink = element.static_pad("sink").ok_or("no sink pad")?;
    before.link_full(&sink, PadLinkCheck::empty())?;
    Ok(element.static_pad("src").ok_or("no source pad")?)
}

fn pool(bytes: usize) -> Result<BufferPool, Failure> {
    let pool = BufferPool::new();
    let mut config = pool.config();
    let caps = Caps::builder("application/x-packets").build();
    config.set_params(Some(&caps), bytes as u32, 8, BUFFERS);
    pool.set_config(config)?;
    pool.set_active(true)?;
    Ok(pool)
}

fn head(buffer: &Buffer, last: &Last) -> Head {
    Head { seq: buffer.offset(), stamp: last.load(Ordering::Acquire) }
}

fn stamp(pad: &Pad, last: Last) {
    let stage = Mutex::new(Stage::default());
    pad.add_probe(PadProbeType::BUFFER, move |_, info| {
        if let (Some(buffer), Ok(mut stage)) = (info.buffer(), stage.lock()) {
            let mut head = head(buffer, &last);
            stage.pass(&mut head);
            last.store(head.stamp, Ordering::Release);
        }
        PadProbeReturn::Ok
    });
}

fn end(last: Last) -> Pad {
    let sink = Mutex::new(Sink::default());
    Pad::builder(PadDirection::Sink)
        .name("end")
        .chain_function(move |_, _, buffer| {
            let Ok(mut sink) = sink.lock() else { return Err(FlowError::Error) };
            let head = head(&buffer, &last);
            // The buffer is back in its pool before the next is asked for.
            let word = buffer.size() as u64;
            drop(buffer);
            sink.arrive(head, word);
            sink.wake_source();
            Ok(FlowSuccess::Ok)
        })
        .event_function(|_, _, _| true)
        .build()
}
