//! What gestures do: a map from gesture to keys, the pointer, scrolling, or a request to another program.

use std::sync::Arc;

use arrayvec::ArrayVec;
use evdev::KeyCode;
use graph_core::payload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    frame::{MAX_CONTACTS, Point},
    gesture::{Gesture, Progress},
    keyboard::{KeyboardError, key},
};
use crate::types::IpcRequest;

/// One effect on the virtual keyboard and pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A key or a button of the pointer goes down or up.
    Key {
        /// Its code.
        code: u16,
        /// Whether it goes down; each that does goes up once.
        pressed: bool,
    },
    /// The pointer goes to a place, as shares of the surface: 0 to 65,535 from left to right and from top to bottom.
    Point {
        /// To the right.
        x: u16,
        /// Down.
        y: u16,
    },
    /// The wheel turns, in 120ths of a notch.
    Scroll {
        /// To the right.
        x: i32,
        /// Up, as the kernel counts.
        y: i32,
    },
}
payload!(Action, "input action");

/// What a gesture does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Do {
    /// Nothing.
    #[default]
    Nothing,
    /// Presses keys and releases them: `key("leftctrl+equal")`, by the kernel's names without `KEY_`.
    Key(String),
    /// Clicks there with a button of the pointer.
    Click(Button),
    /// The pointer follows the finger, its left button pressed. For drags.
    Pointer,
    /// The wheel follows the fingers. For scrolls.
    Scroll,
    /// Asks another program: `request(method: "expo/toggle", data: "{}")`.
    Request {
        /// The method.
        method: String,
        /// Its argument as JSON.
        #[serde(default = "no_data")]
        data: String,
    },
}

fn no_data() -> String {
    "{}".to_owned()
}

/// A button of the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Button {
    /// The left one.
    Left,
    /// The one in the middle.
    Middle,
    /// The right one.
    Right,
}

/// What each gesture does; keys of the on-screen keyboard are always pressed as they are.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ActionMap {
    /// A tap of one finger.
    pub tap: Do,
    /// A tap of two fingers.
    pub two_finger_tap: Do,
    /// A second tap of one finger.
    pub double_tap: Do,
    /// A finger that rests.
    pub long_press: Do,
    /// A finger that moves: `pointer` or `nothing`.
    pub drag: Do,
    /// Two fingers side by side: `scroll` or `nothing`.
    pub scroll: Do,
    /// Two fingers that come a fifth nearer to each other.
    pub pinch_in: Do,
    /// Two fingers that move a fifth further apart.
    pub pinch_out: Do,
    /// Two fingers that turn by 15 degrees to the left.
    pub rotate_left: Do,
    /// And to the right.
    pub rotate_right: Do,
    /// Three fingers to the left.
    pub swipe_3_left: Do,
    /// Three fingers to the right.
    pub swipe_3_right: Do,
    /// Three fingers up.
    pub swipe_3_up: Do,
    /// Three fingers down.
    pub swipe_3_down: Do,
    /// Four fingers to the left.
    pub swipe_4_left: Do,
    /// Four fingers to the right.
    pub swipe_4_right: Do,
    /// Four fingers up.
    pub swipe_4_up: Do,
    /// Four fingers down.
    pub swipe_4_down: Do,
    /// In over the left edge.
    pub edge_left: Do,
    /// In over the right edge.
    pub edge_right: Do,
    /// In over the upper edge.
    pub edge_top: Do,
    /// In over the lower edge.
    pub edge_bottom: Do,
}

