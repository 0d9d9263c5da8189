//! A compositor's end of the socket.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
};

use graph_core::{
    Build, BuildError, Cause, Counter, Ctx, Fault, Flow, Kind, Nanos, NoSample, Node, NodeError, Ports,
    Sample, Stamp, Turn, WireIn, WireOut,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    desk::{Desk, FULL, halves},
    frame::{Codec, Framer, LIMIT, Progress, Scratch},
    homography::Homography,
    link::LinkError,
    message::Stamping,
    socket::{Address, Listener, Outbox, Poll},
};
use crate::types::{Refusal, Request, Response, Zone};

/// Peers at most; a further one is hung up on.
const PEERS: usize = 64;

/// Requests answered for one peer before the others have their turn.
const BURST: u32 = 32;

/// When the client of this graph has ended, what is connected still has so long to hang up.
const LINGER: Nanos = Nanos::from_secs(1);

const LISTENER: u64 = u64::MAX;

/// How `spatial/server` listens and answers.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerParams {
    /// The socket: a path, a name in the runtime directory, or `@NAME`.
    pub socket: String,
    /// How messages stand on the wire.
    pub codec: Codec,
    /// Bytes that a message may have behind its head; a peer that announces more is hung up on.
    pub limit: usize,
    /// How many views there are, numbered from 1.
    pub views: u32,
    /// Where views may be placed; the left and the right half of a plane of 1 by 1 unless said otherwise.
    pub zones: Vec<Zone>,
    /// From the plane of the zones to pixels, row by row.
    pub homography: [f32; 9],
}

impl Default for ServerParams {
    fn default() -> Self {
        ServerParams {
            socket: "graphrun-spatial.sock".into(),
            codec: Codec::Json,
            limit: LIMIT,
            views: 4,
            zones: halves(),
            homography: FULL,
        }
    }
}

/// Answers requests as a compositor's plugin would, for any number of peers: a simulated desk of views and zones.
///
/// A peer that sends garbage or a huge length is hung up on and counted; what is framed well and is no request is
/// answered by a refusal. The others do not notice.
pub struct Server {
    listener: Listener,
    poll: Poll,
    codec: Codec,
    limit: usize,
    desk: Desk,
    peers: Vec<Option<Peer>>,
    /// Who asked last, and so is likely to ask next.
    last: usize,
    scratch: Scratch,
    until: Option<Stamp>,
    notes: Notes,
}

struct Peer {
    stream: UnixStream,
    framer: Framer,
    outbox: Outbox,
    /// The key on the wire of its next message.
    key: u64,
}

struct Notes {
    accepted: Counter,
    failed: Counter,
    answered: Counter,
    malformed: Counter,
}

/// The ports of [`Server`].
pub struct ServerPorts {
    requests: WireIn,
    responses: WireOut,
}

impl Kind for Server {
    const KIND: &'static str = "spatial/server";
    const ABOUT: &'static str = "A simulated compositor that answers over a Unix socket.";
    type Params = ServerParams;

    fn check(params: &ServerParams) -> Vec<Fault> {
        Fault::of("socket", Address::new(&params.socket)).into_iter().collect()
    }

    fn new(params: &ServerParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let listener = Address::new(&params.socket)?.listen()?;
        let poll = Poll::new(build)?;
        poll.add(&listener, LISTENER)?;
        Ok(Server {
            listener,
            poll,
            codec: params.codec,
            limit: params.limit,
            desk: Desk::new(params.views, params.zones.clone(), Homography(params.homography)),
            peers: Vec::new(),
            last: 0,
            scratch: Scratch::default(),
            until: None,
            notes: Notes {
                accepted: build.counter("accepted", "Peers that connected."),
                failed: build.counter("failed", "Peers whose connection broke, or who sent garbage."),
                answered: build.counter("answered", "Requests answered."),
                malformed: build.counter("malformed", "Messages that were no request."),
            },
        })
    }

