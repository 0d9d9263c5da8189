//! The surface of a device: from its units to millimetres, turned and calibrated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    device::{Axis, Description, DeviceError},
    event::codes,
    frame::Point,
};

/// The longer side of a surface whose device says nothing of its size, in mm: that of a small tablet.
pub const ASSUMED_LENGTH: f64 = 220.0;

/// How the surface lies to what is shown on it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Orientation {
    /// By how much the device is turned clockwise.
    pub rotation: Rotation,
    /// The first two rows of the matrix that places are multiplied by before they are turned, the surface being 1 by 1:
    /// libinput's calibration matrix. `[1, 0, 0, 0, 1, 0]` changes nothing.
    pub calibration: [f32; 6],
    /// Width and height in mm, as the device lies when it is not turned. Left out, the device's own resolution is used; a
    /// device that has none is taken to be 220 mm long.
    pub size: Option<(f32, f32)>,
}

impl Default for Orientation {
    fn default() -> Self {
        let calibration = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        Orientation { rotation: Rotation::None, calibration, size: None }
    }
}

/// Quarters of a circle, clockwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rotation {
    /// Not turned.
    #[default]
    None,
    /// By 90 degrees.
    Quarter,
    /// By 180 degrees.
    Half,
    /// By 270 degrees.
    ThreeQuarters,
}

/// Turns units into millimetres.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    size: Point,
    /// `x = m[0] * x + m[1] * y + m[2]`, and the same for y; in mm.
    matrix: [f64; 6],
    /// Millimetres of a unit of a contact's size.
    unit: f64,
    assumed: bool,
}

impl Surface {
    /// The surface of a device.
    ///
    /// # Errors
    /// When it is no touchscreen, an axis has no length, or the orientation is senseless.
    pub fn new(about: &Description, orientation: &Orientation) -> Result<Surface, DeviceError> {
        let (x, y) = about.place()?;
        let (width, height, assumed) = lengths(x, y, orientation.size)?;
        let c = orientation.calibration.map(f64::from);
        let area = c[0] * c[4] - c[1] * c[3];
        if !c.iter().all(|number| number.is_finite()) || area.abs() < 1e-6 {
            return Err(DeviceError::NoCalibration);
        }
        // On a surface of 1 by 1: what is right of the upper left corner is above the upper right one after a quarter turn.
        let (first, second) = ([c[0], c[1], c[2]], [c[3], c[4], c[5]]);
        let from_the_end = |row: [f64; 3]| [-row[0], -row[1], 1.0 - row[2]];
        let (to_right, down, size) = match orientation.rotation {
            Rotation::None => (first, second, (width, height)),
            Rotation::Quarter => (from_the_end(second), first, (height, width)),
            Rotation::Half => (from_the_end(first), from_the_end(second), (width, height)),
            Rotation::ThreeQuarters => (second, from_the_end(first), (height, width)),
        };
        let row = |row: [f64; 3], length: f64| {
            let (a, b) = (row[0] / x.span(), row[1] / y.span());
            [a, b, row[2] - a * f64::from(x.min) - b * f64::from(y.min)].map(|number| number * length)
        };
        let ([a, b, c], [d, e, f]) = (row(to_right, size.0), row(down, size.1));
        let major = about.axes.get(&codes::ABS_MT_TOUCH_MAJOR).map_or(0, |axis| axis.resolution);
        let unit = if major > 0 { 1.0 / f64::from(major) } else { width / x.span() };
        let size = Point::new(size.0 as f32, size.1 as f32);
        Ok(Surface { size, matrix: [a, b, c, d, e, f], unit, assumed })
    }

    /// Width and height in mm, turned.
    pub fn size(&self) -> Point {
        self.size
    }

    /// Whether the size is a guess, since neither the device nor the graph says it.
    pub fn is_assumed(&self) -> bool {
        self.assumed
    }