impl Default for ActionMap {
    fn default() -> Self {
        let keys = |keys: &str| Do::Key(keys.to_owned());
        ActionMap {
            tap: Do::Click(Button::Left),
            two_finger_tap: Do::Click(Button::Right),
            double_tap: Do::Click(Button::Left),
            long_press: Do::Click(Button::Right),
            drag: Do::Pointer,
            scroll: Do::Scroll,
            pinch_in: keys("leftctrl+minus"),
            pinch_out: keys("leftctrl+equal"),
            rotate_left: Do::Nothing,
            rotate_right: Do::Nothing,
            swipe_3_left: keys("leftalt+right"),
            swipe_3_right: keys("leftalt+left"),
            swipe_3_up: Do::Nothing,
            swipe_3_down: Do::Nothing,
            swipe_4_left: Do::Nothing,
            swipe_4_right: Do::Nothing,
            swipe_4_up: Do::Nothing,
            swipe_4_down: Do::Nothing,
            edge_left: Do::Nothing,
            edge_right: Do::Nothing,
            edge_top: Do::Nothing,
            edge_bottom: Do::Nothing,
        }
    }
}

/// Why an action map cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ActionError {
    /// A key that is not known.
    #[error("{gesture}: {fault}")]
    Key {
        /// Of which gesture.
        gesture: &'static str,
        /// What is wrong.
        fault: KeyboardError,
    },
    /// More keys at once than hands have fingers for.
    #[error("{gesture} presses more than {MAX_CHORD} keys at once: name fewer")]
    TooMany {
        /// Of which gesture.
        gesture: &'static str,
    },
    /// The gesture cannot do that.
    #[error("{gesture} cannot be `{what}`: {instead}")]
    Unfit {
        /// Which gesture.
        gesture: &'static str,
        /// What it should do.
        what: &'static str,
        /// What to write.
        instead: &'static str,
    },
}

/// Keys that are pressed together at most.
const MAX_CHORD: usize = 4;
/// A pinch acts once for each step of so much.
const PINCH_STEP: f32 = 1.2;
/// A turn acts once for each step of so many degrees.
const ROTATE_STEP: f32 = 15.0;
/// 120ths of a notch of the wheel for a mm: a notch for 10 mm.
const WHEEL: f32 = 12.0;

/// An effect and where it goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// To the virtual devices.
    Act(Action),
    /// To another program.
    Ask(IpcRequest),
}

#[derive(Clone, Debug)]
enum Bound {
    Nothing,
    Chord(ArrayVec<u16, MAX_CHORD>),
    Click(u16),
    Pointer,
    Scroll,
    Ask(IpcRequest),
}

/// Turns the gestures of one device into effects.
#[derive(Debug)]
pub struct Actions {
    tap: Bound,
    two_finger_tap: Bound,
    double_tap: Bound,
    long_press: Bound,
    drag: Bound,
    scroll: Bound,
    /// In, out.
    pinch: [Bound; 2],
    /// Left, right.
    rotate: [Bound; 2],
    /// Of three fingers, of four; in the order of [`Direction`](super::gesture::Direction).
    swipe: [[Bound; 4]; 2],
    edge: [Bound; 4],
    /// Steps of the pinch or turn under way that have been acted on.
    steps: i32,
    /// Of the wheel, less than a 120th of a notch.
    rest: Point,
    /// The left button is down.
    pressed: bool,
    /// Keys that fingers hold down on the on-screen keyboard.
    typed: ArrayVec<u16, MAX_CONTACTS>,
}

