//! Contacts on a surface, frame by frame: what parsing gives and fusing takes.

use std::ops::{Add, Sub};

use arrayvec::ArrayVec;
use graph_core::payload;

/// Contacts that are followed at the same time on one device. Slots beyond are counted and ignored.
pub const MAX_CONTACTS: usize = 16;

/// A device among those of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceId(pub u8);

/// One life of one contact, from its begin to its end; never used again on that device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContactId(pub u32);

/// A place in mm from the upper left corner of the surface, or a way from one place to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// To the right, in mm.
    pub x: f32,
    /// Down, in mm.
    pub y: f32,
}

impl Point {
    /// So many mm to the right and down.
    pub const fn new(x: f32, y: f32) -> Point {
        Point { x, y }
    }

    /// The length of a way, in mm.
    pub fn length(self) -> f32 {
        (self.x * self.x + self.y * self.y).sqrt()
    }

    /// `factor` times as far.
    pub fn times(self, factor: f32) -> Point {
        Point::new(self.x * factor, self.y * factor)
    }
}

impl Add for Point {
    type Output = Point;

    fn add(self, other: Point) -> Point {
        Point::new(self.x + other.x, self.y + other.y)
    }
}

impl Sub for Point {
    type Output = Point;

    fn sub(self, other: Point) -> Point {
        Point::new(self.x - other.x, self.y - other.y)
    }
}

/// What has become of a contact since the frame before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is new.
    Begin,
    /// It has moved, or its size has changed.
    Move,
    /// Nothing.
    Stay,
    /// It was lifted.
    End,
    /// It is not known what became of it: events are missing, or the device is gone. An end as well.
    Lost,
}

/// One contact in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Its life.
    pub id: ContactId,
    /// The slot that the device tells of it in; no other living contact has it.
    pub slot: u8,
    /// What has become of it.
    pub phase: Phase,
    /// Whether the device itself takes it for a palm.
    pub palm: bool,
    /// Where it is, or was last.
    pub at: Point,
    /// Longer axis of the touching ellipse in mm; 0 where the device does not say.
    pub major: f32,
}

/// What a device told between two reports: all contacts there are, and those that ended. Those that ended come before the
/// one that has the same slot now.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Who tells.
    pub device: DeviceId,
    /// Width and height of the surface in mm.
    pub size: Point,
    /// At most one that lives and one that ended for each slot.
    pub contacts: ArrayVec<Contact, { 2 * MAX_CONTACTS }>,
}
payload!(Frame, "touch frame");
