//! RTP packets ([RFC 3550, section 5.1]), read in place and written into a buffer of the caller's.
//!
//! Every datagram is either a packet or an error with a reason; bytes from the network never panic.
//!
//! [RFC 3550, section 5.1]: https://www.rfc-editor.org/rfc/rfc3550#section-5.1

/// Bytes of the fixed header.
pub const HEADER: usize = 12;

const VERSION: u8 = 2;
const MAX_CSRCS: usize = 15;

/// A packet's number in its stream: 16 bits that wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SequenceNumber(pub u16);

impl SequenceNumber {
    /// The number after this one; 0 after 65535.
    #[must_use]
    pub fn next(self) -> SequenceNumber {
        SequenceNumber(self.0.wrapping_add(1))
    }

    /// The count without wraps that ends in these 16 bits and is nearest to `reference`, by serial number arithmetic
    /// (RFC 1982); at half a cycle, the earlier one.
    #[inline]
    pub fn extend(self, reference: i64) -> i64 {
        reference + i64::from(self.0.wrapping_sub(reference as u16) as i16)
    }
}

/// Media time in ticks of the payload's clock: 32 bits that wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timestamp(pub u32);

impl Timestamp {
    /// So many ticks later.
    #[must_use]
    pub fn plus(self, ticks: u32) -> Timestamp {
        Timestamp(self.0.wrapping_add(ticks))
    }

    /// The time without wraps that ends in these 32 bits and is nearest to `reference`.
    #[inline]
    pub fn extend(self, reference: i64) -> i64 {
        reference + i64::from(self.0.wrapping_sub(reference as u32) as i32)
    }
}

/// The source that a stream comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ssrc(pub u32);

/// What the payload is: 7 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PayloadType(u8);

impl PayloadType {
    /// The first of those that a session gives a meaning, 96 to 127 ([RFC 3551, section 3]).
    ///
    /// [RFC 3551, section 3]: https://www.rfc-editor.org/rfc/rfc3551#section-3
    pub const DYNAMIC: PayloadType = PayloadType(96);

    /// `None` above 127.
    pub const fn new(value: u8) -> Option<PayloadType> {
        if value < 128 { Some(PayloadType(value)) } else { None }
    }

    /// 0 to 127.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// The fixed header: what every packet has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// In audio: the first packet after a silence ([RFC 3551, section 4.1]).
    ///
    /// [RFC 3551, section 4.1]: https://www.rfc-editor.org/rfc/rfc3551#section-4.1
    pub marker: bool,
    /// What the payload is.
    pub payload_type: PayloadType,
    /// One more than the packet before.
    pub sequence: SequenceNumber,
    /// When the payload's first sample was taken.
    pub timestamp: Timestamp,
    /// Whose packet it is.
    pub ssrc: Ssrc,
}

impl Header {
    /// The header of a packet without contributing sources, extension and padding.
    #[inline]
    pub fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = VERSION << 6;
        bytes[1] = u8::from(self.marker) << 7 | self.payload_type.0;
        bytes[2..4].copy_from_slice(&self.sequence.0.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.timestamp.0.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.ssrc.0.to_be_bytes());
        bytes
    }

    /// What a `wire` edge knows the packet by at both ends.
    #[inline]
    pub fn wire_key(&self) -> u64 {
        u64::from(self.ssrc.0) << 16 | u64::from(self.sequence.0)
    }

    #[inline]
    fn read(bytes: &[u8; HEADER]) -> Header {
        let &[_, second, s0, s1, t0, t1, t2, t3, c0, c1, c2, c3] = bytes;
        Header {
            marker: second & 0x80 != 0,
            payload_type: PayloadType(second & 0x7f),
            sequence: SequenceNumber(u16::from_be_bytes([s0, s1])),
            timestamp: Timestamp(u32::from_be_bytes([t0, t1, t2, t3])),
            ssrc: Ssrc(u32::from_be_bytes([c0, c1, c2, c3])),
        }
    }
}

