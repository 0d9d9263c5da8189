//! FutureSDR: blocks that are asynchronous tasks, with messages (a queue of boxed values per block) or streams (a ring
//! of samples per edge).

use futuresdr::{
    prelude::*,
    runtime::{
        config,
        dev::prelude::*,
        scheduler::{FlowScheduler, SmolScheduler},
    },
};

use crate::{
    packet::{self, Large, Load, Payload},
    peer::{Chain, Failure, Peer, Setup},
    probe::{self, Feed, Stage},
};

type Message = futuresdr::runtime::Result<Pmt>;

/// How packets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Message ports.
    Message,
    /// Stream ports.
    Stream,
}

/// FutureSDR on one worker or two.
pub struct FutureSdr {
    /// How packets travel.
    pub by: By,
    /// 1 or 2.
    pub threads: usize,
}

impl Peer for FutureSdr {
    fn name(&self) -> &'static str {
        match self.by {
            By::Message => "futuresdr-message",
            By::Stream => "futuresdr-stream",
        }
    }

    fn version(&self) -> String {
        env!("VERSION_FUTURESDR").into()
    }

    fn setup(&self, chain: Chain) -> Option<Setup> {
        let by = match (self.by, chain.payload) {
            (By::Message, Payload::Small) => "message ports, Pmt::Any of 64 B",
            (By::Message, Payload::Large) => "message ports, Pmt::Any of a handle",
            (By::Stream, Payload::Small) => "stream ports, a sample of 64 B a packet, default buffers",
            (By::Stream, Payload::Large) => return None,
        };
        let scheduler = match self.threads {
            1 => "SmolScheduler, one pinned worker",
            _ => "FlowScheduler, two pinned workers, each with one half of the chain",
        };
        Some(Setup { words: format!("{scheduler}; {by}; control port off"), threads: self.threads })
    }

    fn run(&self, chain: Chain) -> Result<(), Failure> {
        // Neither a web server nor lines of a log beside the figures.
        config::set("ctrlport_enable", false);
        config::set("log_level", "off");
        let mut graph = Flowgraph::new();
        match (self.by, chain.payload) {
            (By::Message, Payload::Small) => messages::<packet::Small>(&mut graph, chain.stages)?,
            (By::Message, Payload::Large) => messages::<Large>(&mut graph, chain.stages)?,
            (By::Stream, _) => streams(&mut graph, chain.stages)?,
        }
        // The finished graph holds the blocks, and with them what they saw.
        match self.threads {
            1 => drop(Runtime::with_scheduler(SmolScheduler::new(1, true)).run(graph)?),
            _ => drop(Runtime::with_scheduler(FlowScheduler::new()).run(graph)?),
        }
        Ok(())
    }
}

fn messages<L: Load>(graph: &mut Flowgraph, stages: usize) -> Result<(), Failure> {
    let source = graph.add(MessageFirst::<L> { feed: Feed::default() });
    let mut before = source.id();
    for _ in 0..stages {
        let stage = graph.add(MessageMiddle::<L> { stage: Stage::default(), load: Default::default() });
        graph.message(before, "out", stage.id(), "in")?;
        before = stage.id();
    }
    let sink = graph.add(MessageLast::<L> { sink: probe::Sink::default(), load: Default::default() });
    graph.message(before, "out", sink.id(), "in")?;
    graph.message(sink.id(), "arrived", source.id(), "arrived")?;
    Ok(())
}

/// The packet inside a message.
fn packet<L: Load>(message: Pmt) -> Result<L, Failure> {
    let Pmt::Any(any) = message else { return Err("not a packet".into()) };
    Ok(*any.take::<L>().ok_or("not a packet")?)
}

#[derive(Block)]
#[message_inputs(arrived)]
#[message_outputs(out)]
struct MessageFirst<L: Load> {
    feed: Feed<L>,
}

impl<L: Load> MessageFirst<L> {
    /// With one in flight, the arrival of one sends the next.
    async fn arrived(
        &mut self,
        io: &mut WorkIo,
        mo: &mut MessageOutputs,
        _: &mut BlockMeta,
        _: Pmt,
    ) -> Message {
        self.send(io, mo).await?;
        Ok(Pmt::Ok)
    }

    async fn send(&mut self, io: &mut WorkIo, mo: &mut MessageOutputs) -> futuresdr::runtime::Result<()> {
        match self.feed.next() {
            Some(packet) => mo.post("out", Pmt::Any(Box::new(packet))).await?,
            None => io.finished = true,
        }
        Ok(())
    }
}

impl<L: Load> Kernel for MessageFirst<L> {
    async fn work(
        &mut self,
        io: &mut WorkIo,
        mo: &mut MessageOutputs,
        _: &mut BlockMeta,
    ) -> futuresdr::runtime::Result<()> {
        if !self.feed.is_single() || self.feed.is_first() {
            self.send(io, mo).await?;
            io.call_again = !self.feed.is_single();
        }
        Ok(())
    }
}

