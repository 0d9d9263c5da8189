//! The reading end of a connection to a compositor.

use std::{io::Write, os::unix::net::UnixStream, rc::Rc};

use graph_core::{
    Build, BuildError, Cause, Counter, Ctx, Flow, In, Kind, Nanos, NoSample, Node, NodeError, Out, Ports,
    Sample, Stamp, WireIn,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    frame::{Codec, Frame, Framer, LIMIT, Progress, Scratch},
    link::{Connection, LinkError},
    message::Stamping,
    socket::Poll,
};
use crate::types::Response;

/// Answers that leave in one step at most.
const BURST: usize = 8;

/// A peer that was hung up on has so long to do the same.
const LINGER: Nanos = Nanos::from_secs(1);

/// Answers in a sample, behind the connection that brings them.
const ANSWERS: u64 = 1_000;

/// How `spatial/receive` reads.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReceiveParams {
    /// How messages stand on the wire.
    pub codec: Codec,
    /// Bytes that a message may have behind its head; a peer that announces more is hung up on.
    pub limit: usize,
}

impl Default for ReceiveParams {
    fn default() -> Self {
        ReceiveParams { codec: Codec::Json, limit: LIMIT }
    }
}

/// Reads answers from the connection that a `spatial/client` has made, each in a packet of its own.
///
/// The lineage goes on from the `wire` edge where the server is a node of the graph; elsewhere an answer's origin is
/// when it was read.
pub struct Receive {
    params: ReceiveParams,
    poll: Poll,
    live: Option<(Connection, Framer)>,
    until: Option<Stamp>,
    received: Counter,
}

/// The ports of [`Receive`].
pub struct ReceivePorts {
    connection: In<Connection>,
    wire: WireIn,
    out: Out<Frame>,
}

impl Kind for Receive {
    const KIND: &'static str = "spatial/receive";
    const ABOUT: &'static str = "Reads a compositor's answers from the client's connection.";
    type Params = ReceiveParams;

    fn new(params: &ReceiveParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Receive {
            params: *params,
            poll: Poll::new(build)?,
            live: None,
            until: None,
            received: build.counter("received", "Answers read."),
        })
    }

    fn sample(given: Option<ReceiveParams>, sample: &mut Sample<'_>) -> Result<ReceiveParams, NoSample> {
        let params = given.unwrap_or_default();
        let mut scratch = Scratch::default();
        params.codec.write_response(&Response::Ok, Stamping::default(), &mut scratch)?;
        let (ours, peer) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let connection = Connection::new(ours, 1 << 32, None);
        sample.feed("connection", connection.clone());
        let answer = Rc::new(move || {
            connection.sending();
            (&peer).write_all(scratch.written())
        });
        for _ in 0..ANSWERS {
            let answer = answer.clone();
            sample.outside(move || answer());
        }
        // The next one reads on where this one ends.
        sample.life(ANSWERS + 1);
        Ok(params)
    }
}

impl Receive {
    /// Emits whole messages, and reads when there is none. Returns whether there may be more.
    fn read(&mut self, ports: &mut ReceivePorts, ctx: &mut Ctx<'_>) -> bool {
        let Some((connection, framer)) = &mut self.live else { return false };
        loop {
            match emit(connection, framer, ports, ctx) {
                // What was read goes on before the socket is asked for more.
                Ok(emitted @ 1..) => {
                    self.received.add(emitted);
                    return true;
                }
                Ok(0) => {}
                Err(error) => {
                    connection.fail(error);
                    break;
                }
            }
            match framer.read(&connection.stream) {
                Ok(Progress::Some) => {}
                Ok(Progress::Nothing) => return false,
                Ok(Progress::End) => {
                    connection.fail(framer.finish().map_or_else(LinkError::from, |()| LinkError::Ended));
                    break;
                }
                Err(error) => {
                    connection.fail(error.into());
                    break;
                }
            }
        }
        self.live = None;
        false
    }
}

