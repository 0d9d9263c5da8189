//! The writing end of a connection to a compositor.

use std::collections::VecDeque;

use graph_core::{
    Build, BuildError, Counter, Ctx, Fault, Flow, In, Kind, Nanos, NoSample, Node, NodeError, Out, Ports,
    Sample, Stamp, Turn, Waker, WireOut,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    frame::Frame,
    link::{BackOff, Connection, LinkError, refuse, wait_faults},
    socket::{Address, Outbox, Poll},
};

/// How `spatial/client` connects.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClientParams {
    /// The server's socket: a path, a name in the runtime directory, or `@NAME`.
    pub socket: String,
    /// The wait after the first failed attempt to connect; it doubles with each.
    pub retry: Nanos,
    /// The longest wait between attempts.
    pub retry_at_most: Nanos,
    /// A peer that leaves a request unanswered for so long is given up and connected to anew; and a request that
    /// finds no connection for so long is dropped.
    pub patience: Nanos,
}

impl Default for ClientParams {
    fn default() -> Self {
        ClientParams {
            socket: "graphrun-spatial.sock".into(),
            retry: Nanos::from_millis(5),
            retry_at_most: Nanos::from_secs(1),
            patience: Nanos::from_secs(1),
        }
    }
}

/// Connects to a server, and writes messages to it. Who reads the answers gets each connection from here.
///
/// A peer that is not there, hangs up, stalls or sends garbage is told and counted, and connected to anew after a wait
/// that doubles. Its stage is the `wire` edge, left just before a message is written; both ends know a message by the
/// connection's number and its place in it.
pub struct Client {
    address: Address,
    poll: Poll,
    waker: Waker,
    patience: Nanos,
    back_off: BackOff,
    live: Option<Live>,
    /// Without a connection: since when, and when the next attempt is due.
    down: Option<(Stamp, Stamp)>,
    connected: Counter,
    failed: Counter,
    unanswered: Counter,
    unsent: Counter,
}

struct Live {
    connection: Connection,
    outbox: Outbox,
    /// Until when each request that has no answer is to have one.
    due: VecDeque<Stamp>,
    answered: u64,
    /// The peer takes no more; who reads finds out why, and what was answered before.
    shut: bool,
}

impl Live {
    /// Forgets the requests that have an answer.
    fn settle(&mut self) {
        let answered = self.connection.answered();
        self.due.drain(..((answered - self.answered) as usize).min(self.due.len()));
        self.answered = answered;
    }
}

/// The ports of [`Client`].
pub struct ClientPorts {
    messages: In<Frame>,
    connection: Out<Connection>,
    wire: WireOut,
}

const SOCKET: u64 = 0;

impl Kind for Client {
    const KIND: &'static str = "spatial/client";
    const ABOUT: &'static str = "Connects to a compositor's socket and writes messages to it.";
    type Params = ClientParams;

    fn check(params: &ClientParams) -> Vec<Fault> {
        let mut faults = wait_faults([("patience", params.patience), ("retry", params.retry)]);
        faults.extend(Fault::of("socket", Address::new(&params.socket)));
        faults
    }

    fn new(params: &ClientParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        refuse(Client::check(params))?;
        Ok(Client {
            address: Address::new(&params.socket)?,
            poll: Poll::new(build)?,
            waker: build.waker(),
            patience: params.patience,
            back_off: BackOff::new(params.retry, params.retry_at_most),
            live: None,
            down: None,
            connected: build.counter("connected", "Connections made."),
            failed: build.counter("failed", "Connections that failed, or could not be made."),
            unanswered: build.counter("unanswered", "Requests whose connection failed before the answer."),
            unsent: build.counter("unsent", "Requests dropped for want of a connection."),
        })
    }

    fn sample(_: Option<ClientParams>, _: &mut Sample<'_>) -> Result<ClientParams, NoSample> {
        Err(NoSample::Absent(
            "it needs a server that answers, and spatial/receive to read the answers: run graphs/spatial.ron, which has both"
                .to_owned(),
        ))
    }
}

impl Client {
    /// Takes notice of answers and failures. Returns whether there is a connection.
    fn look(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some(live) = &mut self.live else { return false };
        live.settle();
        if live.due.front().is_some_and(|due| *due <= ctx.now()) {
            live.connection.fail(LinkError::Stalled { after: self.patience });
        }
        if let Some(error) = live.connection.over() {
            let text = error.to_string();
            // Now that no more answers come.
            live.settle();
            self.unanswered.add(live.due.len() as u64);
            // A peer that only takes connections is no success.
            if live.answered > 0 {
                self.back_off.worked();
            }
            self.live = None;
            self.gone(&text, ctx);
            return false;
        }
        true
    }

    /// There is no connection; the next attempt comes later.
    fn gone(&mut self, why: &str, ctx: &mut Ctx<'_>) {
        self.failed.add(1);
        ctx.tell(Turn::NONE, "connection", why);
        tracing::warn!(socket = self.address.name(), "{why}");
        let now = ctx.now();
        let since = self.down.map_or(now, |(since, _)| since);
        self.down = Some((since, now + self.back_off.failed()));
    }

