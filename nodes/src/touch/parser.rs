//! From events to contacts: multi-touch protocol B as the kernel documents it, and single-touch devices.
//!
//! <https://docs.kernel.org/input/multi-touch-protocol.html>: slot 0 is meant until the first `ABS_MT_SLOT`, what does not
//! change is not sent (so a slot keeps its values from one contact to the next), a tracking id of -1 ends a contact, and
//! after `SYN_DROPPED` all up to the next report is void.

use arrayvec::ArrayVec;

use super::{
    device::{Description, DeviceError, Protocol},
    event::{Event, codes},
    frame::{Contact, ContactId, DeviceId, Frame, MAX_CONTACTS, Phase},
    surface::{Orientation, Surface},
};

/// Turns the events of one device into frames.
///
/// Whatever comes, every contact begins once and ends once, and no two that live share an id or a slot.
#[derive(Debug)]
pub struct Parser {
    surface: Surface,
    /// The last one; each is made in its place, since it is large.
    frame: Frame,
    single: bool,
    slots: Vec<Slot>,
    /// The slot that multi-touch events are about; `None` where it is beyond the slots, or not known.
    current: Option<usize>,
    /// Events are missing, and those up to the next report are void.
    dropping: bool,
    next: u32,
    ignored: u64,
}

/// A slot as the device has told of it.
#[derive(Clone, Debug, Default)]
struct Slot {
    tracking: Option<i32>,
    x: i32,
    y: i32,
    major: i32,
    palm: bool,
    /// Something was told since the last frame.
    changed: bool,
    /// The contact of the last frame is not the one that the slot has now.
    replaced: bool,
    /// The contact of the last frame, and where it was.
    contact: Option<Contact>,
}

impl Slot {
    fn track(&mut self, tracking: Option<i32>) {
        self.replaced |= self.tracking != tracking;
        self.tracking = tracking;
    }
}

impl Parser {
    /// For a device that nothing touches yet; the state of one that is touched is told by events like any other.
    ///
    /// # Errors
    /// When it is no touchscreen, or says nothing sensible of itself.
    pub fn new(
        device: DeviceId,
        about: &Description,
        orientation: &Orientation,
    ) -> Result<Parser, DeviceError> {
        let (slots, single) = match about.protocol()? {
            Protocol::Slots(slots) => (slots.min(MAX_CONTACTS), false),
            Protocol::Single => (1, true),
        };
        let surface = Surface::new(about, orientation)?;
        Ok(Parser {
            frame: Frame { device, size: surface.size(), contacts: ArrayVec::new() },
            surface,
            single,
            slots: vec![Slot::default(); slots],
            current: Some(0),
            dropping: false,
            next: 0,
            ignored: 0,
        })
    }

    /// The surface that places are on.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// Events so far that were about a slot beyond those that are followed, or about one that is not known.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Takes one event. Gives a frame when it ends one in which something changed.
    #[inline]
    pub fn push(&mut self, event: Event) -> Option<&Frame> {
        match event.kind {
            codes::ABS if !self.dropping => self.axis(event.code, event.value),
            codes::SYN if event.is_dropped() => self.dropping = true,
            codes::SYN if event.is_report() => {
                if std::mem::take(&mut self.dropping) {
                    return self.lose();
                }
                return self.report(Phase::End);
            }
            codes::KEY if self.single && !self.dropping && event.code == codes::BTN_TOUCH => {
                let slot = &mut self.slots[0];
                slot.changed = true;
                slot.track((event.value != 0).then_some(0));
            }
            _ => {}
        }
        None
    }

    /// The device is gone, or its events are at their end: what still touches is lost.
    pub fn lose(&mut self) -> Option<&Frame> {
        // Which slot the next event is about was told before, and may be missing.
        self.current = self.single.then_some(0);
        for slot in &mut self.slots {
            slot.track(None);
            slot.changed = true;
        }
        self.report(Phase::Lost)
    }

    #[inline]
    fn axis(&mut self, code: u16, value: i32) {
        if self.single {
            let slot = &mut self.slots[0];
            match code {
                codes::ABS_X => slot.x = value,
                codes::ABS_Y => slot.y = value,
                _ => return,
            }
            slot.changed = true;
            return;
        }
        if code == codes::ABS_MT_SLOT {
            self.current = usize::try_from(value).ok().filter(|slot| *slot < self.slots.len());
            return;
        }
        // The others repeat the first contact's, for readers that know no slots.
        if code <= codes::ABS_MT_SLOT {
            return;
        }
        let Some(slot) = self.current.and_then(|slot| self.slots.get_mut(slot)) else {
            self.ignored += 1;
            return;
        };
        match code {
            codes::ABS_MT_TRACKING_ID => slot.track((value >= 0).then_some(value)),
            codes::ABS_MT_POSITION_X => slot.x = value,
            codes::ABS_MT_POSITION_Y => slot.y = value,
            codes::ABS_MT_TOUCH_MAJOR => slot.major = value,
            codes::ABS_MT_TOOL_TYPE => slot.palm = value == codes::MT_TOOL_PALM,
            _ => return,
        }
        slot.changed = true;
    }

