//! The ports of models, and the sockets between them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use rand_chacha::ChaCha8Rng;

use super::Distribution;
use crate::{
    context::Ctx,
    packet::Cause,
    port::{Done, In, Out},
    time::{Nanos, Stamp},
    wire_port::{WireIn, WireOut},
};

/// What packets between models carry.
#[derive(Clone, Debug)]
pub(crate) struct Token;
crate::payload!(Token, "token");

/// Packets under way between the two ends of a wire edge.
#[derive(Debug)]
pub(crate) struct Socket {
    delay: Distribution,
    under_way: Mutex<VecDeque<(Stamp, u64)>>,
}

impl Socket {
    pub(crate) fn new(delay: Distribution) -> Socket {
        Socket { delay, under_way: Mutex::default() }
    }

    /// A packet leaves at `now`. None overtakes another.
    fn send(&self, key: u64, now: Stamp, dice: &mut ChaCha8Rng) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let arrives = now + self.delay.draw(dice);
        let arrives = under_way.back().map_or(arrives, |(last, _)| arrives.max(*last));
        under_way.push_back((arrives, key));
    }

    /// The packet that has arrived by `now`.
    fn receive(&self, now: Stamp) -> Option<u64> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.pop_front_if(|&mut (arrives, _)| arrives <= now).map(|(_, key)| key)
    }

    /// When the next packet arrives.
    fn next(&self) -> Option<Stamp> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).front().map(|(arrives, _)| *arrives)
    }
}

/// An input that makes the node step.
pub(super) enum InputPort {
    Queue(In<Token>),
    Wire(WireIn, Arc<Socket>),
}

impl InputPort {
    pub(super) fn take(&mut self, ctx: &mut Ctx<'_>) -> Option<Cause> {
        match self {
            InputPort::Queue(input) => input.take(ctx).map(|taken| taken.cause),
            InputPort::Wire(wire, socket) => loop {
                // The header of a packet too many was overwritten: it is lost, and counted so.
                let key = socket.receive(ctx.now())?;
                if let Some(cause) = wire.take(ctx, key) {
                    return Some(cause);
                }
            },
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        match self {
            InputPort::Queue(input) => input.is_ended(),
            InputPort::Wire(wire, socket) => wire.is_closed() && socket.next().is_none(),
        }
    }

    pub(super) fn is_wire(&self) -> bool {
        matches!(self, InputPort::Wire(..))
    }

    /// When a packet that is under way arrives.
    pub(super) fn next(&self) -> Option<Stamp> {
        match self {
            InputPort::Queue(_) => None,
            InputPort::Wire(_, socket) => socket.next(),
        }
    }
}

/// An output, or what stands for one.
pub(super) enum OutputPort {
    Queue(Out<Token>),
    /// With the number of packets so far, which are their keys.
    Wire(WireOut, Arc<Socket>, u64),
    Done(Done),
}

impl OutputPort {
    /// Emits a packet due to `cause`, of whose time here `held` was waited on purpose.
    pub(super) fn emit(&mut self, cause: Cause, held: Nanos, ctx: &mut Ctx<'_>, dice: &mut ChaCha8Rng) {
        match self {
            OutputPort::Queue(out) => out.emit_as(ctx, cause, held, Token),
            OutputPort::Done(done) => done.mark(ctx, cause, held),
            OutputPort::Wire(out, socket, key) => {
                out.emit(ctx, cause, held, *key);
                socket.send(*key, ctx.now(), dice);
                out.wake_other_end();
                *key += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn no_packet_overtakes_another_in_a_socket() {
        let socket = Socket::new(Distribution::Uniform { from: Nanos(0), to: Nanos(100) });
        let mut dice = ChaCha8Rng::seed_from_u64(3);
        for key in 0..50 {
            socket.send(key, Stamp(key), &mut dice);
        }
        let mut arrived = Vec::new();
        while let Some(at) = socket.next() {
            assert_eq!(socket.receive(at - Nanos(1)), None);
            arrived.extend(socket.receive(at));
        }
        assert_eq!(arrived, Vec::from_iter(0..50));
    }
}
