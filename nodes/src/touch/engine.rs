//! The fusion engine: tracker, classifier and actions of one device.

use graph_core::Stamp;

use super::{
    actions::{Actions, Effect},
    classifier::Classifier,
    frame::{Frame, Point},
    gesture::Gesture,
    thresholds::Thresholds,
    tracker::Tracker,
};

/// What the engine tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// What the fingers meant.
    Gesture(Gesture),
    /// What that does; after the gesture.
    Effect(Effect),
}

/// Turns the frames of one device into gestures and what they do.
#[derive(Debug)]
pub struct Engine {
    thresholds: Thresholds,
    tracker: Tracker,
    classifier: Classifier,
    actions: Actions,
    size: Point,
}

impl Engine {
    /// Of these parts.
    pub fn new(thresholds: Thresholds, classifier: Classifier, actions: Actions) -> Engine {
        let tracker = Tracker::default();
        Engine { thresholds, tracker, classifier, actions, size: Point::new(1.0, 1.0) }
    }

    /// Takes a frame of `now`.
    #[inline]
    pub fn frame(&mut self, frame: &Frame, now: Stamp, mut tell: impl FnMut(Told)) {
        self.size = frame.size;
        let Engine { thresholds, tracker, classifier, actions, size } = self;
        let mut gesture = |gesture: Gesture| relay(actions, gesture, *size, &mut tell);
        // What was due before this frame comes before it, however late it is asked for.
        classifier.tick(now, &mut gesture);
        tracker.frame(frame, now, thresholds, |change| classifier.change(change, *size, now, &mut gesture));
        classifier.settle(*size, now, &mut gesture);
    }

    /// When [`Engine::tick`] has something to do, should no frame come before.
    pub fn deadline(&self) -> Option<Stamp> {
        self.classifier.deadline()
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Stamp, mut tell: impl FnMut(Told)) {
        let Engine { classifier, actions, size, .. } = self;
        classifier.tick(now, &mut |gesture| relay(actions, gesture, *size, &mut tell));
    }

    /// The tracker, for what it counts.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }
}

fn relay(actions: &mut Actions, gesture: Gesture, size: Point, tell: &mut impl FnMut(Told)) {
    tell(Told::Gesture(gesture));
    actions.gesture(gesture, size, &mut |effect| tell(Told::Effect(effect)));
}

#[cfg(test)]
mod tests {
    use evdev::KeyCode;
    use graph_core::Nanos;
    use proptest::prelude::*;

    use super::*;
    use crate::touch::{
        actions::{Action, ActionMap, Button, Do},
        evemu::Recording,
        fusion::FusionParams,
        gesture::{Direction, Progress},
        offline,
        script::{Finger, Script, demonstration},
    };