    /// Everything that was told since the frame before.
    fn report(&mut self, end: Phase) -> Option<&Frame> {
        let contacts = &mut self.frame.contacts;
        contacts.clear();
        let mut news = false;
        for (number, slot) in self.slots.iter_mut().enumerate() {
            let changed = std::mem::take(&mut slot.changed);
            if std::mem::take(&mut slot.replaced)
                && let Some(contact) = slot.contact.take()
            {
                contacts.push(Contact { phase: end, ..contact });
                news = true;
            }
            if slot.tracking.is_none() {
                continue;
            }
            let (id, phase) = match &slot.contact {
                Some(contact) if changed => (contact.id, Phase::Move),
                Some(contact) => {
                    contacts.push(Contact { phase: Phase::Stay, ..*contact });
                    continue;
                }
                None => {
                    self.next = self.next.wrapping_add(1);
                    (ContactId(self.next), Phase::Begin)
                }
            };
            let contact = Contact {
                id,
                slot: number as u8,
                phase,
                palm: slot.palm,
                at: self.surface.place(slot.x, slot.y),
                major: self.surface.length(slot.major),
            };
            slot.contact = Some(contact);
            contacts.push(contact);
            news = true;
        }
        news.then_some(&self.frame)
    }
}

/// What a frame's contacts say of a span of time: for readers that count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Contacts that began.
    pub begun: u64,
    /// Contacts that ended.
    pub ended: u64,
    /// The most that lived at the same time.
    pub most: usize,
}

