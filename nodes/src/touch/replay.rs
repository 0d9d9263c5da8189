//! Touches from a recording.

use std::{fs, sync::Arc};

use graph_core::{
    AssetRef, Build, BuildError, Counter, Cx, Flow, Kind, Nanos, NoSample, NodeError, Sample, Source, Stamp,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    device::Description,
    evemu::{self, Recording},
    frame::DeviceId,
    input::{Events, Input, News, bursts},
    script,
};

/// What `touch/replay` plays, and how.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayParams {
    /// The recording, as `evemu-record` or `touch/record` write it.
    pub file: AssetRef,
    /// A description of the device, as `evemu-describe` writes it, where the recording has none.
    #[serde(default)]
    pub device: Option<AssetRef>,
    /// Whether events come when they are due; otherwise they come as fast as they are taken.
    #[serde(default = "yes")]
    pub paced: bool,
    /// How often it is played; 0 for ever.
    #[serde(default = "one")]
    pub repeat: u32,
    /// Time before the first event.
    #[serde(default = "lead")]
    pub lead: Nanos,
    /// Time after the last event, for what fingers that still touch may mean.
    #[serde(default = "trail")]
    pub trail: Nanos,
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

fn lead() -> Nanos {
    Nanos::from_millis(100)
}

fn trail() -> Nanos {
    Nanos::from_millis(200)
}

/// Plays a recording with the times between its events.
///
/// The origin of a burst is the time at which it is due, which is reckoned from the begin: a source that is late is late
/// by its own stage, and delays nothing that follows. Unpaced, the origins are the same, and what follows sees time pass
/// as it did.
pub struct Replay {
    device: Arc<Description>,
    bursts: Vec<(Nanos, Events)>,
    params: ReplayParams,
    began: Option<Stamp>,
    /// The next burst; the device is told of before the first.
    next: Next,
    rounds: u32,
    behind: Counter,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Added,
    Burst(usize),
    Removed,
}

/// What a frame later than this is called behind schedule.
const LATE: Nanos = Nanos::from_millis(5);

impl Kind for Replay {
    const KIND: &'static str = "touch/replay";
    const ABOUT: &'static str = "Touches from an evemu recording, with their times.";
    type Params = ReplayParams;

    fn new(params: &ReplayParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let mut recording = read(build, &params.file)?;
        if let Some(file) = &params.device {
            recording.device = read(build, file)?.device;
        }
        let Some(device) = recording.device else {
            return Err(BuildError::new(format!(
                "{} does not describe its device: give a description by `device: \"FILE\"`, as evemu-describe writes it",
                params.file.as_str()
            )));
        };
        // Told now, and not by the parser when it runs.
        device.place()?;
        let bursts = bursts(&recording.events);
        if bursts.is_empty() {
            return Err(BuildError::new(format!(
                "{} has no events: its lines begin with E:",
                params.file.as_str()
            )));
        }
        Ok(Replay {
            device: Arc::new(device),
            bursts,
            params: params.clone(),
            began: None,
            next: Next::Added,
            rounds: 0,
            behind: build.counter("behind schedule", "Bursts that came 5 ms or more after they were due."),
        })
    }

    fn sample(given: Option<ReplayParams>, sample: &mut Sample<'_>) -> Result<ReplayParams, NoSample> {
        let params = match given {
            Some(params) => params,
            None => {
                let file = sample.dir().join("ten-fingers.events");
                fs::write(&file, evemu::text(&script::ten_fingers(Nanos::from_secs(1))))?;
                let file = AssetRef::new(file.display().to_string());
                ReplayParams { file, device: None, paced: true, repeat: 0, lead: lead(), trail: trail() }
            }
        };
        sample.every(script::FRAME);
        Ok(params)
    }

    fn assets(params: &ReplayParams) -> Vec<AssetRef> {
        params.device.iter().chain([&params.file]).cloned().collect()
    }
}

fn read(build: &Build<'_>, file: &AssetRef) -> Result<Recording, BuildError> {
    let path = build.asset(file)?;
    let text = fs::read(&path)
        .map_err(|error| BuildError::new(format!("cannot read {}: {error}", path.display())))?;
    evemu::parse(&String::from_utf8_lossy(&text))
        .map_err(|error| BuildError::new(format!("{}: {error}", path.display())))
}

