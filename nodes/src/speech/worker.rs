//! A recogniser on a thread of its own, so that whoever gives it work never waits for it.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    thread::{Builder, JoinHandle},
};

use thiserror::Error;

use super::stt::{Interrupt, Progress, SpeechToText, SttError};

/// The job given up last may still hand in its own after the next has been given out; older ones are cleared away.
const RESULTS: usize = 2;

/// The engine panicked.
#[derive(Debug, Error)]
#[error("panicked: {0}")]
struct Panicked(String);

/// The thread is gone.
#[derive(Debug, Error)]
#[error("its thread has ended")]
struct Gone;

/// An engine that hands its work to another thread. A new job takes the place of the one before: what was being done
/// for that ends with the quantum, or at once where the engine can be interrupted. The thread ends with this value.
///
/// [`SpeechToText::step`] only looks whether the words are there; whoever waits for them is woken.
pub struct Worker {
    desk: Arc<Desk>,
    interrupt: Option<Interrupt>,
    results: Receiver<(u64, Result<String, SttError>)>,
    thread: Option<JoinHandle<()>>,
}

/// What lies between the two threads.
#[derive(Default)]
struct Desk {
    /// Number of the job that is wanted; any other is to be given up.
    wanted: AtomicU64,
    order: Mutex<Order>,
    changed: Condvar,
}

#[derive(Default)]
enum Order {
    #[default]
    None,
    Write(u64, Vec<f32>),
    GoHome,
}

impl Desk {
    fn put(&self, order: Order) {
        *self.order() = order;
        self.changed.notify_one();
    }

    /// Waits for a job; `None` at the end.
    fn next(&self) -> Option<(u64, Vec<f32>)> {
        let mut order = self.order();
        loop {
            match std::mem::take(&mut *order) {
                Order::None => order = self.changed.wait(order).unwrap_or_else(PoisonError::into_inner),
                Order::Write(job, samples) => return Some((job, samples)),
                Order::GoHome => return None,
            }
        }
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wants(&self, job: u64) -> bool {
        self.wanted.load(Ordering::Acquire) == job
    }
}

impl Worker {
    /// Starts the thread; it calls `wake` whenever words or a failure are there to be looked at.
    ///
    /// # Errors
    /// When there can be no more threads.
    pub fn start(engine: Box<dyn SpeechToText>, wake: impl Fn() + Send + 'static) -> io::Result<Worker> {
        let desk = Arc::new(Desk::default());
        let interrupt = engine.interrupt();
        let (sender, results) = sync_channel(RESULTS);
        let thread = {
            let desk = desk.clone();
            Builder::new().name("recogniser".into()).spawn(move || serve(&desk, engine, &sender, &wake))?
        };
        Ok(Worker { desk, interrupt, results, thread: Some(thread) })
    }

    /// Gives up the job there is, and returns the number of the next.
    fn supersede(&mut self) -> u64 {
        let job = self.desk.wanted.fetch_add(1, Ordering::Release) + 1;
        // Before the next job is handed over, so that it cannot hit that one.
        if let Some(interrupt) = &self.interrupt {
            interrupt();
        }
        while self.results.try_recv().is_ok() {}
        job
    }
}

fn serve(
    desk: &Desk,
    mut engine: Box<dyn SpeechToText>,
    results: &SyncSender<(u64, Result<String, SttError>)>,
    wake: &dyn Fn(),
) {
    while let Some((job, samples)) = desk.next() {
        // What a panic leaves half done ends with the next `begin`.
        let result = catch_unwind(AssertUnwindSafe(|| write(desk, &mut *engine, job, &samples)))
            .unwrap_or_else(|panic| Some(Err(SttError::new(Panicked(message(&*panic))))));
        let Some(result) = result else { continue };
        if results.send((job, result)).is_err() {
            return;
        }
        wake();
    }
}

/// Works until the words are there; `None` when they are not wanted any more.
fn write(
    desk: &Desk,
    engine: &mut dyn SpeechToText,
    job: u64,
    samples: &[f32],
) -> Option<Result<String, SttError>> {
    engine.begin(samples);
    while desk.wants(job) {
        match engine.step() {
            Ok(Progress::Working) => {}
            Ok(Progress::Done(text)) => return Some(Ok(text)),
            Err(error) => return Some(Err(error)),
        }
    }
    engine.abandon();
    None
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}

impl SpeechToText for Worker {
    fn begin(&mut self, utterance: &[f32]) {
        let job = self.supersede();
        self.desk.put(Order::Write(job, utterance.into()));
    }

    fn step(&mut self) -> Result<Progress, SttError> {
        loop {
            match self.results.try_recv() {
                Ok((job, result)) if self.desk.wants(job) => return result.map(Progress::Done),
                Ok(_) => {}
                Err(TryRecvError::Empty) => return Ok(Progress::Working),
                Err(TryRecvError::Disconnected) => return Err(SttError::new(Gone)),
            }
        }
    }