/// A header extension ([RFC 3550, section 5.3.1]).
///
/// [RFC 3550, section 5.3.1]: https://www.rfc-editor.org/rfc/rfc3550#section-5.3.1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// What the profile says that the data is.
    pub profile: u16,
    /// Whole 32-bit words.
    pub data: &'a [u8],
}

/// A whole packet; its parts lie in the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The fixed header.
    pub header: Header,
    /// The contributing sources of a mixer, at most 15.
    pub csrcs: &'a [[u8; 4]],
    /// At most one.
    pub extension: Option<Extension<'a>>,
    /// The payload without padding.
    pub payload: &'a [u8],
    /// Bytes of padding after the payload, their count included; 0 for none.
    pub padding: u8,
}

/// Why a datagram is no RTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Shorter than its own header, sources or extension say.
    #[error("the datagram ends after {len} bytes, inside its {part}")]
    Short {
        /// Bytes there are.
        len: usize,
        /// What they break off in.
        part: &'static str,
    },
    /// Not RTP at all, or not of this century.
    #[error("version {0} is not 2: the datagram is not RTP")]
    Version(u8),
    /// The last byte asks for no padding, or for more than there is.
    #[error("{padding} bytes of padding do not fit a payload of {payload} bytes")]
    Padding {
        /// What the last byte says.
        padding: u8,
        /// Bytes after header and extension.
        payload: usize,
    },
}

/// Why a packet cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The buffer is too small.
    #[error("a packet of {needed} bytes does not fit a buffer of {room}")]
    Room {
        /// Bytes of the packet.
        needed: usize,
        /// Bytes of the buffer.
        room: usize,
    },
    /// More than 15 contributing sources.
    #[error("{0} contributing sources are more than the 15 a packet can name")]
    Csrcs(usize),
    /// An extension that is no whole number of words, or of more than 65,535.
    #[error("an extension of {0} bytes is not a whole number of 32-bit words up to 65535")]
    Extension(usize),
}

