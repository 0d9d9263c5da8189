//! Datagrams in, sound in order out: what both receiving nodes do, without a socket and without a clock.

use std::{
    collections::{BTreeMap, VecDeque},
    num::{NonZeroU8, NonZeroU32},
    sync::Arc,
};

use graph_core::{Nanos, Stamp};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    conceal::Concealer,
    reorder::{Counts, Jitter, Ordered, Reorder},
    rtcp,
    rtp::{Header, Packet, PayloadType, Ssrc},
};
use crate::{
    sound::pcm,
    types::{Audio, Rate},
};

/// Packets held behind a gap at most.
const WINDOW: usize = 64;

/// Loss concealed at most; what is longer is left out, as a pause of the sender is.
const MAX_CONCEALED: Nanos = Nanos::from_millis(500);

/// What a payload type means here: L16, that is big-endian 16-bit samples ([RFC 3551, section 4.5.11]).
///
/// [RFC 3551, section 4.5.11]: https://www.rfc-editor.org/rfc/rfc3551#section-4.5.11
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Format {
    /// Samples a second, which is also the clock of the timestamps.
    pub rate: NonZeroU32,
    /// Channels, interleaved; they are mixed down to one.
    pub channels: NonZeroU8,
}

impl Format {
    const fn new(rate: u32, channels: u8) -> Option<Format> {
        match (NonZeroU32::new(rate), NonZeroU8::new(channels)) {
            (Some(rate), Some(channels)) => Some(Format { rate, channels }),
            _ => None,
        }
    }
}

impl Default for Format {
    fn default() -> Self {
        const { Format::new(48_000, 1).unwrap() }
    }
}

/// The payload types that are understood.
pub type Formats = BTreeMap<u8, Format>;

/// 96 as L16 mono at 48 kHz, and the two static types of L16: 10 (stereo) and 11 (mono) at 44.1 kHz.
pub fn default_formats() -> Formats {
    Formats::from([
        (PayloadType::DYNAMIC.get(), Format::default()),
        (10, const { Format::new(44_100, 2).unwrap() }),
        (11, const { Format::new(44_100, 1).unwrap() }),
    ])
}

/// What a datagram turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram {
    /// Sound; [`Receiver::next_frame`] may have a frame.
    Sound,
    /// The source leaves, and nothing more will come.
    Bye,
    /// Nothing to be heard: counted.
    Ignored,
}

/// A run of sound in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Received<Tag> {
    /// The sound.
    pub audio: Audio,
    /// What was given with the packet; concealed sound has the tag of the packet after it.
    pub tag: Tag,
    /// How long the packet was held for earlier ones.
    pub held: Nanos,
    /// Whether the sound was made up for what was lost.
    pub concealed: bool,
    /// The sender's silence, or loss too long to conceal, before this.
    pub pause: Nanos,
}

/// What became of the datagrams that were no sound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Not RTP, or broken off.
    pub malformed: u64,
    /// RTP of a payload type that is not understood here.
    pub unknown_type: u64,
    /// A payload that is no whole number of samples.
    pub uneven: u64,
}

impl Garbage {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.malformed + self.unknown_type + self.uneven
    }
}

/// The receiving end of one stream of sound.
pub struct Receiver<Tag> {
    formats: Formats,
    reorder: Reorder<Sound<Tag>>,
    concealer: Option<Concealer>,
    frames: VecDeque<Received<Tag>>,
    jitter: Jitter,
    garbage: Garbage,
    concealed: u64,
}

#[derive(Debug)]
struct Sound<Tag> {
    rate: Rate,
    samples: Arc<[f32]>,
    tag: Tag,
}

impl<Tag: Copy> Receiver<Tag> {
    /// Understands `formats`, and holds packets behind a gap for at most `wait`.
    pub fn new(formats: Formats, wait: Nanos) -> Self {
        Receiver {
            formats,
            reorder: Reorder::new(wait, WINDOW),
            concealer: None,
            frames: VecDeque::new(),
            jitter: Jitter::default(),
            garbage: Garbage::default(),
            concealed: 0,
        }
    }

