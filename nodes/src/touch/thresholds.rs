//! When a touch counts, and when a motion is a gesture.

use graph_core::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::device::DeviceError;

/// Lengths on the surface in mm, so that they hold for any device, and times.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// A contact with a longer axis is a palm, in mm. A fingertip has 6 to 12, a thumb up to 20.
    pub palm: f32,
    /// A contact that begins nearer than this to another one is its ghost, in mm: fingertips cannot be so close.
    pub apart: f32,
    /// A contact that ends sooner is a ghost: noise of the sensor.
    pub shortest: Nanos,
    /// A finger that moves no further rests, in mm.
    pub slop: f32,
    /// A tap is over so soon.
    pub tap: Nanos,
    /// A second tap makes a double tap when it begins so soon after the first ended.
    pub double_tap: Nanos,
    /// And no further from it than this, in mm.
    pub double_tap_apart: f32,
    /// A finger that rests so long presses long.
    pub long_press: Nanos,
    /// The way of a swipe, in mm.
    pub swipe: f32,
    /// And its slowest speed, in mm a second.
    pub swipe_speed: f32,
    /// A swipe from the edge begins no further from it than this, in mm; 0 for none.
    pub edge: f32,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            palm: 25.0,
            apart: 4.0,
            shortest: Nanos::from_millis(10),
            slop: 3.0,
            tap: Nanos::from_millis(250),
            double_tap: Nanos::from_millis(300),
            double_tap_apart: 10.0,
            long_press: Nanos::from_millis(500),
            swipe: 15.0,
            swipe_speed: 50.0,
            edge: 5.0,
        }
    }
}

impl Thresholds {
    /// Looks for what can be no length.
    ///
    /// # Errors
    /// The first such.
    pub fn check(&self) -> Result<(), DeviceError> {
        let lengths = [("palm", self.palm), ("slop", self.slop), ("swipe", self.swipe)];
        for (what, length) in lengths {
            if !(length.is_finite() && length > 0.0) {
                return Err(DeviceError::NoLength { what });
            }
        }
        Ok(())
    }
}
