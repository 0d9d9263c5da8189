//! tokio: a task per node and a bounded mpsc channel per edge.

use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc::{Receiver, Sender, channel},
    task::JoinHandle,
};

use crate::{
    cpus::{cpus, pin},
    packet::{Large, Load, Payload, Small},
    peer::{Chain, Failure, Peer, Setup},
    probe::{Feed, Sink, Stage},
};

/// What a task may take before tokio makes it yield: a larger channel gains nothing.
const CAPACITY: usize = 128;

/// A task per node.
pub struct Tokio {
    /// 1 for the current-thread runtime, or the workers of the multi-thread one.
    pub threads: usize,
}

impl Peer for Tokio {
    fn name(&self) -> &'static str {
        "tokio"
    }

    fn version(&self) -> String {
        env!("VERSION_TOKIO").into()
    }

    fn setup(&self, _: Chain) -> Option<Setup> {
        let runtime = match self.threads {
            1 => "the current-thread runtime".to_owned(),
            workers => format!("the multi-thread runtime, {workers} pinned workers"),
        };
        let words = format!("{runtime}, a task per node, mpsc::channel({CAPACITY}) per edge, recv().await");
        Some(Setup { words, threads: self.threads })
    }

    fn run(&self, chain: Chain) -> Result<(), Failure> {
        let runtime = match self.threads {
            1 => Builder::new_current_thread().build()?,
            workers => pinned(workers)?,
        };
        match chain.payload {
            Payload::Small => runtime.block_on(nodes::<Small>(chain.stages)),
            Payload::Large => runtime.block_on(nodes::<Large>(chain.stages)),
        }
    }
}

fn pinned(workers: usize) -> std::io::Result<Runtime> {
    let cpus = cpus();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).on_thread_start(move || {
        let worker = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        // Refused, a worker moves about, as workers do by default.
        let _ = pin(cpus[worker % cpus.len()]);
    });
    builder.build()
}

/// All nodes are tasks, so that none runs on the thread that only waits.
async fn nodes<L: Load>(stages: usize) -> Result<(), Failure> {
    let (first, mut edge) = channel::<L>(CAPACITY);
    let (arrived, arrivals) = channel::<()>(1);
    let mut tasks: Vec<JoinHandle<()>> = Vec::with_capacity(stages + 2);
    for _ in 0..stages {
        let (tx, next) = channel(CAPACITY);
        tasks.push(tokio::spawn(stage(std::mem::replace(&mut edge, next), tx)));
    }
    tasks.push(tokio::spawn(sink(edge, arrived)));
    tasks.push(tokio::spawn(source(first, arrivals)));
    for task in tasks {
        task.await?;
    }
    Ok(())
}

async fn source<L: Load>(tx: Sender<L>, mut arrivals: Receiver<()>) {
    let mut feed = Feed::<L>::default();
    while let Some(packet) = feed.next() {
        if tx.send(packet).await.is_err() {
            return;
        }
        if feed.is_single() && arrivals.recv().await.is_none() {
            return;
        }
    }
}

async fn stage<L: Load>(mut rx: Receiver<L>, tx: Sender<L>) {
    let mut stage = Stage::default();
    while let Some(mut packet) = rx.recv().await {
        stage.pass(packet.head());
        if tx.send(packet).await.is_err() {
            return;
        }
    }
}

async fn sink<L: Load>(mut rx: Receiver<L>, arrived: Sender<()>) {
    let mut sink = Sink::default();
    while let Some(packet) = rx.recv().await {
        sink.take(packet);
        // The source listens, so there is room; it is gone after the last.
        if sink.is_single() {
            let _ = arrived.try_send(());
        }
    }
}