    /// Connects when that is due. Returns whether there is a connection.
    fn connect(&mut self, ports: &mut ClientPorts, ctx: &mut Ctx<'_>) -> bool {
        if self.down.is_some_and(|(_, next)| next > ctx.now()) {
            return false;
        }
        let made = self.address.connect().map_err(LinkError::from).and_then(|(stream, number)| {
            self.poll.add(&stream, SOCKET)?;
            Ok(Connection::new(stream, number, Some(self.waker.clone())))
        });
        match made {
            Ok(connection) => {
                self.connected.add(1);
                self.down = None;
                ports.connection.emit_from(ctx, ctx.now(), connection.clone());
                let (outbox, due) = (Outbox::default(), VecDeque::with_capacity(64));
                self.live = Some(Live { connection, outbox, due, answered: 0, shut: false });
                true
            }
            Err(error) => {
                self.gone(&error.to_string(), ctx);
                false
            }
        }
    }

    /// Writes what there is. Returns whether all of it went out.
    fn write(&mut self, ports: &mut ClientPorts, ctx: &mut Ctx<'_>) -> bool {
        let Some(live) = &mut self.live else { return false };
        let Live { connection, outbox, due, shut, .. } = live;
        let stream = &connection.stream;
        if !outbox.is_empty() {
            match outbox.flush(stream) {
                Ok(true) => connection.settle(self.poll.want_room(stream, SOCKET, false)),
                Ok(false) => {}
                Err(_) => *shut = true,
            }
        }
        while outbox.is_empty() && !*shut && connection.over().is_none() {
            let Some(message) = ports.messages.take(ctx) else { return true };
            ports.wire.emit(ctx, message.cause, Nanos::ZERO, connection.sending());
            due.push_back(ctx.now() + self.patience);
            if outbox.send(stream, message.payload.bytes()).is_err() {
                *shut = true;
            } else if !outbox.is_empty() {
                connection.settle(self.poll.want_room(stream, SOCKET, true));
            }
        }
        false
    }

    /// Drops what has waited in vain.
    fn give_up(&mut self, ports: &mut ClientPorts, ctx: &mut Ctx<'_>) {
        while ports.messages.take(ctx).is_some() {
            self.unsent.add(1);
        }
    }

    /// When there is something to do without anybody's asking.
    fn next(&self) -> Option<Stamp> {
        match (&self.live, self.down) {
            (Some(live), _) => live.due.front().copied(),
            (None, Some((since, next))) => Some(next.min((since + self.patience).max(next))),
            (None, None) => None,
        }
    }
}

impl Node for Client {
    type Ports = ClientPorts;

    fn ports(ports: &mut Ports<'_>) -> ClientPorts {
        ClientPorts {
            messages: ports.input("in", "Messages to write."),
            connection: ports.output("connection", "Each connection made, for who reads the answers."),
            wire: ports.wire_out("wire", "The server, where it is a node of this graph."),
        }
    }

    fn step(&mut self, ports: &mut ClientPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        let all = loop {
            if !self.look(ctx) && !self.connect(ports, ctx) {
                let in_vain = |(since, _)| ctx.now().since(since).is_some_and(|down| down >= self.patience);
                if self.down.is_some_and(in_vain) {
                    self.give_up(ports, ctx);
                }
                break false;
            }
            let all = self.write(ports, ctx);
            // A write may have found the connection dead.
            if self.live.as_ref().is_none_or(|live| live.connection.over().is_none()) {
                break all;
            }
        };
        if let Some(next) = self.next() {
            ctx.wake_at(next);
        }
        // Without a connection, or room in it, messages wait where they are.
        Ok(if all || ports.messages.is_empty() { Flow::Idle } else { Flow::Busy })
    }

    fn finish(&mut self, ports: &mut ClientPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if !self.look(ctx) {
            return Ok(Flow::Done);
        }
        let all = self.write(ports, ctx);
        let Some(live) = &self.live else { return Ok(Flow::Done) };
        live.connection.await_answers();
        // Answered between the look and the word that answers are awaited?
        let waiting = live.due.len() as u64 > live.connection.answered() - live.answered;
        if live.connection.over().is_some() {
            // The next look counts what it leaves unanswered.
            return Ok(Flow::Again);
        }
        if waiting || !all {
            if let Some(next) = self.next() {
                ctx.wake_at(next);
            }
            return Ok(Flow::Idle);
        }
        live.connection.hang_up();
        Ok(Flow::Done)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        os::unix::net::UnixStream,
    };

    use graph_core::testing::{self, Alone};

    use super::*;
    use crate::spatial::{socket::Listener, testing::address};

    const PATIENCE: Nanos = Nanos::from_millis(100);

    fn client(socket: &str) -> Alone {
        let params = ClientParams { socket: socket.into(), patience: PATIENCE, ..ClientParams::default() };
        testing::node::<Client>(params).unwrap()
    }

