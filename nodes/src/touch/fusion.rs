//! The fusion engine as a node.

use graph_core::{
    Build, BuildError, Cause, Counter, Ctx, Flow, In, Kind, Nanos, NoSample, Node, NodeError, Out, Ports,
    Sample, payload,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    actions::{Action, ActionError, ActionMap, Actions, Effect},
    classifier::Classifier,
    device::DeviceError,
    engine::{Engine, Told},
    frame::{DeviceId, Frame, Phase},
    gesture::Gesture,
    input::News,
    keyboard::{Keyboard, KeyboardError, KeyboardParams},
    parser::Parser,
    script,
    surface::Orientation,
    thresholds::Thresholds,
};
use crate::types::IpcRequest;

/// What fingers mean and do.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FusionParams {
    /// When a touch counts, and when a motion is a gesture: `palm`, `apart`, `slop`, `double_tap_apart`, `swipe` and `edge`
    /// in mm, `swipe_speed` in mm a second, `shortest`, `tap`, `double_tap` and `long_press` in time.
    pub thresholds: Thresholds,
    /// The on-screen keyboard: `top`, where it begins as a share of the height, and `rows`, a text of key names for each.
    pub keyboard: KeyboardParams,
    /// What each gesture does, such as `(tap: click(left), edge_left: request(method: "expo/toggle"))`: `key("leftctrl+z")`,
    /// `click(left)`, `pointer`, `scroll`, `request(method: .., data: ..)` or `nothing`.
    pub actions: ActionMap,
}