    /// Takes a datagram that reached the host at `arrived`; `tag` stays with its sound.
    pub fn take(
        &mut self,
        now: Stamp,
        arrived: Stamp,
        datagram: &[u8],
        tag: impl FnOnce(&Header) -> Tag,
    ) -> Datagram {
        if rtcp::is_rtcp(datagram) {
            let source = self.reorder.source();
            return match rtcp::goodbyes(datagram).any(|gone| Some(gone) == source) {
                true => {
                    self.reorder.flush(now);
                    Datagram::Bye
                }
                false => Datagram::Ignored,
            };
        }
        let Ok(Packet { header, payload, .. }) = Packet::parse(datagram) else {
            self.garbage.malformed += 1;
            return Datagram::Ignored;
        };
        let Some(&Format { rate, channels }) = self.formats.get(&header.payload_type.get()) else {
            self.garbage.unknown_type += 1;
            return Datagram::Ignored;
        };
        let (rate, channels) = (rate.get(), usize::from(channels.get()));
        if payload.len() % (pcm::BYTES * channels) != 0 {
            self.garbage.uneven += 1;
            return Datagram::Ignored;
        }
        self.jitter.update(arrived, &header, rate);
        let samples = decode(payload, channels);
        let ticks = samples.len() as u32;
        let sound = Sound { rate: Rate(rate), samples, tag: tag(&header) };
        self.reorder.push(now, header, ticks, sound);
        Datagram::Sound
    }

    /// The next frame that is in order; call until `None` after each datagram and at each [`Receiver::deadline`].
    pub fn next_frame(&mut self, now: Stamp) -> Option<Received<Tag>> {
        while self.frames.is_empty() {
            let packet = self.reorder.pop(now)?;
            self.place(packet);
        }
        self.frames.pop_front()
    }

    /// Gives up every gap: nothing more will come.
    pub fn finish(&mut self, now: Stamp) {
        self.reorder.flush(now);
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.reorder.is_empty()
    }

    /// When a gap is given up, unless its packets come before.
    pub fn deadline(&self) -> Option<Stamp> {
        self.reorder.deadline()
    }

    /// The source being heard.
    pub fn source(&self) -> Option<Ssrc> {
        self.reorder.source()
    }

    /// What became of the packets.
    pub fn counts(&self) -> Counts {
        self.reorder.counts()
    }

    /// What became of the other datagrams.
    pub fn garbage(&self) -> Garbage {
        self.garbage
    }

    /// Frames made up for lost ones.
    pub fn concealed(&self) -> u64 {
        self.concealed
    }

    /// How unevenly packets arrive.
    pub fn jitter(&self) -> Nanos {
        self.jitter.get()
    }

    /// Queues a packet's sound, and before it what stands for the lost.
    fn place(&mut self, packet: Ordered<Sound<Tag>>) {
        let Ordered { item: Sound { rate, mut samples, tag }, held, lost, gap, .. } = packet;
        if samples.is_empty() {
            return;
        }
        let missing = gap.map_or(0, |ticks| ticks.max(0) as u64);
        let concealer = match &mut self.concealer {
            Some(concealer) if gap.is_some() && concealer.rate() == rate => concealer,
            other => other.insert(Concealer::new(rate)),
        };
        let longest = u64::from(rate.0) * MAX_CONCEALED.0 / 1_000_000_000;
        let concealed = missing.min(u64::from(lost) * samples.len() as u64).min(longest) as usize;
        let pause =
            Nanos((u128::from(missing - concealed as u64) * 1_000_000_000 / u128::from(rate.0)) as u64);
        let mut frame = |samples, pause, concealed| {
            let audio = Audio { rate, samples };
            self.frames.push_back(Received { audio, tag, held, concealed, pause });
        };
        let mut left = concealed;
        while left > 0 {
            let mut made_up: Arc<[f32]> = std::iter::repeat_n(0.0, left.min(samples.len())).collect();
            concealer.conceal(Arc::make_mut(&mut made_up));
            left -= made_up.len();
            frame(made_up, Nanos::ZERO, true);
            self.concealed += 1;
        }
        concealer.receive(Arc::make_mut(&mut samples));
        frame(samples, pause, false);
    }
}

