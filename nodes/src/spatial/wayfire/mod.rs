//! A real compositor: Wayfire, by its IPC.

use std::{collections::VecDeque, env, os::unix::net::UnixStream};

use graph_core::{
    Build, BuildError, Cause, Counter, Ctx, Fault, Flow, In, Kind, Nanos, NoSample, Node, NodeError, Out,
    Ports, Sample, Stamp, Turn,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    desk::{FULL, halves},
    frame::{Codec, Framer, LIMIT, Progress, Scratch},
    homography::Homography,
    link::{BackOff, LinkError, refuse, wait_faults},
    socket::{Address, Outbox, Poll},
};
use crate::types::{Event, Request, Response, Zone};

pub mod protocol;
pub mod session;

use session::{Session, SessionError, Told};

/// Messages that are heard in one step at most.
const BURST: usize = 16;

/// How `spatial/wayfire` connects, and where it places views.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WayfireParams {
    /// Wayfire's IPC socket; what `$WAYFIRE_SOCKET` says unless given.
    pub socket: Option<String>,
    /// Where views may be placed; the left and the right half of a plane of 1 by 1 unless said otherwise.
    pub zones: Vec<Zone>,
    /// From the plane of the zones to pixels of a view's output, row by row.
    pub homography: [f32; 9],
    /// The events that are watched, in Wayfire's words.
    pub events: Vec<String>,
    /// The wait after the first failed attempt to connect; it doubles with each.
    pub retry: Nanos,
    /// The longest wait between attempts.
    pub retry_at_most: Nanos,
    /// A compositor that leaves a request unanswered for so long is given up and connected to anew; and a request that
    /// finds no connection for so long is dropped.
    pub patience: Nanos,
}

impl Default for WayfireParams {
    fn default() -> Self {
        WayfireParams {
            socket: None,
            zones: halves(),
            homography: FULL,
            events: ["view-mapped", "view-unmapped", "view-focused", "view-geometry-changed"]
                .map(str::to_owned)
                .into(),
            retry: Nanos::from_millis(5),
            retry_at_most: Nanos::from_secs(1),
            patience: Nanos::from_secs(1),
        }
    }
}

/// Does requests in Wayfire, and tells what happens there.
///
/// Methods and events share one socket and are told apart. A view is placed by `configure-view` where the homography
/// puts its zone; touch and keys are fed by the plugin `stipc`. A compositor that goes away, stalls or sends what cannot
/// be understood is told and counted, and connected to anew.
pub struct Wayfire {
    params: WayfireParams,
    address: Address,
    poll: Poll,
    back_off: BackOff,
    live: Option<Live>,
    down: Option<(Stamp, Stamp)>,
    scratch: Scratch,
    notes: Notes,
}

struct Live {
    stream: UnixStream,
    framer: Framer,
    outbox: Outbox,
    session: Session<Cause>,
    due: VecDeque<Stamp>,
    answered: bool,
}

struct Notes {
    connected: Counter,
    failed: Counter,
    unanswered: Counter,
    unsent: Counter,
}

/// The ports of [`Wayfire`].
pub struct WayfirePorts {
    requests: In<Request>,
    responses: Out<Response>,
    events: Out<Event>,
}

/// Why a connection to Wayfire is over.
#[derive(Debug, thiserror::Error)]
enum Over {
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

const SOCKET: u64 = 0;

impl Kind for Wayfire {
    const KIND: &'static str = "spatial/wayfire";
    const ABOUT: &'static str = "Does requests in the compositor Wayfire, and tells its events.";
    type Params = WayfireParams;

    fn check(params: &WayfireParams) -> Vec<Fault> {
        let mut faults = wait_faults([("patience", params.patience), ("retry", params.retry)]);
        faults.extend(params.socket.as_deref().and_then(|name| Fault::of("socket", Address::new(name))));
        faults
    }

    fn new(params: &WayfireParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        refuse(Wayfire::check(params))?;
        let socket = params.socket.clone().or_else(|| env::var("WAYFIRE_SOCKET").ok());
        let socket = socket.ok_or_else(|| {
            BuildError::new(
                "no socket is given and $WAYFIRE_SOCKET is not set: start Wayfire with its plugin ipc",
            )
        })?;
        Ok(Wayfire {
            address: Address::new(&socket)?,
            poll: Poll::new(build)?,
            back_off: BackOff::new(params.retry, params.retry_at_most),
            live: None,
            down: None,
            scratch: Scratch::default(),
            notes: Notes {
                connected: build.counter("connected", "Connections made."),
                failed: build.counter("failed", "Connections that failed, or could not be made."),
                unanswered: build
                    .counter("unanswered", "Requests whose connection failed before the answer."),
                unsent: build.counter("unsent", "Requests dropped for want of a connection."),
            },
            params: params.clone(),
        })
    }

    fn sample(_: Option<WayfireParams>, _: &mut Sample<'_>) -> Result<WayfireParams, NoSample> {
        Err(NoSample::Absent(
            "it needs a Wayfire that runs, and moves its views: `tools/wayfire` brings one for the tests"
                .to_owned(),
        ))
    }
}

impl Wayfire {
    fn connect(&mut self, ctx: &mut Ctx<'_>) {
        if self.down.is_some_and(|(_, next)| next > ctx.now()) {
            return;
        }
        match self.open() {
            Ok(live) => {
                self.notes.connected.add(1);
                self.down = None;
                self.live = Some(live);
            }
            Err(error) => self.gone(&error.to_string(), ctx),
        }
    }