impl Actions {
    /// The actions of a map.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn new(map: &ActionMap) -> Result<Actions, ActionError> {
        Ok(Actions {
            tap: once("tap", &map.tap)?,
            two_finger_tap: once("two_finger_tap", &map.two_finger_tap)?,
            double_tap: once("double_tap", &map.double_tap)?,
            long_press: once("long_press", &map.long_press)?,
            drag: motion("drag", &map.drag, &Do::Pointer)?,
            scroll: motion("scroll", &map.scroll, &Do::Scroll)?,
            pinch: [once("pinch_in", &map.pinch_in)?, once("pinch_out", &map.pinch_out)?],
            rotate: [once("rotate_left", &map.rotate_left)?, once("rotate_right", &map.rotate_right)?],
            swipe: [
                [
                    once("swipe_3_left", &map.swipe_3_left)?,
                    once("swipe_3_right", &map.swipe_3_right)?,
                    once("swipe_3_up", &map.swipe_3_up)?,
                    once("swipe_3_down", &map.swipe_3_down)?,
                ],
                [
                    once("swipe_4_left", &map.swipe_4_left)?,
                    once("swipe_4_right", &map.swipe_4_right)?,
                    once("swipe_4_up", &map.swipe_4_up)?,
                    once("swipe_4_down", &map.swipe_4_down)?,
                ],
            ],
            // A finger that comes in over the right edge goes to the left.
            edge: [
                once("edge_right", &map.edge_right)?,
                once("edge_left", &map.edge_left)?,
                once("edge_bottom", &map.edge_bottom)?,
                once("edge_top", &map.edge_top)?,
            ],
            steps: 0,
            rest: Point::default(),
            pressed: false,
            typed: ArrayVec::new(),
        })
    }

    /// Takes a gesture on a surface of that size in mm, and tells its effects in order.
    #[inline]
    pub fn gesture(&mut self, gesture: Gesture, size: Point, tell: &mut impl FnMut(Effect)) {
        match gesture {
            Gesture::Key { code, pressed } => {
                if pressed {
                    let _ = self.typed.try_push(code);
                } else {
                    self.typed.retain(|typed| *typed != code);
                }
                tell(Effect::Act(Action::Key { code, pressed }));
            }
            Gesture::Tap { fingers: 1, at } => self.act(&self.tap, Some(place(at, size)), tell),
            Gesture::Tap { fingers: 2, at } => self.act(&self.two_finger_tap, Some(place(at, size)), tell),
            Gesture::Tap { .. } => {}
            Gesture::DoubleTap { at } => self.act(&self.double_tap, Some(place(at, size)), tell),
            Gesture::LongPress { at } => self.act(&self.long_press, Some(place(at, size)), tell),
            Gesture::Drag { progress, at } => self.drag(progress, place(at, size), tell),
            Gesture::Scroll { progress, by } => self.scroll(progress, by, tell),
            Gesture::Pinch { progress, scale } => {
                let steps = if progress == Progress::Begin { 0.0 } else { scale.max(0.01).log(PINCH_STEP) };
                self.step(progress, steps, |actions| &actions.pinch, tell);
            }
            Gesture::Rotate { progress, degrees } => {
                self.step(progress, degrees / ROTATE_STEP, |actions| &actions.rotate, tell);
            }
            Gesture::Swipe { fingers, direction } => {
                let bound = &self.swipe[usize::from(fingers != 3)][direction as usize];
                self.act(bound, None, tell);
            }
            Gesture::EdgeSwipe { direction } => self.act(&self.edge[direction as usize], None, tell),
        }
    }

    fn drag(&mut self, progress: Progress, to: Action, tell: &mut impl FnMut(Effect)) {
        if !matches!(self.drag, Bound::Pointer) {
            return;
        }
        let ends = matches!(progress, Progress::End | Progress::Cancel);
        if !ends {
            tell(Effect::Act(to));
        }
        let pressed = !ends && (self.pressed || progress == Progress::Begin);
        if self.pressed != pressed {
            self.pressed = pressed;
            tell(Effect::Act(Action::Key { code: KeyCode::BTN_LEFT.0, pressed }));
        }
    }

    fn scroll(&mut self, progress: Progress, by: Point, tell: &mut impl FnMut(Effect)) {
        if !matches!(self.scroll, Bound::Scroll) {
            return;
        }
        if progress == Progress::Begin {
            self.rest = Point::default();
        }
        // What is shown follows the fingers, so the wheel turns the other way.
        let turned = self.rest + Point::new(-by.x, by.y).times(WHEEL);
        let (x, y) = (turned.x.trunc(), turned.y.trunc());
        self.rest = turned - Point::new(x, y);
        if (x, y) != (0.0, 0.0) {
            tell(Effect::Act(Action::Scroll { x: x as i32, y: y as i32 }));
        }
    }

    /// Acts once for each whole step that was reached for the first time.
    fn step(
        &mut self,
        progress: Progress,
        reached: f32,
        of: impl Fn(&Actions) -> &[Bound; 2],
        tell: &mut impl FnMut(Effect),
    ) {
        if progress == Progress::Begin {
            self.steps = 0;
        }
        if progress != Progress::Update {
            return;
        }
        // No hand turns or spreads by more at a time.
        let reached = reached.trunc().clamp(-24.0, 24.0) as i32;
        let forward = reached > self.steps;
        for _ in 0..reached.abs_diff(self.steps) {
            self.act(&of(self)[usize::from(forward)], None, tell);
        }
        self.steps = reached;
    }

    fn act(&self, bound: &Bound, at: Option<Action>, tell: &mut impl FnMut(Effect)) {
        let mut key = |code, pressed| tell(Effect::Act(Action::Key { code, pressed }));
        match bound {
            Bound::Nothing | Bound::Pointer | Bound::Scroll => {}
            Bound::Chord(codes) => {
                // A key that a finger holds down is down already, and stays so.
                let free = || codes.iter().copied().filter(|code| !self.typed.contains(code));
                free().for_each(|code| key(code, true));
                free().rev().for_each(|code| key(code, false));
            }
            Bound::Click(button) => {
                if let Some(at) = at {
                    tell(Effect::Act(at));
                }
                tell(Effect::Act(Action::Key { code: *button, pressed: true }));
                tell(Effect::Act(Action::Key { code: *button, pressed: false }));
            }
            Bound::Ask(request) => tell(Effect::Ask(request.clone())),
        }
    }
}

