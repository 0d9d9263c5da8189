//! The near end of a conversation: plays recorded speech as a microphone would send it.

use graph_core::{
    AssetRef, Build, BuildError, Cause, Counter, Ctx, Done, Fault, Flow, Kind, Nanos, NoSample, Node,
    NodeError, Ports, Sample, Stamp, WireOut,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    packetize::Packetizer,
    rtcp,
    rtp::{PayloadType, Ssrc},
    sample,
    socket::{Sending, check_address},
};
use crate::{
    sound::{
        playlist::{Frame, Options, Playlist},
        sample::second,
    },
    types::Rate,
};

/// Packets sent in one step at most, when the player is behind.
const BURST: usize = 8;

/// What `net/speech-player` plays, and to whom.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SpeechPlayerParams {
    /// Address and port to send to.
    pub to: String,
    /// Wav files of any depth, rate and channel count. A file named .raw, .pcm or .s16le is headerless mono s16le.
    pub files: Vec<AssetRef>,
    /// Rate of the headerless files in Hz.
    pub raw_rate: Option<u32>,
    /// Rate of the RTP stream in Hz; files of another rate are converted.
    pub rate: u32,
    /// Sound in one packet: a whole number of samples, and at most what passes unbroken (15 ms at 48 kHz).
    pub frame: Nanos,
    /// RTP payload type, 0 to 127.
    pub payload_type: u8,
    /// The stream's SSRC; random unless given.
    pub ssrc: Option<u32>,
    /// Silence before the first file.
    pub lead: Nanos,
    /// Silence between files: time for the answer.
    pub gap: Nanos,
    /// Silence after the last file.
    pub trail: Nanos,
    /// How often the files are played; 0 for ever.
    pub repeat: u32,
    /// Whether an RTCP BYE is sent at the end.
    pub bye: bool,
}

impl Default for SpeechPlayerParams {
    fn default() -> Self {
        SpeechPlayerParams {
            to: "127.0.0.1:5004".into(),
            files: Vec::new(),
            raw_rate: None,
            rate: 48_000,
            frame: Nanos::from_millis(10),
            payload_type: PayloadType::DYNAMIC.get(),
            ssrc: None,
            lead: Nanos::from_millis(500),
            gap: Nanos::from_secs(4),
            trail: Nanos::from_secs(4),
            repeat: 1,
            bye: true,
        }
    }
}

/// Plays files as RTP audio (L16) in real time, as the microphone of AR glasses sends it; silence is sent too.
///
/// Packets are sent when the last sample in them is due, and that time is their origin. The schedule is open loop: a
/// packet that is late delays none after it, and its lateness counts.
pub struct SpeechPlayer {
    playlist: Playlist,
    packets: Packetizer,
    socket: Sending,
    frame: Nanos,
    bye: bool,
    began: Option<Stamp>,
    next: Option<Frame>,
    behind: Counter,
    refused: Counter,
    dropped: Counter,
}

/// The ports of [`SpeechPlayer`].
pub struct SpeechPlayerPorts {
    wire: WireOut,
    done: Done,
}

impl Kind for SpeechPlayer {
    const KIND: &'static str = "net/speech-player";
    const ABOUT: &'static str = "Recorded speech as RTP over UDP, in real time, as glasses send it.";
    type Params = SpeechPlayerParams;

    fn check(params: &SpeechPlayerParams) -> Vec<Fault> {
        let address = Fault::of("to", check_address(&params.to));
        let payload_type = Fault::of("payload_type", payload_type(params.payload_type));
        address.into_iter().chain(payload_type).collect()
    }

    fn new(params: &SpeechPlayerParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let files = params.files.iter().map(|file| build.asset(file)).collect::<Result<_, _>>()?;
        let rate = Rate(params.rate);
        let packets =
            Packetizer::new(params.frame, rate, payload_type(params.payload_type)?, params.ssrc.map(Ssrc))?;
        let playlist = Playlist::new(Options {
            files,
            raw_rate: params.raw_rate.map(Rate),
            rate: Some(rate),
            frame: params.frame,
            lead: params.lead,
            gap: params.gap,
            trail: params.trail,
            repeat: params.repeat,
            pad: true,
        })?;
        Ok(SpeechPlayer {
            playlist,
            packets,
            socket: Sending::connect(&params.to)?,
            frame: params.frame,
            bye: params.bye,
            began: None,
            next: None,
            behind: build
                .counter("behind schedule", "Packets sent a whole frame or more after they were due."),
            refused: build.counter("refused", "Packets that reached no listener."),
            dropped: build.counter("not sent", "Packets that the network did not take."),
        })
    }

    fn assets(params: &SpeechPlayerParams) -> Vec<AssetRef> {
        params.files.clone()
    }

    fn sample(
        given: Option<SpeechPlayerParams>,
        sample: &mut Sample<'_>,
    ) -> Result<SpeechPlayerParams, NoSample> {
        let to = sample::listener(sample)?;
        let params = match given {
            Some(params) => SpeechPlayerParams { to, ..params },
            None => {
                let files = vec![second(sample.dir())?];
                SpeechPlayerParams { to, files, ..SpeechPlayerParams::default() }
            }
        };
        sample.every(params.frame);
        Ok(params)
    }
}

