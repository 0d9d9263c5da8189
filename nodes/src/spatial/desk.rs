//! What a compositor knows of its views and zones, and what it answers.

use super::homography::Homography;
use crate::types::{Geometry, Output, Refusal, Request, Response, View, Zone};

/// Views, zones and one output, and how the zones lie on it.
#[derive(Clone, Debug)]
pub struct Desk {
    views: Vec<View>,
    zones: Vec<Zone>,
    output: Output,
    homography: Homography,
    fingers: Vec<u32>,
}

impl Desk {
    /// A desk of `views` views, numbered from 1, on an output of 1280 by 720 pixels.
    pub fn new(views: u32, zones: Vec<Zone>, homography: Homography) -> Desk {
        let view = |id| View {
            id,
            app_id: format!("app-{id}"),
            title: format!("View {id}"),
            geometry: Geometry { x: 0, y: 0, width: 640, height: 480 },
        };
        let geometry = Geometry { x: 0, y: 0, width: 1280, height: 720 };
        Desk {
            views: (1..=views).map(view).collect(),
            zones,
            output: Output { id: 1, name: "DESK-1".to_owned(), geometry },
            homography,
            fingers: Vec::new(),
        }
    }

    /// Does what is asked.
    #[inline]
    pub fn answer(&mut self, request: &Request) -> Response {
        match request {
            Request::AssignZone { view, zone } => {
                self.assign(*view, *zone).map_or_else(Response::Error, |()| Response::Ok)
            }
            Request::Zones => Response::Zones(self.zones.clone()),
            Request::Views => Response::Views(self.views.clone()),
            Request::Outputs => Response::Outputs(vec![self.output.clone()]),
            Request::Touch { finger, .. } => {
                if !self.fingers.contains(finger) {
                    self.fingers.push(*finger);
                }
                Response::Ok
            }
            Request::Release { finger } => {
                self.fingers.retain(|down| down != finger);
                Response::Ok
            }
            Request::Key { key, .. } if !key.starts_with("KEY_") => {
                Response::Error(Refusal::NoSuchKey { key: key.clone() })
            }
            Request::Key { .. } => Response::Ok,
        }
    }

    #[inline]
    fn assign(&mut self, view: u32, zone: u32) -> Result<(), Refusal> {
        let at = place(&self.zones, &self.homography, zone)?;
        let view =
            self.views.iter_mut().find(|there| there.id == view).ok_or(Refusal::NoSuchView { view })?;
        view.geometry = at;
        Ok(())
    }
}

/// Where on the output a zone lies.
///
/// # Errors
///
/// When there is no such zone, or it lies nowhere on the output.
pub fn place(zones: &[Zone], homography: &Homography, zone: u32) -> Result<Geometry, Refusal> {
    let found = zones.iter().find(|there| there.id == zone).ok_or(Refusal::NoSuchZone { zone })?;
    homography.place(found).ok_or(Refusal::OffOutput { zone })
}

/// The left and the right half of a plane that is 1 wide and high.
pub fn halves() -> Vec<Zone> {
    let half = |id, x| Zone { id, x, y: 0.0, width: 0.5, height: 1.0 };
    vec![half(1, 0.0), half(2, 0.5)]
}

/// Nine numbers that put a plane that is 1 wide and high onto an output of 1280 by 720 pixels.
pub const FULL: [f32; 9] = [1280.0, 0.0, 0.0, 0.0, 720.0, 0.0, 0.0, 0.0, 1.0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_where_its_zone_is() {
        let mut desk = Desk::new(2, halves(), Homography(FULL));
        assert_eq!(desk.answer(&Request::AssignZone { view: 2, zone: 2 }), Response::Ok);
        let Response::Views(views) = desk.answer(&Request::Views) else { panic!("views were asked for") };
        assert_eq!(views[1].geometry, Geometry { x: 640, y: 0, width: 640, height: 720 });
        assert_eq!(views[0].geometry.width, 640, "the other stays");
    }

    #[test]
    fn what_is_not_there_is_refused_by_name() {
        let mut desk = Desk::new(1, halves(), Homography(FULL));
        let mut says = |request| match desk.answer(&request) {
            Response::Error(refusal) => refusal.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(says(Request::AssignZone { view: 9, zone: 1 }), "there is no view 9");
        assert_eq!(says(Request::AssignZone { view: 1, zone: 9 }), "there is no zone 9");
        let key = Request::Key { key: "A".into(), pressed: true };
        assert_eq!(says(key), "there is no key \"A\": write the kernel's name, such as KEY_A");
    }
}
