//! Recordings that nobody made: fingers that follow a script, told as a device with protocol B tells them.
//!
//! For demonstrations, tests and benches; `graphs/recordings/ten-fingers.events` is [`demonstration`].

use std::sync::Arc;

use graph_core::Nanos;

use super::{
    device::Description,
    evemu::Recording,
    event::{Event, codes},
    frame::{DeviceId, Point},
    input::{Input, News, bursts},
};

/// Time from one frame to the next: 120 a second.
pub const FRAME: Nanos = Nanos(8_333_333);
/// The longer axis of a fingertip, in mm.
pub const FINGERTIP: f32 = 8.0;

/// One finger: where it touches, and where it goes until it is lifted.
#[derive(Clone, Copy, Debug)]
pub struct Finger {
    /// When it touches, from the begin of its scene.
    pub after: Nanos,
    /// For how long.
    pub lasts: Nanos,
    /// Where it touches, in mm.
    pub from: Point,
    /// Where it is lifted, having moved at one speed.
    pub to: Point,
    /// The longer axis of what touches, in mm.
    pub major: f32,
}

impl Finger {
    /// A finger that moves from one place to another.
    pub fn moving(after: Nanos, lasts: Nanos, from: Point, to: Point) -> Finger {
        Finger { after, lasts, from, to, major: FINGERTIP }
    }

    /// A finger that stays where it is.
    pub fn resting(after: Nanos, lasts: Nanos, at: Point) -> Finger {
        Finger::moving(after, lasts, at, at)
    }

    /// Where it is at a time of its scene.
    fn at(&self, time: Nanos) -> Option<Point> {
        let since = time.0.checked_sub(self.after.0).filter(|since| *since < self.lasts.0)?;
        Some(self.from + (self.to - self.from).times(since as f32 / self.lasts.0 as f32))
    }
}

/// Scenes played one after the other on a surface of protocol B.
#[derive(Debug)]
pub struct Script {
    device: Description,
    units_per_mm: f32,
    now: Nanos,
    /// What each slot was told to be: the tracking id, x, y and size.
    slots: Vec<Slot>,
    slot: usize,
    tracking: i32,
    events: Vec<(Nanos, Event)>,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    finger: Option<usize>,
    told: [i32; 3],
}

impl Script {
    /// On a surface of 200 by 120 mm with ten slots and ten units a mm.
    pub fn new() -> Script {
        let device = Description::touchscreen("graphrun scripted touchscreen", 200, 120, 10);
        Script {
            device,
            units_per_mm: 10.0,
            now: Nanos::ZERO,
            slots: vec![Slot::default(); 10],
            slot: 0,
            tracking: 0,
            events: Vec::new(),
        }
    }

    /// Plays fingers, at most ten at a time, then lets the surface rest for `rest`.
    pub fn scene(&mut self, fingers: &[Finger], rest: Nanos) -> &mut Script {
        let ends = fingers.iter().map(|finger| finger.after + finger.lasts).max().unwrap_or_default();
        let begun = self.now;
        let mut time = Nanos::ZERO;
        loop {
            let before = self.events.len();
            self.lift(fingers, time);
            for (number, finger) in fingers.iter().enumerate() {
                if let Some(at) = finger.at(time) {
                    self.touch(number, at, finger.major);
                }
            }
            if self.events.len() > before {
                self.events.push((self.now, Event::REPORT));
            }
            if time >= ends {
                break;
            }
            time += FRAME;
            self.now = begun + time;
        }
        self.now += rest;
        self
    }

    fn lift(&mut self, fingers: &[Finger], time: Nanos) {
        let is_lifted = |number: usize| fingers.get(number).is_none_or(|finger| finger.at(time).is_none());
        for slot in 0..self.slots.len() {
            if self.slots[slot].finger.is_some_and(is_lifted) {
                self.slots[slot].finger = None;
                self.tell_slot(slot);
                self.tell(codes::ABS_MT_TRACKING_ID, -1);
            }
        }
    }

    fn touch(&mut self, finger: usize, at: Point, major: f32) {
        let has = |wanted: Option<usize>| self.slots.iter().position(|slot| slot.finger == wanted);
        let Some((slot, is_new)) =
            has(Some(finger)).map(|slot| (slot, false)).or(has(None).map(|slot| (slot, true)))
        else {
            return;
        };
        if is_new {
            self.slots[slot].finger = Some(finger);
            self.tell_slot(slot);
            self.tell(codes::ABS_MT_TRACKING_ID, self.tracking);
            self.tracking += 1;
        }
        let units = |mm: f32| (mm * self.units_per_mm).round() as i32;
        let wanted = [units(at.x), units(at.y), units(major)];
        let axes = [codes::ABS_MT_POSITION_X, codes::ABS_MT_POSITION_Y, codes::ABS_MT_TOUCH_MAJOR];
        for (axis, (code, value)) in axes.into_iter().zip(wanted).enumerate() {
            if self.slots[slot].told[axis] != value {
                self.slots[slot].told[axis] = value;
                self.tell_slot(slot);
                self.tell(code, value);
            }
        }
    }