    fn open(&mut self) -> Result<Live, Over> {
        let (stream, _) = self.address.connect().map_err(LinkError::from)?;
        self.poll.add(&stream, SOCKET).map_err(LinkError::from)?;
        let mut session = Session::new(self.params.zones.clone(), Homography(self.params.homography));
        let mut outbox = Outbox::default();
        if !self.params.events.is_empty() {
            self.scratch.clear();
            session.watch(&self.params.events, &mut self.scratch).map_err(SessionError::from)?;
            outbox.send(&stream, self.scratch.written()).map_err(LinkError::from)?;
        }
        let framer = Framer::new(Codec::Json, LIMIT);
        Ok(Live { stream, framer, outbox, session, due: VecDeque::with_capacity(16), answered: false })
    }

    /// There is no connection; the next attempt comes later.
    fn gone(&mut self, why: &str, ctx: &mut Ctx<'_>) {
        if let Some(live) = self.live.take() {
            self.notes.unanswered.add(live.session.unanswered() as u64);
            // A compositor that only takes connections is no success.
            if live.answered {
                self.back_off.worked();
            }
        }
        self.notes.failed.add(1);
        ctx.tell(Turn::NONE, "connection", why);
        tracing::warn!(socket = self.address.name(), "{why}");
        let now = ctx.now();
        let since = self.down.map_or(now, |(since, _)| since);
        self.down = Some((since, now + self.back_off.failed()));
    }

    /// Connects, hears and asks. Returns whether there may be more to hear.
    fn work(&mut self, ports: &mut WayfirePorts, ctx: &mut Ctx<'_>) -> bool {
        if self.live.is_none() {
            self.connect(ctx);
        }
        if let Some(live) = &mut self.live {
            let worked = live.hear(ports, ctx).and_then(|more| {
                Ok((more, live.ask(&mut self.scratch, self.params.patience, &self.poll, ports, ctx)?))
            });
            match worked {
                Ok((more, ())) => {
                    if let Some(due) = live.due.front() {
                        ctx.wake_at(*due);
                    }
                    return more;
                }
                Err(error) => self.gone(&error.to_string(), ctx),
            }
        }
        if let Some((since, next)) = self.down {
            if ctx.now().since(since).is_some_and(|down| down >= self.params.patience) {
                while ports.requests.take(ctx).is_some() {
                    self.notes.unsent.add(1);
                }
            }
            ctx.wake_at(next);
        }
        false
    }
}

impl Live {
    /// Hears what Wayfire says, at most a burst. Returns whether there may be more.
    fn hear(&mut self, ports: &mut WayfirePorts, ctx: &mut Ctx<'_>) -> Result<bool, Over> {
        let mut heard = 0;
        loop {
            while let Some(message) = self.framer.message().map_err(LinkError::from)? {
                match self.session.hear(message)? {
                    Told::Answer(cause, response) => {
                        self.due.pop_front();
                        self.answered = true;
                        ports.responses.emit_as(ctx, cause, Nanos::ZERO, response);
                    }
                    Told::Event(event) => ports.events.emit_from(ctx, ctx.now(), event),
                    Told::Nothing => {}
                }
                heard += 1;
                if heard == BURST {
                    return Ok(true);
                }
            }
            match self.framer.read(&self.stream).map_err(LinkError::from)? {
                Progress::Some => {}
                Progress::Nothing => break,
                Progress::End => {
                    self.framer.finish().map_err(LinkError::from)?;
                    return Err(LinkError::Ended.into());
                }
            }
        }
        Ok(false)
    }

    /// Writes what is asked, as much as goes.
    fn ask(
        &mut self,
        scratch: &mut Scratch,
        patience: Nanos,
        poll: &Poll,
        ports: &mut WayfirePorts,
        ctx: &mut Ctx<'_>,
    ) -> Result<(), Over> {
        if self.due.front().is_some_and(|due| *due <= ctx.now()) {
            return Err(LinkError::Stalled { after: patience }.into());
        }
        if !self.outbox.is_empty() && self.outbox.flush(&self.stream).map_err(LinkError::from)? {
            poll.want_room(&self.stream, SOCKET, false).map_err(LinkError::from)?;
        }
        while self.outbox.is_empty()
            && let Some(taken) = ports.requests.take(ctx)
        {
            scratch.clear();
            let asked = self.session.ask(&taken.payload, taken.cause, scratch).map_err(SessionError::from)?;
            if let Some((cause, response)) = asked {
                ports.responses.emit_as(ctx, cause, Nanos::ZERO, response);
                continue;
            }
            self.due.push_back(ctx.now() + patience);
            self.outbox.send(&self.stream, scratch.written()).map_err(LinkError::from)?;
            if !self.outbox.is_empty() {
                poll.want_room(&self.stream, SOCKET, true).map_err(LinkError::from)?;
            }
        }
        Ok(())
    }
}

impl Node for Wayfire {
    type Ports = WayfirePorts;

    fn ports(ports: &mut Ports<'_>) -> WayfirePorts {
        WayfirePorts {
            requests: ports.input("in", "What Wayfire is to do."),
            responses: ports.output("out", "What became of it, in the order it was done."),
            events: ports.many("events", "What happened in Wayfire.", BURST),
        }
    }

    fn step(&mut self, ports: &mut WayfirePorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if self.work(ports, ctx) {
            return Ok(Flow::Again);
        }
        Ok(if ports.requests.is_empty() { Flow::Idle } else { Flow::Busy })
    }

    fn finish(&mut self, ports: &mut WayfirePorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if self.live.is_some() && self.work(ports, ctx) {
            return Ok(Flow::Again);
        }
        let waits = |live: &Live| live.session.unanswered() > 0;
        Ok(if self.live.as_ref().is_some_and(waits) { Flow::Idle } else { Flow::Done })
    }
}
