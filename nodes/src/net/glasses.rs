//! The far end of an answer: hears it, and keeps it.

use std::path::PathBuf;

use graph_core::{
    Build, BuildError, Cause, Ctx, Done, Fault, Flow, Kind, Nanos, NoSample, Node, NodeError, Ports, Sample,
    WireIn,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    listen::{Listen, Listener},
    receive::{Formats, Received, default_formats},
    sample,
    socket::check_address,
};
use crate::{sound::file::WavWriter, types::Rate};

/// Frames that are taken in one step at most.
const BURST: usize = 16;

/// How `net/glasses` listens.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GlassesParams {
    /// Address and port to listen at.
    pub bind: String,
    /// The wav file that the sound is written to; none is written without it.
    pub file: Option<PathBuf>,
    /// Silence between answers is written as long as it was, up to this.
    pub longest_pause: Nanos,
    /// RTP payload types that are understood; see `net/udp-audio`.
    #[serde(default = "default_formats")]
    pub formats: Formats,
    /// How long packets behind a gap are held for the missing one.
    pub wait: Nanos,
    /// Whether the source's RTCP BYE ends the stream.
    pub end_on_bye: bool,
    /// Silence on the socket that ends the stream; without it, the stream goes on until a BYE or the end of the run.
    pub idle: Option<Nanos>,
}

impl Default for GlassesParams {
    fn default() -> Self {
        GlassesParams {
            bind: "127.0.0.1:5006".into(),
            file: None,
            longest_pause: Nanos::from_secs(1),
            formats: default_formats(),
            wait: Nanos::from_millis(20),
            end_on_bye: true,
            idle: None,
        }
    }
}

/// Hears an answer as AR glasses would: receives RTP audio, puts it in order, conceals what is lost, and writes it to
/// a file. `done` is marked when the sound of a packet has been written.
pub struct Glasses {
    listener: Listener,
    file: Option<(PathBuf, WavWriter)>,
    longest_pause: Nanos,
}

/// The ports of [`Glasses`].
pub struct GlassesPorts {
    wire: WireIn,
    done: Done,
}

impl Kind for Glasses {
    const KIND: &'static str = "net/glasses";
    const ABOUT: &'static str = "The far end of an answer: hears RTP audio and writes it to a wav.";
    type Params = GlassesParams;

    fn check(params: &GlassesParams) -> Vec<Fault> {
        Fault::of("bind", check_address(&params.bind)).into_iter().collect()
    }

    fn new(params: &GlassesParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let listen = Listen {
            bind: &params.bind,
            formats: &params.formats,
            wait: params.wait,
            end_on_bye: params.end_on_bye,
            idle: params.idle,
        };
        let file = match &params.file {
            Some(path) => Some((path.clone(), WavWriter::create(path, Rate::HZ_48000)?)),
            None => None,
        };
        Ok(Glasses { listener: Listener::new(listen, build)?, file, longest_pause: params.longest_pause })
    }

    fn sample(given: Option<GlassesParams>, sample: &mut Sample<'_>) -> Result<GlassesParams, NoSample> {
        let bind = sample::sender(sample)?;
        // A minute of sound.
        sample.life(6_000);
        Ok(GlassesParams {
            bind,
            file: Some(sample.dir().join("sample.wav")),
            formats: default_formats(),
            idle: None,
            ..given.unwrap_or_default()
        })
    }
}

impl Glasses {
    /// Takes what is there, at most a burst. Returns whether there may be more.
    fn hear(&mut self, ports: &mut GlassesPorts, ctx: &mut Ctx<'_>) -> Result<bool, NodeError> {
        for _ in 0..BURST {
            let Some(frame) = self.listener.next(&mut ports.wire, ctx)? else { return Ok(false) };
            self.write(&frame)?;
            if !frame.concealed {
                ports.done.mark(ctx, frame.tag, frame.held);
            }
        }
        Ok(true)
    }

    fn write(&mut self, frame: &Received<Cause>) -> Result<(), NodeError> {
        let Some((path, wav)) = &mut self.file else { return Ok(()) };
        let rate = frame.audio.rate;
        if rate != wav.rate() {
            if wav.written() > 0 {
                return Err(NodeError::new(format!(
                    "the sender changed from {} to {} Hz, and {} has one rate: give each rate a node of its own",
                    wav.rate().0,
                    rate.0,
                    path.display()
                )));
            }
            wav.restart(rate)?;
        }
        let pause = frame.pause.min(self.longest_pause);
        let silence = u128::from(pause.0) * u128::from(rate.0) / 1_000_000_000;
        wav.write(&vec![0.0; silence as usize])?;
        Ok(wav.write(&frame.audio.samples)?)
    }
}

impl Node for Glasses {
    type Ports = GlassesPorts;

    fn ports(ports: &mut Ports<'_>) -> GlassesPorts {
        GlassesPorts {
            wire: ports.wire_in("wire", "The sender, where it is a node of this graph."),
            done: ports.done(),
        }
    }

    fn step(&mut self, ports: &mut GlassesPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        match self.hear(ports, ctx)? {
            true => Ok(Flow::Again),
            false => Ok(self.listener.rest(&ports.wire, ctx)),
        }
    }

    fn finish(&mut self, ports: &mut GlassesPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        self.listener.end(ctx.now());
        if self.hear(ports, ctx)? {
            return Ok(Flow::Again);
        }
        if let Some((_, wav)) = &mut self.file {
            wav.flush()?;
        }
        self.listener.report();
        Ok(Flow::Done)
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use graph_core::testing;

    use super::*;
    use crate::{
        net::{
            rtcp,
            rtp::Ssrc,
            testing::{address, packet},
        },
        sound::file::SoundReader,
    };

    #[test]
    fn what_is_heard_is_written_and_done_is_marked_for_each_packet() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("answer.wav");
        let (bind, idle) = (address(31), Some(Nanos::from_millis(10)));
        let params = GlassesParams {
            bind: bind.clone(),
            file: Some(file.clone()),
            idle,
            longest_pause: Nanos::from_millis(5),
            ..GlassesParams::default()
        };
        let mut alone = testing::node::<Glasses>(params).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(bind).unwrap();
        sender.send(&packet(7, 0, 16_384)).unwrap();
        let mut after_a_pause = packet(7, 1, -16_384);
        after_a_pause[4..8].copy_from_slice(&48_000_u32.to_be_bytes());
        sender.send(&after_a_pause).unwrap();
        sender.send(&rtcp::bye(Ssrc(7))).unwrap();
        alone.advance(Nanos::from_millis(10));
        assert!(alone.has_ended() && alone.failures().is_empty());
        let mut sound = Vec::new();
        SoundReader::open(&file, None).unwrap().read(9_999, &mut sound).unwrap();
        let parts = [(0.5, 480), (0.0, 240), (-0.5, 480)];
        assert_eq!(sound, parts.map(|(value, count)| vec![value; count]).concat());
    }
}
