//! Events of the Linux input layer, as the kernel writes them to a reader (`linux/input.h`).

use evdev::{AbsoluteAxisCode as Abs, EventType, KeyCode, SynchronizationCode as Syn};
use graph_core::{Nanos, Stamp};

/// The types of events that touchscreens send, and their codes (`linux/input-event-codes.h`).
pub mod codes {
    use super::{Abs, EventType, KeyCode, Syn};

    /// Type of what separates events.
    pub const SYN: u16 = EventType::SYNCHRONIZATION.0;
    /// Type of keys and buttons.
    pub const KEY: u16 = EventType::KEY.0;
    /// Type of absolute axes.
    pub const ABS: u16 = EventType::ABSOLUTE.0;
    /// Ends a frame: what was told since the one before happened at the same time.
    pub const SYN_REPORT: u16 = Syn::SYN_REPORT.0;
    /// The kernel had no room: events are missing.
    pub const SYN_DROPPED: u16 = Syn::SYN_DROPPED.0;
    /// The surface is touched, or no longer.
    pub const BTN_TOUCH: u16 = KeyCode::BTN_TOUCH.0;
    /// Horizontal place of the only contact, or of the first.
    pub const ABS_X: u16 = Abs::ABS_X.0;
    /// Vertical place of the only contact, or of the first.
    pub const ABS_Y: u16 = Abs::ABS_Y.0;
    /// The slot that the following multi-touch events are about.
    pub const ABS_MT_SLOT: u16 = Abs::ABS_MT_SLOT.0;
    /// Longer axis of the contact's ellipse.
    pub const ABS_MT_TOUCH_MAJOR: u16 = Abs::ABS_MT_TOUCH_MAJOR.0;
    /// Horizontal place of a contact.
    pub const ABS_MT_POSITION_X: u16 = Abs::ABS_MT_POSITION_X.0;
    /// Vertical place of a contact.
    pub const ABS_MT_POSITION_Y: u16 = Abs::ABS_MT_POSITION_Y.0;
    /// What touches: a finger, a pen, a palm.
    pub const ABS_MT_TOOL_TYPE: u16 = Abs::ABS_MT_TOOL_TYPE.0;
    /// The contact in the slot; -1 for none.
    pub const ABS_MT_TRACKING_ID: u16 = Abs::ABS_MT_TRACKING_ID.0;
    /// An `ABS_MT_TOOL_TYPE` that is a palm.
    pub const MT_TOOL_PALM: i32 = 2;
}

/// One event, without its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Event {
    /// `EV_SYN`, `EV_KEY`, `EV_ABS`...
    pub kind: u16,
    /// What of that type.
    pub code: u16,
    /// The axis' or the key's new value.
    pub value: i32,
}

impl Event {
    /// Ends a frame.
    pub const REPORT: Event = Event { kind: codes::SYN, code: codes::SYN_REPORT, value: 0 };

    /// A value of an absolute axis.
    pub const fn abs(code: u16, value: i32) -> Event {
        Event { kind: codes::ABS, code, value }
    }

    /// A key or button that is pressed or released.
    pub const fn key(code: u16, pressed: bool) -> Event {
        Event { kind: codes::KEY, code, value: pressed as i32 }
    }

    /// Whether a frame ends here.
    pub fn is_report(self) -> bool {
        (self.kind, self.code) == (codes::SYN, codes::SYN_REPORT)
    }

    /// Whether events before this one are missing.
    pub fn is_dropped(self) -> bool {
        (self.kind, self.code) == (codes::SYN, codes::SYN_DROPPED)
    }
}

/// Bytes of a `struct input_event` on a 64-bit machine: two words of time, then type, code and value.
pub const EVENT_BYTES: usize = 24;

/// Reads what the kernel wrote, in the machine's byte order. Bytes behind the last whole event are left out; the kernel
/// never writes a part of one.
///
/// The time is of the clock that the reader chose, to the microsecond.
pub fn events(bytes: &[u8]) -> impl Iterator<Item = (Stamp, Event)> + '_ {
    bytes.as_chunks::<EVENT_BYTES>().0.iter().map(|bytes| {
        let word = |at: usize| i64::from_ne_bytes(std::array::from_fn(|n| bytes[at + n])).max(0) as u64;
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let value = i32::from_ne_bytes(std::array::from_fn(|n| bytes[20 + n]));
        let micros = word(0).saturating_mul(1_000_000).saturating_add(word(8));
        let at = Stamp::ZERO + Nanos(micros.saturating_mul(1_000));
        (at, Event { kind: half(16), code: half(18), value })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_from_the_kernels_bytes_and_a_part_of_one_is_left_out() {
        let mut bytes = Vec::new();
        for word in [12_i64, 345_678] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(codes::ABS.to_ne_bytes());
        bytes.extend(codes::ABS_MT_TRACKING_ID.to_ne_bytes());
        bytes.extend((-1_i32).to_ne_bytes());
        bytes.extend([7; 23]);
        let read: Vec<_> = events(&bytes).collect();
        assert_eq!(read, [(Stamp(12_345_678_000), Event::abs(codes::ABS_MT_TRACKING_ID, -1))]);
    }

    #[test]
    fn a_time_before_the_clocks_start_or_beyond_its_end_is_no_panic() {
        let stamps: Vec<_> = events(&[0xff; EVENT_BYTES]).chain(events(&[0x7f; EVENT_BYTES])).collect();
        assert_eq!((stamps[0].0, stamps[1].0), (Stamp::ZERO, Stamp::MAX));
    }
}