    fn tell_slot(&mut self, slot: usize) {
        if self.slot != slot {
            self.slot = slot;
            self.tell(codes::ABS_MT_SLOT, slot as i32);
        }
    }

    fn tell(&mut self, code: u16, value: i32) {
        self.events.push((self.now, Event::abs(code, value)));
    }

    /// What was played, times to the microsecond.
    pub fn recording(&self) -> Recording {
        let whole = |time: Nanos| Nanos(time.0 / 1_000 * 1_000);
        let events = self.events.iter().map(|(time, event)| (whole(*time), *event)).collect();
        Recording { device: Some(self.device.clone()), events }
    }
}

impl Default for Script {
    fn default() -> Self {
        Script::new()
    }
}

const fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// Ten fingers that rest and tremble, every one of them moving in every frame.
pub fn ten_fingers(lasts: Nanos) -> Recording {
    let finger = |n: usize| {
        let at = Point::new(10.0 + 19.0 * n as f32, 20.0);
        Finger::moving(Nanos::ZERO, lasts, at, at + Point::new(9.0, 30.0))
    };
    let fingers: Vec<Finger> = (0..10).map(finger).collect();
    Script::new().scene(&fingers, Nanos::ZERO).recording()
}

/// What a source tells of a second of [`ten_fingers`], for nodes that are benched.
pub(crate) fn sample() -> impl Iterator<Item = Input> {
    let recording = ten_fingers(Nanos::from_secs(1));
    let added = News::Added(Arc::new(recording.device.unwrap_or_default()));
    let events = bursts(&recording.events).into_iter().map(|(_, events)| News::Events(events));
    [added].into_iter().chain(events).map(|news| Input { device: DeviceId(0), news })
}

/// Every gesture once, a word on the keyboard, and ten fingers at a time.
pub fn demonstration() -> Recording {
    let at = Point::new;
    let tap = |after: u64, x: f32, y: f32| Finger::resting(ms(after), ms(60), at(x, y));
    let go = |from: Point, to: Point| Finger::moving(ms(0), ms(250), from, to);
    let beside = |n: usize, by: Point| {
        let from = at(70.0 + 20.0 * n as f32, 30.0);
        Finger::moving(ms(0), ms(200), from, from + by)
    };
    let turned = |quarter: f32, degrees: f32| {
        let (sin, cos) = (quarter + degrees).to_radians().sin_cos();
        at(100.0 + 15.0 * cos, 35.0 + 15.0 * sin)
    };
    let mut script = Script::new();
    script
        .scene(&[tap(0, 100.0, 30.0)], ms(500))
        .scene(&[tap(0, 60.0, 30.0), tap(160, 61.0, 30.0)], ms(500))
        .scene(&[Finger::resting(ms(0), ms(650), at(140.0, 30.0))], ms(300))
        .scene(&[go(at(60.0, 20.0), at(110.0, 40.0))], ms(300))
        .scene(&[go(at(80.0, 45.0), at(80.0, 20.0)), go(at(100.0, 45.0), at(100.0, 20.0))], ms(300))
        .scene(&[go(at(90.0, 35.0), at(70.0, 35.0)), go(at(110.0, 35.0), at(130.0, 35.0))], ms(300))
        .scene(
            &[go(turned(0.0, 0.0), turned(0.0, 60.0)), go(turned(180.0, 0.0), turned(180.0, 60.0))],
            ms(300),
        )
        .scene(&[0, 1, 2].map(|n| beside(n, at(-40.0, 0.0))), ms(300))
        .scene(&[0, 1, 2, 3].map(|n| beside(n, at(0.0, 30.0))), ms(300))
        .scene(&[go(at(1.0, 35.0), at(45.0, 37.0))], ms(300))
        // A hand that rests on the glass does nothing.
        .scene(&[Finger { major: 40.0, ..go(at(150.0, 30.0), at(155.0, 40.0)) }], ms(300));
    // "hello" on the keys of the lower half, each pressed before the one before is lifted.
    let row = |row: usize| 60.0 + 15.0 * (row as f32 + 0.5);
    let hello = [(110.0, 1), (50.0, 0), (170.0, 1), (170.0, 1), (170.0, 0)];
    let keys: Vec<Finger> = hello
        .into_iter()
        .enumerate()
        .map(|(n, (x, line))| Finger::resting(ms(140 * n as u64), ms(110), at(x, row(line))))
        .collect();
    script.scene(&keys, ms(300));
    let ten: Vec<Finger> = (0..10).map(|n| tap(0, 10.0 + 20.0 * n as f32, row(0))).collect();
    script.scene(&ten, ms(300));
    script.recording()
}
