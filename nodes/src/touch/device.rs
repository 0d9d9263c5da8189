//! What a device says of itself: its axes, its keys, and by which protocol it tells of touches.

use std::collections::{BTreeMap, BTreeSet};

use super::event::codes;

/// The range of an absolute axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// Smallest value.
    pub min: i32,
    /// Largest value.
    pub max: i32,
    /// Noise that the kernel filters out.
    pub fuzz: i32,
    /// Values around the centre that count as the centre.
    pub flat: i32,
    /// Units a millimetre; 0 where the device does not say.
    pub resolution: i32,
}

impl Axis {
    /// Values from the smallest to the largest, as a length.
    pub(crate) fn span(self) -> f64 {
        f64::from(self.max) - f64::from(self.min)
    }
}

/// A device as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The name that its driver gives it.
    pub name: String,
    /// Bus, vendor, product and version.
    pub ids: [u16; 4],
    /// Numbers of its properties (`INPUT_PROP_..`).
    pub properties: BTreeSet<u16>,
    /// Codes of its keys and buttons.
    pub keys: BTreeSet<u16>,
    /// Its absolute axes, by code.
    pub axes: BTreeMap<u16, Axis>,
}

/// How a device tells of touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Multi-touch protocol B: so many slots, a tracking id in each
    /// (<https://docs.kernel.org/input/multi-touch-protocol.html>).
    Slots(usize),
    /// One contact, told by `BTN_TOUCH`, `ABS_X` and `ABS_Y`.
    Single,
}

/// Why a device cannot be used as a touchscreen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// It has no axes of a touchscreen.
    #[error(
        "\"{name}\" is no touchscreen: it has neither ABS_MT_POSITION_X and _Y nor ABS_X, ABS_Y and BTN_TOUCH; choose \
         another device (`graphrun doctor` or /proc/bus/input/devices lists them)"
    )]
    NoTouchscreen {
        /// The device's name.
        name: String,
    },
    /// It speaks multi-touch protocol A.
    #[error(
        "\"{name}\" speaks multi-touch protocol A, which does not tell one contact from another, and is not supported: use \
         a driver that speaks protocol B (all drivers in the kernel since 3.10 can), or a device that has ABS_MT_SLOT"
    )]
    ProtocolA {
        /// The device's name.
        name: String,
    },
    /// An axis has no length.
    #[error(
        "\"{name}\" says that axis {axis:#04x} goes from {min} to {max}, which is no range; its driver is at fault"
    )]
    NoRange {
        /// The device's name.
        name: String,
        /// Code of the axis.
        axis: u16,
        /// Smallest value.
        min: i32,
        /// Largest value.
        max: i32,
    },
    /// A length given for it is none.
    #[error("{what} must be above zero and finite; take it from the device's data sheet, in millimetres")]
    NoLength {
        /// What it was given for.
        what: &'static str,
    },
    /// The calibration maps the surface to a line or to nothing.
    #[error("the calibration matrix leaves no surface: give six finite numbers, such as [1, 0, 0, 0, 1, 0]")]
    NoCalibration,
}

impl Description {
    /// How the device tells of touches.
    ///
    /// # Errors
    /// In words for the user, when it cannot be used as a touchscreen.
    pub fn protocol(&self) -> Result<Protocol, DeviceError> {
        let has = |codes: &[u16]| codes.iter().all(|code| self.axes.contains_key(code));
        let name = || self.name.clone();
        if has(&[codes::ABS_MT_POSITION_X, codes::ABS_MT_POSITION_Y]) {
            // Every driver that uses slots has tracking ids too.
            return match (self.axes.get(&codes::ABS_MT_SLOT), self.axes.get(&codes::ABS_MT_TRACKING_ID)) {
                (Some(slot), Some(_)) => Ok(Protocol::Slots(usize::try_from(slot.max).unwrap_or(0) + 1)),
                _ => Err(DeviceError::ProtocolA { name: name() }),
            };
        }
        if has(&[codes::ABS_X, codes::ABS_Y]) && self.keys.contains(&codes::BTN_TOUCH) {
            return Ok(Protocol::Single);
        }
        Err(DeviceError::NoTouchscreen { name: name() })
    }

    /// The axes that tell a contact's place.
    ///
    /// # Errors
    /// As [`Description::protocol`], and where one of them has no length.
    pub fn place(&self) -> Result<(Axis, Axis), DeviceError> {
        let codes = match self.protocol()? {
            Protocol::Slots(_) => [codes::ABS_MT_POSITION_X, codes::ABS_MT_POSITION_Y],
            Protocol::Single => [codes::ABS_X, codes::ABS_Y],
        };
        for axis in codes {
            let Axis { min, max, .. } = self.axes[&axis];
            if max <= min {
                return Err(DeviceError::NoRange { name: self.name.clone(), axis, min, max });
            }
        }
        Ok((self.axes[&codes[0]], self.axes[&codes[1]]))
    }

    /// A touchscreen of `width` by `height` mm with ten slots, for recordings made here and for tests.
    pub fn touchscreen(name: &str, width: i32, height: i32, units_per_mm: i32) -> Description {
        let place = |mm: i32| Axis { max: mm * units_per_mm, resolution: units_per_mm, ..Axis::default() };
        let up_to = |max: i32| Axis { max, ..Axis::default() };
        Description {
            name: name.to_owned(),
            ids: [3, 0, 0, 1],
            properties: [1].into(),
            keys: [codes::BTN_TOUCH].into(),
            axes: [
                (codes::ABS_X, place(width)),
                (codes::ABS_Y, place(height)),
                (codes::ABS_MT_SLOT, up_to(9)),
                (codes::ABS_MT_TOUCH_MAJOR, Axis { max: 255, resolution: units_per_mm, ..Axis::default() }),
                (codes::ABS_MT_POSITION_X, place(width)),
                (codes::ABS_MT_POSITION_Y, place(height)),
                (codes::ABS_MT_TRACKING_ID, up_to(65_535)),
            ]
            .into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(axes: &[u16]) -> Description {
        let mut device = Description::touchscreen("Panel", 200, 120, 10);
        device.axes.retain(|code, _| !axes.contains(code));
        device
    }

    #[test]
    fn a_device_is_known_by_its_axes() {
        assert_eq!(without(&[]).protocol(), Ok(Protocol::Slots(10)));
        let place = [codes::ABS_MT_POSITION_X, codes::ABS_MT_POSITION_Y];
        assert_eq!(without(&place).protocol(), Ok(Protocol::Single));
    }

    #[test]
    fn what_cannot_be_used_is_refused_in_words() {
        let says = |device: Description| device.place().unwrap_err().to_string();
        let text = says(without(&[codes::ABS_MT_SLOT]));
        assert!(text.starts_with("\"Panel\" speaks multi-touch protocol A"), "{text}");
        assert!(says(Description::default()).contains("is no touchscreen"));
        let mut device = without(&[]);
        device.axes.insert(codes::ABS_MT_POSITION_X, Axis::default());
        assert!(says(device).contains("axis 0x35 goes from 0 to 0"));
    }
}
