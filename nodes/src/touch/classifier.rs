//! From the changes of fingers to gestures.

use arrayvec::ArrayVec;
use graph_core::{Nanos, Stamp};

use super::{
    frame::{ContactId, MAX_CONTACTS, Point},
    gesture::{Direction, Gesture, Progress},
    keyboard::Keyboard,
    thresholds::Thresholds,
    tracker::{Change, Track},
};

/// Turns the changes of one device's fingers into gestures.
///
/// A finger that touches a key types, whatever others do, as long as no gesture is under way. The others make one gesture
/// together. Until it is clear which, nothing is told; once it is, it stays that until all of them are lifted. A tap is
/// told when it ends, and a double tap in place of the second, so that no tap waits for another.
#[derive(Debug)]
pub struct Classifier {
    thresholds: Thresholds,
    keyboard: Keyboard,
    fingers: ArrayVec<Finger, MAX_CONTACTS>,
    typing: ArrayVec<(ContactId, u16), MAX_CONTACTS>,
    stage: Stage,
    last_tap: Option<(Stamp, Point)>,
    /// Fingers have changed since the gesture was last looked at.
    stirred: bool,
}

#[derive(Clone, Copy, Debug)]
struct Finger {
    id: ContactId,
    /// Where it was when the last of the gesture's fingers touched.
    start: Point,
    at: Point,
    velocity: Point,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// No finger.
    Idle,
    /// Anything may come of them; as many as `peak` touched at the same time.
    Undecided {
        since: Stamp,
        peak: usize,
    },
    Dragging {
        at: Point,
    },
    Scrolling {
        from: Point,
    },
    Pinching {
        apart: f32,
        scale: f32,
    },
    Rotating {
        angle: f32,
        degrees: f32,
    },
    /// What it was has been told, or was nothing.
    Over,
}

impl Classifier {
    /// Without fingers.
    pub fn new(thresholds: Thresholds, keyboard: Keyboard) -> Classifier {
        Classifier {
            thresholds,
            keyboard,
            fingers: ArrayVec::new(),
            typing: ArrayVec::new(),
            stage: Stage::Idle,
            last_tap: None,
            stirred: false,
        }
    }

    /// Takes what became of one finger, on a surface of that size in mm.
    #[inline]
    pub fn change(&mut self, change: Change, size: Point, now: Stamp, tell: &mut impl FnMut(Gesture)) {
        match change {
            Change::Begin(track) => self.begin(&track, size, now, tell),
            Change::Move(track) => {
                if let Some(finger) = self.fingers.iter_mut().find(|finger| finger.id == track.id) {
                    (finger.at, finger.velocity) = (track.at, track.velocity);
                    self.stirred = true;
                }
            }
            Change::End(track) => self.end(&track, now, tell),
            Change::Reject(track) => {
                if !self.release(track.id, tell) && self.lift(track.id) {
                    self.close(Progress::Cancel, tell);
                }
            }
        }
    }

    /// All changes of a frame were told: looks at how the fingers lie now.
    #[inline]
    pub fn settle(&mut self, size: Point, now: Stamp, tell: &mut impl FnMut(Gesture)) {
        if !std::mem::take(&mut self.stirred) {
            return;
        }
        match self.stage {
            Stage::Undecided { since, peak } if self.fingers.len() == peak => {
                self.decide(since, size, now, tell)
            }
            _ => self.go_on(tell),
        }
    }