    fn sample(given: Option<ServerParams>, sample: &mut Sample<'_>) -> Result<ServerParams, NoSample> {
        let socket = sample.dir().join("ipc.sock").display().to_string();
        let params = ServerParams { socket: socket.clone(), ..given.unwrap_or_default() };
        let mut scratch = Scratch::default();
        params.codec.write_request(
            &Request::AssignZone { view: 1, zone: 1 },
            Stamping::default(),
            &mut scratch,
        )?;
        let (address, mut asking, mut answers) = (Address::new(&socket)?, None, vec![0; 4096]);
        sample.outside(move || {
            // The server is there by now, and not before.
            let stream: &mut UnixStream = match &mut asking {
                Some(stream) => stream,
                None => asking.insert(address.connect().map_err(io::Error::other)?.0),
            };
            stream.write_all(scratch.written())?;
            // What was answered so far.
            stream.read(&mut answers).map(drop).or_else(|error| match error.kind() {
                io::ErrorKind::WouldBlock => Ok(()),
                _ => Err(error),
            })
        });
        Ok(params)
    }
}

impl Server {
    fn accept(&mut self) -> Result<(), NodeError> {
        while let Some((stream, number)) = self.listener.accept()? {
            self.notes.accepted.add(1);
            let free = self.peers.iter().position(Option::is_none);
            let place = match free {
                Some(place) => place,
                None if self.peers.len() < PEERS => {
                    self.peers.push(None);
                    self.peers.len() - 1
                }
                None => {
                    self.notes.failed.add(1);
                    tracing::warn!("more than {PEERS} peers: the last one is hung up on");
                    continue;
                }
            };
            self.poll.add(&stream, place as u64)?;
            let framer = Framer::new(self.codec, self.limit);
            self.peers[place] = Some(Peer { stream, framer, outbox: Outbox::default(), key: number });
        }
        Ok(())
    }

    /// Answers one peer. Returns whether it may have more to ask.
    fn serve(&mut self, place: usize, ports: &mut ServerPorts, ctx: &mut Ctx<'_>) -> bool {
        let Some(Some(peer)) = self.peers.get_mut(place) else { return false };
        let mut desk = Answering {
            codec: self.codec,
            desk: &mut self.desk,
            scratch: &mut self.scratch,
            notes: &self.notes,
        };
        let error = match peer.serve(&mut desk, place as u64, &self.poll, ports, ctx) {
            Ok(Some(more)) => return more,
            Ok(None) => None,
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            self.notes.failed.add(1);
            ctx.tell(Turn::NONE, "peer", &error.to_string());
            tracing::warn!("{error}");
        }
        self.peers[place] = None;
        false
    }
}

/// What a peer's requests are answered with.
struct Answering<'a> {
    codec: Codec,
    desk: &'a mut Desk,
    scratch: &'a mut Scratch,
    notes: &'a Notes,
}

impl Peer {
    /// Answers what is here, reading first. Returns whether there may be more, or `None` when the peer has hung up.
    fn serve(
        &mut self,
        desk: &mut Answering<'_>,
        token: u64,
        poll: &Poll,
        ports: &mut ServerPorts,
        ctx: &mut Ctx<'_>,
    ) -> Result<Option<bool>, LinkError> {
        if !self.outbox.is_empty() {
            // Whoever does not read is not read from.
            if !self.outbox.flush(&self.stream)? {
                return Ok(Some(false));
            }
            poll.want_room(&self.stream, token, false)?;
        }
        let mut answered = 0;
        loop {
            desk.scratch.clear();
            while answered < BURST
                && let Some(message) = self.framer.message()?
            {
                answered += 1;
                let cause = ports.requests.take(ctx, self.key);
                let cause = cause.unwrap_or_else(|| Cause::from_origin(ctx.clock().now()));
                desk.answer(message, ctx)?;
                ports.responses.emit(ctx, cause, Nanos::ZERO, self.key);
                self.key += 1;
            }
            if !desk.scratch.written().is_empty() {
                self.outbox.send(&self.stream, desk.scratch.written())?;
                if !self.outbox.is_empty() {
                    poll.want_room(&self.stream, token, true)?;
                    return Ok(Some(false));
                }
            }
            if answered == BURST {
                return Ok(Some(true));
            }
            match self.framer.read(&self.stream)? {
                Progress::Some => {}
                Progress::Nothing => return Ok(Some(false)),
                Progress::End => return self.framer.finish().map(|()| None).map_err(LinkError::from),
            }
        }
    }
}

