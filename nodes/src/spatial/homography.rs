//! Where on an output a zone of the room lies.

use serde::{Deserialize, Serialize};

use crate::types::{Geometry, Zone};

/// A projective map from the plane of the zones to pixels of an output: nine numbers, row by row.
///
/// A point `(x, y)` goes to `(u / w, v / w)`, where `(u, v, w)` is the matrix times `(x, y, 1)`. See R. Hartley and
/// A. Zisserman, *Multiple View Geometry*, section 2.3.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Homography(pub [f32; 9]);

/// Windows are no larger than this, nor farther away.
const FARTHEST: f32 = 65_536.0;

impl Homography {
    /// Plane units are pixels.
    pub const IDENTITY: Homography = Homography([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);

    /// Where a point goes; `None` for one that lies behind the viewer or at the horizon.
    pub fn apply(&self, x: f32, y: f32) -> Option<(f32, f32)> {
        let [a, b, c, d, e, f, g, h, i] = self.0;
        let w = g * x + h * y + i;
        let at = ((a * x + b * y + c) / w, (d * x + e * y + f) / w);
        (w > f32::EPSILON && at.0.is_finite() && at.1.is_finite()).then_some(at)
    }

    /// The rectangle of whole pixels around a zone; `None` where the zone is not wholly before the viewer, has no
    /// area, or is farther than 65,536 pixels away.
    pub fn place(&self, zone: &Zone) -> Option<Geometry> {
        let (right, lower) = (zone.x + zone.width, zone.y + zone.height);
        let corners = [(zone.x, zone.y), (right, zone.y), (zone.x, lower), (right, lower)];
        let (mut least, mut most) = ((f32::MAX, f32::MAX), (f32::MIN, f32::MIN));
        for (x, y) in corners {
            let (x, y) = self.apply(x, y)?;
            least = (least.0.min(x), least.1.min(y));
            most = (most.0.max(x), most.1.max(y));
        }
        let near = |value: f32| value.abs() <= FARTHEST;
        let whole = [least.0, least.1, most.0, most.1].into_iter().all(near);
        let geometry = Geometry {
            x: least.0.round() as i32,
            y: least.1.round() as i32,
            width: (most.0.round() - least.0.round()) as i32,
            height: (most.1.round() - least.1.round()) as i32,
        };
        (whole && geometry.width > 0 && geometry.height > 0).then_some(geometry)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ZONE: Zone = Zone { id: 1, x: 0.5, y: 0.25, width: 0.25, height: 0.5 };

    #[test]
    fn a_scaled_plane_gives_pixels() {
        let scaled = Homography([1280.0, 0.0, 10.0, 0.0, 720.0, 20.0, 0.0, 0.0, 1.0]);
        assert_eq!(scaled.place(&ZONE), Some(Geometry { x: 650, y: 200, width: 320, height: 360 }));
    }

    #[test]
    fn a_tilted_plane_gives_the_rectangle_around_the_quadrangle() {
        let tilted = Homography([1000.0, 0.0, 0.0, 0.0, 1000.0, 0.0, 1.0, 0.0, 1.0]);
        // The left edge is at x = 0.5, so 1.5 away, the right one at 0.75, so 1.75 away.
        let placed = tilted.place(&ZONE).unwrap();
        assert_eq!((placed.x, placed.x + placed.width), (333, 429));
        assert_eq!((placed.y, placed.y + placed.height), (143, 500));
    }

    #[test]
    fn a_zone_behind_the_viewer_without_area_or_far_away_has_no_place() {
        let behind = Homography([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0]);
        let collapsed = Homography([0.0; 9]);
        let far = Homography([1e9, 0.0, 0.0, 0.0, 1e9, 0.0, 0.0, 0.0, 1.0]);
        for nowhere in [behind, collapsed, far, Homography([f32::NAN; 9])] {
            assert_eq!(nowhere.place(&ZONE), None, "{nowhere:?}");
        }
        assert_eq!(Homography::IDENTITY.place(&ZONE), None, "less than a pixel");
    }

    proptest! {
        #[test]
        fn no_numbers_panic_and_every_place_has_an_area(numbers: [f32; 9], x: f32, y: f32, width: f32, height: f32) {
            if let Some(at) = Homography(numbers).place(&Zone { id: 0, x, y, width, height }) {
                prop_assert!(at.width > 0 && at.height > 0);
            }
        }
    }
}