    fn note(alone: &Alone, name: &str) -> u64 {
        alone.notes().into_iter().find(|note| note.name == name).unwrap().value
    }

    fn accept(listener: &Listener) -> UnixStream {
        listener.accept().unwrap().expect("the client has connected").0
    }

    fn read(stream: &mut UnixStream) -> Vec<u8> {
        let mut buffer = vec![0; 4096];
        let count = stream.read(&mut buffer).unwrap();
        buffer.truncate(count);
        buffer
    }

    #[test]
    fn it_waits_for_a_server_that_comes_late_and_sends_what_waited() {
        let socket = address("late");
        let mut alone = client(&socket);
        alone.feed("in", Frame::new(b"one"));
        let (label, text) = alone.told().remove(0);
        assert_eq!(label, "connection");
        assert!(text.starts_with("no connection: cannot use @graphrun-late"), "{text}");
        let listener = Address::new(&socket).unwrap().listen().unwrap();
        alone.advance(Nanos::from_millis(10));
        assert_eq!(read(&mut accept(&listener)), b"one");
        assert_eq!((note(&alone, "connected"), note(&alone, "failed")), (1, 1));
        assert_eq!(alone.packets::<Connection>("connection").len(), 1);
    }

    #[test]
    fn a_peer_that_hangs_up_is_connected_to_anew_and_the_rest_goes_on() {
        let socket = address("hang-up");
        let listener = Address::new(&socket).unwrap().listen().unwrap();
        let mut alone = client(&socket);
        alone.feed("in", Frame::new(b"one"));
        drop(accept(&listener));
        alone.feed("in", Frame::new(b"two finds a broken pipe"));
        // As who reads would.
        alone.out::<Connection>("connection")[0].fail(LinkError::Ended);
        alone.advance(Nanos::from_millis(20));
        alone.feed("in", Frame::new(b"three"));
        assert_eq!(read(&mut accept(&listener)), b"three");
        let notes = ["connected", "failed", "unanswered"].map(|name| note(&alone, name));
        assert_eq!(notes, [2, 1, 2]);
        assert!(alone.failures().is_empty());
    }

    #[test]
    fn a_peer_that_stalls_is_given_up() {
        let socket = address("stall");
        let listener = Address::new(&socket).unwrap().listen().unwrap();
        let mut alone = client(&socket);
        alone.feed("in", Frame::new(b"one"));
        let mut first = accept(&listener);
        alone.advance(PATIENCE);
        assert_eq!(read(&mut first), b"one");
        assert_eq!(first.read(&mut [0]).unwrap(), 0, "hung up");
        assert_eq!(alone.told(), [("connection", "the peer has not answered for 100 ms".to_owned())]);
        alone.feed("in", Frame::new(b"two"));
        alone.advance(Nanos::from_millis(10));
        assert_eq!(read(&mut accept(&listener)), b"two");
        assert_eq!((note(&alone, "unanswered"), note(&alone, "unsent")), (1, 0));
    }

    #[test]
    fn without_a_server_requests_are_dropped_after_the_patience_and_the_end_comes() {
        let mut alone = client(&address("nobody"));
        alone.feed("in", Frame::new(b"one"));
        alone.feed("in", Frame::new(b"two"));
        alone.end("in");
        assert!(!alone.has_ended());
        alone.advance(PATIENCE + Nanos::from_millis(100));
        assert!(alone.has_ended() && alone.failures().is_empty());
        assert_eq!(note(&alone, "unsent"), 2);
    }

    #[test]
    fn the_end_waits_for_answers_and_hangs_up() {
        let socket = address("end");
        let listener = Address::new(&socket).unwrap().listen().unwrap();
        let mut alone = client(&socket);
        alone.feed("in", Frame::new(b"one"));
        let connection = alone.out::<Connection>("connection").remove(0);
        let mut peer = accept(&listener);
        alone.end("in");
        assert!(!alone.has_ended());
        peer.write_all(b"answer").unwrap();
        assert!(connection.answer().is_some());
        assert_eq!(connection.answer(), None, "nobody asked for a second one");
        alone.advance(Nanos::ZERO);
        assert!(alone.has_ended());
        assert_eq!(read(&mut peer), b"one");
        assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_peer_that_does_not_read_holds_messages_back_and_gets_them_all() {
        let socket = address("slow");
        let listener = Address::new(&socket).unwrap().listen().unwrap();
        let mut alone = client(&socket);
        let message = Frame::new(&[7; 100_000]);
        for _ in 0..10 {
            alone.feed("in", message.clone());
        }
        let mut peer = accept(&listener);
        peer.set_nonblocking(true).unwrap();
        let (mut got, mut buffer) = (0, vec![0; 65_536]);
        for _ in 0..1_000 {
            while let Ok(count) = peer.read(&mut buffer) {
                got += count;
            }
            // Virtual time looks at no socket: the timer of the patience, which is not over, stands for room.
            alone.feed("in", Frame::new(&[]));
            if got == 1_000_000 {
                return;
            }
        }
        panic!("{got} of 1,000,000 bytes");
    }
}