impl Replay {
    /// When the round under way began.
    fn due(&self, began: Stamp) -> Stamp {
        let last = self.bursts.last().map_or(Nanos::ZERO, |(time, _)| *time);
        let round = self.params.lead + last + self.params.trail;
        let begun = began + Nanos(round.0.saturating_mul(u64::from(self.rounds)));
        match self.next {
            Next::Added => begun,
            Next::Burst(number) => begun + self.params.lead + self.bursts[number].0,
            Next::Removed => begun + round,
        }
    }
}

impl Source for Replay {
    type Out = Input;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Input>) -> Result<Flow, NodeError> {
        let began = *self.began.get_or_insert(now);
        let due = self.due(began);
        if self.params.paced && due > now {
            cx.wake_at(due);
            return Ok(Flow::Idle);
        }
        let (news, next) = match self.next {
            Next::Added => (News::Added(self.device.clone()), Next::Burst(0)),
            Next::Burst(number) => {
                let next =
                    if number + 1 < self.bursts.len() { Next::Burst(number + 1) } else { Next::Removed };
                (News::Events(self.bursts[number].1.clone()), next)
            }
            Next::Removed => {
                self.rounds = self.rounds.wrapping_add(1);
                (News::Removed, Next::Added)
            }
        };
        if self.params.paced {
            self.behind.add(u64::from(now >= due + LATE));
        }
        self.next = next;
        cx.emit_from(if self.params.paced { due } else { due.min(now) }, Input { device: DeviceId(0), news });
        let is_over = next == Next::Added && self.params.repeat != 0 && self.rounds >= self.params.repeat;
        Ok(if is_over { Flow::Done } else { Flow::Again })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use graph_core::testing;

    use super::*;
    use crate::touch::{event::Event, script::Script};

    fn params(file: &Path) -> ReplayParams {
        ReplayParams {
            file: AssetRef::new(file.to_str().unwrap()),
            device: None,
            paced: true,
            repeat: 1,
            lead: Nanos::from_millis(10),
            trail: Nanos::from_millis(5),
        }
    }

    /// A recording of two bursts, 20 ms apart.
    fn written(name: &str) -> (tempfile::TempDir, ReplayParams) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(name);
        let device = Script::new().recording().device;
        let events = vec![
            (Nanos::ZERO, Event::abs(0x39, 1)),
            (Nanos::ZERO, Event::REPORT),
            (Nanos::from_millis(20), Event::abs(0x39, -1)),
            (Nanos::from_millis(20), Event::REPORT),
        ];
        fs::write(&file, evemu::text(&Recording { device, events })).unwrap();
        let params = params(&file);
        (dir, params)
    }

    #[test]
    fn bursts_come_when_they_are_due_and_that_is_their_origin() {
        let (_dir, params) = written("two.events");
        let mut alone = testing::source::<Replay>(ReplayParams { repeat: 2, ..params }).unwrap();
        let began = alone.now();
        let mut origins = Vec::new();
        for _ in 0..20 {
            for packet in alone.packets::<Input>("out") {
                assert!(packet.header.origin <= alone.now());
                let length = if let News::Events(events) = &packet.payload.news { events.len() } else { 0 };
                origins.push((packet.header.origin.since(began).unwrap().0 / 1_000_000, length));
            }
            alone.advance(Nanos::from_millis(5));
        }
        assert_eq!(origins, [(0, 0), (10, 2), (30, 2), (35, 0), (35, 0), (45, 2), (65, 2), (70, 0)]);
        assert!(alone.has_ended());
    }

    #[test]
    fn unpaced_all_comes_at_once() {
        let (_dir, params) = written("two.events");
        let mut alone = testing::source::<Replay>(ReplayParams { paced: false, ..params }).unwrap();
        assert_eq!(alone.out::<Input>("out").len(), 4);
        assert!(alone.has_ended());
    }

    #[test]
    fn a_recording_that_cannot_be_played_is_refused_in_words() {
        let dir = tempfile::tempdir().unwrap();
        let says = |text: &str| {
            let file = dir.path().join("bad.events");
            fs::write(&file, text).unwrap();
            testing::source::<Replay>(params(&file)).err().unwrap().to_string()
        };
        assert!(says("E: 0.000000 0003 0039 1\n").contains("does not describe its device"));
        assert!(says("hello").contains("bad.events: line 1: \"hello\" is no line"));
        assert!(says("N: mouse\n").contains("\"mouse\" is no touchscreen"));
        let device = Script::new().recording();
        assert!(says(&evemu::text(&Recording { events: Vec::new(), ..device })).contains("has no events"));
    }
}
