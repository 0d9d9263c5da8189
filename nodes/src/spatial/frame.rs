//! Messages out of a stream of bytes, however it is cut.

use std::io::{self, ErrorKind, Read, Write};

use graph_core::payload;
use schemars::JsonSchema;
use serde::Deserialize;
use smallvec::SmallVec;

use super::header::{Header, NoHeader};

/// No message is longer, unless a node is told so: what Wayfire takes, too.
pub const LIMIT: usize = (1 << 20) - 4;

/// How messages stand on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Codec {
    /// The length as 32 bits, little-endian, then JSON.
    #[default]
    Json,
    /// The header of 20 bytes, then postcard.
    Packed,
}

impl Codec {
    /// Bytes before the payload.
    pub const fn head(self) -> usize {
        match self {
            Codec::Json => 4,
            Codec::Packed => Header::LEN,
        }
    }

    /// How long the payload behind `head` is.
    #[inline]
    fn announced(self, head: &[u8]) -> Result<usize, NoHeader> {
        match (self, head) {
            (Codec::Json, &[a, b, c, d, ..]) => Ok(u32::from_le_bytes([a, b, c, d]) as usize),
            (Codec::Json, _) => Ok(0),
            (Codec::Packed, head) => {
                let head = head.first_chunk().expect("the caller has waited for a whole head");
                Ok(Header::from_bytes(head)?.payload_size as usize)
            }
        }
    }
}

/// One whole message as it stands on the wire, its head included. Short ones take no allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame(SmallVec<[u8; 64]>);
payload!(Frame, "IPC message");

impl Frame {
    /// The message in `bytes`, of which there is one and all of it.
    #[inline]
    pub fn new(bytes: &[u8]) -> Frame {
        Frame(SmallVec::from_slice(bytes))
    }

    /// All its bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The stream cannot be read any further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A length that is none, or an attack.
    #[error(
        "a message of {length} bytes is announced, and {limit} are allowed: the peer speaks another protocol"
    )]
    TooLong {
        /// What is announced.
        length: usize,
        /// What is allowed.
        limit: usize,
    },
    /// The head of a message is none.
    #[error(transparent)]
    NoHeader(#[from] NoHeader),
    /// The stream ended within a message.
    #[error("the stream ended {missing} bytes before the end of a message")]
    CutShort {
        /// What the message wanted for.
        missing: usize,
    },
}

/// What reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Some bytes.
    Some,
    /// Nothing for now.
    Nothing,
    /// The peer has ended the stream.
    End,
}

/// Cuts a stream into messages: keeps what is not a whole message yet, and hands out every one that is.
#[derive(Debug)]
pub struct Framer {
    codec: Codec,
    limit: usize,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

/// What is read at once where no message asks for more.
const CHUNK: usize = 4096;

impl Framer {
    /// Reads messages of at most `limit` bytes behind their head.
    pub fn new(codec: Codec, limit: usize) -> Framer {
        Framer { codec, limit, buffer: vec![0; CHUNK], start: 0, end: 0 }
    }

    /// Where to put the next bytes: at least one, and room for the whole of a message that has begun.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        let wanted = self.wanted().clamp(1, self.codec.head() + self.limit);
        if self.buffer.len() - self.start < wanted || self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let least = wanted.max(self.end + 1);
            if self.buffer.len() < least {
                self.buffer.resize(least.next_multiple_of(CHUNK), 0);
            }
        }
        &mut self.buffer[self.end..]
    }

    /// `count` bytes have been put into [`Framer::space`].
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.buffer.len());
    }

    /// The next whole message, its head included.
    ///
    /// # Errors
    ///
    /// When a head announces too much, or is none; no message comes after that.
    #[inline]
    pub fn message(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let kept = &self.buffer[self.start..self.end];
        let head = self.codec.head();
        if kept.len() < head {
            return Ok(None);
        }
        let length = self.codec.announced(kept)?;
        if length > self.limit {
            return Err(FrameError::TooLong { length, limit: self.limit });
        }
        if kept.len() < head + length {
            return Ok(None);
        }
        let start = self.start;
        self.start += head + length;
        Ok(Some(&self.buffer[start..self.start]))
    }

    /// Reads once from a stream that does not block.
    ///
    /// # Errors
    ///
    /// Those of the stream.
    pub fn read(&mut self, mut stream: impl Read) -> io::Result<Progress> {
        loop {
            return match stream.read(self.space()) {
                Ok(0) => Ok(Progress::End),
                Ok(count) => {
                    self.filled(count);
                    Ok(Progress::Some)
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Progress::Nothing),
                Err(error) => Err(error),
            };
        }
    }

    /// The stream has ended.
    ///
    /// # Errors
    ///
    /// When it did so within a message.
    pub fn finish(&self) -> Result<(), FrameError> {
        match self.end - self.start {
            0 => Ok(()),
            kept => Err(FrameError::CutShort { missing: self.wanted().saturating_sub(kept).max(1) }),
        }
    }

    /// How long the message is that has begun, as far as that can be told.
    fn wanted(&self) -> usize {
        let kept = &self.buffer[self.start..self.end];
        let head = self.codec.head();
        match (kept.len() < head).then_some(0).map_or_else(|| self.codec.announced(kept).ok(), Some) {
            Some(length) => head.saturating_add(length),
            None => head,
        }
    }
}

/// Where a message is written before it is sent; grows once and is used again.
#[derive(Debug, Default)]
pub struct Scratch {
    bytes: Vec<u8>,
    len: usize,
}

