//! Which packets of an edge belong to one cause: first, last, the gaps between them, and their rate.

use super::counter::Counter;
use crate::{
    budget::Pace,
    time::{Nanos, Stamp},
};

/// Follows the causes of one edge or path. The packets of a cause come one after another; another key is another cause.
#[derive(Debug)]
pub(crate) struct Causes {
    /// Whether a cause may have several packets; otherwise each packet is one.
    many: bool,
    key: [Counter; 2],
    /// Packets of the cause so far; 0 before the first and after the end.
    packets: Counter,
    first_taken: Counter,
    last_taken: Counter,
    last_latency: Counter,
}

/// Stands for the latency of a packet whose stamps are out of order.
const BROKEN: u64 = u64::MAX;

/// What a packet tells of causes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is the first of a new cause, and so the one before has ended.
    First(Option<Ended>),
    /// It came that long after the one before it in its cause; `None` where the stamps are out of order.
    Next(Option<Nanos>),
}

/// A cause all of whose packets were taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Latency of its last packet.
    pub(crate) last: Option<Nanos>,
    /// How its packets followed each other; a single one has no pace.
    pub(crate) pace: Option<Pace>,
}

impl Causes {
    pub(crate) fn new(many: bool) -> Causes {
        Causes {
            many,
            key: Default::default(),
            packets: Counter::default(),
            first_taken: Counter::default(),
            last_taken: Counter::default(),
            last_latency: Counter::default(),
        }
    }

    #[inline]
    pub(crate) fn packet(&self, key: [u64; 2], taken: Stamp, latency: Option<Nanos>) -> Place {
        let goes_on = self.many && self.packets.get() > 0 && key == [self.key[0].get(), self.key[1].get()];
        let place = if goes_on {
            Place::Next(taken.since(Stamp(self.last_taken.get())))
        } else {
            let ended = self.end();
            self.key[0].set(key[0]);
            self.key[1].set(key[1]);
            self.first_taken.set(taken.0);
            Place::First(ended)
        };
        self.packets.add(1);
        self.last_taken.set(taken.0);
        self.last_latency.set(latency.map_or(BROKEN, |latency| latency.0));
        place
    }

    /// Ends the cause in progress, if there is one.
    pub(crate) fn end(&self) -> Option<Ended> {
        let packets = self.packets.get();
        self.packets.set(0);
        let latency = self.last_latency.get();
        (packets > 0).then(|| Ended {
            last: (latency != BROKEN).then_some(Nanos(latency)),
            pace: Stamp(self.last_taken.get())
                .since(Stamp(self.first_taken.get()))
                .filter(|_| packets > 1)
                .map(|span| Pace { gaps: packets - 1, span }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY: Option<Nanos> = Some(Nanos(1));

    #[test]
    fn a_cause_ends_when_the_key_changes() {
        let causes = Causes::new(true);
        assert_eq!(causes.packet([1, 0], Stamp(10), LATENCY), Place::First(None));
        assert_eq!(causes.packet([1, 0], Stamp(30), LATENCY), Place::Next(Some(Nanos(20))));
        assert_eq!(causes.packet([1, 0], Stamp(40), Some(Nanos(31))), Place::Next(Some(Nanos(10))));
        let ended = Ended { last: Some(Nanos(31)), pace: Some(Pace { gaps: 2, span: Nanos(30) }) };
        assert_eq!(causes.packet([1, 1], Stamp(50), LATENCY), Place::First(Some(ended)));
    }

    #[test]
    fn a_single_packet_has_no_pace() {
        let causes = Causes::new(true);
        causes.packet([1, 0], Stamp(10), LATENCY);
        assert_eq!(causes.end(), Some(Ended { last: LATENCY, pace: None }));
        assert_eq!(causes.end(), None);
    }

    #[test]
    fn on_a_port_that_gives_one_every_packet_is_its_own_cause() {
        let causes = Causes::new(false);
        causes.packet([1, 0], Stamp(10), LATENCY);
        assert!(matches!(causes.packet([1, 0], Stamp(10), LATENCY), Place::First(Some(_))));
    }

    #[test]
    fn a_packet_taken_before_the_one_ahead_of_it_has_no_interval_and_its_cause_no_latency() {
        let causes = Causes::new(true);
        causes.packet([1, 0], Stamp(10), LATENCY);
        assert_eq!(causes.packet([1, 0], Stamp(8), None), Place::Next(None));
        assert_eq!(causes.end(), Some(Ended { last: None, pace: None }));
    }
}
