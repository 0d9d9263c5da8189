//! What fingers mean.

use std::fmt;

use graph_core::payload;

use super::frame::Point;

/// How far a motion has come. Each that begins ends or is cancelled once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It begins.
    Begin,
    /// It goes on.
    Update,
    /// The fingers were lifted.
    End,
    /// It should not have been: a finger turned out to be a palm.
    Cancel,
}

/// Where a swipe goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the left.
    Left,
    /// To the right.
    Right,
    /// Up.
    Up,
    /// Down.
    Down,
}

impl Direction {
    /// Where a way goes for the most part.
    pub fn of(way: Point) -> Direction {
        match (way.x.abs() >= way.y.abs(), way.x >= 0.0, way.y >= 0.0) {
            (true, false, _) => Direction::Left,
            (true, true, _) => Direction::Right,
            (false, _, false) => Direction::Up,
            (false, _, true) => Direction::Down,
        }
    }
}

/// What one or several fingers did. Places and ways in mm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gesture {
    /// So many fingers touched shortly.
    Tap {
        /// How many.
        fingers: u8,
        /// Where; the middle of several.
        at: Point,
    },
    /// A second tap of one finger; it comes in place of a [`Gesture::Tap`].
    DoubleTap {
        /// Where.
        at: Point,
    },
    /// One finger rested.
    LongPress {
        /// Where.
        at: Point,
    },
    /// One finger moves.
    Drag {
        /// How far it has come.
        progress: Progress,
        /// Where the finger is.
        at: Point,
    },
    /// Two fingers move side by side.
    Scroll {
        /// How far it has come.
        progress: Progress,
        /// Since the last one.
        by: Point,
    },
    /// Two fingers move apart or together.
    Pinch {
        /// How far it has come.
        progress: Progress,
        /// Their distance, as a multiple of that at the begin.
        scale: f32,
    },
    /// Two fingers turn around each other.
    Rotate {
        /// How far it has come.
        progress: Progress,
        /// Clockwise since the begin.
        degrees: f32,
    },
    /// Three or four fingers moved fast.
    Swipe {
        /// How many.
        fingers: u8,
        /// Where to.
        direction: Direction,
    },
    /// One finger came in over the edge.
    EdgeSwipe {
        /// Away from the edge: `Right` comes from the left one.
        direction: Direction,
    },
    /// A key of the on-screen keyboard.
    Key {
        /// Its code.
        code: u16,
        /// Whether it was pressed; each that is pressed is released once.
        pressed: bool,
    },
}
payload!(Gesture, "gesture");

/// In words of a log: `drag begins at 60.0, 20.0`.
impl fmt::Display for Gesture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = |progress: Progress| match progress {
            Progress::Begin => "begins",
            Progress::Update => "goes on",
            Progress::End => "ends",
            Progress::Cancel => "is cancelled",
        };
        match *self {
            Gesture::Tap { fingers: 1, at } => write!(f, "tap at {at}"),
            Gesture::Tap { fingers, at } => write!(f, "tap of {fingers} fingers at {at}"),
            Gesture::DoubleTap { at } => write!(f, "double tap at {at}"),
            Gesture::LongPress { at } => write!(f, "long press at {at}"),
            Gesture::Drag { progress, at } => write!(f, "drag {} at {at}", how(progress)),
            Gesture::Scroll { progress, by } => write!(f, "scroll {} by {by}", how(progress)),
            Gesture::Pinch { progress, scale } => write!(f, "pinch {} at {scale:.2}x", how(progress)),
            Gesture::Rotate { progress, degrees } => {
                write!(f, "turn {} at {degrees:.0} degrees", how(progress))
            }
            Gesture::Swipe { fingers, direction } => write!(f, "swipe of {fingers} fingers {direction}"),
            Gesture::EdgeSwipe { direction } => write!(f, "swipe from the edge {direction}"),
            Gesture::Key { code, pressed } => write!(f, "key {code} {}", if pressed { "down" } else { "up" }),
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Left => "to the left",
            Direction::Right => "to the right",
            Direction::Up => "up",
            Direction::Down => "down",
        })
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}, {:.1}", self.x, self.y)
    }
}