fn decode(payload: &[u8], channels: usize) -> Arc<[f32]> {
    if channels == 1 {
        return pcm::from_s16be(payload).collect();
    }
    let instants = payload.chunks_exact(pcm::BYTES * channels);
    instants.map(|instant| pcm::from_s16be(instant).sum::<f32>() / channels as f32).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::net::rtp::{SequenceNumber, Timestamp};

    const SAMPLES: usize = 480;

    fn at(millis: u64) -> Stamp {
        Stamp(1_000_000_000) + Nanos::from_millis(millis)
    }

    fn packet(n: i64, payload_type: u8, payload: &[u8]) -> Vec<u8> {
        let header = Header {
            payload_type: PayloadType::new(payload_type).unwrap(),
            sequence: SequenceNumber((65_530 + n) as u16),
            timestamp: Timestamp((n * SAMPLES as i64) as u32),
            ssrc: Ssrc(7),
            ..Header::default()
        };
        [&header.to_bytes(), payload].concat()
    }

    /// The `n`-th packet of a 123 Hz tone.
    fn tone(n: i64) -> Vec<u8> {
        let sample = |k| (std::f32::consts::TAU * 123.0 * k as f32 / 48_000.0).sin() / 2.0;
        let samples: Vec<_> = (0..SAMPLES as i64).map(|k| sample(n * SAMPLES as i64 + k)).collect();
        let mut payload = vec![0; SAMPLES * 2];
        pcm::to_s16be(&samples, &mut payload);
        packet(n, 96, &payload)
    }

    fn receiver() -> Receiver<u64> {
        Receiver::new(default_formats(), Nanos::from_millis(20))
    }

    fn take(receiver: &mut Receiver<u64>, millis: u64, datagram: &[u8]) -> (Datagram, Vec<Received<u64>>) {
        let now = at(millis);
        let what = receiver.take(now, now, datagram, Header::wire_key);
        (what, std::iter::from_fn(|| receiver.next_frame(now)).collect())
    }

    #[test]
    fn a_packet_in_order_becomes_a_frame_at_once_and_carries_its_key() {
        let mut receiver = receiver();
        for n in 0..10 {
            let (what, frames) = take(&mut receiver, 10 * n, &tone(n as i64));
            assert_eq!((what, frames.len()), (Datagram::Sound, 1));
            assert_eq!((frames[0].audio.rate, frames[0].audio.samples.len()), (Rate::HZ_48000, SAMPLES));
            assert_eq!(frames[0].tag, 7 << 16 | u64::from((65_530 + n) as u16));
            assert_eq!(
                (frames[0].held, frames[0].pause, frames[0].concealed),
                (Nanos::ZERO, Nanos::ZERO, false)
            );
        }
    }

    #[test]
    fn lost_packets_are_made_up_for_and_the_time_line_stays_whole() {
        let mut receiver = receiver();
        for n in 0..6 {
            take(&mut receiver, 10 * n, &tone(n as i64));
        }
        assert!(take(&mut receiver, 80, &tone(8)).1.is_empty());
        assert_eq!(receiver.deadline(), Some(at(100)));
        let frames: Vec<_> = std::iter::from_fn(|| receiver.next_frame(at(100))).collect();
        assert_eq!(frames.iter().map(|f| f.concealed).collect::<Vec<_>>(), [true, true, false]);
        assert!(frames.iter().all(|f| f.held == Nanos::from_millis(20) && f.pause == Nanos::ZERO));
        let loud = |frame: &Received<u64>| frame.audio.samples.iter().map(|s| s * s).sum::<f32>() > 10.0;
        assert!(frames.iter().all(loud), "neither is silence");
        assert_eq!((receiver.concealed(), receiver.counts().lost), (2, 2));
    }

    #[test]
    fn a_pause_of_the_sender_is_told_and_not_filled() {
        let mut receiver = receiver();
        take(&mut receiver, 0, &tone(0));
        let mut later = tone(101);
        later[2..4].copy_from_slice(&65_531_u16.to_be_bytes());
        let frames = take(&mut receiver, 1_010, &later).1;
        assert_eq!((frames.len(), frames[0].pause), (1, Nanos::from_secs(1)));
    }

    #[test]
    fn a_loss_of_seconds_is_concealed_for_half_a_second_only() {
        let mut receiver = receiver();
        take(&mut receiver, 0, &tone(0));
        take(&mut receiver, 2_000, &tone(200));
        let frames: Vec<_> = std::iter::from_fn(|| receiver.next_frame(at(2_020))).collect();
        assert_eq!(frames.len(), 51);
        assert_eq!(frames[50].pause, Nanos::from_millis(1_990 - 500));
    }

    #[test]
    fn the_payload_type_tells_rate_and_channels() {
        let mut receiver = receiver();
        let frames = take(&mut receiver, 0, &packet(0, 10, &[0x40, 0, 0x20, 0, 0xc0, 0, 0x40, 0])).1;
        assert_eq!(frames[0].audio, Audio { rate: Rate(44_100), samples: Arc::from([0.375, 0.0]) });
    }

    #[test]
    fn what_is_no_sound_is_counted_and_disturbs_nothing() {
        let mut receiver = receiver();
        take(&mut receiver, 0, &tone(0));
        for garbage in
            [&b""[..], b"hello there, this is no RTP", &packet(1, 33, &[0; 4]), &packet(1, 96, &[0; 3])]
        {
            assert_eq!(take(&mut receiver, 1, garbage), (Datagram::Ignored, Vec::new()));
        }
        assert_eq!(receiver.garbage(), Garbage { malformed: 2, unknown_type: 1, uneven: 1 });
        assert_eq!(take(&mut receiver, 10, &tone(1)).1.len(), 1);
    }

    #[test]
    fn a_packet_without_sound_keeps_the_sequence() {
        let mut receiver = receiver();
        take(&mut receiver, 0, &tone(0));
        assert_eq!(take(&mut receiver, 1, &packet(1, 96, &[])), (Datagram::Sound, Vec::new()));
        assert_eq!(receiver.counts().lost, 0);
    }

    #[test]
    fn the_byes_of_others_are_ignored_and_the_sources_own_gives_out_what_waits() {
        let mut receiver = receiver();
        take(&mut receiver, 0, &tone(0));
        take(&mut receiver, 20, &tone(2));
        assert_eq!(take(&mut receiver, 21, &rtcp::bye(Ssrc(8))).0, Datagram::Ignored);
        let (what, frames) = take(&mut receiver, 22, &rtcp::bye(Ssrc(7)));
        assert_eq!((what, frames.len()), (Datagram::Bye, 2));
        assert_eq!(frames[1].held, Nanos::from_millis(2));
    }

    proptest! {
        #[test]
        fn random_datagrams_never_panic(
            datagrams in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..100)), 0..60),
        ) {
            let mut receiver = Receiver::new(
                (0..128).map(|kind| (kind, Format::new(8_000, kind % 3 + 1).unwrap())).collect(),
                Nanos::from_millis(20),
            );
            for (n, (rtp, mut bytes)) in datagrams.into_iter().enumerate() {
                if rtp && let Some(first) = bytes.first_mut() {
                    *first = *first & 0x0f | 0x80;
                }
                take(&mut receiver, 5 * n as u64, &bytes);
            }
        }
    }
}
