//! Bare rings between two threads that spin: the floor of a hop between two lanes.

use std::{hint::spin_loop, thread};

use graph_core::{Clock, Nanos, Stamp};
use rtrb::{Consumer, Producer, RingBuffer};

use super::hops::{CROSSINGS, PERIOD};
use crate::{Block, Load};

/// As many as an edge holds by default.
const CAPACITY: usize = 8;

/// The stamps of an edge beside a packet of 64 bytes.
struct Stamped {
    began: Stamp,
    sent: Stamp,
    block: Block,
}

/// Times of hops over bare rings.
#[derive(Default)]
pub(super) struct Hops {
    /// From before the push to after the pop.
    pub(super) wait: Vec<Nanos>,
    /// From one node's having the packet to the next one's.
    pub(super) latency: Vec<Nanos>,
}

/// Sends packets over [`CROSSINGS`] rings to and fro between two threads, one in flight, one each [`PERIOD`].
pub(super) fn hops(clock: &Clock, packets: u64) -> Hops {
    // Each thread has every second ring's end of a kind.
    let (mut here, mut there) = (Ends::default(), Ends::default());
    for ring in 0..CROSSINGS {
        let (tx, rx) = RingBuffer::new(CAPACITY);
        let (from, to) = if ring % 2 == 0 { (&mut here, &mut there) } else { (&mut there, &mut here) };
        from.tx.push(tx);
        to.rx.push(rx);
    }
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            let mut hops = Hops::default();
            let mut due = clock.now();
            for packet in 0..packets {
                while clock.now() < due {
                    spin_loop();
                }
                let began = clock.now_ordered();
                due = began + PERIOD;
                here.tx[0]
                    .push(Stamped { began, sent: clock.now_ordered(), block: Block::with(packet) })
                    .ok();
                here.pass_on(1, clock, &mut hops);
            }
            hops
        });
        let second = scope.spawn(|| {
            let mut hops = Hops::default();
            for _ in 0..packets {
                there.pass_on(0, clock, &mut hops);
            }
            hops
        });
        let mut hops = first.join().unwrap_or_default();
        let mut more = second.join().unwrap_or_default();
        hops.wait.append(&mut more.wait);
        hops.latency.append(&mut more.latency);
        hops
    })
}

#[derive(Default)]
struct Ends {
    tx: Vec<Producer<Stamped>>,
    rx: Vec<Consumer<Stamped>>,
}

impl Ends {
    /// Takes from each ring in turn and hands on, from `first` of the ends that send.
    fn pass_on(&mut self, first: usize, clock: &Clock, hops: &mut Hops) {
        for (place, rx) in self.rx.iter_mut().enumerate() {
            let Stamped { began, sent, block } = loop {
                if let Ok(packet) = rx.pop() {
                    break packet;
                }
                spin_loop();
            };
            let taken = clock.now_ordered();
            hops.wait.extend(taken.since(sent));
            hops.latency.extend(taken.since(began));
            if let Some(tx) = self.tx.get_mut(first + place) {
                tx.push(Stamped { began: taken, sent: clock.now_ordered(), block }).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_passes_every_ring() {
        let hops = hops(&Clock::monotonic(), 3);
        assert_eq!((hops.wait.len(), hops.latency.len()), (3 * CROSSINGS, 3 * CROSSINGS));
    }
}