#[derive(Block)]
#[message_inputs(r#in)]
#[message_outputs(out)]
#[null_kernel]
struct MessageMiddle<L>
where
    L: Load,
{
    stage: Stage,
    load: std::marker::PhantomData<L>,
}

impl<L: Load> MessageMiddle<L> {
    async fn r#in(
        &mut self,
        io: &mut WorkIo,
        mo: &mut MessageOutputs,
        _: &mut BlockMeta,
        message: Pmt,
    ) -> Message {
        match message {
            Pmt::Finished => io.finished = true,
            Pmt::Any(mut any) => {
                if let Some(packet) = any.downcast_mut::<L>() {
                    self.stage.pass(packet.head());
                }
                mo.post("out", Pmt::Any(any)).await?;
            }
            _ => return Ok(Pmt::InvalidValue),
        }
        Ok(Pmt::Ok)
    }
}

#[derive(Block)]
#[message_inputs(r#in)]
#[message_outputs(arrived)]
#[null_kernel]
struct MessageLast<L>
where
    L: Load,
{
    sink: probe::Sink,
    load: std::marker::PhantomData<L>,
}

impl<L: Load> MessageLast<L> {
    async fn r#in(
        &mut self,
        io: &mut WorkIo,
        mo: &mut MessageOutputs,
        _: &mut BlockMeta,
        message: Pmt,
    ) -> Message {
        if matches!(message, Pmt::Finished) {
            io.finished = true;
        } else if let Ok(packet) = packet::<L>(message) {
            self.sink.take(packet);
            if self.sink.is_single() {
                mo.post("arrived", Pmt::Ok).await?;
            }
        }
        Ok(Pmt::Ok)
    }
}

fn streams(graph: &mut Flowgraph, stages: usize) -> Result<(), Failure> {
    let source = graph.add(StreamFirst::default());
    let sink = graph.add(StreamLast::default());
    let mut middles = (0..stages).map(|_| StreamMiddle::default());
    let Some(first) = middles.next() else { return Err("a stream wants at least one stage".into()) };
    let first = graph.add(first);
    graph.stream(&source, |block| block.output(), &first, |block| block.input())?;
    let mut before = first;
    for middle in middles {
        let next = graph.add(middle);
        graph.stream(&before, |block| block.output(), &next, |block| block.input())?;
        before = next;
    }
    graph.stream(&before, |block| block.output(), &sink, |block| block.input())?;
    graph.message(sink.id(), "arrived", source.id(), "arrived")?;
    Ok(())
}

#[derive(Block, Default)]
#[message_inputs(arrived)]
struct StreamFirst {
    #[output]
    output: DefaultCpuWriter<packet::Small>,
    feed: Feed<packet::Small>,
}

impl StreamFirst {
    async fn arrived(
        &mut self,
        io: &mut WorkIo,
        _: &mut MessageOutputs,
        _: &mut BlockMeta,
        _: Pmt,
    ) -> Message {
        io.call_again = true;
        Ok(Pmt::Ok)
    }
}

impl Kernel for StreamFirst {
    async fn work(
        &mut self,
        io: &mut WorkIo,
        _: &mut MessageOutputs,
        _: &mut BlockMeta,
    ) -> futuresdr::runtime::Result<()> {
        let mut made = 0;
        for room in self.output.slice() {
            if !self.feed.may_send() {
                break;
            }
            let Some(packet) = self.feed.next() else {
                io.finished = true;
                break;
            };
            *room = packet;
            made += 1;
        }
        self.output.produce(made);
        Ok(())
    }
}

#[derive(Block, Default)]
struct StreamMiddle {
    #[input]
    input: DefaultCpuReader<packet::Small>,
    #[output]
    output: DefaultCpuWriter<packet::Small>,
    stage: Stage,
}

impl Kernel for StreamMiddle {
    async fn work(
        &mut self,
        io: &mut WorkIo,
        _: &mut MessageOutputs,
        _: &mut BlockMeta,
    ) -> futuresdr::runtime::Result<()> {
        let (there, room) = (self.input.slice(), self.output.slice());
        let count = there.len().min(room.len());
        let all = count == there.len();
        for (from, to) in there.iter().zip(&mut *room) {
            *to = *from;
            self.stage.pass(to.head());
        }
        self.input.consume(count);
        self.output.produce(count);
        io.finished = self.input.finished() && all;
        Ok(())
    }
}

#[derive(Block, Default)]
#[message_outputs(arrived)]
struct StreamLast {
    #[input]
    input: DefaultCpuReader<packet::Small>,
    sink: probe::Sink,
}

impl Kernel for StreamLast {
    async fn work(
        &mut self,
        io: &mut WorkIo,
        mo: &mut MessageOutputs,
        _: &mut BlockMeta,
    ) -> futuresdr::runtime::Result<()> {
        let there = self.input.slice();
        let count = there.len();
        for packet in there {
            self.sink.take(*packet);
        }
        self.input.consume(count);
        if count > 0 && self.sink.is_single() {
            mo.post("arrived", Pmt::Ok).await?;
        }
        io.finished = self.input.finished();
        Ok(())
    }
}
