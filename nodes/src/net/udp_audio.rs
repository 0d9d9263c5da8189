//! Sound from RTP over UDP.

use graph_core::{
    Build, BuildError, Ctx, Fault, Flow, Kind, Nanos, NoSample, Node, NodeError, Out, Ports, Sample, WireIn,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    listen::{Listen, Listener},
    receive::{Formats, default_formats},
    sample,
    socket::check_address,
};
use crate::types::Audio;

/// Frames that leave in one step at most.
const BURST: usize = 4;

/// How `net/udp-audio` listens.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UdpAudioParams {
    /// Address and port to listen at; 0.0.0.0 listens at all addresses of the machine.
    pub bind: String,
    /// RTP payload types that are understood, each L16 of a rate and channel count. 96 is mono at 48 kHz unless said
    /// otherwise; 10 and 11 are stereo and mono at 44.1 kHz (RFC 3551).
    #[serde(default = "default_formats")]
    pub formats: Formats,
    /// How long packets behind a gap are held for the missing one; it is concealed then.
    pub wait: Nanos,
    /// Whether the source's RTCP BYE ends the stream.
    pub end_on_bye: bool,
    /// Silence on the socket that ends the stream; without it, the stream goes on until a BYE or the end of the run.
    pub idle: Option<Nanos>,
}

impl Default for UdpAudioParams {
    fn default() -> Self {
        UdpAudioParams {
            bind: "127.0.0.1:5004".into(),
            formats: default_formats(),
            wait: Nanos::from_millis(20),
            end_on_bye: true,
            idle: None,
        }
    }
}

/// Receives RTP audio (L16) on a UDP port: puts it in order, conceals what is lost, and emits a packet of mono sound
/// for each RTP packet, at the sender's rate.
///
/// The origin of a frame is the kernel's receive stamp, converted by a clock pair less than a second old. Where a
/// `wire` edge comes from the sender, the lineage goes on from there instead. Waiting for a missing packet is `held`.
/// Whatever arrives at the port, sound or not, is counted in the notes of the report.
pub struct UdpAudio {
    listener: Listener,
}

/// The ports of [`UdpAudio`].
pub struct UdpAudioPorts {
    wire: WireIn,
    out: Out<Audio>,
}

impl Kind for UdpAudio {
    const KIND: &'static str = "net/udp-audio";
    const ABOUT: &'static str = "Sound from RTP over UDP, in order and without holes.";
    type Params = UdpAudioParams;

    fn check(params: &UdpAudioParams) -> Vec<Fault> {
        Fault::of("bind", check_address(&params.bind)).into_iter().collect()
    }

    fn new(params: &UdpAudioParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let listen = Listen {
            bind: &params.bind,
            formats: &params.formats,
            wait: params.wait,
            end_on_bye: params.end_on_bye,
            idle: params.idle,
        };
        Ok(UdpAudio { listener: Listener::new(listen, build)? })
    }

    fn sample(given: Option<UdpAudioParams>, sample: &mut Sample<'_>) -> Result<UdpAudioParams, NoSample> {
        let bind = sample::sender(sample)?;
        let formats = default_formats();
        Ok(UdpAudioParams { bind, formats, idle: None, ..given.unwrap_or_default() })
    }
}

impl UdpAudio {
    /// Emits what is there, at most a burst. Returns whether there may be more.
    fn emit(&mut self, ports: &mut UdpAudioPorts, ctx: &mut Ctx<'_>) -> Result<bool, NodeError> {
        for _ in 0..BURST {
            let Some(frame) = self.listener.next(&mut ports.wire, ctx)? else { return Ok(false) };
            ports.out.emit_as(ctx, frame.tag, frame.held, frame.audio);
        }
        Ok(true)
    }
}

impl Node for UdpAudio {
    type Ports = UdpAudioPorts;

    fn ports(ports: &mut Ports<'_>) -> UdpAudioPorts {
        UdpAudioPorts {
            wire: ports.wire_in("wire", "The sender, where it is a node of this graph."),
            out: ports.many(
                "out",
                "Mono sound, one packet for each RTP packet, and for each lost one.",
                BURST,
            ),
        }
    }