    /// When [`Classifier::tick`] has something to do, should no finger change before.
    pub fn deadline(&self) -> Option<Stamp> {
        match self.stage {
            Stage::Undecided { since, peak: 1 } if self.fingers.len() == 1 => {
                Some(since + self.thresholds.long_press)
            }
            _ => None,
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Stamp, tell: &mut impl FnMut(Gesture)) {
        if self.deadline().is_some_and(|due| due <= now) {
            tell(Gesture::LongPress { at: self.fingers[0].at });
            self.stage = Stage::Over;
        }
    }

    fn begin(&mut self, track: &Track, size: Point, now: Stamp, tell: &mut impl FnMut(Gesture)) {
        if self.fingers.is_empty()
            && let Some(code) = self.keyboard.hit(track.at, size)
        {
            // A key is pressed once, however many fingers are on it.
            if !self.typing.iter().any(|(_, typed)| *typed == code) {
                tell(Gesture::Key { code, pressed: true });
            }
            self.typing.push((track.id, code));
            return;
        }
        self.close(Progress::End, tell);
        self.fingers.push(Finger { id: track.id, start: track.at, at: track.at, velocity: track.velocity });
        match &mut self.stage {
            Stage::Idle => self.stage = Stage::Undecided { since: now, peak: 1 },
            // Fingers of one hand do not touch at once; what the first did until the last came is no motion yet.
            Stage::Undecided { peak, .. } if *peak < self.fingers.len() => {
                *peak = self.fingers.len();
                self.fingers.iter_mut().for_each(|finger| finger.start = finger.at);
            }
            _ => self.stage = Stage::Over,
        }
    }

    fn end(&mut self, track: &Track, now: Stamp, tell: &mut impl FnMut(Gesture)) {
        if self.release(track.id, tell) {
            return;
        }
        let at = self.middle();
        if !self.lift(track.id) {
            return;
        }
        self.close(Progress::End, tell);
        if let Stage::Undecided { since, peak } = self.stage
            && self.fingers.is_empty()
            && now.since(since).is_some_and(|lasted| lasted <= self.thresholds.tap)
        {
            self.tap(peak, if peak == 1 { track.at } else { at }, since, now, tell);
        }
        if self.fingers.is_empty() {
            self.stage = Stage::Idle;
        }
    }

    fn tap(&mut self, fingers: usize, at: Point, since: Stamp, now: Stamp, tell: &mut impl FnMut(Gesture)) {
        let is_second = self.last_tap.take().is_some_and(|(before, there)| {
            let pause = since.since(before).unwrap_or(Nanos::MAX);
            pause <= self.thresholds.double_tap && (at - there).length() <= self.thresholds.double_tap_apart
        });
        if fingers == 1 && is_second {
            return tell(Gesture::DoubleTap { at });
        }
        if fingers == 1 {
            self.last_tap = Some((now, at));
        }
        tell(Gesture::Tap { fingers: fingers as u8, at });
    }

    /// A finger that typed is gone. Returns whether it was one.
    fn release(&mut self, id: ContactId, tell: &mut impl FnMut(Gesture)) -> bool {
        let Some(at) = self.typing.iter().position(|(typing, _)| *typing == id) else { return false };
        let (_, code) = self.typing.swap_remove(at);
        if !self.typing.iter().any(|(_, typed)| *typed == code) {
            tell(Gesture::Key { code, pressed: false });
        }
        true
    }

    /// A finger of the gesture is gone. Returns whether it was one.
    fn lift(&mut self, id: ContactId) -> bool {
        let Some(at) = self.fingers.iter().position(|finger| finger.id == id) else { return false };
        self.fingers.remove(at);
        true
    }

    /// A motion that is under way is no more, since its fingers are others now; one that is cancelled leaves nothing to
    /// come of the fingers that are left.
    fn close(&mut self, progress: Progress, tell: &mut impl FnMut(Gesture)) {
        match self.stage {
            Stage::Dragging { at } => tell(Gesture::Drag { progress, at }),
            Stage::Scrolling { .. } => tell(Gesture::Scroll { progress, by: Point::default() }),
            Stage::Pinching { scale, .. } => tell(Gesture::Pinch { progress, scale }),
            Stage::Rotating { degrees, .. } => tell(Gesture::Rotate { progress, degrees }),
            Stage::Idle | Stage::Undecided { .. } | Stage::Over => {
                if progress != Progress::Cancel {
                    return;
                }
            }
        }
        self.stage = if self.fingers.is_empty() { Stage::Idle } else { Stage::Over };
    }

    fn middle(&self) -> Point {
        let sum = self.fingers.iter().fold(Point::default(), |sum, finger| sum + finger.at);
        sum.times(1.0 / self.fingers.len().max(1) as f32)
    }

    /// Whether the fingers have done enough to know what they do.
    fn decide(&mut self, since: Stamp, size: Point, now: Stamp, tell: &mut impl FnMut(Gesture)) {
        let way = self.way();
        match self.fingers.len() {
            1 => self.decide_one(way, since, size, now, tell),
            2 => self.decide_two(way, tell),
            fingers @ (3 | 4) if way.length() >= self.thresholds.swipe => {
                let speed =
                    self.fingers.iter().map(|finger| finger.velocity.length()).sum::<f32>() / fingers as f32;
                if speed >= self.thresholds.swipe_speed {
                    tell(Gesture::Swipe { fingers: fingers as u8, direction: Direction::of(way) });
                }
                self.stage = Stage::Over;
            }
            3 | 4 => {}
            _ if way.length() >= self.thresholds.slop => self.stage = Stage::Over,
            _ => {}
        }
    }

    /// The way of the middle since the last finger touched.
    fn way(&self) -> Point {
        let sum = self.fingers.iter().fold(Point::default(), |sum, finger| sum + finger.at - finger.start);
        sum.times(1.0 / self.fingers.len().max(1) as f32)
    }

    fn decide_one(
        &mut self,
        way: Point,
        since: Stamp,
        size: Point,
        now: Stamp,
        tell: &mut impl FnMut(Gesture),
    ) {
        let Finger { start, at, velocity, .. } = self.fingers[0];
        if way.length() < self.thresholds.slop {
            return;
        }
        let direction = Direction::of(way);
        let from_edge = match direction {
            Direction::Right => start.x,
            Direction::Left => size.x - start.x,
            Direction::Down => start.y,
            Direction::Up => size.y - start.y,
        };
        // One that begins at an edge and moves away from it is no drag before it is clear that it is no swipe.
        if from_edge <= self.thresholds.edge
            && now.since(since).is_some_and(|lasts| lasts < self.thresholds.long_press)
        {
            if way.length() < self.thresholds.swipe {
                return;
            }
            if velocity.length() >= self.thresholds.swipe_speed {
                tell(Gesture::EdgeSwipe { direction });
                self.stage = Stage::Over;
                return;
            }
        }
        tell(Gesture::Drag { progress: Progress::Begin, at: start });
        tell(Gesture::Drag { progress: Progress::Update, at });
        self.stage = Stage::Dragging { at };
    }

    /// Of moving, spreading and turning, the one that the fingers do most.
    fn decide_two(&mut self, way: Point, tell: &mut impl FnMut(Gesture)) {
        let (before, after) =
            (self.fingers[1].start - self.fingers[0].start, self.fingers[1].at - self.fingers[0].at);
        let spread = (after.length() - before.length()).abs() / 2.0;
        let turn = turned(angle(before), angle(after)).to_radians().abs() * before.length() / 2.0;
        let most = way.length().max(spread).max(turn);
        if most < self.thresholds.slop {
            return;
        }
        if most == way.length() {
            tell(Gesture::Scroll { progress: Progress::Begin, by: Point::default() });
            self.stage = Stage::Scrolling { from: self.middle() - way };
        } else if most == spread {
            tell(Gesture::Pinch { progress: Progress::Begin, scale: 1.0 });
            self.stage = Stage::Pinching { apart: before.length().max(1.0), scale: 1.0 };
        } else {
            tell(Gesture::Rotate { progress: Progress::Begin, degrees: 0.0 });
            self.stage = Stage::Rotating { angle: angle(before), degrees: 0.0 };
        }
        self.go_on(tell);
    }

    /// What was decided goes on.
    fn go_on(&mut self, tell: &mut impl FnMut(Gesture)) {
        let progress = Progress::Update;
        let between = |fingers: &[Finger]| fingers[1].at - fingers[0].at;
        match &mut self.stage {
            Stage::Dragging { at } => {
                *at = self.fingers[0].at;
                tell(Gesture::Drag { progress, at: *at });
            }
            Stage::Scrolling { from } => {
                let middle = (self.fingers[0].at + self.fingers[1].at).times(0.5);
                let before = std::mem::replace(from, middle);
                tell(Gesture::Scroll { progress, by: middle - before });
            }
            Stage::Pinching { apart, scale } => {
                *scale = between(&self.fingers).length() / *apart;
                tell(Gesture::Pinch { progress, scale: *scale });
            }
            Stage::Rotating { angle: last, degrees } => {
                let now = angle(between(&self.fingers));
                *degrees += turned(*last, now);
                *last = now;
                tell(Gesture::Rotate { progress, degrees: *degrees });
            }
            Stage::Idle | Stage::Undecided { .. } | Stage::Over => {}
        }
    }
}

/// Of a way, in degrees clockwise from the right.
fn angle(way: Point) -> f32 {
    way.y.atan2(way.x).to_degrees()
}

/// From one angle to another the short way round, in degrees.
fn turned(from: f32, to: f32) -> f32 {
    (to - from + 540.0).rem_euclid(360.0) - 180.0
}
