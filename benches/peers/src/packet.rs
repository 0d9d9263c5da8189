//! What travels: 64 bytes by value, or 1.2 MB by reference.

use std::{array, sync::Arc};

use serde::Serialize;

/// 640 x 640 pixels of three bytes.
pub const LARGE_BYTES: usize = 1_228_800;

/// Buffers that a source of large packets hands out in turn.
const BUFFERS: usize = 8;

/// Which packets are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
pub enum Payload {
    /// 64 bytes, copied at every hop.
    #[value(name = "64B")]
    #[serde(rename = "64 B")]
    Small,
    /// 1.2 MB, of which a handle travels.
    #[value(name = "1.2MB")]
    #[serde(rename = "1.2 MB")]
    Large,
}

impl Payload {
    /// For tables.
    pub fn words(self) -> &'static str {
        match self {
            Payload::Small => "64 B",
            Payload::Large => "1.2 MB",
        }
    }
}

/// What the bench itself writes into a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head {
    /// Counts from 0, so that a lost packet and one out of order are seen.
    pub seq: u64,
    /// Ticks of [`Clock`](crate::clock::Clock).
    pub stamp: u64,
}

/// A packet.
pub trait Load: Clone + Send + Sync + 'static {
    /// What a source makes packets from.
    type Store: Default + Send;

    /// A packet with this head.
    fn make(head: Head, store: &Self::Store) -> Self;
    /// What the bench writes.
    fn head(&mut self) -> &mut Head;
    /// A word of the data, so that it has to be there.
    fn word(&self) -> u64;
}

/// 64 bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Small {
    head: Head,
    words: [u64; 6],
}

impl Load for Small {
    type Store = ();

    #[inline]
    fn make(head: Head, (): &()) -> Small {
        Small { head, words: [head.seq; 6] }
    }

    #[inline]
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    #[inline]
    fn word(&self) -> u64 {
        self.words[5]
    }
}

/// A handle to 1.2 MB.
#[derive(Clone, Debug)]
pub struct Large {
    head: Head,
    bytes: Arc<[u8]>,
}

/// Buffers that are there before the run, as a pool keeps them.
pub struct Buffers([Arc<[u8]>; BUFFERS]);

impl Default for Buffers {
    fn default() -> Self {
        Buffers(array::from_fn(|buffer| vec![buffer as u8; LARGE_BYTES].into()))
    }
}

impl Load for Large {
    type Store = Buffers;

    #[inline]
    fn make(head: Head, store: &Buffers) -> Large {
        Large { head, bytes: store.0[head.seq as usize % BUFFERS].clone() }
    }

    #[inline]
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    #[inline]
    fn word(&self) -> u64 {
        self.bytes[0].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_packet_is_64_bytes_and_a_large_one_1_2_mb() {
        assert_eq!(size_of::<Small>(), 64);
        let large = Large::make(Head { seq: 3, stamp: 0 }, &Buffers::default());
        assert_eq!((large.bytes.len(), large.word()), (LARGE_BYTES, 3));
    }
}
