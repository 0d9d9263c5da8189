//! Touches into a recording.

use std::{
    fs::File,
    io::{self, BufWriter},
    path::PathBuf,
};

use graph_core::{Build, BuildError, Counter, Kind, Nanos, NoSample, NodeError, Sample, Sink, SinkCx};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    evemu::Writer,
    frame::DeviceId,
    input::{Input, News},
    script,
};

/// What `touch/record` writes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordParams {
    /// The recording, made anew. It holds one device: the first that comes.
    pub file: PathBuf,
}

/// Writes the events of the first device as an evemu recording, with their origins as times.
///
/// What touched it when it came, or when events were lost, is written as events like any other.
pub struct Record {
    file: PathBuf,
    writer: Writer<BufWriter<File>>,
    device: Option<DeviceId>,
    last: Nanos,
    others: Counter,
}

impl Kind for Record {
    const KIND: &'static str = "touch/record";
    const ABOUT: &'static str = "An evemu recording of what a touchscreen sends.";
    type Params = RecordParams;

    fn new(params: &RecordParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let file = params.file.clone();
        let cannot = |error| BuildError::new(format!("cannot write {}: {error}", file.display()));
        let writer =
            File::create(&file).and_then(|file| Writer::new(BufWriter::new(file))).map_err(cannot)?;
        let others = build.counter("other devices", "Packets of devices beside the one that is recorded.");
        Ok(Record { file, writer, device: None, last: Nanos::ZERO, others })
    }

    fn sample(_: Option<RecordParams>, sample: &mut Sample<'_>) -> Result<RecordParams, NoSample> {
        script::sample().for_each(|input| sample.feed("in", input));
        sample.every(script::FRAME);
        // A minute of touches.
        sample.life(7_200);
        Ok(RecordParams { file: sample.dir().join("sample.events") })
    }
}

impl Record {
    fn write(&mut self, input: &Input, at: Nanos) -> io::Result<()> {
        let device = *self.device.get_or_insert(input.device);
        match &input.news {
            _ if device != input.device => self.others.add(1),
            // Described once: one that goes and comes again is the same.
            News::Added(description) if self.last == Nanos::ZERO => {
                self.writer.device(description)?;
                self.last = Nanos(1);
            }
            News::Added(_) => {}
            News::Events(events) => {
                // What is read at a time may be older than what was told of the state before.
                self.last = self.last.max(at);
                events.iter().try_for_each(|event| self.writer.event(self.last, *event))?;
            }
            News::Removed => self.writer.flush()?,
        }
        Ok(())
    }
}

impl Sink for Record {
    type In = Input;

    fn consume(&mut self, input: Input, cx: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        let at = cx.cause().map_or(Nanos::ZERO, |cause| Nanos(cause.origin.0));
        self.write(&input, at)
            .map_err(|error| NodeError::new(format!("cannot write {}: {error}", self.file.display())))
    }

    fn finish(&mut self, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
        Ok(self.writer.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use graph_core::testing;

    use super::*;
    use crate::touch::{evemu, event::Event, input::Events, script::Script};

    #[test]
    fn a_recording_of_the_first_device_is_read_back_with_its_times() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.events");
        let mut alone = testing::sink::<Record>(RecordParams { file: file.clone() }).unwrap();
        let about = Script::new().recording().device.unwrap();
        let events = Events::from_iter([Event::abs(0x39, 4), Event::REPORT]);
        let input = |device, news| Input { device: DeviceId(device), news };
        alone.feed("in", input(3, News::Added(Arc::new(about.clone()))));
        alone.feed("in", input(3, News::Events(events.clone())));
        alone.advance(Nanos::from_millis(8));
        alone.feed("in", input(4, News::Events(events.clone())));
        alone.feed("in", input(3, News::Events(events.clone())));
        alone.end("in");
        let read = evemu::parse(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(read.device, Some(about));
        let times: Vec<u64> = read.events.iter().map(|(time, _)| time.0 / 1_000_000).collect();
        assert_eq!(times, [0, 0, 8, 8]);
        assert_eq!((alone.notes()[0].value, alone.done().counts().taken), (1, 4));
    }
}