    const fn ms(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    const fn at(x: f32, y: f32) -> Point {
        Point::new(x, y)
    }

    fn go(from: Point, to: Point) -> Finger {
        Finger::moving(ms(0), ms(250), from, to)
    }

    fn told(recording: &Recording, params: &FusionParams) -> Vec<(Nanos, Told)> {
        let mut all = Vec::new();
        offline::fuse(recording, params, |time, told| all.push((time, told))).unwrap();
        all
    }

    /// The gestures of a scene, and when they came.
    fn timed(fingers: &[Finger]) -> Vec<(Nanos, Gesture)> {
        let recording = Script::new().scene(fingers, ms(0)).recording();
        let told = told(&recording, &FusionParams::default());
        told.into_iter()
            .filter_map(
                |(time, told)| if let Told::Gesture(gesture) = told { Some((time, gesture)) } else { None },
            )
            .collect()
    }

    fn gestures(fingers: &[Finger]) -> Vec<Gesture> {
        timed(fingers).into_iter().map(|(_, gesture)| gesture).collect()
    }

    /// The first, the last, and how many.
    fn ends(gestures: &[Gesture]) -> (Gesture, Gesture, usize) {
        (gestures[0], *gestures.last().unwrap(), gestures.len())
    }

    #[test]
    fn a_finger_that_touches_shortly_taps_where_it_touched() {
        assert_eq!(
            gestures(&[Finger::resting(ms(0), ms(80), at(40.0, 30.0))]),
            [Gesture::Tap { fingers: 1, at: at(40.0, 30.0) }]
        );
        let late = Finger::resting(ms(0), ms(400), at(40.0, 30.0));
        assert_eq!(gestures(&[late]), [], "too long for a tap, too short for a long press");
    }

    #[test]
    fn two_fingers_that_come_and_go_one_after_the_other_tap_together() {
        let second = Finger::resting(ms(30), ms(100), at(60.0, 30.0));
        let both = gestures(&[Finger::resting(ms(0), ms(100), at(40.0, 30.0)), second]);
        assert!(matches!(both[..], [Gesture::Tap { fingers: 2, .. }]), "{both:?}");
    }

    #[test]
    fn a_second_tap_soon_and_near_is_a_double_tap_and_a_third_is_a_tap() {
        let tap = |after, x| Finger::resting(ms(after), ms(60), at(x, 30.0));
        let kinds = |fingers: &[Finger]| -> Vec<bool> {
            gestures(fingers).iter().map(|gesture| matches!(gesture, Gesture::DoubleTap { .. })).collect()
        };
        assert_eq!(kinds(&[tap(0, 40.0), tap(200, 42.0), tap(400, 42.0)]), [false, true, false]);
        assert_eq!(kinds(&[tap(0, 40.0), tap(500, 40.0)]), [false, false], "too late");
        assert_eq!(kinds(&[tap(0, 40.0), tap(200, 60.0)]), [false, false], "too far");
    }

    #[test]
    fn a_long_press_comes_when_it_is_due_and_no_tap_after_it() {
        let pressed = timed(&[Finger::resting(ms(0), ms(900), at(40.0, 30.0))]);
        assert_eq!(pressed, [(ms(500), Gesture::LongPress { at: at(40.0, 30.0) })]);
    }

    #[test]
    fn a_finger_that_moves_drags_from_where_it_touched() {
        let (first, last, count) = ends(&gestures(&[go(at(40.0, 20.0), at(90.0, 20.0))]));
        assert_eq!(first, Gesture::Drag { progress: Progress::Begin, at: at(40.0, 20.0) });
        assert!(matches!(last, Gesture::Drag { progress: Progress::End, at } if at.x > 85.0) && count > 20);
    }

    #[test]
    fn a_drag_that_turns_out_to_be_a_palm_is_cancelled() {
        let mut script = Script::new();
        let mut recording = script.scene(&[go(at(40.0, 20.0), at(90.0, 20.0))], ms(0)).recording();
        let middle = recording.events.iter().position(|(time, _)| *time > ms(150)).unwrap();
        let (time, _) = recording.events[middle];
        let grown = crate::touch::event::Event::abs(crate::touch::event::codes::ABS_MT_TOUCH_MAJOR, 400);
        recording.events.insert(middle, (time, grown));
        let all = told(&recording, &FusionParams::default());
        let last = all
            .iter()
            .rev()
            .find_map(|(_, told)| if let Told::Gesture(gesture) = told { Some(gesture) } else { None });
        assert!(matches!(last, Some(Gesture::Drag { progress: Progress::Cancel, .. })), "{last:?}");
        let released = Told::Effect(Effect::Act(Action::Key { code: KeyCode::BTN_LEFT.0, pressed: false }));
        assert_eq!(all.last().map(|(_, told)| told), Some(&released), "its button is released");
    }

    #[test]
    fn two_fingers_side_by_side_scroll_by_their_way() {
        let scrolled = gestures(&[go(at(80.0, 50.0), at(80.0, 20.0)), go(at(100.0, 50.0), at(100.0, 20.0))]);
        let sum = scrolled.iter().fold(0.0, |sum, gesture| {
            let Gesture::Scroll { by, .. } = gesture else { panic!("{gesture:?}") };
            sum + by.y
        });
        assert!((-30.0..-28.0).contains(&sum), "{sum}");
    }

    #[test]
    fn two_fingers_apart_pinch_and_around_each_other_turn() {
        let apart = gestures(&[go(at(90.0, 30.0), at(70.0, 30.0)), go(at(110.0, 30.0), at(130.0, 30.0))]);
        assert!(
            matches!(ends(&apart).1, Gesture::Pinch { progress: Progress::End, scale } if scale > 2.8),
            "{apart:?}"
        );
        let places = |degrees: f32| {
            let (sin, cos) = degrees.to_radians().sin_cos();
            [at(100.0 + 15.0 * cos, 30.0 + 15.0 * sin), at(100.0 - 15.0 * cos, 30.0 - 15.0 * sin)]
        };
        let (from, to) = (places(0.0), places(60.0));
        let turned = gestures(&[go(from[0], to[0]), go(from[1], to[1])]);
        let last = ends(&turned).1;
        assert!(
            matches!(last, Gesture::Rotate { progress: Progress::End, degrees } if (50.0..62.0).contains(&degrees)),
            "{last:?}"
        );
    }

    #[test]
    fn three_and_four_fingers_swipe() {
        let row = |count: usize, by: Point| -> Vec<Finger> {
            (0..count).map(|n| at(60.0 + 20.0 * n as f32, 30.0)).map(|from| go(from, from + by)).collect()
        };
        let swipe = |fingers, direction| [Gesture::Swipe { fingers, direction }];
        assert_eq!(gestures(&row(3, at(-40.0, 4.0))), swipe(3, Direction::Left));
        assert_eq!(gestures(&row(4, at(2.0, 40.0))), swipe(4, Direction::Down));
        assert_eq!(gestures(&row(5, at(2.0, 40.0))), [], "five fingers mean nothing");
    }

    #[test]
    fn a_finger_that_comes_in_over_the_edge_swipes_and_one_that_goes_along_it_drags() {
        let swipe = [Gesture::EdgeSwipe { direction: Direction::Right }];
        assert_eq!(gestures(&[go(at(2.0, 30.0), at(50.0, 32.0))]), swipe);
        let along = gestures(&[go(at(2.0, 10.0), at(2.0, 50.0))]);
        assert!(matches!(along[0], Gesture::Drag { progress: Progress::Begin, .. }), "{along:?}");
    }

    #[test]
    fn keys_are_pressed_at_once_and_by_as_many_fingers_as_there_are() {
        let key = |after, x| Finger::resting(ms(after), ms(110), at(x, 67.0));
        let typed = timed(&[key(0, 10.0), key(80, 30.0)]);
        let q = KeyCode::KEY_Q.0;
        assert_eq!(typed[0], (ms(0), Gesture::Key { code: q, pressed: true }));
        let order: Vec<(u16, bool)> = typed
            .iter()
            .map(|(_, gesture)| match gesture {
                Gesture::Key { code, pressed } => (*code, *pressed),
                other => panic!("{other:?}"),
            })
            .collect();
        let w = KeyCode::KEY_W.0;
        assert_eq!(order, [(q, true), (w, true), (q, false), (w, false)]);
    }

    #[test]
    fn the_map_decides_what_a_gesture_does() {
        let request = Do::Request { method: "expo/toggle".into(), data: "{}".into() };
        let actions = ActionMap {
            tap: Do::Key("leftctrl+z".into()),
            edge_left: request,
            double_tap: Do::Nothing,
            ..ActionMap::default()
        };
        let params = FusionParams { actions, ..FusionParams::default() };
        let mut script = Script::new();
        script.scene(&[Finger::resting(ms(0), ms(60), at(40.0, 30.0))], ms(600));
        script.scene(&[go(at(2.0, 30.0), at(50.0, 32.0))], ms(0));
        let effects: Vec<Effect> = told(&script.recording(), &params)
            .into_iter()
            .filter_map(|(_, told)| if let Told::Effect(effect) = told { Some(effect) } else { None })
            .collect();
        let key = |code: KeyCode, pressed| Effect::Act(Action::Key { code: code.0, pressed });
        let (ctrl, z) = (KeyCode::KEY_LEFTCTRL, KeyCode::KEY_Z);
        assert_eq!(effects[..4], [key(ctrl, true), key(z, true), key(z, false), key(ctrl, false)]);
        assert!(matches!(&effects[4..], [Effect::Ask(request)] if &*request.method == "expo/toggle"));
    }

    #[test]
    fn a_map_that_makes_no_sense_is_refused_in_words() {
        let says = |actions: ActionMap| {
            FusionParams { actions, ..FusionParams::default() }.engine().unwrap_err().to_string()
        };
        let tap = |tap| ActionMap { tap, ..ActionMap::default() };
        assert!(says(tap(Do::Key("ctrl+z".into()))).starts_with("actions: tap: there is no key \"ctrl\""));
        assert!(says(tap(Do::Key("a+b+c+d+e".into()))).contains("more than 4 keys"));
        assert!(says(tap(Do::Pointer)).contains("tap cannot be `pointer`: only `drag` can"));
        let drag = ActionMap { drag: Do::Click(Button::Left), ..ActionMap::default() };
        assert!(says(drag).contains("drag cannot be `click`: write `pointer` or `nothing`"));
    }

    #[test]
    fn the_demonstration_has_every_gesture_once() {
        let all = told(&demonstration(), &FusionParams::default());
        let names: Vec<String> = all
            .iter()
            .filter_map(|(_, told)| match told {
                Told::Gesture(Gesture::Key { pressed: true, code }) => Some(format!("{:?}", KeyCode(*code))),
                Told::Gesture(Gesture::Key { .. }) => None,
                Told::Gesture(
                    Gesture::Drag { progress, .. }
                    | Gesture::Scroll { progress, .. }
                    | Gesture::Pinch { progress, .. }
                    | Gesture::Rotate { progress, .. },
                ) if *progress != Progress::Begin => None,
                Told::Gesture(gesture) => Some(gesture.to_string()),
                Told::Effect(_) => None,
            })
            .collect();
        let words: Vec<&str> = names.iter().map(|name| name.split(" at ").next().unwrap()).collect();
        assert_eq!(
            words[..12],
            [
                "tap",
                "tap",
                "double tap",
                "long press",
                "drag begins",
                "scroll begins by 0.0, 0.0",
                "pinch begins",
                "turn begins",
                "swipe of 3 fingers to the left",
                "swipe of 4 fingers down",
                "swipe from the edge to the right",
                "KEY_H"
            ]
        );
        assert_eq!(words[11..16], ["KEY_H", "KEY_E", "KEY_L", "KEY_L", "KEY_O"]);
        assert_eq!(words.len(), 16 + 10, "then ten keys at a time");
    }

    fn some_finger() -> impl Strategy<Value = Finger> {
        let place = || (0.0..200.0_f32, 0.0..120.0_f32).prop_map(|(x, y)| at(x, y));
        (0..600_u64, 1..700_u64, place(), prop::option::of(place()), 1.0..30.0_f32).prop_map(
            |(after, lasts, from, to, major)| Finger {
                major,
                ..Finger::moving(ms(after), ms(lasts), from, to.unwrap_or(from))
            },
        )
    }

    proptest! {
        #[test]
        fn whatever_fingers_do_what_begins_ends_and_what_is_pressed_is_released(
            scenes in prop::collection::vec(prop::collection::vec(some_finger(), 1..10), 1..4),
        ) {
            let mut script = Script::new();
            for fingers in &scenes {
                script.scene(fingers, ms(50));
            }
            let mut down = std::collections::BTreeSet::new();
            let mut going = None;
            for (_, told) in told(&script.recording(), &FusionParams::default()) {
                match told {
                    Told::Effect(Effect::Act(Action::Key { code, pressed: true })) => prop_assert!(down.insert(code)),
                    Told::Effect(Effect::Act(Action::Key { code, pressed: false })) => prop_assert!(down.remove(&code)),
                    Told::Gesture(
                        gesture @ (Gesture::Drag { progress, .. }
                        | Gesture::Scroll { progress, .. }
                        | Gesture::Pinch { progress, .. }
                        | Gesture::Rotate { progress, .. }),
                    ) => {
                        let kind = std::mem::discriminant(&gesture);
                        let before = match progress {
                            Progress::Begin => going.replace(kind).xor(Some(kind)),
                            Progress::Update => going,
                            Progress::End | Progress::Cancel => going.take(),
                        };
                        prop_assert_eq!(before, Some(kind));
                    }
                    _ => {}
                }
            }
            prop_assert!(down.is_empty() && going.is_none());
        }
    }
}
