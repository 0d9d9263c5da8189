//! A log of what would be done, for graphs without devices.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use graph_core::{
    Build, BuildError, Counter, Ctx, Done, Flow, In, Kind, Nanos, NoSample, Node, NodeError, Ports, Sample,
    Stamp, Taken, Turn,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    actions::Action,
    gesture::{Gesture, Progress},
};
use crate::types::IpcRequest;

/// Where `touch/event-log` writes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EventLogParams {
    /// A text file, made anew: a line for each event, with the time since the first in seconds. Left out, events are only
    /// counted.
    pub file: Option<PathBuf>,
    /// Whether gestures and requests are shown while the graph runs; motions when they begin and end.
    pub tell: bool,
}

impl Default for EventLogParams {
    fn default() -> Self {
        EventLogParams { file: None, tell: true }
    }
}

/// Writes down and counts actions, gestures and requests.
pub struct EventLog {
    file: Option<BufWriter<File>>,
    tell: bool,
    first: Option<Stamp>,
    keys: Counter,
    gestures: Counter,
    requests: Counter,
}

/// The ports of [`EventLog`].
pub struct EventLogPorts {
    actions: In<Action>,
    requests: In<IpcRequest>,
    gestures: In<Gesture>,
    done: Done,
}

impl Kind for EventLog {
    const KIND: &'static str = "touch/event-log";
    const ABOUT: &'static str = "Writes down what virtual devices and other programs would be told.";
    type Params = EventLogParams;

    fn new(params: &EventLogParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let create = |path: &PathBuf| {
            let cannot = |error| BuildError::new(format!("cannot write {}: {error}", path.display()));
            File::create(path).map(BufWriter::new).map_err(cannot)
        };
        Ok(EventLog {
            file: params.file.as_ref().map(create).transpose()?,
            tell: params.tell,
            first: None,
            keys: build.counter("keys", "Keys and buttons that were pressed."),
            gestures: build.counter("gestures", "Gestures that happened or began."),
            requests: build.counter("requests", "Requests to other programs."),
        })
    }

    fn sample(given: Option<EventLogParams>, sample: &mut Sample<'_>) -> Result<EventLogParams, NoSample> {
        sample.feed("in", Action::Key { code: 30, pressed: true });
        sample.feed("in", Action::Key { code: 30, pressed: false });
        Ok(EventLogParams { file: None, ..given.unwrap_or_default() })
    }
}

impl EventLog {
    /// A line of the file.
    fn line(
        &mut self,
        origin: Stamp,
        words: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), NodeError> {
        let first = *self.first.get_or_insert(origin);
        let Some(file) = &mut self.file else { return Ok(()) };
        let since = origin.since(first).unwrap_or_default().0;
        write!(file, "{}.{:06} ", since / 1_000_000_000, since / 1_000 % 1_000_000)?;
        words(file)?;
        Ok(writeln!(file)?)
    }

    fn action(&mut self, taken: &Taken<Action>) -> Result<(), NodeError> {
        self.keys.add(u64::from(matches!(taken.payload, Action::Key { pressed: true, .. })));
        self.line(taken.cause.origin, |file| match taken.payload {
            Action::Key { code, pressed } => write!(file, "press {code} {}", u8::from(pressed)),
            Action::Point { x, y } => write!(file, "point {x} {y}"),
            Action::Scroll { x, y } => write!(file, "scroll {x} {y}"),
        })
    }

    fn gesture(&mut self, taken: &Taken<Gesture>, ctx: &mut Ctx<'_>) -> Result<(), NodeError> {
        let gesture = taken.payload;
        let progress = match gesture {
            Gesture::Drag { progress, .. }
            | Gesture::Scroll { progress, .. }
            | Gesture::Pinch { progress, .. }
            | Gesture::Rotate { progress, .. } => progress,
            Gesture::Key { pressed: false, .. } => Progress::End,
            _ => Progress::Begin,
        };
        self.gestures.add(u64::from(progress == Progress::Begin));
        if self.tell && progress != Progress::Update {
            ctx.tell(Turn::NONE, "gesture", &gesture.to_string());
        }
        self.line(taken.cause.origin, |file| write!(file, "gesture {gesture}"))
    }

    fn request(&mut self, taken: &Taken<IpcRequest>, ctx: &mut Ctx<'_>) -> Result<(), NodeError> {
        let IpcRequest { method, data } = &taken.payload;
        self.requests.add(1);
        if self.tell {
            ctx.tell(Turn::NONE, "request", &format!("{method} {data}"));
        }
        self.line(taken.cause.origin, |file| write!(file, "request {method} {data}"))
    }
}

impl Node for EventLog {
    type Ports = EventLogPorts;

    fn ports(ports: &mut Ports<'_>) -> EventLogPorts {
        EventLogPorts {
            actions: ports.optional_input("in", "What the virtual keyboard and pointer would do."),
            requests: ports.optional_input("requests", "What other programs would be asked."),
            gestures: ports.optional_input("gestures", "What the fingers meant."),
            done: ports.done(),
        }
    }

    fn step(&mut self, ports: &mut EventLogPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        let cause = if let Some(taken) = ports.actions.take(ctx) {
            self.action(&taken)?;
            taken.cause
        } else if let Some(taken) = ports.requests.take(ctx) {
            self.request(&taken, ctx)?;
            taken.cause
        } else if let Some(taken) = ports.gestures.take(ctx) {
            self.gesture(&taken, ctx)?;
            taken.cause
        } else {
            return Ok(Flow::Idle);
        };
        ports.done.mark(ctx, cause, Nanos::ZERO);
        Ok(Flow::Idle)
    }

    fn finish(&mut self, _: &mut EventLogPorts, _: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if let Some(file) = &mut self.file {
            file.flush()?;
        }
        Ok(Flow::Done)
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing;

    use super::*;
    use crate::touch::frame::Point;

    #[test]
    fn events_are_written_in_order_with_their_times_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("touch.log");
        let mut alone =
            testing::node::<EventLog>(EventLogParams { file: Some(file.clone()), tell: true }).unwrap();
        alone.feed("gestures", Gesture::Tap { fingers: 1, at: Point::new(10.0, 20.0) });
        alone.advance(Nanos::from_micros(1_500));
        alone.feed("in", Action::Key { code: 272, pressed: true });
        alone.feed("in", Action::Scroll { x: 0, y: -120 });
        alone.feed("requests", IpcRequest { method: "expo/toggle".into(), data: "{}".into() });
        for port in ["in", "requests", "gestures"] {
            alone.end(port);
        }
        let text = std::fs::read_to_string(file).unwrap();
        assert_eq!(
            text,
            "0.000000 gesture tap at 10.0, 20.0\n0.001500 press 272 1\n0.001500 scroll 0 -120\n\
             0.001500 request expo/toggle {}\n"
        );
        assert_eq!(alone.notes().iter().map(|note| note.value).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!(alone.told()[0], ("gesture", "tap at 10.0, 20.0".to_owned()));
        assert_eq!(alone.done().counts().taken, 4);
    }

    #[test]
    fn a_place_that_cannot_be_written_to_is_told_when_the_node_is_made() {
        let params = EventLogParams { file: Some("/nowhere/touch.log".into()), tell: false };
        let error = testing::node::<EventLog>(params).err().unwrap().to_string();
        assert!(error.starts_with("cannot write /nowhere/touch.log"), "{error}");
    }
}