    /// The place of a contact.
    #[inline]
    pub(crate) fn place(&self, x: i32, y: i32) -> Point {
        let [a, b, c, d, e, f] = self.matrix;
        let (x, y) = (f64::from(x), f64::from(y));
        Point::new((a * x + b * y + c) as f32, (d * x + e * y + f) as f32)
    }

    /// The size of a contact.
    #[inline]
    pub(crate) fn length(&self, units: i32) -> f32 {
        (f64::from(units) * self.unit) as f32
    }
}

/// Width and height in mm, and whether they are guessed.
fn lengths(x: Axis, y: Axis, given: Option<(f32, f32)>) -> Result<(f64, f64, bool), DeviceError> {
    if let Some((width, height)) = given {
        let is_length = |mm: f32| mm.is_finite() && mm > 0.0;
        return if is_length(width) && is_length(height) {
            Ok((f64::from(width), f64::from(height), false))
        } else {
            Err(DeviceError::NoLength { what: "both parts of `size`" })
        };
    }
    if x.resolution > 0 && y.resolution > 0 {
        return Ok((x.span() / f64::from(x.resolution), y.span() / f64::from(y.resolution), false));
    }
    let unit = ASSUMED_LENGTH / x.span().max(y.span());
    Ok((x.span() * unit, y.span() * unit, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface(orientation: Orientation) -> Surface {
        Surface::new(&Description::touchscreen("Panel", 200, 120, 10), &orientation).unwrap()
    }

    #[test]
    fn units_become_millimetres_by_the_devices_resolution() {
        let plain = surface(Orientation::default());
        assert_eq!((plain.size(), plain.is_assumed()), (Point::new(200.0, 120.0), false));
        assert_eq!(plain.place(500, 300), Point::new(50.0, 30.0));
        assert_eq!(plain.length(80), 8.0);
    }

    #[test]
    fn a_turned_device_tells_places_on_the_turned_surface() {
        for (rotation, size, place) in [
            (Rotation::Quarter, (120.0, 200.0), (90.0, 50.0)),
            (Rotation::Half, (200.0, 120.0), (150.0, 90.0)),
            (Rotation::ThreeQuarters, (120.0, 200.0), (30.0, 150.0)),
        ] {
            let turned = surface(Orientation { rotation, ..Orientation::default() });
            assert_eq!(turned.size(), Point::new(size.0, size.1), "{rotation:?}");
            assert!((turned.place(500, 300) - Point::new(place.0, place.1)).length() < 1e-3, "{rotation:?}");
        }
    }

    #[test]
    fn a_calibration_stretches_and_shifts_before_the_turn() {
        let calibration = [0.5, 0.0, 0.25, 0.0, -1.0, 1.0];
        let calibrated = surface(Orientation { calibration, ..Orientation::default() });
        assert_eq!(calibrated.place(1_000, 300), Point::new(100.0, 90.0));
        let flat = Orientation { calibration: [0.0; 6], ..Orientation::default() };
        let error = Surface::new(&Description::touchscreen("Panel", 200, 120, 10), &flat).unwrap_err();
        assert_eq!(error, DeviceError::NoCalibration);
    }

    #[test]
    fn a_device_without_resolution_has_the_size_that_it_is_given_or_a_guess() {
        let unknown = Description::touchscreen("Panel", 200, 120, 10);
        let axes = unknown.axes.iter().map(|(code, axis)| (*code, Axis { resolution: 0, ..*axis })).collect();
        let unknown = Description { axes, ..unknown };
        let guess = Surface::new(&unknown, &Orientation::default()).unwrap();
        assert_eq!((guess.size(), guess.is_assumed()), (Point::new(220.0, 132.0), true));
        let given = Orientation { size: Some((100.0, 60.0)), ..Orientation::default() };
        let given = Surface::new(&unknown, &given).unwrap();
        assert_eq!((given.place(1_000, 600), given.is_assumed()), (Point::new(50.0, 30.0), false));
    }
}
