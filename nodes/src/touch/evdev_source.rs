//! Touches from real devices.

use std::{
    collections::VecDeque,
    fs::{self, OpenOptions},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::OpenOptionsExt,
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use evdev::raw_stream::RawDevice;
use graph_core::{
    Build, BuildError, Clock, Counter, Cx, Flow, Kind, NoSample, NodeError, Sample, Source, Stamp, Turn,
    time::{ClockPair, Kernel},
};
use rustix::{event::epoll, fs::inotify, io::Errno};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    device::{Description, Protocol},
    event::{EVENT_BYTES, Event, events},
    frame::DeviceId,
    input::{BURST, Events, Input, News},
    kernel,
};

/// Where the kernel shows input devices.
const DIRECTORY: &str = "/dev/input";
/// What to do where they may not be read.
const PERMISSION: &str = "input devices are read by root and the group `input`: `sudo usermod -aG input $USER` and a new login, or a \
     udev rule such as SUBSYSTEM==\"input\", ENV{ID_INPUT_TOUCHSCREEN}==\"1\", TAG+=\"uaccess\"";

/// Which devices `touch/evdev` reads.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EvdevParams {
    /// Paths such as `/dev/input/event5`, or parts of names; none for every touchscreen there is.
    pub devices: Vec<String>,
    /// Whether nobody else gets the events meanwhile.
    pub grab: bool,
    /// Whether devices that come later are read too. Without it, the source ends when its last device is gone.
    pub hot_plug: bool,
}

impl Default for EvdevParams {
    fn default() -> Self {
        EvdevParams { devices: Vec::new(), grab: false, hot_plug: true }
    }
}

/// Reads touchscreens from the kernel, any number of them, while they come and go.
///
/// The origin of a burst is the kernel's stamp of its last event, by CLOCK_MONOTONIC, converted by a clock pair less than a
/// second old. What touches a device when it is
/// opened, and after the kernel had to drop events, is asked for and told as events.
pub struct EvdevSource {
    params: EvdevParams,
    /// Holds every device and the directory, so that the lane has one descriptor to watch; nobody asks it which.
    epoll: OwnedFd,
    directory: Option<OwnedFd>,
    devices: Vec<Device>,
    next: u8,
    ready: VecDeque<(Stamp, Input)>,
    clock: Clock,
    /// By which the kernel's stamps become the run's.
    pair: ClockPair,
    dropped: Counter,
}

struct Device {
    id: DeviceId,
    path: PathBuf,
    raw: RawDevice,
    about: Arc<Description>,
    protocol: Protocol,
    /// Of the frame that is being read.
    events: Events,
}

impl Kind for EvdevSource {
    const KIND: &'static str = "touch/evdev";
    const ABOUT: &'static str = "Touches from the kernel's input devices, while they come and go.";
    type Params = EvdevParams;

    fn new(params: &EvdevParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        build.watch(&epoll)?;
        let mut source = EvdevSource {
            params: params.clone(),
            epoll,
            directory: None,
            devices: Vec::new(),
            next: 0,
            ready: VecDeque::with_capacity(64),
            clock: build.clock().clone(),
            pair: ClockPair::read(build.clock(), Kernel::Monotonic),
            dropped: build
                .counter("dropped by the kernel", "Times that events came faster than they were read."),
        };
        // Before the look around, so that nothing comes in between.
        if params.hot_plug {
            source
                .watch_directory()
                .map_err(|error| BuildError::new(format!("cannot watch {DIRECTORY}: {error}")))?;
        }
        let denied = source.look_around(build.now());
        if let Some(path) = denied {
            return Err(BuildError::new(format!("cannot read {}: {PERMISSION}", path.display())));
        }
        if source.devices.is_empty() && !params.hot_plug {
            let wanted = if params.devices.is_empty() {
                "no touchscreen".to_owned()
            } else {
                params.devices.join(", ")
            };
            return Err(BuildError::new(format!(
                "{wanted} in {DIRECTORY}: plug one in, or set `hot_plug: true` to wait for it"
            )));
        }
        Ok(source)
    }

    fn sample(_: Option<EvdevParams>, _: &mut Sample<'_>) -> Result<EvdevParams, NoSample> {
        Err(NoSample::Absent(
            "it needs fingers on a touchscreen: `tools/test --devices` measures it in a virtual machine, and touch/replay \
             gives the same packets anywhere"
                .to_owned(),
        ))
    }
}