/// Emits at most a burst of the messages that are here.
#[inline]
fn emit(
    connection: &Connection,
    framer: &mut Framer,
    ports: &mut ReceivePorts,
    ctx: &mut Ctx<'_>,
) -> Result<u64, LinkError> {
    let mut emitted = 0;
    while emitted < BURST as u64
        && let Some(message) = framer.message()?
    {
        let key = connection.answer().ok_or(LinkError::Unasked)?;
        let cause = ports.wire.take(ctx, key).unwrap_or_else(|| Cause::from_origin(ctx.clock().now()));
        ports.out.emit_as(ctx, cause, Nanos::ZERO, Frame::new(message));
        emitted += 1;
    }
    Ok(emitted)
}

impl Node for Receive {
    type Ports = ReceivePorts;

    fn ports(ports: &mut Ports<'_>) -> ReceivePorts {
        ReceivePorts {
            connection: ports.input("connection", "Each connection that the client makes."),
            wire: ports.wire_in("wire", "The server, where it is a node of this graph."),
            out: ports.output("out", "The answers, in order."),
        }
    }

    fn step(&mut self, ports: &mut ReceivePorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if self.read(ports, ctx) {
            return Ok(Flow::Again);
        }
        // The next connection is there when the one before it is over.
        let Some(taken) = ports.connection.take(ctx) else { return Ok(Flow::Idle) };
        let connection = taken.payload;
        match self.poll.add(&connection.stream, 0) {
            Ok(()) => self.live = Some((connection, Framer::new(self.params.codec, self.params.limit))),
            Err(error) => connection.fail(error.into()),
        }
        Ok(Flow::Again)
    }

    fn finish(&mut self, ports: &mut ReceivePorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if self.read(ports, ctx) {
            return Ok(Flow::Again);
        }
        let until = *self.until.get_or_insert(ctx.now() + LINGER);
        if self.live.is_none() || until <= ctx.now() {
            return Ok(Flow::Done);
        }
        ctx.wake_at(until);
        Ok(Flow::Idle)
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing::{self, Alone};
    use proptest::prelude::*;

    use super::*;

    /// A reader, its connection, and the peer. Virtual time looks at no socket, so a feed wakes the node.
    struct Bench {
        alone: Alone,
        connection: Connection,
        peer: UnixStream,
    }

    impl Bench {
        fn new(requests: usize) -> Bench {
            let (ours, peer) = UnixStream::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            let connection = Connection::new(ours, 1 << 32, None);
            for _ in 0..requests {
                connection.sending();
            }
            let params = ReceiveParams { limit: 1_000, ..ReceiveParams::default() };
            Bench { alone: testing::node::<Receive>(params).unwrap(), connection, peer }
        }

        fn answers(mut self, bytes: &[u8]) -> (Vec<Vec<u8>>, String) {
            self.peer.write_all(bytes).unwrap();
            drop(self.peer);
            self.alone.feed("connection", self.connection.clone());
            self.alone.end("connection");
            assert!(self.alone.has_ended() && self.alone.failures().is_empty());
            let frames = self.alone.out::<Frame>("out");
            let over = self.connection.over().expect("it is over").to_string();
            (frames.iter().map(|frame| frame.bytes().to_vec()).collect(), over)
        }
    }

    #[test]
    fn several_answers_in_one_read_are_several_packets() {
        let answer = b"\x04\0\0\0\"Ok\"";
        let (answers, over) = Bench::new(20).answers(&answer.repeat(20));
        assert_eq!(answers, vec![answer.to_vec(); 20]);
        assert_eq!(over, "the peer hung up");
    }

    #[test]
    fn garbage_a_huge_length_and_a_short_message_end_the_connection_in_words() {
        let says = |bytes: &[u8]| Bench::new(1).answers(bytes).1;
        assert_eq!(
            says(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            "the peer sent garbage: a message of 1347703880 bytes is announced, and 1000 are allowed: the peer speaks \
             another protocol"
        );
        assert_eq!(
            says(b"\x04\0\0\0\"O"),
            "the peer sent garbage: the stream ended 2 bytes before the end of a message"
        );
        assert_eq!(says(&b"\x04\0\0\0\"Ok\"".repeat(2)), "the peer sent an answer that nobody asked for");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn no_bytes_of_a_peer_fail_the_node(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            Bench::new(5).answers(&bytes);
        }
    }
}
