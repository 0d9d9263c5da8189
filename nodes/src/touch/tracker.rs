//! Contacts from frame to frame: how fast they are, and which of them are no fingers.

use arrayvec::ArrayVec;
use graph_core::Stamp;

use super::{
    frame::{Contact, ContactId, Frame, MAX_CONTACTS, Phase, Point},
    thresholds::Thresholds,
};

/// Over so many seconds a speed is smoothed: a few frames of a usual touchscreen.
const SMOOTHING: f32 = 0.025;

/// A finger on the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Track {
    /// Its life.
    pub id: ContactId,
    /// When it touched.
    pub began: Stamp,
    /// Where it touched.
    pub start: Point,
    /// Where it is.
    pub at: Point,
    /// How fast it is, in mm a second.
    pub velocity: Point,
    /// When it was seen last.
    seen: Stamp,
    /// It is no finger, and nobody is told of it any more.
    rejected: bool,
}

/// What has become of a finger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// It touched.
    Begin(Track),
    /// It moved.
    Move(Track),
    /// It was lifted.
    End(Track),
    /// It turned out to be a palm or a ghost, or is not known any more: what it did should not have been.
    Reject(Track),
}

/// Follows the contacts of one device.
///
/// A palm is a contact with a long axis or one that the device calls a palm, from the first time that it looks like one to
/// its end. A ghost begins next to another contact, or ends at once.
#[derive(Debug, Default)]
pub struct Tracker {
    tracks: ArrayVec<Track, MAX_CONTACTS>,
    palms: u64,
    ghosts: u64,
}

impl Tracker {
    /// Takes a frame of `now` and tells what has become of the fingers. Each that begins ends or is rejected once.
    #[inline]
    pub fn frame(
        &mut self,
        frame: &Frame,
        now: Stamp,
        thresholds: &Thresholds,
        mut tell: impl FnMut(Change),
    ) {
        for contact in &frame.contacts {
            let known = self.tracks.iter().position(|track| track.id == contact.id);
            match (contact.phase, known) {
                (Phase::Stay, Some(known)) => self.tracks[known].rest(now),
                (Phase::Begin | Phase::Move | Phase::Stay, None) => {
                    self.begin(contact, now, thresholds, &mut tell)
                }
                (Phase::Begin | Phase::Move, Some(known)) => {
                    let track = &mut self.tracks[known];
                    track.go(contact.at, now);
                    if track.rejected {
                        continue;
                    }
                    if is_palm(contact, thresholds) {
                        track.rejected = true;
                        self.palms += 1;
                        tell(Change::Reject(*track));
                    } else {
                        tell(Change::Move(*track));
                    }
                }
                (Phase::End | Phase::Lost, Some(known)) => {
                    let track = self.tracks.swap_remove(known);
                    let is_ghost = now.since(track.began).is_none_or(|lived| lived < thresholds.shortest);
                    if track.rejected {
                        continue;
                    }
                    if contact.phase == Phase::Lost || is_ghost {
                        self.ghosts += u64::from(is_ghost);
                        tell(Change::Reject(track));
                    } else {
                        tell(Change::End(track));
                    }
                }
                (Phase::End | Phase::Lost, None) => {}
            }
        }
    }

    fn begin(
        &mut self,
        contact: &Contact,
        now: Stamp,
        thresholds: &Thresholds,
        tell: &mut impl FnMut(Change),
    ) {
        let is_palm = is_palm(contact, thresholds);
        let is_near = |track: &Track| (track.at - contact.at).length() < thresholds.apart;
        let is_ghost = !is_palm && self.tracks.iter().any(is_near);
        self.palms += u64::from(is_palm);
        self.ghosts += u64::from(is_ghost);
        let track = Track {
            id: contact.id,
            began: now,
            start: contact.at,
            at: contact.at,
            velocity: Point::default(),
            seen: now,
            rejected: is_palm || is_ghost,
        };
        // As many as a frame can have alive, so there is room.
        if self.tracks.try_push(track).is_ok() && !track.rejected {
            tell(Change::Begin(track));
        }
    }

    /// Palms so far.
    pub fn palms(&self) -> u64 {
        self.palms
    }

    /// Ghosts so far.
    pub fn ghosts(&self) -> u64 {
        self.ghosts
    }
}

fn is_palm(contact: &Contact, thresholds: &Thresholds) -> bool {
    contact.palm || contact.major > thresholds.palm
}

