//! A virtual keyboard and pointer.

use std::io;

use evdev::{
    AbsInfo, AbsoluteAxisCode as Abs, AttributeSet, KeyCode, PropType, RelativeAxisCode as Rel,
    UinputAbsSetup, uinput::VirtualDevice,
};
use graph_core::{Build, BuildError, Kind, NoSample, NodeError, Sample, Sink, SinkCx};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    actions::Action,
    event::{EVENT_BYTES, Event, codes},
};

/// What `touch/uinput` makes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UinputParams {
    /// Its devices are called this with "keyboard" and "pointer" behind it; at most 60 bytes.
    pub name: String,
}

impl Default for UinputParams {
    fn default() -> Self {
        UinputParams { name: "graphrun".to_owned() }
    }
}

/// Keys as a keyboard has them: from KEY_ESC to KEY_MICMUTE. What lies above are buttons of other devices.
const KEYBOARD: std::ops::RangeInclusive<u16> = 1..=248;
/// A notch of the wheel in the units of the wheels of high resolution.
const NOTCH: i32 = 120;

/// Presses keys and moves the pointer by two devices of the kernel's `uinput`, with one write for each action.
///
/// Keys that are still pressed when the run ends are released by the kernel, since their device goes.
pub struct Uinput {
    keyboard: VirtualDevice,
    pointer: VirtualDevice,
    /// What the wheels have turned that is no whole notch yet.
    rest: (i32, i32),
}

impl Kind for Uinput {
    const KIND: &'static str = "touch/uinput";
    const ABOUT: &'static str = "A virtual keyboard and pointer of the kernel.";
    type Params = UinputParams;

    fn new(params: &UinputParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        if params.name.len() > 60 {
            return Err(BuildError::new(format!(
                "the name {:?} is longer than the kernel takes: 60 bytes",
                params.name
            )));
        }
        let cannot = |error: io::Error| {
            BuildError::new(format!(
                "cannot make a virtual device: {error}. /dev/uinput comes with `sudo modprobe uinput` and belongs to root: to use \
                 it as another, a udev rule such as KERNEL==\"uinput\", GROUP=\"input\", MODE=\"0660\" helps"
            ))
        };
        let keyboard = keyboard(&format!("{} keyboard", params.name)).map_err(cannot)?;
        let pointer = pointer(&format!("{} pointer", params.name)).map_err(cannot)?;
        Ok(Uinput { keyboard, pointer, rest: (0, 0) })
    }

    fn sample(_: Option<UinputParams>, _: &mut Sample<'_>) -> Result<UinputParams, NoSample> {
        Err(NoSample::Absent(
            "it would press keys of this machine: `tools/test --devices` measures it in a virtual one"
                .to_owned(),
        ))
    }
}

fn keyboard(name: &str) -> io::Result<VirtualDevice> {
    let keys: AttributeSet<KeyCode> = KEYBOARD.map(KeyCode).collect();
    VirtualDevice::builder()?.name(name).with_keys(&keys)?.build()
}

/// A pointer that is told where to be, as those of virtual machines are.
fn pointer(name: &str) -> io::Result<VirtualDevice> {
    let buttons = [KeyCode::BTN_LEFT, KeyCode::BTN_RIGHT, KeyCode::BTN_MIDDLE];
    let wheels = [Rel::REL_WHEEL, Rel::REL_HWHEEL, Rel::REL_WHEEL_HI_RES, Rel::REL_HWHEEL_HI_RES];
    let whole = AbsInfo::new(0, 0, i32::from(u16::MAX), 0, 0, 0);
    VirtualDevice::builder()?
        .name(name)
        .with_keys(&buttons.into_iter().collect::<AttributeSet<_>>())?
        .with_relative_axes(&wheels.into_iter().collect::<AttributeSet<_>>())?
        .with_absolute_axis(&UinputAbsSetup::new(Abs::ABS_X, whole))?
        .with_absolute_axis(&UinputAbsSetup::new(Abs::ABS_Y, whole))?
        .with_properties(&[PropType::POINTER].into_iter().collect::<AttributeSet<_>>())?
        .build()
}

/// Bytes that the kernel takes: events at no time of their own, and a report behind them.
struct Bytes {
    bytes: [u8; 5 * EVENT_BYTES],
    length: usize,
}

impl Bytes {
    fn new() -> Bytes {
        Bytes { bytes: [0; 5 * EVENT_BYTES], length: 0 }
    }

    fn push(&mut self, event: Event) {
        let place = &mut self.bytes[self.length..][16..EVENT_BYTES];
        place[..2].copy_from_slice(&event.kind.to_ne_bytes());
        place[2..4].copy_from_slice(&event.code.to_ne_bytes());
        place[4..].copy_from_slice(&event.value.to_ne_bytes());
        self.length += EVENT_BYTES;
    }

    fn write(&mut self, to: &VirtualDevice) -> io::Result<()> {
        self.push(Event::REPORT);
        let written = rustix::io::write(to, &self.bytes[..self.length])?;
        if written == self.length { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }
}

/// Whole notches, when `turned` comes on top of what is left.
fn notches(rest: &mut i32, turned: i32) -> i32 {
    *rest = rest.saturating_add(turned);
    let whole = *rest / NOTCH;
    *rest -= whole * NOTCH;
    whole
}

impl Sink for Uinput {
    type In = Action;

    fn consume(&mut self, action: Action, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        let mut bytes = Bytes::new();
        let to = match action {
            Action::Key { code, pressed } => {
                bytes.push(Event::key(code, pressed));
                if KEYBOARD.contains(&code) { &self.keyboard } else { &self.pointer }
            }
            Action::Point { x, y } => {
                bytes.push(Event::abs(codes::ABS_X, x.into()));
                bytes.push(Event::abs(codes::ABS_Y, y.into()));
                &self.pointer
            }
            Action::Scroll { x, y } => {
                let (across, along) = (notches(&mut self.rest.0, x), notches(&mut self.rest.1, y));
                let turns = [
                    (Rel::REL_HWHEEL_HI_RES, x),
                    (Rel::REL_HWHEEL, across),
                    (Rel::REL_WHEEL_HI_RES, y),
                    (Rel::REL_WHEEL, along),
                ];
                for (code, value) in turns.into_iter().filter(|(_, value)| *value != 0) {
                    bytes.push(Event { kind: evdev::EventType::RELATIVE.0, code: code.0, value });
                }
                &self.pointer
            }
        };
        bytes
            .write(to)
            .map_err(|error| NodeError::new(format!("cannot write to the virtual device: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::touch::event::events;

    #[test]
    fn what_is_written_is_what_the_kernel_would_send() {
        let mut bytes = Bytes::new();
        bytes.push(Event::key(30, true));
        bytes.push(Event::REPORT);
        let read: Vec<Event> = events(&bytes.bytes[..bytes.length]).map(|(_, event)| event).collect();
        assert_eq!(read, [Event::key(30, true), Event::REPORT]);
    }

    #[test]
    fn parts_of_a_notch_add_up() {
        let mut rest = 0;
        let turned: Vec<i32> = [50, 50, 50, -160, 0].map(|turned| notches(&mut rest, turned)).to_vec();
        assert_eq!((turned, rest), (vec![0, 0, 1, -1, 0], -10));
    }
}