impl Scratch {
    /// What has been written.
    #[inline]
    pub fn written(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Forgets what has been written.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    #[inline]
    pub(super) fn written_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }

    /// At least `count` bytes behind what has been written.
    pub(super) fn spare(&mut self, count: usize) -> &mut [u8] {
        if self.bytes.len() - self.len < count {
            self.grow(count);
        }
        &mut self.bytes[self.len..]
    }

    /// `count` bytes of the spare ones are written.
    pub(super) fn wrote(&mut self, count: usize) {
        self.len = (self.len + count).min(self.bytes.len());
    }

    #[cold]
    fn grow(&mut self, count: usize) {
        self.bytes.resize((self.len + count).next_multiple_of(256).max(2 * self.bytes.len()), 0);
    }
}

/// JSON is written in many small pieces, so a piece costs one comparison and a copy.
impl Write for Scratch {
    #[inline]
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.write_all(piece)?;
        Ok(piece.len())
    }

    #[inline]
    fn write_all(&mut self, piece: &[u8]) -> io::Result<()> {
        let end = self.len + piece.len();
        if end > self.bytes.len() {
            self.grow(piece.len());
        }
        self.bytes[self.len..end].copy_from_slice(piece);
        self.len = end;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::spatial::header::MessageType;

    fn message(codec: Codec, payload: &[u8]) -> Vec<u8> {
        let payload_size = payload.len() as u32;
        let head = match codec {
            Codec::Json => payload_size.to_le_bytes().to_vec(),
            Codec::Packed => {
                let message_type = MessageType::Request;
                Header { message_type, payload_size, sequence: 7, timestamp: 9 }.to_bytes().to_vec()
            }
        };
        [head.as_slice(), payload].concat()
    }

    /// Feeds a stream in pieces of these sizes, over and over.
    fn feed(framer: &mut Framer, mut stream: &[u8], sizes: &[usize]) -> Result<Vec<Vec<u8>>, FrameError> {
        let mut messages = Vec::new();
        for size in sizes.iter().cycle() {
            let space = framer.space();
            let count = (*size).min(stream.len()).min(space.len());
            space[..count].copy_from_slice(&stream[..count]);
            framer.filled(count);
            stream = &stream[count..];
            while let Some(message) = framer.message()? {
                messages.push(message.to_vec());
            }
            if stream.is_empty() {
                return Ok(messages);
            }
        }
        unreachable!("sizes go round")
    }

    #[test]
    fn one_byte_at_a_time_gives_the_message_with_the_last_byte() {
        for codec in [Codec::Json, Codec::Packed] {
            let mut framer = Framer::new(codec, LIMIT);
            let message = message(codec, b"\"Ok\"");
            let (last, first) = message.split_last().unwrap();
            assert_eq!(feed(&mut framer, first, &[1]).unwrap(), Vec::<Vec<u8>>::new());
            assert_eq!(feed(&mut framer, &[*last], &[1]).unwrap(), std::slice::from_ref(&message));
            assert_eq!(framer.finish(), Ok(()));
        }
    }

    #[test]
    fn a_huge_length_is_refused_before_anything_is_kept_for_it() {
        let mut framer = Framer::new(Codec::Json, 100);
        let error = feed(&mut framer, &[0xff; 8], &[8]).unwrap_err();
        assert_eq!(error, FrameError::TooLong { length: 0xffff_ffff, limit: 100 });
        assert!(framer.space().len() <= CHUNK);
        let mut framer = Framer::new(Codec::Json, 100);
        assert_eq!(feed(&mut framer, &message(Codec::Json, &[b' '; 100]), &[64]).unwrap().len(), 1);
        assert!(feed(&mut framer, &message(Codec::Json, &[b' '; 101]), &[64]).is_err());
    }

    #[test]
    fn a_stream_that_ends_within_a_message_says_how_much_is_missing() {
        let mut framer = Framer::new(Codec::Json, LIMIT);
        feed(&mut framer, &message(Codec::Json, b"\"Ok\"")[..6], &[6]).unwrap();
        assert_eq!(framer.finish(), Err(FrameError::CutShort { missing: 2 }));
    }

    #[test]
    fn packed_garbage_is_told_from_a_header() {
        let mut framer = Framer::new(Codec::Packed, LIMIT);
        let error = feed(&mut framer, b"GET / HTTP/1.1\r\nHost: x\r\n", &[99]).unwrap_err();
        assert_eq!(error, FrameError::NoHeader(NoHeader { code: u32::from_le_bytes(*b"GET ") }));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_messages(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6_000), 0..12),
            sizes in prop::collection::vec(1_usize..9_000, 1..12),
            packed: bool,
        ) {
            let codec = if packed { Codec::Packed } else { Codec::Json };
            let messages: Vec<_> = payloads.iter().map(|payload| message(codec, payload)).collect();
            let mut framer = Framer::new(codec, 6_000);
            prop_assert_eq!(feed(&mut framer, &messages.concat(), &sizes).unwrap(), messages);
            prop_assert_eq!(framer.finish(), Ok(()));
        }

        #[test]
        fn garbage_gives_messages_or_an_error_and_takes_no_room_beyond_the_limit(
            stream in prop::collection::vec(any::<u8>(), 1..5_000),
            sizes in prop::collection::vec(1_usize..700, 1..5),
            packed: bool,
        ) {
            let codec = if packed { Codec::Packed } else { Codec::Json };
            let mut framer = Framer::new(codec, 1_000);
            let _ = feed(&mut framer, &stream, &sizes);
            prop_assert!(framer.buffer.len() <= 2 * CHUNK);
        }
    }
}
