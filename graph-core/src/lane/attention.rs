//! When a lane looks at what comes from outside of it, and how it waits for that.

use super::{Lane, NOBODY, Place};
use crate::{
    measure::MEASURED,
    run::SUSPICION,
    time::{Nanos, Stamp},
};

/// A busy lane looks so often at what comes from other lanes.
pub(super) const ATTENTION: Nanos = Nanos(500);

/// A busy lane looks so often at its descriptors, which is a system call.
const DESCRIPTORS: Nanos = Nanos::from_micros(50);

/// A spinning lane looks so often at what comes from other lanes before it reads the clock.
const LOOKS_A_READING: u32 = 16;

/// A busy lane tells so often what its meters do not know yet.
const PUBLICATION: Nanos = Nanos::from_millis(1);

impl Lane {
    /// Sleeps until `until` or a ring. With a spin, the lane spins for so long before it sleeps, and wakes so much
    /// before `until` to spin up to it.
    pub(super) fn rest(&mut self, until: Stamp) {
        self.publish();
        let until = until.min(self.suspect_at);
        let until_sleep = self.now + self.spin;
        self.spin_until(until.min(until_sleep));
        let wake = if until == Stamp::MAX { until } else { until - self.spin };
        if self.core.deck.any() {
            return;
        }
        if self.now < wake && self.core.bell.doze() {
            // Announced: from here on whoever sends rings, and what was sent before is seen.
            if !self.hears_from_outside() {
                let core = &self.core;
                self.sleep.sleep(self.now, wake, |node| core.deck.mark(node));
            }
            self.core.bell.rise();
            self.look_at_clock();
        }
        if self.spin > Nanos::ZERO && self.now >= wake {
            self.spin_until(until);
        }
    }

    /// Looks for something to do until `until`.
    fn spin_until(&mut self, until: Stamp) {
        while self.now < until {
            // The clock costs as much as several looks.
            for _ in 0..LOOKS_A_READING {
                if self.hears_from_outside() {
                    // It is all known that there is to know.
                    if MEASURED {
                        self.now = self.core.clock.now();
                    }
                    self.core.attend_at.set((self.now + self.attention).min(self.core.next_alarm.get()));
                    return;
                }
            }
            std::hint::spin_loop();
            let core = &self.core;
            self.sleep.look(|node| core.deck.mark(node));
            if core.bell.has_rung() || core.deck.any() {
                return;
            }
            self.now = self.core.clock.now();
        }
    }

    /// Marks the nodes that have packets from other lanes. Returns whether there is one.
    pub(super) fn hears_from_outside(&self) -> bool {
        let deck = &self.core.deck;
        let mut heard = false;
        for (node, view) in &self.from_outside {
            if !deck.place(*node).is_any(Place::DEAF) && view.has_packet() {
                deck.mark(*node);
                heard = true;
            }
        }
        heard
    }

    /// Time has passed: a sleep, or other lanes' steps in a simulation.
    pub(crate) fn look_at_clock(&mut self) -> Stamp {
        self.now = self.core.clock.now_ordered();
        self.now
    }

    /// Marks the nodes that have something to do for a reason outside of this lane.
    #[inline(never)]
    pub(super) fn attend(&mut self) {
        self.stepping = NOBODY;
        let Lane { core, now, .. } = self;
        core.bell.answer(|word, bits| core.deck.mark_word(word, bits));
        core.ring_alarms(*now);
        if *now >= self.descriptors_at {
            self.sleep.look(|node| core.deck.mark(node));
            self.descriptors_at = *now + DESCRIPTORS;
        }
        if *now >= self.publish_at {
            self.publish();
        }
        self.hears_from_outside();
        self.until_fair = self.until_fair.saturating_sub(1);
        if self.until_fair == 0 {
            self.picks_with_care = true;
            self.core.deck.hold();
        }
        self.core.attend_at.set((self.now + self.attention).min(self.core.next_alarm.get()));
    }

    /// Tells the meters what they do not know yet, and now and then looks for a deadlock.
    pub(crate) fn publish(&mut self) {
        self.publish_at = self.now + PUBLICATION;
        // A node alone has outputs whose other ends are no node's.
        self.core.deck.publish(|edge| self.locals.get(edge).into_iter().for_each(|edge| edge.publish()));
        if self.now >= self.suspect_at {
            let is_kept = self.seats.iter().any(|seat| seat.place.is_any(Place::REFUSED));
            self.suspect_at = if is_kept { self.now + SUSPICION } else { Stamp::MAX };
            if is_kept {
                self.core.run.end_if_deadlocked(self.now);
            }
        }
    }
}