/// Why there is no such engine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FusionError {
    /// A threshold is none.
    #[error("thresholds: {0}")]
    Thresholds(#[source] DeviceError),
    /// There is no such keyboard.
    #[error("keyboard: {0}")]
    Keyboard(#[source] KeyboardError),
    /// There are no such actions.
    #[error("actions: {0}")]
    Actions(#[source] ActionError),
}

impl FusionParams {
    /// An engine for one device.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn engine(&self) -> Result<Engine, FusionError> {
        self.thresholds.check().map_err(FusionError::Thresholds)?;
        let keyboard = Keyboard::new(&self.keyboard).map_err(FusionError::Keyboard)?;
        let actions = Actions::new(&self.actions).map_err(FusionError::Actions)?;
        let classifier = Classifier::new(self.thresholds.clone(), keyboard);
        Ok(Engine::new(self.thresholds.clone(), classifier, actions))
    }
}

/// The keys of the on-screen keyboard that are pressed: whoever draws it needs only the latest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressed([u64; 12]);
payload!(Pressed, "pressed keys");

impl Pressed {
    /// Whether a key is pressed.
    pub fn contains(&self, code: u16) -> bool {
        self.0.get(usize::from(code / 64)).is_some_and(|word| word & 1 << (code % 64) != 0)
    }

    /// The same with a key pressed or released. Codes that no key has are left out.
    #[must_use]
    pub fn with(mut self, code: u16, pressed: bool) -> Pressed {
        if let Some(word) = self.0.get_mut(usize::from(code / 64)) {
            *word = *word & !(1 << (code % 64)) | u64::from(pressed) << (code % 64);
        }
        self
    }
}

/// What leaves in one step at most, as a rule: ten keys at once.
const BURST: usize = 16;

/// Turns contacts into gestures and what they do: one engine for each device.
///
/// A long press is due to the frame in which its finger touched, and the time since is `held`.
pub struct Fusion {
    params: FusionParams,
    engines: Vec<Device>,
    pressed: Pressed,
    palms: Counter,
    ghosts: Counter,
}

struct Device {
    id: DeviceId,
    engine: Engine,
    /// The frame in which the last finger touched.
    touched: Option<Cause>,
}

/// The ports of [`Fusion`].
pub struct FusionPorts {
    frames: In<Frame>,
    outs: Outs,
}

struct Outs {
    actions: Out<Action>,
    requests: Out<IpcRequest>,
    gestures: Out<Gesture>,
    pressed: Out<Pressed>,
}

impl Outs {
    fn tell(&mut self, ctx: &mut Ctx<'_>, cause: Cause, held: Nanos, pressed: &mut Pressed, told: Told) {
        match told {
            Told::Gesture(gesture) => {
                self.gestures.emit_as(ctx, cause, held, gesture);
                if let Gesture::Key { code, pressed: down } = gesture {
                    *pressed = pressed.with(code, down);
                    self.pressed.emit_as(ctx, cause, held, *pressed);
                }
            }
            Told::Effect(Effect::Act(action)) => self.actions.emit_as(ctx, cause, held, action),
            Told::Effect(Effect::Ask(request)) => self.requests.emit_as(ctx, cause, held, request),
        }
    }
}

impl Kind for Fusion {
    const KIND: &'static str = "touch/fusion";
    const ABOUT: &'static str =
        "Gestures of fingers and keys of an on-screen keyboard, and what they do; palms and ghosts rejected.";
    type Params = FusionParams;

    fn new(params: &FusionParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        params.engine()?;
        Ok(Fusion {
            params: params.clone(),
            engines: Vec::new(),
            pressed: Pressed::default(),
            palms: build.counter("palms", "Contacts that were rejected as palms."),
            ghosts: build.counter("ghosts", "Contacts that were rejected as ghosts."),
        })
    }

    fn sample(given: Option<FusionParams>, sample: &mut Sample<'_>) -> Result<FusionParams, NoSample> {
        let mut parser = None;
        for input in script::sample() {
            match input.news {
                News::Added(about) => {
                    parser = Parser::new(input.device, &about, &Orientation::default()).ok()
                }
                News::Events(events) => {
                    let frames = events.iter().filter_map(|event| parser.as_mut()?.push(*event).cloned());
                    frames.for_each(|frame| sample.feed("frames", frame));
                }
                News::Removed => {}
            }
        }
        sample.every(script::FRAME);
        Ok(given.unwrap_or_default())
    }
}

impl Fusion {
    fn device(&mut self, id: DeviceId) -> Result<usize, NodeError> {
        if let Some(known) = self.engines.iter().position(|device| device.id == id) {
            return Ok(known);
        }
        self.engines.push(Device { id, engine: self.params.engine()?, touched: None });
        Ok(self.engines.len() - 1)
    }

    fn frame(
        &mut self,
        frame: &Frame,
        cause: Cause,
        outs: &mut Outs,
        ctx: &mut Ctx<'_>,
    ) -> Result<(), NodeError> {
        let at = self.device(frame.device)?;
        let device = &mut self.engines[at];
        let pressed = &mut self.pressed;
        if frame.contacts.iter().any(|contact| contact.phase == Phase::Begin) {
            device.touched = Some(cause);
        }
        let (palms, ghosts) = (device.engine.tracker().palms(), device.engine.tracker().ghosts());
        device.engine.frame(frame, cause.origin, |told| outs.tell(ctx, cause, Nanos::ZERO, pressed, told));
        self.palms.add(device.engine.tracker().palms() - palms);
        self.ghosts.add(device.engine.tracker().ghosts() - ghosts);
        Ok(())
    }

    /// What is due because time has passed.
    fn tick(&mut self, outs: &mut Outs, ctx: &mut Ctx<'_>) {
        let now = ctx.now();
        for device in &mut self.engines {
            let due = device.engine.deadline().is_some_and(|due| due <= now);
            if due && let Some(cause) = device.touched {
                let (held, pressed) = (ctx.held_since(cause), &mut self.pressed);
                device.engine.tick(now, |told| outs.tell(ctx, cause, held, pressed, told));
            }
        }
        if let Some(next) = self.engines.iter().filter_map(|device| device.engine.deadline()).min() {
            ctx.wake_at(next);
        }
    }
}

impl Node for Fusion {
    type Ports = FusionPorts;

    fn ports(ports: &mut Ports<'_>) -> FusionPorts {
        FusionPorts {
            frames: ports.input("frames", "Contacts of any number of devices."),
            outs: Outs {
                actions: ports.many("actions", "What the virtual keyboard and pointer are to do.", BURST),
                requests: ports.many("requests", "What other programs are asked.", 1),
                gestures: ports.many("gestures", "What the fingers meant.", BURST),
                pressed: ports.many(
                    "pressed",
                    "Keys of the on-screen keyboard that are pressed, when that changes.",
                    BURST,
                ),
            },
        }
    }

    fn step(&mut self, ports: &mut FusionPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if let Some(taken) = ports.frames.take(ctx) {
            self.frame(&taken.payload, taken.cause, &mut ports.outs, ctx)?;
        }
        self.tick(&mut ports.outs, ctx);
        Ok(Flow::Idle)
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing;

    use super::*;
    use crate::touch::frame::{Contact, ContactId, Point};

    fn frame(phase: Phase, at: Point) -> Frame {
        let contact = Contact { id: ContactId(1), slot: 0, phase, palm: false, at, major: 8.0 };
        Frame {
            device: DeviceId(0),
            size: Point::new(200.0, 120.0),
            contacts: [contact].into_iter().collect(),
        }
    }

    #[test]
    fn a_key_is_pressed_and_released_and_whoever_draws_it_is_told() {
        let mut alone = testing::node::<Fusion>(FusionParams::default()).unwrap();
        alone.feed("frames", frame(Phase::Begin, Point::new(50.0, 70.0)));
        alone.advance(Nanos::from_millis(50));
        alone.feed("frames", frame(Phase::End, Point::new(50.0, 70.0)));
        let code = evdev::KeyCode::KEY_E.0;
        let key = |pressed| Action::Key { code, pressed };
        assert_eq!(alone.out::<Action>("actions"), [key(true), key(false)]);
        let drawn = alone.out::<Pressed>("pressed");
        assert_eq!(drawn.iter().map(|keys| keys.contains(code)).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn a_long_press_comes_in_time_without_a_frame_and_its_waiting_is_held() {
        let mut alone = testing::node::<Fusion>(FusionParams::default()).unwrap();
        let began = alone.now();
        alone.feed("frames", frame(Phase::Begin, Point::new(50.0, 30.0)));
        alone.advance(Nanos::from_millis(600));
        let [press] = &alone.packets::<Gesture>("gestures")[..] else { panic!("one gesture") };
        assert_eq!(press.payload, Gesture::LongPress { at: Point::new(50.0, 30.0) });
        assert_eq!((press.header.origin, press.header.held), (began, Nanos::from_millis(500)));
    }

    #[test]
    fn what_makes_no_sense_is_told_when_the_node_is_made() {
        let thresholds = Thresholds { slop: -1.0, ..Thresholds::default() };
        let params = FusionParams { thresholds, ..FusionParams::default() };
        let error = testing::node::<Fusion>(params).err().unwrap().to_string();
        assert!(error.starts_with("thresholds: slop must be above zero"), "{error}");
    }
}
