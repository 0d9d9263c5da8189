//! An answer as RTP over UDP.

use graph_core::{
    Build, BuildError, Cause, Counter, Ctx, Done, Fault, Flow, In, Kind, Nanos, NoSample, Node, NodeError,
    Ports, Sample, Taken, WireOut,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    packetize::Packetizer,
    playout::Playout,
    rtcp,
    rtp::Ssrc,
    sample,
    socket::{Sending, check_address},
    speech_player::payload_type,
};
use crate::{
    sound::sample::{ten_millis, tone},
    types::{Audio, Rate},
};

/// How `net/rtp-audio-out` sends.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RtpAudioOutParams {
    /// Address and port to send to.
    pub to: String,
    /// Rate of the stream in Hz; sound must come at this rate.
    pub rate: u32,
    /// Sound in one packet: a whole number of samples, and at most what passes unbroken (15 ms at 48 kHz).
    pub frame: Nanos,
    /// How long before it is due to be heard a frame leaves: what the network's jitter may use up.
    pub lead: Nanos,
    /// RTP payload type, 0 to 127.
    pub payload_type: u8,
    /// The stream's SSRC; random unless given.
    pub ssrc: Option<u32>,
    /// Whether an RTCP BYE is sent at the end.
    pub bye: bool,
}

impl Default for RtpAudioOutParams {
    fn default() -> Self {
        RtpAudioOutParams {
            to: "127.0.0.1:5006".into(),
            rate: 48_000,
            frame: Nanos::from_millis(10),
            lead: Nanos::from_millis(40),
            payload_type: 96,
            ssrc: None,
            bye: true,
        }
    }
}

/// Sends sound as RTP audio (L16), paced by absolute deadlines.
///
/// The first frame of a spurt leaves at once and is marked; the others leave a lead before they are due, and what they
/// waited for that is `held`. Speech wins over tones. Sound of a cancelled turn is dropped from the queue at once. Its
/// stage is the `wire` edge to a receiver in the graph, or `done`, marked when the kernel has the datagram.
pub struct RtpAudioOut {
    playout: Playout<Cause>,
    socket: Sending,
    rate: Rate,
    bye: bool,
    behind: Counter,
    refused: Counter,
    dropped: Counter,
}

/// The ports of [`RtpAudioOut`].
pub struct RtpAudioOutPorts {
    audio: In<Audio>,
    tone: In<Audio>,
    wire: WireOut,
    done: Done,
}

impl Kind for RtpAudioOut {
    const KIND: &'static str = "net/rtp-audio-out";
    const ABOUT: &'static str = "Sound as RTP over UDP, paced in real time.";
    type Params = RtpAudioOutParams;

    fn check(params: &RtpAudioOutParams) -> Vec<Fault> {
        let address = Fault::of("to", check_address(&params.to));
        let payload_type = Fault::of("payload_type", payload_type(params.payload_type));
        address.into_iter().chain(payload_type).collect()
    }

    fn new(params: &RtpAudioOutParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let rate = Rate(params.rate);
        let packets =
            Packetizer::new(params.frame, rate, payload_type(params.payload_type)?, params.ssrc.map(Ssrc))?;
        Ok(RtpAudioOut {
            playout: Playout::new(packets, rate, params.lead),
            socket: Sending::connect(&params.to)?,
            rate,
            bye: params.bye,
            behind: build.counter("behind schedule", "Frames that left after they were due to be heard."),
            refused: build.counter("refused", "Packets that reached no listener."),
            dropped: build.counter("not sent", "Packets that the network did not take."),
        })
    }

    fn sample(
        given: Option<RtpAudioOutParams>,
        sample: &mut Sample<'_>,
    ) -> Result<RtpAudioOutParams, NoSample> {
        let to = sample::listener(sample)?;
        let params = RtpAudioOutParams { to, ..given.unwrap_or_default() };
        let rate = Rate(params.rate);
        sample.feed("audio", tone(rate, ten_millis(rate)));
        sample.every(Nanos::from_millis(10));
        Ok(params)
    }
}

impl RtpAudioOut {
    fn queue(&mut self, ports: &mut RtpAudioOutPorts, ctx: &mut Ctx<'_>) -> Result<(), NodeError> {
        while let Some(Taken { payload, cause, .. }) = ports.audio.take(ctx) {
            self.check(&payload, "audio")?;
            self.playout.push_speech(ctx.now(), payload.samples, cause);
        }
        while let Some(Taken { payload, cause, .. }) = ports.tone.take(ctx) {
            self.check(&payload, "tone")?;
            self.playout.push_tone(ctx.now(), payload.samples, cause);
        }
        self.playout.cancel(|cause| ctx.is_cancelled(cause.turn));
        Ok(())
    }

    fn check(&self, audio: &Audio, port: &str) -> Result<(), NodeError> {
        if audio.rate == self.rate {
            return Ok(());
        }
        Err(NodeError::new(format!(
            "{} Hz at {port}, and the stream has {}: put an audio/resample (to: {}) before it",
            audio.rate.0, self.rate.0, self.rate.0
        )))
    }