    fn step(&mut self, ports: &mut UdpAudioPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        match self.emit(ports, ctx)? {
            true => Ok(Flow::Again),
            false => Ok(self.listener.rest(&ports.wire, ctx)),
        }
    }

    fn finish(&mut self, ports: &mut UdpAudioPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        self.listener.end(ctx.now());
        if self.emit(ports, ctx)? {
            return Ok(Flow::Again);
        }
        self.listener.report();
        Ok(Flow::Done)
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use graph_core::testing::{self, Alone};
    use proptest::prelude::*;

    use super::*;
    use crate::{
        net::{
            rtcp,
            rtp::Ssrc,
            testing::{address, packet},
        },
        types::Rate,
    };

    /// Virtual time looks at no socket, so the tests wake the node by its idle timer.
    const IDLE: Nanos = Nanos::from_millis(10);

    fn listening(test: u8) -> (UdpSocket, Alone) {
        let bind = address(test);
        let params = UdpAudioParams { bind: bind.clone(), idle: Some(IDLE), ..UdpAudioParams::default() };
        let alone = testing::node::<UdpAudio>(params).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(bind).unwrap();
        (sender, alone)
    }

    fn note(alone: &Alone, name: &str) -> u64 {
        alone.notes().into_iter().find(|note| note.name == name).unwrap().value
    }

    #[test]
    fn packets_become_frames_and_a_bye_ends_the_stream() {
        let (sender, mut alone) = listening(21);
        for n in 0..10 {
            sender.send(&packet(7, n, 16_384)).unwrap();
        }
        alone.advance(IDLE);
        let now = alone.now();
        let frames = alone.packets::<Audio>("out");
        assert_eq!(frames.len(), 10, "more than a burst");
        let sound = Audio { rate: Rate::HZ_48000, samples: vec![0.5; 480].into() };
        assert!(frames.iter().all(|frame| frame.payload == sound && frame.header.origin == now));
        sender.send(&rtcp::bye(Ssrc(7))).unwrap();
        alone.advance(IDLE);
        assert!(alone.has_ended() && alone.failures().is_empty());
    }

    #[test]
    fn a_gap_is_held_for_the_wait_declared_and_concealed() {
        let (sender, mut alone) = listening(22);
        for n in [0, 1, 3] {
            sender.send(&packet(7, n, 16_384)).unwrap();
        }
        alone.advance(IDLE);
        assert_eq!(alone.packets::<Audio>("out").len(), 2);
        sender.send(&packet(7, 4, 16_384)).unwrap();
        alone.advance(IDLE);
        sender.send(&packet(7, 5, 16_384)).unwrap();
        alone.advance(IDLE);
        let frames = alone.packets::<Audio>("out");
        let held: Vec<_> = frames.iter().map(|frame| frame.header.held.0 / 1_000_000).collect();
        assert_eq!(held, [20, 20, 10, 0], "the one made up, the one that waited, and the next two");
        alone.advance(IDLE);
        assert!(alone.has_ended(), "silence ended the stream");
        assert_eq!((note(&alone, "lost"), note(&alone, "concealed")), (1, 1));
    }

    #[test]
    fn a_busy_port_is_told_when_the_node_is_made() {
        let (_sender, _first) = listening(23);
        let params = UdpAudioParams { bind: address(23), ..UdpAudioParams::default() };
        let error = testing::node::<UdpAudio>(params).err().unwrap().to_string();
        assert!(error.starts_with("port 5004 of 127."), "{error}");
        assert!(
            error.ends_with("is in use: end the program that holds it, or choose another port"),
            "{error}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn random_datagrams_are_counted_and_do_not_disturb_the_stream(
            garbage in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..30),
        ) {
            let (sender, mut alone) = listening(24);
            sender.send(&packet(7, 0, 16_384)).unwrap();
            for datagram in &garbage {
                sender.send(datagram).unwrap();
            }
            sender.send(&packet(7, 1, 16_384)).unwrap();
            alone.advance(IDLE);
            prop_assert_eq!(alone.out::<Audio>("out").len(), 2);
            alone.stop();
            prop_assert!(alone.has_ended() && alone.failures().is_empty());
            prop_assert!(note(&alone, "garbage") + note(&alone, "stray") <= garbage.len() as u64);
        }
    }
}