impl EvdevSource {
    fn watch_directory(&mut self) -> io::Result<()> {
        let directory = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        // A device is readable only once udev has set its owner.
        let wanted = inotify::WatchFlags::CREATE | inotify::WatchFlags::ATTRIB;
        inotify::add_watch(&directory, DIRECTORY, wanted)?;
        epoll::add(&self.epoll, &directory, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        self.directory = Some(directory);
        Ok(())
    }

    /// Opens every wanted device that is not open. Gives one that may not be read, when nothing else could be.
    fn look_around(&mut self, now: Stamp) -> Option<PathBuf> {
        let entries = fs::read_dir(DIRECTORY).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        let is_device = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"event"))
        };
        let mut paths: Vec<PathBuf> = entries.filter(is_device).collect();
        paths.sort();
        let mut denied = None;
        for path in paths {
            if self.devices.iter().any(|device| device.path == path) {
                continue;
            }
            match self.open(&path, now) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => denied = Some(path),
                // Gone again, or no device: others may be there.
                Err(_) | Ok(()) => {}
            }
        }
        denied.filter(|_| self.devices.is_empty())
    }

    fn open(&mut self, path: &Path, now: Stamp) -> io::Result<()> {
        let by_path = |wanted: &&String| wanted.starts_with('/');
        let is_named = self.params.devices.iter().filter(by_path).any(|wanted| Path::new(wanted) == path);
        let by_name: Vec<&String> = self.params.devices.iter().filter(|wanted| !by_path(wanted)).collect();
        if !is_named && by_name.is_empty() && !self.params.devices.is_empty() {
            return Ok(());
        }
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
        let mut raw = RawDevice::from_fd(file.into())?;
        let about = kernel::describe(&raw)?;
        if !is_named
            && !by_name.is_empty()
            && !by_name.iter().any(|wanted| about.name.contains(wanted.as_str()))
        {
            return Ok(());
        }
        // One that was asked for is told of all the same: the parser says why it cannot be used.
        let Ok(protocol) =
            about.protocol().or(if self.params.devices.is_empty() { Err(()) } else { Ok(Protocol::Single) })
        else {
            return Ok(());
        };
        kernel::stamp_by_monotonic(&raw)?;
        if self.params.grab {
            raw.grab()?;
        }
        let id = DeviceId(self.next);
        self.next = self.next.wrapping_add(1);
        epoll::add(&self.epoll, raw.as_fd(), epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        let about = Arc::new(about);
        let news = News::Added(about.clone());
        self.ready.push_back((now, Input { device: id, news }));
        let mut device = Device { id, path: path.to_owned(), raw, about, protocol, events: Events::new() };
        device.tell_state(now, &mut self.ready)?;
        self.devices.push(device);
        Ok(())
    }

    /// Reads whatever can be read. Returns whether anything was.
    ///
    /// Every device is asked, since that costs less than to ask which of them have something.
    fn read(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Input>) -> bool {
        if !self.pair.is_fresh(now) {
            self.pair = ClockPair::read(&self.clock, Kernel::Monotonic);
        }
        let mut at = 0;
        while let Some(device) = self.devices.get_mut(at) {
            match device.read(now, &self.pair, &mut self.ready) {
                Ok(dropped) => {
                    self.dropped.add(dropped);
                    at += 1;
                }
                Err(_) => {
                    let gone = self.devices.swap_remove(at);
                    self.ready.push_back((now, Input { device: gone.id, news: News::Removed }));
                }
            }
        }
        if self.ready.is_empty()
            && self.has_directory_changed()
            && let Some(path) = self.look_around(now)
        {
            cx.tell(Turn::NONE, "device", &format!("cannot read {} yet: {PERMISSION}", path.display()));
        }
        !self.ready.is_empty()
    }

    /// Whether anything has come, or may be read now, since this was last asked.
    fn has_directory_changed(&self) -> bool {
        let mut buffer = [0; 4096];
        let mut changed = false;
        if let Some(directory) = &self.directory {
            while rustix::io::read(directory, &mut buffer).is_ok_and(|read| read > 0) {
                changed = true;
            }
        }
        changed
    }
}

impl Device {
    fn push(&mut self, at: Stamp, event: Event, ready: &mut VecDeque<(Stamp, Input)>) {
        self.events.push(event);
        if event.is_report() || self.events.is_full() {
            let news = News::Events(std::mem::take(&mut self.events));
            ready.push_back((at, Input { device: self.id, news }));
        }
    }

    fn tell_state(&mut self, now: Stamp, ready: &mut VecDeque<(Stamp, Input)>) -> io::Result<()> {
        self.events.clear();
        for event in kernel::state(&self.raw, &self.about, self.protocol)? {
            self.push(now, event, ready);
        }
        Ok(())
    }

    /// Reads what is there. Gives how often events were dropped before they could be read.
    fn read(
        &mut self,
        now: Stamp,
        pair: &ClockPair,
        ready: &mut VecDeque<(Stamp, Input)>,
    ) -> io::Result<u64> {
        let mut buffer = [0; BURST * EVENT_BYTES];
        let mut dropped = 0;
        loop {
            match rustix::io::read(&self.raw, &mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => {
                    for (at, event) in events(&buffer[..length]) {
                        if event.is_dropped() {
                            dropped += 1;
                        } else if dropped == 0 {
                            self.push(pair.convert(at.0), event, ready);
                        }
                    }
                    // What comes meanwhile makes the descriptor readable again.
                    if length < buffer.len() && dropped == 0 {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        // All that was queued is read and left out, so the state is newer than any of it.
        if dropped > 0 {
            self.tell_state(now, ready)?;
        }
        Ok(dropped)
    }
}

impl Source for EvdevSource {
    type Out = Input;

    fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Input>) -> Result<Flow, NodeError> {
        loop {
            if let Some((origin, input)) = self.ready.pop_front() {
                cx.emit_from(origin, input);
                return Ok(Flow::Again);
            }
            if !self.read(now, cx) {
                let is_over = self.devices.is_empty() && !self.params.hot_plug;
                return Ok(if is_over { Flow::Done } else { Flow::Idle });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing;

    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_told_when_the_node_is_made() {
        let params =
            EvdevParams { devices: vec!["/dev/input/event999".into()], grab: false, hot_plug: false };
        let error = testing::source::<EvdevSource>(params).err().unwrap().to_string();
        assert!(
            error.contains("/dev/input/event999 in /dev/input") || error.contains("cannot read"),
            "{error}"
        );
    }
}