impl Tally {
    /// Counts a frame.
    pub fn count(&mut self, frame: &Frame) {
        let with = |phase: Phase| frame.contacts.iter().filter(|contact| contact.phase == phase).count();
        let ended = with(Phase::End) + with(Phase::Lost);
        self.begun += with(Phase::Begin) as u64;
        self.ended += ended as u64;
        self.most = self.most.max(frame.contacts.len() - ended);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::touch::frame::Point;

    fn parser() -> Parser {
        let panel = Description::touchscreen("Panel", 200, 120, 10);
        Parser::new(DeviceId(0), &panel, &Orientation::default()).unwrap()
    }

    fn single() -> Parser {
        let mut panel = Description::touchscreen("Panel", 200, 120, 10);
        panel.axes.retain(|code, _| [codes::ABS_X, codes::ABS_Y].contains(code));
        Parser::new(DeviceId(0), &panel, &Orientation::default()).unwrap()
    }

    /// The frames that some events make; a report follows them.
    fn frame(parser: &mut Parser, events: &[(u16, i32)]) -> Option<Frame> {
        let events = events.iter().map(|(code, value)| Event::abs(*code, *value));
        let frames: Vec<Frame> =
            events.chain([Event::REPORT]).filter_map(|event| parser.push(event).cloned()).collect();
        assert!(frames.len() < 2);
        frames.into_iter().next()
    }

    fn brief(frame: &Option<Frame>) -> Vec<(u32, u8, Phase)> {
        let contacts = frame.iter().flat_map(|frame| &frame.contacts);
        contacts.map(|contact| (contact.id.0, contact.slot, contact.phase)).collect()
    }

    use codes::{
        ABS_MT_POSITION_X as X, ABS_MT_POSITION_Y as Y, ABS_MT_SLOT as SLOT, ABS_MT_TRACKING_ID as ID,
    };

    #[test]
    fn slot_0_is_meant_until_the_first_slot_is_told() {
        let mut parser = parser();
        let began = frame(&mut parser, &[(ID, 45), (X, 100), (Y, 200)]);
        assert_eq!(brief(&began), [(1, 0, Phase::Begin)]);
        assert_eq!(began.unwrap().contacts[0].at, Point::new(10.0, 20.0));
    }

    #[test]
    fn values_that_do_not_change_are_kept_from_frame_to_frame_and_from_contact_to_contact() {
        let mut parser = parser();
        frame(&mut parser, &[(ID, 1), (X, 100), (Y, 200)]);
        let moved = frame(&mut parser, &[(X, 110)]).unwrap();
        assert_eq!((moved.contacts[0].phase, moved.contacts[0].at), (Phase::Move, Point::new(11.0, 20.0)));
        assert_eq!(frame(&mut parser, &[]), None, "nothing new");
        assert_eq!(brief(&frame(&mut parser, &[(ID, -1)])), [(1, 0, Phase::End)]);
        let again = frame(&mut parser, &[(ID, 2)]).unwrap();
        assert_eq!((again.contacts[0].id, again.contacts[0].at), (ContactId(2), Point::new(11.0, 20.0)));
    }

    #[test]
    fn a_frame_holds_all_contacts_whichever_of_them_changed() {
        let mut parser = parser();
        frame(&mut parser, &[(ID, 1), (X, 1), (SLOT, 3), (ID, 2), (X, 2)]);
        let moved = frame(&mut parser, &[(Y, 5)]);
        assert_eq!(brief(&moved), [(1, 0, Phase::Stay), (2, 3, Phase::Move)]);
    }

    #[test]
    fn a_tracking_id_that_changes_without_an_end_is_an_end_and_a_begin() {
        let mut parser = parser();
        frame(&mut parser, &[(ID, 1), (X, 1)]);
        assert_eq!(brief(&frame(&mut parser, &[(ID, 2)])), [(1, 0, Phase::End), (2, 0, Phase::Begin)]);
        let same_again = frame(&mut parser, &[(ID, -1), (ID, 2)]);
        assert_eq!(brief(&same_again), [(2, 0, Phase::End), (3, 0, Phase::Begin)]);
    }

    #[test]
    fn slots_beyond_the_range_are_counted_and_change_nothing() {
        let mut parser = parser();
        assert_eq!(
            frame(&mut parser, &[(SLOT, 10), (ID, 7), (X, 5), (SLOT, -1), (X, 5), (SLOT, i32::MAX)]),
            None
        );
        assert_eq!(parser.ignored(), 3);
        assert_eq!(brief(&frame(&mut parser, &[(SLOT, 9), (ID, 8)])), [(1, 9, Phase::Begin)]);
    }

    #[test]
    fn after_dropped_events_contacts_are_lost_and_what_comes_up_to_the_report_is_void() {
        let mut parser = parser();
        frame(&mut parser, &[(ID, 1), (SLOT, 1), (ID, 2)]);
        assert_eq!(parser.push(Event { code: codes::SYN_DROPPED, ..Event::REPORT }), None);
        let lost = frame(&mut parser, &[(ID, 3), (X, 100)]);
        assert_eq!(brief(&lost), [(1, 0, Phase::Lost), (2, 1, Phase::Lost)]);
        assert_eq!(frame(&mut parser, &[(X, 120)]), None, "of a slot that nobody knows");
        assert_eq!(brief(&frame(&mut parser, &[(SLOT, 1), (ID, 9)])), [(3, 1, Phase::Begin)]);
    }

    #[test]
    fn two_slots_with_one_tracking_id_are_two_contacts() {
        let mut parser = parser();
        let both = frame(&mut parser, &[(ID, 1), (SLOT, 1), (ID, 1)]);
        assert_eq!(brief(&both), [(1, 0, Phase::Begin), (2, 1, Phase::Begin)]);
    }

    #[test]
    fn a_single_touch_device_has_one_contact() {
        let mut parser = single();
        parser.push(Event::key(codes::BTN_TOUCH, true));
        let began = frame(&mut parser, &[(codes::ABS_X, 100), (codes::ABS_Y, 50)]);
        assert_eq!(brief(&began), [(1, 0, Phase::Begin)]);
        assert_eq!(brief(&frame(&mut parser, &[(codes::ABS_X, 110)])), [(1, 0, Phase::Move)]);
        parser.push(Event::key(codes::BTN_TOUCH, false));
        assert_eq!(brief(&frame(&mut parser, &[])), [(1, 0, Phase::End)]);
    }

    /// Events as a device sends them, mostly; as no device should, sometimes.
    fn some_event() -> impl Strategy<Value = Event> {
        let code = prop_oneof![
            4 => prop::sample::select(vec![SLOT, ID, X, Y, codes::ABS_MT_TOUCH_MAJOR, codes::ABS_MT_TOOL_TYPE]),
            1 => any::<u16>(),
        ];
        let value = prop_oneof![6 => -1..12_i32, 1 => any::<i32>()];
        prop_oneof![
            8 => (code, value).prop_map(|(code, value)| Event::abs(code, value)),
            3 => Just(Event::REPORT),
            1 => Just(Event { code: codes::SYN_DROPPED, ..Event::REPORT }),
            1 => any::<bool>().prop_map(|pressed| Event::key(codes::BTN_TOUCH, pressed)),
            1 => any::<(u16, u16, i32)>().prop_map(|(kind, code, value)| Event { kind, code, value }),
        ]
    }

    proptest! {
        #[test]
        fn begin_and_end_of_every_contact_balance(events in prop::collection::vec(some_event(), 0..400), one: bool) {
            let mut parser = if one { single() } else { parser() };
            let mut living = BTreeMap::new();
            let mut newest = 0;
            let frames: Vec<Frame> = events.into_iter().filter_map(|event| parser.push(event).cloned()).collect();
            for frame in frames.into_iter().chain(parser.lose().cloned()) {
                let mut seen = 0;
                for contact in &frame.contacts {
                    let ContactId(id) = contact.id;
                    match contact.phase {
                        Phase::Begin => {
                            prop_assert!(id > newest, "an id is used again");
                            newest = id;
                            prop_assert!(!living.values().any(|slot| *slot == contact.slot), "two in one slot");
                            living.insert(id, contact.slot);
                        }
                        Phase::Move | Phase::Stay => prop_assert_eq!(living.get(&id), Some(&contact.slot)),
                        Phase::End | Phase::Lost => prop_assert_eq!(living.remove(&id), Some(contact.slot)),
                    }
                    seen += usize::from(living.contains_key(&id));
                }
                prop_assert_eq!(seen, living.len(), "a frame holds all contacts that live");
            }
            prop_assert!(living.is_empty(), "an end is missing");
        }
    }
}
