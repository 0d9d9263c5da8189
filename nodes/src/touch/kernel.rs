//! What the kernel tells of an input device, and is told: what the evdev crate has no way for.

use std::{collections::BTreeMap, ffi::c_int, io, os::fd::AsFd};

use evdev::raw_stream::RawDevice;
use rustix::ioctl::{Setter, Updater, ioctl, opcode};

use super::{
    device::{Axis, Description, Protocol},
    event::{Event, codes},
    frame::MAX_CONTACTS,
};

/// Makes the kernel stamp events by CLOCK_MONOTONIC (`EVIOCSCLOCKID`); left alone, it stamps them by a clock that steps.
pub(crate) fn stamp_by_monotonic(device: impl AsFd) -> io::Result<()> {
    const SET_CLOCK: rustix::ioctl::Opcode = opcode::write::<c_int>(b'E', 0xa0);
    const CLOCK_MONOTONIC: c_int = 1;
    // SAFETY: EVIOCSCLOCKID reads one int through its argument, and that is what it is given.
    Ok(unsafe { ioctl(device, Setter::<SET_CLOCK, c_int>::new(CLOCK_MONOTONIC)) }?)
}

/// A multi-touch value of each slot (`EVIOCGMTSLOTS`).
fn slots(device: impl AsFd, code: u16) -> io::Result<[i32; MAX_CONTACTS]> {
    /// `struct input_mt_request_layout`: the code that is asked for, then the answers.
    type Request = [i32; MAX_CONTACTS + 1];
    const GET_SLOTS: rustix::ioctl::Opcode = opcode::read::<Request>(b'E', 0x0a);
    let mut request: Request = [0; MAX_CONTACTS + 1];
    request[0] = i32::from(code);
    // SAFETY: EVIOCGMTSLOTS reads a code and writes at most as many values as the size in its number has room for.
    unsafe { ioctl(device, Updater::<GET_SLOTS, Request>::new(&mut request)) }?;
    Ok(std::array::from_fn(|slot| request[slot + 1]))
}

/// What a device says of itself.
pub(crate) fn describe(device: &RawDevice) -> io::Result<Description> {
    let id = device.input_id();
    let axis = |info: evdev::AbsInfo| Axis {
        min: info.minimum(),
        max: info.maximum(),
        fuzz: info.fuzz(),
        flat: info.flat(),
        resolution: info.resolution(),
    };
    let axes = device.get_absinfo()?.map(|(code, info)| (code.0, axis(info))).collect::<BTreeMap<_, _>>();
    Ok(Description {
        name: device.name().unwrap_or("a device without a name").to_owned(),
        ids: [id.bus_type().0, id.vendor(), id.product(), id.version()],
        properties: device.properties().iter().map(|property| property.0).collect(),
        keys: device.supported_keys().into_iter().flat_map(|keys| keys.iter().map(|key| key.0)).collect(),
        axes,
    })
}

/// What touches a device now, as the events that would have told it.
pub(crate) fn state(device: &RawDevice, about: &Description, protocol: Protocol) -> io::Result<Vec<Event>> {
    let mut events = Vec::new();
    let now = device.get_abs_state()?;
    match protocol {
        Protocol::Slots(count) => {
            let wanted = [
                codes::ABS_MT_TRACKING_ID,
                codes::ABS_MT_POSITION_X,
                codes::ABS_MT_POSITION_Y,
                codes::ABS_MT_TOUCH_MAJOR,
                codes::ABS_MT_TOOL_TYPE,
            ];
            let wanted = wanted.into_iter().filter(|code| about.axes.contains_key(code));
            let values =
                wanted.map(|code| Ok((code, slots(device, code)?))).collect::<io::Result<Vec<_>>>()?;
            for slot in 0..count.min(MAX_CONTACTS) {
                events.push(Event::abs(codes::ABS_MT_SLOT, slot as i32));
                events.extend(values.iter().map(|(code, values)| Event::abs(*code, values[slot])));
            }
            // What comes next is about this slot, and the kernel does not say so again.
            events.push(Event::abs(codes::ABS_MT_SLOT, now[usize::from(codes::ABS_MT_SLOT)].value));
        }
        Protocol::Single => {
            let pressed = device.get_key_state()?.contains(evdev::KeyCode::BTN_TOUCH);
            let axes = [codes::ABS_X, codes::ABS_Y];
            events.extend(axes.map(|code| Event::abs(code, now[usize::from(code)].value)));
            events.push(Event::key(codes::BTN_TOUCH, pressed));
        }
    }
    events.push(Event::REPORT);
    Ok(events)
}