    fn abandon(&mut self) {
        self.supersede();
        self.desk.put(Order::None);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.supersede();
        self.desk.put(Order::GoHome);
        if let Some(thread) = self.thread.take() {
            // A panic outside of the engine's work is none of the graph's business at its end.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use graph_core::{
        Build, BuildError, Cause, Ctx, Flow, Kind, Nanos, Node, NodeError, Ports,
        testing::{self, Alone},
    };
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;
    use crate::{
        speech::stt::{Stt, SttParams, SttPorts},
        types::{Speech, Transcript},
    };

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Gate {
        Open,
        Interrupted,
    }

    /// Writes how many samples it was given, in two quanta; each waits at the gate.
    struct Gated {
        open: Sender<Gate>,
        gate: Receiver<Gate>,
        begun: Sender<usize>,
        samples: usize,
        quanta: usize,
        has_interrupt: bool,
    }

    impl SpeechToText for Gated {
        fn begin(&mut self, utterance: &[f32]) {
            while self.gate.try_recv().is_ok() {}
            (self.samples, self.quanta) = (utterance.len(), 2);
            self.begun.send(self.samples).unwrap();
        }

        fn step(&mut self) -> Result<Progress, SttError> {
            if self.gate.recv().unwrap() == Gate::Interrupted {
                return Err(SttError::new(Gone));
            }
            self.quanta -= 1;
            match (self.quanta, self.samples) {
                (0, 13) => panic!("thirteen"),
                (0, samples) => Ok(Progress::Done(samples.to_string())),
                _ => Ok(Progress::Working),
            }
        }

        fn abandon(&mut self) {}

        fn interrupt(&self) -> Option<Interrupt> {
            let open = self.open.clone();
            let interrupt = move || {
                let _ = open.send(Gate::Interrupted);
            };
            self.has_interrupt.then(|| Box::new(interrupt) as Interrupt)
        }
    }

    /// The test's ends of an engine: a gate to open, what it began, and whether somebody was woken.
    struct Ends {
        open: Sender<Gate>,
        begun: Receiver<usize>,
        wake: Option<Sender<()>>,
        woken: Receiver<()>,
    }

    impl Ends {
        fn finish(&self) {
            self.open.send(Gate::Open).unwrap();
            self.open.send(Gate::Open).unwrap();
        }
    }

    fn gated(has_interrupt: bool) -> (Box<Gated>, Ends) {
        let (open, gate) = channel();
        let (begin, begun) = channel();
        let (wake, woken) = channel();
        let ends = Ends { open: open.clone(), begun, wake: Some(wake), woken };
        (Box::new(Gated { open, gate, begun: begin, samples: 0, quanta: 0, has_interrupt }), ends)
    }

    fn worker(has_interrupt: bool) -> (Worker, Ends) {
        let (engine, mut ends) = gated(has_interrupt);
        let wake = ends.wake.take().unwrap();
        let woken = move || {
            let _ = wake.send(());
        };
        (Worker::start(engine, woken).unwrap(), ends)
    }

    fn text(worker: &mut Worker, ends: &Ends) -> Result<String, SttError> {
        loop {
            match worker.step()? {
                Progress::Done(text) => return Ok(text),
                Progress::Working => ends.woken.recv().unwrap(),
            }
        }
    }

    #[test]
    fn a_new_job_takes_the_place_of_the_one_under_way_within_a_quantum() {
        for has_interrupt in [true, false] {
            let (mut worker, ends) = worker(has_interrupt);
            worker.begin(&[0.0; 5]);
            assert_eq!(ends.begun.recv(), Ok(5));
            assert_eq!(worker.step().unwrap(), Progress::Working);
            worker.begin(&[0.0; 6]);
            worker.begin(&[0.0; 7]);
            if !has_interrupt {
                ends.open.send(Gate::Open).unwrap();
            }
            while ends.begun.recv().unwrap() != 7 {}
            ends.finish();
            assert_eq!(text(&mut worker, &ends).unwrap(), "7");
        }
    }

    #[test]
    fn words_that_came_too_late_are_not_taken_for_those_of_the_next_job() {
        let (mut worker, ends) = worker(false);
        worker.begin(&[0.0; 5]);
        ends.begun.recv().unwrap();
        ends.finish();
        ends.woken.recv().unwrap();
        worker.abandon();
        worker.begin(&[0.0; 6]);
        ends.begun.recv().unwrap();
        assert_eq!(worker.step().unwrap(), Progress::Working);
        ends.finish();
        assert_eq!(text(&mut worker, &ends).unwrap(), "6");
    }

    #[test]
    fn a_panic_of_the_engine_is_an_error_of_its_job_only() {
        let (mut worker, ends) = worker(false);
        for (samples, expected) in [(13, Err("the recogniser failed: panicked: thirteen")), (5, Ok("5"))] {
            worker.begin(&vec![0.0; samples]);
            ends.begun.recv().unwrap();
            ends.finish();
            let text = text(&mut worker, &ends).map_err(|error| error.to_string());
            assert_eq!(text.as_deref().map_err(|error| &**error), expected);
        }
    }

    #[test]
    fn the_thread_ends_with_its_owner_in_the_middle_of_a_job() {
        let (mut worker, ends) = worker(true);
        worker.begin(&[0.0; 5]);
        ends.begun.recv().unwrap();
        drop(worker);
        assert!(ends.begun.recv().is_err(), "the engine is gone");
    }

    /// The node over a worker, although the time is virtual.
    struct Elsewhere(Stt);

    #[derive(Deserialize, JsonSchema)]
    struct Parts {
        #[serde(skip)]
        #[schemars(skip)]
        engine: Mutex<Option<(Box<Gated>, Sender<()>)>>,
    }

    impl Kind for Elsewhere {
        const KIND: &'static str = "test/elsewhere";
        const ABOUT: &'static str = "Writes down utterances on another thread.";
        type Params = Parts;

        fn new(params: &Parts, build: &mut Build<'_>) -> Result<Elsewhere, BuildError> {
            let (engine, wake) = params.engine.lock().unwrap().take().expect("made once");
            let waker = build.waker();
            let woken = move || {
                waker.wake();
                let _ = wake.send(());
            };
            let worker = Worker::start(engine, woken)?;
            Ok(Elsewhere(Stt::with_engine(Box::new(worker), Flow::Idle, &SttParams::default(), build)))
        }
    }

    impl Node for Elsewhere {
        type Ports = SttPorts;

        fn ports(ports: &mut Ports<'_>) -> SttPorts {
            Stt::ports(ports)
        }

        fn step(&mut self, ports: &mut SttPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
            self.0.step(ports, ctx)
        }

        fn finish(&mut self, ports: &mut SttPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
            self.0.finish(ports, ctx)
        }
    }

    fn elsewhere() -> (Alone, Ends) {
        let (engine, mut ends) = gated(true);
        let parts = Parts { engine: Mutex::new(Some((engine, ends.wake.take().unwrap()))) };
        (testing::node::<Elsewhere>(parts).unwrap(), ends)
    }

    #[test]
    fn a_node_takes_its_input_while_the_recogniser_works_and_ends_after_the_last_text() {
        let (mut stt, ends) = elsewhere();
        stt.feed("in", Speech::Start);
        stt.feed("in", Speech::Audio([0.0; 9_000].into()));
        assert_eq!(ends.begun.recv(), Ok(9_000));
        stt.feed("in", Speech::Audio([0.0; 1_000].into()));
        stt.advance(Nanos::from_millis(32));
        let end = Cause::from_origin(stt.now());
        stt.feed_as("in", end, Speech::End);
        stt.end("in");
        while ends.begun.recv().unwrap() != 10_000 {}
        assert!(!stt.has_ended());
        stt.advance(Nanos::from_millis(100));
        ends.finish();
        while !stt.has_ended() {
            ends.woken.recv().unwrap();
            stt.advance(Nanos::ZERO);
        }
        let texts = stt.packets::<Transcript>("text");
        let [text] = &texts[..] else { panic!("{texts:?}") };
        assert_eq!(&*text.payload.text, "10000");
        assert_eq!(
            (text.header.origin, text.header.sent.since(text.header.began)),
            (end.origin, Some(Nanos::from_millis(100)))
        );
    }

    #[test]
    fn the_work_for_a_cancelled_turn_is_interrupted() {
        let (mut stt, ends) = elsewhere();
        let turn = stt.open_turn();
        for event in [Speech::Start, Speech::Audio([0.0; 5_000].into()), Speech::End] {
            let cause = Cause::from_origin(stt.now()).in_turn(turn);
            stt.feed_as("in", cause, event);
        }
        assert_eq!(ends.begun.recv(), Ok(5_000));
        stt.cancel(turn);
        stt.end("in");
        assert!(stt.has_ended());
        drop(stt);
        assert!(ends.begun.recv().is_err(), "the engine is gone");
    }

    #[test]
    fn a_failure_of_the_recogniser_is_a_failure_of_the_node() {
        let (mut stt, ends) = elsewhere();
        for event in [Speech::Start, Speech::Audio([0.0; 13].into()), Speech::End] {
            stt.feed("in", event);
        }
        ends.begun.recv().unwrap();
        ends.finish();
        ends.woken.recv().unwrap();
        stt.advance(Nanos::ZERO);
        assert_eq!(stt.failures()[0].message, "the recogniser failed: panicked: thirteen");
    }
}
