//! Sound as RTP packets of L16, none above the MTU.

use std::hash::{BuildHasher, RandomState};

use graph_core::Nanos;

use super::rtp::{HEADER, Header, PayloadType, SequenceNumber, Ssrc, Timestamp};
use crate::{sound::pcm, types::Rate};

/// Bytes of a datagram at most: an Ethernet frame of 1,500, less the headers of IPv6 and UDP.
pub const MAX_DATAGRAM: usize = 1_500 - 40 - 8;

/// Why a stream cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A frame would be fragmented on the way.
    #[error(
        "a frame of {frame} at {} Hz makes datagrams of {bytes} bytes, above the {MAX_DATAGRAM} that pass unbroken: \
         choose a shorter `frame`, such as \"10 ms\"",
        rate.0
    )]
    TooLong {
        /// Length of a frame.
        frame: Nanos,
        /// Samples a second.
        rate: Rate,
        /// Size of its datagram.
        bytes: usize,
    },
    /// A frame is no whole number of samples.
    #[error("a frame of {frame} is not a whole number of samples at {} Hz", rate.0)]
    Uneven {
        /// Length of a frame.
        frame: Nanos,
        /// Samples a second.
        rate: Rate,
    },
}

/// One sent stream of mono L16: numbers and stamps its packets.
#[derive(Debug)]
pub struct Packetizer {
    header: Header,
    samples: usize,
    datagram: [u8; MAX_DATAGRAM],
}

impl Packetizer {
    /// Frames of this length and rate. Source, first number and first timestamp are random, as
    /// [RFC 3550, section 5.1] wants them, unless the source is given.
    ///
    /// # Errors
    ///
    /// When a frame is no whole number of samples, or its datagram would exceed [`MAX_DATAGRAM`].
    ///
    /// [RFC 3550, section 5.1]: https://www.rfc-editor.org/rfc/rfc3550#section-5.1
    pub fn new(
        frame: Nanos,
        rate: Rate,
        payload_type: PayloadType,
        ssrc: Option<Ssrc>,
    ) -> Result<Packetizer, FrameError> {
        let scaled = u128::from(frame.0) * u128::from(rate.0);
        let samples = (scaled / 1_000_000_000) as usize;
        if samples == 0 || scaled % 1_000_000_000 != 0 {
            return Err(FrameError::Uneven { frame, rate });
        }
        let bytes = HEADER + samples * pcm::BYTES;
        if bytes > MAX_DATAGRAM {
            return Err(FrameError::TooLong { frame, rate, bytes });
        }
        let random = RandomState::new();
        let header = Header {
            marker: true,
            payload_type,
            sequence: SequenceNumber(random.hash_one("sequence") as u16),
            timestamp: Timestamp(random.hash_one("timestamp") as u32),
            ssrc: ssrc.unwrap_or_else(|| Ssrc(random.hash_one("source") as u32)),
        };
        Ok(Packetizer { header, samples, datagram: [0; MAX_DATAGRAM] })
    }

    /// Samples of a frame.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// The header of the next packet.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Leaves a silence of so many samples before the next packet, and marks it as the first of a talk spurt.
    pub fn pause(&mut self, samples: u32) {
        self.header.timestamp = self.header.timestamp.plus(samples);
        self.header.marker = true;
    }

    /// The next packet and its key; a frame too short is filled up with silence, one too long is cut.
    pub fn packet(&mut self, frame: &[f32]) -> (u64, &[u8]) {
        let header = self.header;
        let (front, payload) = self.datagram[..HEADER + self.samples * pcm::BYTES].split_at_mut(HEADER);
        front.copy_from_slice(&header.to_bytes());
        let (sound, silence) = payload.split_at_mut(frame.len().min(self.samples) * pcm::BYTES);
        pcm::to_s16be(&frame[..sound.len() / pcm::BYTES], sound);
        silence.fill(0);
        self.header.sequence = header.sequence.next();
        self.header.timestamp = header.timestamp.plus(self.samples as u32);
        self.header.marker = false;
        (header.wire_key(), &self.datagram[..HEADER + self.samples * pcm::BYTES])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::rtp::Packet;

    fn packetizer(frame: Nanos, rate: u32) -> Result<Packetizer, FrameError> {
        Packetizer::new(frame, Rate(rate), PayloadType::DYNAMIC, Some(Ssrc(7)))
    }

    #[test]
    fn packets_are_numbered_stamped_and_marked_across_the_wraps() {
        let mut packetizer = packetizer(Nanos::from_millis(10), 48_000).unwrap();
        packetizer.header.sequence = SequenceNumber(65_535);
        packetizer.header.timestamp = Timestamp(u32::MAX - 479);
        let mut seen = Vec::new();
        for n in 0..4 {
            if n == 3 {
                packetizer.pause(9_600);
            }
            let (key, bytes) = packetizer.packet(&[0.5; 480]);
            let packet = Packet::parse(bytes).unwrap();
            assert_eq!((packet.payload.len(), &packet.payload[..2]), (960, &[0x40, 0][..]));
            assert_eq!(key, packet.header.wire_key());
            seen.push((packet.header.sequence.0, packet.header.timestamp.0, packet.header.marker));
        }
        assert_eq!(seen, [(65_535, u32::MAX - 479, true), (0, 0, false), (1, 480, false), (2, 10_560, true)]);
    }

    #[test]
    fn a_short_frame_is_filled_up_and_a_long_one_cut() {
        let mut packetizer = packetizer(Nanos::from_millis(1), 4_000).unwrap();
        assert_eq!(packetizer.packet(&[0.5, 0.5]).1[HEADER..], [0x40, 0, 0x40, 0, 0, 0, 0, 0]);
        assert_eq!(packetizer.packet(&[0.5; 9]).1[HEADER..], [0x40, 0, 0x40, 0, 0x40, 0, 0x40, 0]);
        assert_eq!(packetizer.packet(&[]).1[HEADER..], [0; 8]);
    }

    #[test]
    fn no_datagram_is_above_the_mtu() {
        for bytes in MAX_DATAGRAM - 3..=MAX_DATAGRAM + 3 {
            let Some(payload) = bytes.checked_sub(HEADER).filter(|payload| payload % 2 == 0) else {
                continue;
            };
            let millis_of_1000_hz = Nanos::from_millis(payload as u64 / 2);
            match packetizer(millis_of_1000_hz, 1_000) {
                Ok(mut packetizer) => {
                    assert_eq!(packetizer.packet(&[0.1; 2_000]).1.len(), bytes);
                    assert!(bytes <= MAX_DATAGRAM);
                }
                Err(FrameError::TooLong { bytes: too_long, .. }) => {
                    assert_eq!(too_long, bytes);
                    assert!(bytes > MAX_DATAGRAM);
                }
                Err(other) => panic!("{bytes}: {other}"),
            }
        }
    }

    #[test]
    fn frames_that_cannot_be_sent_say_why() {
        let says = |frame, rate| packetizer(frame, rate).unwrap_err().to_string();
        assert_eq!(
            says(Nanos::from_millis(20), 48_000),
            "a frame of 20 ms at 48000 Hz makes datagrams of 1932 bytes, above the 1452 that pass unbroken: choose a shorter `frame`, such as \"10 ms\""
        );
        assert_eq!(
            says(Nanos::from_millis(10), 22_050),
            "a frame of 10 ms is not a whole number of samples at 22050 Hz"
        );
        assert_eq!(says(Nanos::ZERO, 48_000), "a frame of 0 ns is not a whole number of samples at 48000 Hz");
    }
}