impl<'a> Packet<'a> {
    /// Reads a datagram.
    ///
    /// # Errors
    ///
    /// When it is no RTP packet of version 2, or breaks off.
    #[inline]
    pub fn parse(datagram: &'a [u8]) -> Result<Packet<'a>, ParseError> {
        let short = |part| ParseError::Short { len: datagram.len(), part };
        let (fixed, rest) = datagram.split_first_chunk::<HEADER>().ok_or(short("header"))?;
        let first = fixed[0];
        if first >> 6 != VERSION {
            return Err(ParseError::Version(first >> 6));
        }
        let csrc_bytes = usize::from(first & 0x0f) * 4;
        let (csrcs, rest) = rest.split_at_checked(csrc_bytes).ok_or(short("contributing sources"))?;
        let (extension, rest) = if first & 0x10 == 0 {
            (None, rest)
        } else {
            let (&[p0, p1, w0, w1], rest) = rest.split_first_chunk().ok_or(short("extension"))?;
            let bytes = usize::from(u16::from_be_bytes([w0, w1])) * 4;
            let (data, rest) = rest.split_at_checked(bytes).ok_or(short("extension"))?;
            (Some(Extension { profile: u16::from_be_bytes([p0, p1]), data }), rest)
        };
        let padding = if first & 0x20 == 0 { 0 } else { rest.last().copied().unwrap_or(0) };
        let end = rest.len().checked_sub(padding.into());
        let payload = match end {
            Some(end) if first & 0x20 == 0 || padding > 0 => &rest[..end],
            _ => return Err(ParseError::Padding { padding, payload: rest.len() }),
        };
        Ok(Packet { header: Header::read(fixed), csrcs: csrcs.as_chunks().0, extension, payload, padding })
    }

    /// Bytes of the whole packet.
    pub fn size(&self) -> usize {
        HEADER
            + self.csrcs.len() * 4
            + self.extension.map_or(0, |extension| 4 + extension.data.len())
            + self.payload.len()
            + usize::from(self.padding)
    }

    /// Writes the packet to the front of `out` and says how many bytes it took.
    ///
    /// # Errors
    ///
    /// When a part has a size that the format cannot state, or the buffer is too small; `out` is unchanged then.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, WriteError> {
        if self.csrcs.len() > MAX_CSRCS {
            return Err(WriteError::Csrcs(self.csrcs.len()));
        }
        if let Some(Extension { data, .. }) = self.extension
            && (data.len() % 4 != 0 || data.len() / 4 > usize::from(u16::MAX))
        {
            return Err(WriteError::Extension(data.len()));
        }
        let (needed, room) = (self.size(), out.len());
        let Some(mut rest) = out.get_mut(..needed) else { return Err(WriteError::Room { needed, room }) };
        let mut put = |bytes: &[u8]| {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            head.copy_from_slice(bytes);
            rest = tail;
        };
        let mut fixed = self.header.to_bytes();
        fixed[0] |= u8::from(self.padding > 0) << 5
            | u8::from(self.extension.is_some()) << 4
            | self.csrcs.len() as u8;
        put(&fixed);
        put(self.csrcs.as_flattened());
        if let Some(Extension { profile, data }) = self.extension {
            put(&profile.to_be_bytes());
            put(&((data.len() / 4) as u16).to_be_bytes());
            put(data);
        }
        put(self.payload);
        if let Some((count, zeros)) = rest.split_last_mut() {
            zeros.fill(0);
            *count = self.padding;
        }
        Ok(needed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER_OF_A_MIXER: Header = Header {
        marker: true,
        payload_type: PayloadType(96),
        sequence: SequenceNumber(0xfffe),
        timestamp: Timestamp(0x0102_0304),
        ssrc: Ssrc(0xdead_beef),
    };

    #[test]
    fn the_header_is_as_the_rfc_draws_it() {
        let bytes = HEADER_OF_A_MIXER.to_bytes();
        assert_eq!(bytes, [0x80, 0xe0, 0xff, 0xfe, 1, 2, 3, 4, 0xde, 0xad, 0xbe, 0xef]);
        let packet = Packet::parse(&bytes).unwrap();
        assert_eq!(packet.header, HEADER_OF_A_MIXER);
        assert_eq!((packet.payload, packet.padding, packet.extension), (&[][..], 0, None));
        assert_eq!(packet.header.wire_key(), 0xdead_beef_fffe);
    }

    #[test]
    fn sources_extension_and_padding_are_kept_apart() {
        let mut bytes = HEADER_OF_A_MIXER.to_bytes().to_vec();
        bytes[0] |= 0x20 | 0x10 | 2;
        bytes.extend([1, 1, 1, 1, 2, 2, 2, 2]);
        bytes.extend([0xbe, 0xde, 0, 1, 9, 9, 9, 9]);
        bytes.extend([5, 6, 7, 0, 0, 3]);
        let packet = Packet::parse(&bytes).unwrap();
        assert_eq!(packet.csrcs, [[1; 4], [2; 4]]);
        assert_eq!(packet.extension, Some(Extension { profile: 0xbede, data: &[9; 4] }));
        assert_eq!((packet.payload, packet.padding), (&[5, 6, 7][..], 3));
        let mut again = [0; 64];
        let len = packet.write(&mut again).unwrap();
        assert_eq!(again[..len], bytes);
    }

    #[test]
    fn every_malformed_datagram_says_why() {
        let whole = HEADER_OF_A_MIXER.to_bytes();
        let with = |first: u8, tail: &[u8]| {
            let mut bytes = whole.to_vec();
            bytes[0] |= first;
            bytes.extend(tail);
            Packet::parse(&bytes).unwrap_err().to_string()
        };
        assert_eq!(Packet::parse(&[]).unwrap_err(), ParseError::Short { len: 0, part: "header" });
        assert_eq!(
            Packet::parse(&whole[..11]).unwrap_err().to_string(),
            "the datagram ends after 11 bytes, inside its header"
        );
        assert_eq!(with(0x40, &[]), "version 3 is not 2: the datagram is not RTP");
        assert_eq!(with(0x01, &[0; 3]), "the datagram ends after 15 bytes, inside its contributing sources");
        assert_eq!(with(0x10, &[0; 3]), "the datagram ends after 15 bytes, inside its extension");
        assert_eq!(with(0x10, &[0, 0, 0, 1, 0]), "the datagram ends after 17 bytes, inside its extension");
        assert_eq!(with(0x20, &[]), "0 bytes of padding do not fit a payload of 0 bytes");
        assert_eq!(with(0x20, &[1, 0]), "0 bytes of padding do not fit a payload of 2 bytes");
        assert_eq!(with(0x20, &[1, 3]), "3 bytes of padding do not fit a payload of 2 bytes");
    }

    #[test]
    fn what_the_format_cannot_state_is_not_written() {
        let packet =
            Packet { header: HEADER_OF_A_MIXER, csrcs: &[], extension: None, payload: &[1], padding: 0 };
        let mut out = [7; 12];
        assert_eq!(packet.write(&mut out), Err(WriteError::Room { needed: 13, room: 12 }));
        assert_eq!(out, [7; 12]);
        assert_eq!(Packet { csrcs: &[[0; 4]; 16], ..packet }.write(&mut out), Err(WriteError::Csrcs(16)));
        let extension = Some(Extension { profile: 0, data: &[0; 3] });
        assert_eq!(Packet { extension, ..packet }.write(&mut out), Err(WriteError::Extension(3)));
    }

    #[test]
    fn sequence_numbers_extend_to_the_nearest_cycle() {
        assert_eq!(SequenceNumber(65_535).next(), SequenceNumber(0));
        assert_eq!(SequenceNumber(0).extend(65_535), 65_536);
        assert_eq!(SequenceNumber(65_535).extend(65_536), 65_535, "late across the wrap is one behind");
        assert_eq!(SequenceNumber(5).extend(3 * 65_536), 3 * 65_536 + 5);
        assert_eq!(SequenceNumber(65_530).extend(0), -6);
    }

    #[test]
    fn timestamps_extend_to_the_nearest_cycle() {
        assert_eq!(Timestamp(u32::MAX).plus(480), Timestamp(479));
        assert_eq!(Timestamp(479).extend(i64::from(u32::MAX)), i64::from(u32::MAX) + 480);
        assert_eq!(Timestamp(u32::MAX).extend(1 << 32), (1 << 32) - 1);
    }

    proptest! {
        #[test]
        fn random_datagrams_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Packet::parse(&bytes);
        }

        #[test]
        fn random_datagrams_of_the_right_version_keep_their_bytes(
            mut bytes in prop::collection::vec(any::<u8>(), 1..200),
        ) {
            bytes[0] = bytes[0] & 0x3f | 0x80;
            if let Ok(packet) = Packet::parse(&bytes) {
                let mut again = vec![0; bytes.len()];
                prop_assert_eq!(packet.write(&mut again), Ok(bytes.len()));
                let end = bytes.len() - usize::from(packet.padding);
                prop_assert_eq!(&again[..end], &bytes[..end]);
            }
        }

        #[test]
        fn what_is_written_is_read_back(
            marker: bool, payload_type in 0..128_u8, sequence: u16, timestamp: u32, ssrc: u32,
            csrcs in prop::collection::vec(any::<[u8; 4]>(), 0..=15),
            extension in prop::option::of((any::<u16>(), prop::collection::vec(any::<[u8; 4]>(), 0..20))),
            payload in prop::collection::vec(any::<u8>(), 0..1_500),
            padding: u8,
        ) {
            let packet = Packet {
                header: Header {
                    marker,
                    payload_type: PayloadType::new(payload_type).unwrap(),
                    sequence: SequenceNumber(sequence),
                    timestamp: Timestamp(timestamp),
                    ssrc: Ssrc(ssrc),
                },
                csrcs: &csrcs,
                extension: extension.as_ref().map(|(profile, words)| Extension {
                    profile: *profile,
                    data: words.as_flattened(),
                }),
                payload: &payload,
                padding,
            };
            let mut out = vec![0; packet.size() + 3];
            let len = packet.write(&mut out).unwrap();
            prop_assert_eq!(Packet::parse(&out[..len]), Ok(packet));
        }
    }
}