impl Track {
    fn go(&mut self, to: Point, now: Stamp) {
        let passed = now.since(self.seen).unwrap_or_default().0 as f32 / 1e9;
        if passed > 0.0 {
            let measured = (to - self.at).times(1.0 / passed);
            let weight = passed / (passed + SMOOTHING);
            self.velocity = self.velocity + (measured - self.velocity).times(weight);
            self.seen = now;
        }
        self.at = to;
    }

    fn rest(&mut self, now: Stamp) {
        self.go(self.at, now);
    }
}

#[cfg(test)]
mod tests {
    use graph_core::Nanos;

    use super::*;
    use crate::touch::frame::DeviceId;

    /// A tracker that is shown one contact after the other, 10 ms apart.
    #[derive(Default)]
    struct Shown {
        tracker: Tracker,
        now: Nanos,
    }

    impl Shown {
        fn show(&mut self, contacts: &[(u32, Phase, f32, f32)]) -> Vec<Change> {
            self.now += Nanos::from_millis(10);
            let contact = |&(id, phase, x, major)| Contact {
                id: ContactId(id),
                slot: id as u8,
                phase,
                palm: false,
                at: Point::new(x, 50.0),
                major,
            };
            let contacts = contacts.iter().map(contact).collect();
            let frame = Frame { device: DeviceId(0), size: Point::new(200.0, 120.0), contacts };
            let mut changes = Vec::new();
            let now = Stamp::ZERO + self.now;
            self.tracker.frame(&frame, now, &Thresholds::default(), |change| changes.push(change));
            changes
        }
    }

    #[test]
    fn the_speed_of_a_finger_comes_near_to_its_true_one_and_falls_when_it_rests() {
        let mut shown = Shown::default();
        shown.show(&[(1, Phase::Begin, 10.0, 8.0)]);
        let moves = (1..=12).map(|n| shown.show(&[(1, Phase::Move, 10.0 + n as f32, 8.0)]));
        let Some(Change::Move(track)) = moves.last().and_then(|changes| changes.into_iter().next()) else {
            panic!("it moved")
        };
        assert!((95.0..100.1).contains(&track.velocity.x), "{:?}", track.velocity);
        for _ in 0..10 {
            shown.show(&[(1, Phase::Stay, 22.0, 8.0)]);
        }
        let ended = shown.show(&[(1, Phase::End, 22.0, 8.0)]);
        let [Change::End(track)] = ended[..] else { panic!("{ended:?}") };
        assert!(track.velocity.x < 5.0);
    }

    #[test]
    fn a_contact_that_grows_to_a_palm_is_rejected_once_and_for_good() {
        let mut shown = Shown::default();
        assert!(matches!(shown.show(&[(1, Phase::Begin, 10.0, 8.0)])[..], [Change::Begin(_)]));
        assert!(matches!(shown.show(&[(1, Phase::Move, 10.0, 30.0)])[..], [Change::Reject(_)]));
        assert_eq!(shown.show(&[(1, Phase::Move, 11.0, 8.0)]), []);
        assert_eq!(shown.show(&[(1, Phase::End, 11.0, 8.0), (2, Phase::Begin, 90.0, 40.0)]), []);
        assert_eq!((shown.tracker.palms(), shown.tracker.ghosts()), (2, 0));
    }

    #[test]
    fn a_ghost_begins_beside_a_finger_or_ends_at_once() {
        let mut shown = Shown::default();
        shown.show(&[(1, Phase::Begin, 10.0, 8.0)]);
        assert_eq!(shown.show(&[(1, Phase::Stay, 10.0, 8.0), (2, Phase::Begin, 12.0, 8.0)]), []);
        assert!(matches!(shown.show(&[(3, Phase::Begin, 90.0, 8.0)])[..], [Change::Begin(_)]));
        shown.now = shown.now.saturating_sub(Nanos::from_millis(5));
        assert!(matches!(shown.show(&[(3, Phase::End, 90.0, 8.0)])[..], [Change::Reject(_)]));
        assert_eq!(shown.tracker.ghosts(), 2);
    }

    #[test]
    fn a_lost_finger_is_rejected() {
        let mut shown = Shown::default();
        shown.show(&[(1, Phase::Begin, 10.0, 8.0)]);
        shown.show(&[(1, Phase::Move, 10.0, 8.0)]);
        assert!(matches!(shown.show(&[(1, Phase::Lost, 10.0, 8.0)])[..], [Change::Reject(_)]));
        assert_eq!(shown.tracker.ghosts(), 0);
    }
}