impl Answering<'_> {
    #[inline]
    fn answer(&mut self, message: &[u8], ctx: &Ctx<'_>) -> Result<(), LinkError> {
        let (sequence, response) = match self.codec.read_request(message) {
            Ok((sequence, request)) => (sequence, self.desk.answer(&request)),
            Err(error) => {
                self.notes.malformed.add(1);
                (0, Response::Error(Refusal::Malformed { reason: error.to_string() }))
            }
        };
        self.notes.answered.add(1);
        let stamp = Stamping { sequence, timestamp: ctx.now().0 };
        let written = self.codec.write_response(&response, stamp, self.scratch);
        // A desk of that many views is a mistake in the graph file, and the peer that asked pays.
        written.map_err(|error| LinkError::Broken(io::Error::other(error)))
    }
}

impl Node for Server {
    type Ports = ServerPorts;

    fn ports(ports: &mut Ports<'_>) -> ServerPorts {
        ServerPorts {
            requests: ports.wire_in("requests", "The client, where it is a node of this graph."),
            responses: ports
                .wire_out("responses", "Who reads the answers, where it is a node of this graph."),
        }
    }

    fn step(&mut self, ports: &mut ServerPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        let mut more = self.serve(self.last, ports, ctx);
        let (mut ready, mut count) = ([0; PEERS + 1], 0);
        self.poll.ready(|token| {
            if count < ready.len() {
                ready[count] = token;
                count += 1;
            }
        });
        for &token in &ready[..count] {
            if token == LISTENER {
                self.accept()?;
                // Who connects has something to ask.
                more = true;
            } else {
                self.last = token as usize;
                more |= self.serve(self.last, ports, ctx);
            }
        }
        if more {
            return Ok(Flow::Again);
        }
        if ports.requests.is_closed() {
            let until = *self.until.get_or_insert(ctx.now() + LINGER);
            if self.peers.iter().all(Option::is_none) || until <= ctx.now() {
                return Ok(Flow::Done);
            }
            ctx.wake_at(until);
        }
        Ok(Flow::Idle)
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing::{self, Alone};
    use proptest::prelude::*;

    use super::*;
    use crate::spatial::testing::address;

    fn server() -> (Alone, Address) {
        let socket = address("server");
        let params = ServerParams { socket: socket.clone(), limit: 10_000, ..ServerParams::default() };
        (testing::node::<Server>(params).unwrap(), Address::new(&socket).unwrap())
    }

    /// Virtual time looks at no socket: a cancelled turn wakes every node.
    fn wake(alone: &mut Alone) {
        let turn = alone.open_turn();
        alone.cancel(turn);
    }

    fn note(alone: &Alone, name: &str) -> u64 {
        alone.notes().into_iter().find(|note| note.name == name).unwrap().value
    }

    fn say(stream: &mut UnixStream, json: &str) {
        stream.write_all(&(json.len() as u32).to_le_bytes()).unwrap();
        stream.write_all(json.as_bytes()).unwrap();
    }

    /// What has come, as text without the lengths; `None` when the server hung up before.
    fn heard(stream: &mut UnixStream) -> Option<Vec<String>> {
        let (mut framer, mut messages) = (Framer::new(Codec::Json, LIMIT), Vec::new());
        loop {
            while let Some(message) = framer.message().unwrap() {
                messages.push(String::from_utf8(message[4..].to_vec()).unwrap());
            }
            match framer.read(&mut *stream).unwrap() {
                Progress::Some => {}
                Progress::Nothing => return Some(messages),
                Progress::End => return (!messages.is_empty()).then_some(messages),
            }
        }
    }

    #[test]
    fn a_request_written_byte_by_byte_is_answered_once_it_is_whole() {
        let (mut alone, address) = server();
        let (mut stream, _) = address.connect().unwrap();
        for byte in b"\x22\0\0\0{\"AssignZone\":{\"view\":1,\"zone\":2}}" {
            assert_eq!(heard(&mut stream).unwrap(), Vec::<String>::new());
            stream.write_all(&[*byte]).unwrap();
            wake(&mut alone);
        }
        assert_eq!(heard(&mut stream).unwrap(), ["\"Ok\""]);
    }

    #[test]
    fn many_requests_in_one_read_are_answered_in_order() {
        let (mut alone, address) = server();
        let (mut stream, _) = address.connect().unwrap();
        for _ in 0..50 {
            say(&mut stream, "\"Outputs\"");
            say(&mut stream, r#"{"AssignZone":{"view":7,"zone":1}}"#);
        }
        wake(&mut alone);
        let answers = heard(&mut stream).unwrap();
        assert_eq!(answers.len(), 100, "more than a burst");
        assert!(answers[0].contains("DESK-1"), "{}", answers[0]);
        assert_eq!(answers[1], r#"{"Error":{"NoSuchView":{"view":7}}}"#);
        assert_eq!(note(&alone, "answered"), 100);
    }

    #[test]
    fn a_peer_that_sends_garbage_is_hung_up_on_and_the_others_do_not_notice() {
        let (mut alone, address) = server();
        let (mut good, _) = address.connect().unwrap();
        let (mut bad, _) = address.connect().unwrap();
        let (mut short, _) = address.connect().unwrap();
        let (mut odd, _) = address.connect().unwrap();
        bad.write_all(&[0xff; 8]).unwrap();
        short.write_all(b"\x04\0\0\0\"O").unwrap();
        drop(short);
        say(&mut odd, "no JSON");
        say(&mut good, "\"Zones\"");
        wake(&mut alone);
        assert_eq!(heard(&mut bad), None);
        let refusal = heard(&mut odd).unwrap().remove(0);
        assert!(
            refusal.starts_with(r#"{"Error":{"Malformed":{"reason":"not the JSON expected: "#),
            "{refusal}"
        );
        assert!(heard(&mut good).unwrap()[0].starts_with(r#"{"Zones":["#));
        let notes = ["accepted", "failed", "malformed"].map(|name| note(&alone, name));
        assert_eq!(notes, [4, 2, 1]);
        assert!(alone.failures().is_empty());
    }

    #[test]
    fn a_peer_that_does_not_read_its_answers_is_not_read_from_and_gets_them_later() {
        let (mut alone, address) = server();
        let (mut stream, _) = address.connect().unwrap();
        let asked = (0..).take_while(|_| {
            let request = b"\x07\0\0\0\"Views\"";
            wake(&mut alone);
            stream.write(request).is_ok_and(|written| written == request.len())
        });
        let asked = asked.count();
        assert!(asked > 100, "{asked}");
        let mut answers = 0;
        for _ in 0..asked {
            answers += heard(&mut stream).unwrap().len();
            wake(&mut alone);
            if answers >= asked {
                return;
            }
        }
        panic!("{answers} answers to {asked} requests");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn no_bytes_of_a_peer_fail_the_node(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            let (mut alone, address) = server();
            let (mut stream, _) = address.connect().unwrap();
            stream.write_all(&bytes).unwrap();
            drop(stream);
            wake(&mut alone);
            prop_assert!(alone.failures().is_empty());
        }
    }
}