/// The payload type of a parameter.
pub(crate) fn payload_type(value: u8) -> Result<PayloadType, BuildError> {
    PayloadType::new(value)
        .ok_or_else(|| BuildError::new(format!("payload type {value} does not exist: they go from 0 to 127")))
}

impl Node for SpeechPlayer {
    type Ports = SpeechPlayerPorts;

    fn ports(ports: &mut Ports<'_>) -> SpeechPlayerPorts {
        SpeechPlayerPorts {
            wire: ports.wire_out("wire", "The receiver, where it is a node of this graph."),
            done: ports.done(),
        }
    }

    fn step(&mut self, ports: &mut SpeechPlayerPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        let now = ctx.now();
        let began = *self.began.get_or_insert(now);
        for _ in 0..BURST {
            if self.next.is_none() {
                self.next = self.playlist.next_frame()?;
            }
            let Some(frame) = &self.next else { return Ok(Flow::Done) };
            let due = began + frame.end;
            if due > now {
                ctx.wake_at(due);
                return Ok(Flow::Idle);
            }
            self.behind.add(u64::from(now >= due + self.frame));
            let (key, datagram) = self.packets.packet(&frame.audio.samples);
            ports.wire.emit(ctx, Cause::from_origin(due), Nanos::ZERO, key);
            self.socket.send(datagram)?;
            ports.done.mark(ctx, Cause::from_origin(due), Nanos::ZERO);
            self.next = None;
        }
        Ok(Flow::Again)
    }

    fn finish(&mut self, _: &mut SpeechPlayerPorts, _: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if self.bye {
            self.socket.send(&rtcp::bye(self.packets.header().ssrc))?;
        }
        let sent = self.socket.sent();
        self.refused.add(sent.refused);
        self.dropped.add(sent.dropped);
        Ok(Flow::Done)
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing;

    use super::*;
    use crate::net::{
        rtp::Header,
        testing::{Peer, address, parsed},
    };

    /// 25 ms at 16 kHz, to be played without silence around it.
    fn params(test: u8) -> (tempfile::TempDir, SpeechPlayerParams) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("speech.raw");
        std::fs::write(&path, [0x00, 0x40].repeat(400)).unwrap();
        let params = SpeechPlayerParams {
            to: address(test),
            files: vec![AssetRef::new(path.to_str().unwrap())],
            raw_rate: Some(16_000),
            lead: Nanos::ZERO,
            trail: Nanos::ZERO,
            ssrc: Some(7),
            ..SpeechPlayerParams::default()
        };
        (dir, params)
    }

    #[test]
    fn packets_leave_when_their_last_sample_is_due_and_a_bye_follows() {
        let (_dir, params) = params(1);
        let peer = Peer::listen(&params.to);
        let mut alone = testing::node::<SpeechPlayer>(params).unwrap();
        let mut headers: Vec<Header> = Vec::new();
        for n in 1..=3 {
            assert!(peer.datagrams().is_empty());
            alone.advance(Nanos::from_millis(10));
            let datagrams = peer.datagrams();
            let (header, payload) = parsed(&datagrams[0]).unwrap();
            assert_eq!(payload.len(), 960);
            headers.push(header);
            assert_eq!(datagrams.len(), if n == 3 { 2 } else { 1 }, "the last with the bye");
            if n == 3 {
                assert_eq!(payload[480..], [0; 480], "filled up with silence");
                assert_eq!(datagrams[1], rtcp::bye(Ssrc(7)));
            }
        }
        for pair in headers.windows(2) {
            assert_eq!(pair[1].sequence, pair[0].sequence.next());
            assert_eq!(pair[1].timestamp, pair[0].timestamp.plus(480));
        }
        assert!(alone.has_ended());
    }

    #[test]
    fn a_stop_says_good_bye_too() {
        let (_dir, params) = params(2);
        let peer = Peer::listen(&params.to);
        let mut alone = testing::node::<SpeechPlayer>(SpeechPlayerParams { repeat: 0, ..params }).unwrap();
        alone.advance(Nanos::from_secs(1));
        alone.stop();
        assert!(alone.has_ended());
        assert_eq!(peer.datagrams().last().map(|last| parsed(last)), Some(None));
    }

    #[test]
    fn nobody_listening_is_counted_and_no_failure() {
        let (_dir, params) = params(3);
        let mut alone = testing::node::<SpeechPlayer>(params).unwrap();
        alone.advance(Nanos::from_secs(1));
        assert!(alone.has_ended() && alone.failures().is_empty());
        let refused = alone.notes().into_iter().find(|note| note.name == "refused").unwrap();
        assert_eq!(refused.value, 3);
    }

    #[test]
    fn what_cannot_be_sent_is_told_when_the_node_is_made() {
        let (_dir, params) = params(4);
        let says = |params| testing::node::<SpeechPlayer>(params).err().unwrap().to_string();
        let frame = Nanos::from_millis(20);
        let error = says(SpeechPlayerParams { frame, ..params.clone() });
        assert!(error.contains("makes datagrams of 1932 bytes"), "{error}");
        let error = says(SpeechPlayerParams { payload_type: 200, ..params.clone() });
        assert_eq!(error, "payload type 200 does not exist: they go from 0 to 127");
        let error = says(SpeechPlayerParams { to: "glasses".into(), ..params });
        assert_eq!(error, "\"glasses\" is no address: write host:port, such as \"127.0.0.1:5004\"");
    }
}