fn place(at: Point, size: Point) -> Action {
    // Casting keeps what is beyond the edge at the edge.
    let share = |at: f32, whole: f32| (at / whole * 65_535.0).round() as u16;
    Action::Point { x: share(at.x, size.x), y: share(at.y, size.y) }
}

/// What a gesture that happens at once does.
fn once(gesture: &'static str, what: &Do) -> Result<Bound, ActionError> {
    let unfit = |what, instead| Err(ActionError::Unfit { gesture, what, instead });
    Ok(match what {
        Do::Nothing => Bound::Nothing,
        Do::Key(keys) => {
            let mut chord = ArrayVec::new();
            for name in keys.split('+') {
                let code = key(name.trim()).map_err(|fault| ActionError::Key { gesture, fault })?;
                chord.try_push(code).map_err(|_| ActionError::TooMany { gesture })?;
            }
            Bound::Chord(chord)
        }
        Do::Click(Button::Left) => Bound::Click(KeyCode::BTN_LEFT.0),
        Do::Click(Button::Middle) => Bound::Click(KeyCode::BTN_MIDDLE.0),
        Do::Click(Button::Right) => Bound::Click(KeyCode::BTN_RIGHT.0),
        Do::Pointer => return unfit("pointer", "only `drag` can; click, press a key or ask a program"),
        Do::Scroll => return unfit("scroll", "only `scroll` can; click, press a key or ask a program"),
        Do::Request { method, data } => {
            Bound::Ask(IpcRequest { method: Arc::from(method.as_str()), data: Arc::from(data.as_str()) })
        }
    })
}

/// What a gesture that goes on does: nothing, or the one thing that follows fingers as it does.
fn motion(gesture: &'static str, what: &Do, fit: &Do) -> Result<Bound, ActionError> {
    match what {
        Do::Nothing => Ok(Bound::Nothing),
        what if what == fit && *what == Do::Pointer => Ok(Bound::Pointer),
        what if what == fit => Ok(Bound::Scroll),
        what => {
            let what = match what {
                Do::Key(_) => "key",
                Do::Click(_) => "click",
                Do::Request { .. } => "request",
                Do::Pointer => "pointer",
                Do::Scroll | Do::Nothing => "scroll",
            };
            let instead = if *fit == Do::Pointer {
                "write `pointer` or `nothing`"
            } else {
                "write `scroll` or `nothing`"
            };
            Err(ActionError::Unfit { gesture, what, instead })
        }
    }
}