    /// Sends what is to leave by now, and asks to be woken for the next.
    fn send(&mut self, ports: &mut RtpAudioOutPorts, ctx: &mut Ctx<'_>) -> Result<(), NodeError> {
        while let Some(frame) = self.playout.poll(ctx.now()) {
            ports.wire.emit(ctx, frame.tag, frame.held, frame.key);
            self.socket.send(frame.datagram)?;
            ports.done.mark(ctx, frame.tag, frame.held);
        }
        if let Some(deadline) = self.playout.deadline() {
            ctx.wake_at(deadline);
        }
        Ok(())
    }
}

impl Node for RtpAudioOut {
    type Ports = RtpAudioOutPorts;

    fn ports(ports: &mut Ports<'_>) -> RtpAudioOutPorts {
        RtpAudioOutPorts {
            audio: ports.input("audio", "Speech, in packets of any length, as fast as it is made."),
            tone: ports.optional_input("tone", "Tones; left out while speech plays."),
            wire: ports.wire_out("wire", "The receiver, where it is a node of this graph."),
            done: ports.done(),
        }
    }

    fn step(&mut self, ports: &mut RtpAudioOutPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        self.queue(ports, ctx)?;
        self.send(ports, ctx)?;
        Ok(Flow::Idle)
    }

    fn finish(&mut self, ports: &mut RtpAudioOutPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        self.playout.finish();
        self.playout.cancel(|cause| ctx.is_cancelled(cause.turn));
        self.send(ports, ctx)?;
        if !self.playout.is_empty() {
            return Ok(Flow::Idle);
        }
        if self.bye {
            self.socket.send(&rtcp::bye(self.playout.packets().header().ssrc))?;
        }
        let sent = self.socket.sent();
        self.behind.add(self.playout.behind());
        self.refused.add(sent.refused);
        self.dropped.add(sent.dropped);
        Ok(Flow::Done)
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing::{self, Alone};

    use super::*;
    use crate::net::testing::{Peer, address, parsed};

    fn out(test: u8) -> (Peer, Alone) {
        let to = address(test);
        let peer = Peer::listen(&to);
        let params = RtpAudioOutParams { to, ssrc: Some(7), ..RtpAudioOutParams::default() };
        (peer, testing::node::<RtpAudioOut>(params).unwrap())
    }

    fn sound(millis: usize) -> Audio {
        Audio { rate: Rate::HZ_48000, samples: vec![0.5; 48 * millis].into() }
    }

    #[test]
    fn speech_leaves_paced_and_the_end_says_good_bye() {
        let (peer, mut alone) = out(11);
        alone.feed("audio", sound(100));
        assert_eq!(peer.datagrams().len(), 5, "the first, and those within the lead");
        for _ in 0..5 {
            alone.advance(Nanos::from_millis(10));
            assert_eq!(peer.datagrams().len(), 1);
        }
        alone.feed("audio", sound(5));
        alone.end("tone");
        alone.end("audio");
        alone.advance(Nanos::from_millis(100));
        let rest = peer.datagrams();
        assert_eq!(rest.len(), 2);
        assert_eq!(parsed(&rest[0]).unwrap().1[480..], [0; 480]);
        assert_eq!(rest[1], rtcp::bye(Ssrc(7)));
        assert!(alone.has_ended() && alone.failures().is_empty());
    }

    #[test]
    fn a_cancelled_turn_is_silent_at_once() {
        let (peer, mut alone) = out(12);
        let turn = alone.open_turn();
        let cause = Cause::from_origin(alone.now()).in_turn(turn);
        alone.feed_as("audio", cause, sound(1_000));
        alone.advance(Nanos::from_millis(100));
        assert_eq!(peer.datagrams().len(), 15);
        alone.cancel(turn);
        alone.advance(Nanos::from_secs(2));
        assert!(peer.datagrams().is_empty());
        alone.feed("audio", sound(10));
        assert!(parsed(&peer.datagrams()[0]).unwrap().0.marker, "the next answer begins a spurt");
    }

    #[test]
    fn speech_wins_over_a_tone() {
        let (peer, mut alone) = out(13);
        alone.feed("tone", Audio { samples: vec![0.25; 9_600].into(), ..sound(0) });
        alone.advance(Nanos::from_millis(20));
        peer.datagrams();
        alone.feed("audio", sound(20));
        alone.advance(Nanos::from_millis(500));
        let sent = peer.datagrams();
        assert_eq!(sent.len(), 2, "and nothing of the tone after the speech");
        assert_eq!(parsed(&sent[1]).unwrap().1[..2], [0x40, 0]);
    }

    #[test]
    fn sound_of_another_rate_is_an_error_that_names_the_cure() {
        let (_peer, mut alone) = out(14);
        alone.feed("audio", Audio { rate: Rate(22_050), ..sound(10) });
        assert_eq!(
            alone.failures()[0].message,
            "22050 Hz at audio, and the stream has 48000: put an audio/resample (to: 48000) before it"
        );
    }
}
