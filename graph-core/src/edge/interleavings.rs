//! Edges between lanes under a model checker: two lanes of one node each, as far as their sleep and the edge go.

use std::sync::Arc;

use super::{
    EdgeState, Join,
    cross::{CrossIn, CrossOut, CrossRx, CrossTx, cross},
};
use crate::{
    bell::{Bell, Waker},
    budget::Budget,
    file::{Capacity, Full, QueueSpec, WarmUp},
    kind::Trigger,
    measure::{EdgeMeter, EdgeSpec},
    packet::{Header, Packet},
    record::Recorder,
    run::RunCore,
    sync::{explore, spawn},
    time::{Clock, Stamp},
    trail::Trails,
    wiring::{InputView, OutputView, Queued},
};

/// One lane's end of an edge.
struct End<T> {
    bell: Arc<Bell>,
    end: T,
}

fn edge(full: Full) -> (End<CrossTx<()>>, End<(CrossRx<()>, Recorder)>) {
    let spec = EdgeSpec { budget: &Budget::default(), many: false, queued: true, all: false };
    let (run, _) = RunCore::new(Clock::new_virtual(), Trails::new(0), Vec::new(), WarmUp::None);
    let run = Arc::new(run);
    let queue = QueueSpec { capacity: Capacity::Packets(1), full, ..QueueSpec::default() };
    let meter = Arc::new(EdgeMeter::new(&spec));
    let recorder = Recorder::new(meter.clone(), run.clone(), None, Vec::new());
    let bells = [(); 2].map(|()| Arc::new(Bell::new(1)));
    let [producer, consumer] = [0, 1].map(|end: usize| Waker::new(bells[end].clone(), 0));
    let join = Join { meter, producer, consumer, trigger: Trigger::Trigger, feedback: false };
    let (tx, rx) = cross(Arc::new(EdgeState::new(join, queue, run)));
    let [out, into] = bells;
    (End { bell: out, end: tx }, End { bell: into, end: (rx, recorder) })
}

/// As a lane rests, and looks at its bell afterwards.
fn rest(bell: &Bell, heard: impl Fn() -> bool) {
    if bell.doze() {
        if !heard() {
            loom::thread::park();
        }
        bell.rise();
    }
    bell.answer(|_, _| {});
}

fn packet(seq: u64) -> Packet<()> {
    Packet { header: Header { seq, ..Header::default() }, payload: () }
}

/// A node that emits so many packets a step, where its edge lets it step, and ends.
fn produce(producer: End<CrossTx<()>>, steps: u64, burst: u64) {
    let End { bell, end } = producer;
    bell.sleep_by_parking();
    let out = CrossOut::new(end, 1);
    for step in 0..steps {
        while !(out.flush() && out.has_room(Stamp(1))) {
            rest(&bell, || false);
        }
        (step * burst..(step + 1) * burst).for_each(|seq| assert!(!out.push(packet(seq))));
    }
    while !out.flush() {
        rest(&bell, || false);
    }
    out.close();
}

/// A node that takes a packet a step until its edge ends.
fn consume(consumer: End<(CrossRx<()>, Recorder)>) -> Vec<u64> {
    let End { bell, end: (rx, recorder) } = consumer;
    bell.sleep_by_parking();
    let input = CrossIn::new(rx, recorder);
    let mut seqs = Vec::new();
    loop {
        match input.look() {
            Queued::Packet => seqs.push(input.pop().expect("it holds one").header.seq),
            Queued::Nothing => rest(&bell, || input.has_packet()),
            Queued::Ended => return seqs,
        }
    }
}

#[test]
fn a_producer_that_waits_for_room_is_woken_and_everything_comes_before_the_end() {
    explore(2, || {
        let (producer, consumer) = edge(Full::Block);
        let producer = spawn(move || produce(producer, 3, 1));
        assert_eq!(spawn(move || consume(consumer)).join().unwrap(), [0, 1, 2]);
        producer.join().unwrap();
    });
}

#[test]
fn a_producer_that_emitted_more_than_fits_is_woken_to_hand_it_over() {
    explore(2, || {
        let (producer, consumer) = edge(Full::Block);
        let producer = spawn(move || produce(producer, 1, 2));
        assert_eq!(spawn(move || consume(consumer)).join().unwrap(), [0, 1]);
        producer.join().unwrap();
    });
}

#[test]
fn a_stream_that_ends_at_once_is_heard_to_end() {
    explore(3, || {
        let (producer, consumer) = edge(Full::Block);
        let producer = spawn(move || produce(producer, 0, 1));
        assert!(spawn(move || consume(consumer)).join().unwrap().is_empty());
        producer.join().unwrap();
    });
}

#[test]
fn a_consumer_that_leaves_keeps_no_producer_waiting() {
    explore(3, || {
        let (producer, consumer) = edge(Full::Block);
        let (state, meter) = (producer.end.state.clone(), producer.end.state.meter.clone());
        let producer = spawn(move || produce(producer, 2, 1));
        let (rx, recorder) = consumer.end;
        let input = CrossIn::new(rx, recorder);
        input.leave();
        producer.join().unwrap();
        // As a lane does once all lanes have ended: a packet may have been pushed while the consumer left.
        input.leave();
        assert!(state.is_closed());
        assert_eq!((meter.counts().sent, meter.counts().balance()), (2, true), "{:?}", meter.counts());
    });
}

#[test]
fn a_producer_that_drops_the_newest_never_waits_and_the_order_holds() {
    explore(2, || {
        let (producer, consumer) = edge(Full::DropNewest);
        let meter = producer.end.state.meter.clone();
        let producer = spawn(move || produce(producer, 2, 1));
        let seqs = spawn(move || consume(consumer)).join().unwrap();
        producer.join().unwrap();
        assert!(seqs.is_sorted() && seqs.first() == Some(&0), "{seqs:?}");
        assert_eq!(seqs.len() as u64 + meter.counts().dropped, 2);
    });
}
