//! From events to frames of contacts.

use graph_core::{Build, BuildError, Counter, Cx, Kind, NoSample, NodeError, Sample, Transform, Turn};

use super::{
    frame::{DeviceId, Frame},
    input::{Input, News},
    parser::Parser,
    script,
    surface::Orientation,
};

/// Follows the contacts of every device that it is told of.
///
/// A device that is no touchscreen fails the node, in words. What touches when a device goes, or when the events end, ends
/// as lost.
pub struct Parse {
    orientation: Orientation,
    parsers: Vec<(DeviceId, Parser)>,
    ignored: Counter,
}

impl Kind for Parse {
    const KIND: &'static str = "touch/parse";
    const ABOUT: &'static str = "Contacts in mm from events of touchscreens, turned and calibrated.";
    type Params = Orientation;

    fn new(params: &Orientation, build: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Parse {
            orientation: params.clone(),
            parsers: Vec::new(),
            ignored: build
                .counter("ignored", "Events about contacts beyond those that are followed, or unknown ones."),
        })
    }

    fn sample(given: Option<Orientation>, sample: &mut Sample<'_>) -> Result<Orientation, NoSample> {
        script::sample().for_each(|input| sample.feed("in", input));
        sample.every(script::FRAME);
        Ok(given.unwrap_or_default())
    }
}

impl Parse {
    fn remove(&mut self, device: DeviceId) -> Option<Frame> {
        let at = self.parsers.iter().position(|(known, _)| *known == device)?;
        let (_, mut parser) = self.parsers.swap_remove(at);
        parser.lose().cloned()
    }
}

impl Transform for Parse {
    type In = Input;
    type Out = Frame;

    fn process(&mut self, input: Input, cx: &mut Cx<'_, '_, Frame>) -> Result<(), NodeError> {
        match input.news {
            News::Events(events) => {
                let Some((_, parser)) = self.parsers.iter_mut().find(|(known, _)| *known == input.device)
                else {
                    self.ignored.add(events.len() as u64);
                    return Ok(());
                };
                let before = parser.ignored();
                for event in events {
                    if let Some(frame) = parser.push(event) {
                        cx.emit(frame.clone());
                    }
                }
                self.ignored.add(parser.ignored() - before);
            }
            News::Added(description) => {
                if let Some(frame) = self.remove(input.device) {
                    cx.emit(frame);
                }
                let parser = Parser::new(input.device, &description, &self.orientation)?;
                let size = parser.surface().size();
                let guess =
                    if parser.surface().is_assumed() { ", a guess: set `size` of touch/parse" } else { "" };
                let text = format!("{} ({:.0} x {:.0} mm{guess})", description.name, size.x, size.y);
                cx.tell(Turn::NONE, "device", &text);
                self.parsers.push((input.device, parser));
            }
            News::Removed => {
                if let Some(frame) = self.remove(input.device) {
                    cx.emit(frame);
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, cx: &mut Cx<'_, '_, Frame>) -> Result<(), NodeError> {
        for (_, mut parser) in self.parsers.drain(..) {
            if let Some(frame) = parser.lose() {
                cx.emit(frame.clone());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use graph_core::testing;

    use super::*;
    use crate::touch::{device::Description, event::Event, frame::Phase, input::Events};

    fn events(device: u8, tracking: i32) -> Input {
        let events = Events::from_iter([Event::abs(0x39, tracking), Event::REPORT]);
        Input { device: DeviceId(device), news: News::Events(events) }
    }

    fn added(device: u8) -> Input {
        let panel = Arc::new(Description::touchscreen("Panel", 200, 120, 10));
        Input { device: DeviceId(device), news: News::Added(panel) }
    }

    #[test]
    fn devices_are_followed_apart_and_what_touches_one_that_goes_is_lost() {
        let mut alone = testing::transform::<Parse>(Orientation::default()).unwrap();
        for input in [added(0), added(1), events(0, 7), events(1, 7), events(2, 7)] {
            alone.feed("in", input);
        }
        let began = alone.out::<Frame>("out");
        assert_eq!(began.iter().map(|frame| frame.device.0).collect::<Vec<_>>(), [0, 1]);
        alone.feed("in", Input { device: DeviceId(1), news: News::Removed });
        let [lost] = &alone.out::<Frame>("out")[..] else { panic!("one frame") };
        assert_eq!((lost.device, lost.contacts[0].phase), (DeviceId(1), Phase::Lost));
        alone.end("in");
        assert_eq!(alone.out::<Frame>("out").len(), 1, "the other's contact at the end");
        assert_eq!(alone.notes()[0].value, 2, "the device that nobody knows");
    }

    #[test]
    fn a_device_that_is_no_touchscreen_fails_in_words() {
        let mut alone = testing::transform::<Parse>(Orientation::default()).unwrap();
        let news = News::Added(Arc::new(Description { name: "Mouse".into(), ..Description::default() }));
        alone.feed("in", Input { device: DeviceId(0), news });
        assert!(alone.failures()[0].message.contains("\"Mouse\" is no touchscreen"));
    }
}
