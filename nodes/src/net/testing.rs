//! What the tests of this domain share.

use std::net::UdpSocket;

use super::{
    rtcp,
    rtp::{Header, Packet, PayloadType, SequenceNumber, Ssrc, Timestamp},
};

/// An address of the loopback that no other test of this run or of another one uses; `test` is unique in this domain.
pub(crate) fn address(test: u8) -> String {
    let process = std::process::id();
    format!("127.{}.{}.{test}:5004", 1 + process / 250 % 200, 1 + process % 250)
}

/// A peer that listens at `address` and takes what has arrived.
pub(crate) struct Peer(UdpSocket);

impl Peer {
    pub(crate) fn listen(address: &str) -> Peer {
        let socket = UdpSocket::bind(address).unwrap();
        socket.set_nonblocking(true).unwrap();
        Peer(socket)
    }

    pub(crate) fn datagrams(&self) -> Vec<Vec<u8>> {
        let mut buffer = [0; 65_536];
        std::iter::from_fn(|| self.0.recv(&mut buffer).ok().map(|len| buffer[..len].to_vec())).collect()
    }
}

/// A header and payload of what was sent; `None` for a BYE.
pub(crate) fn parsed(datagram: &[u8]) -> Option<(Header, Vec<u8>)> {
    if rtcp::goodbyes(datagram).count() > 0 {
        return None;
    }
    let packet = Packet::parse(datagram).unwrap();
    Some((packet.header, packet.payload.to_vec()))
}

/// The `n`-th packet of 10 ms at 48 kHz, all samples alike.
pub(crate) fn packet(ssrc: u32, n: u16, sample: i16) -> Vec<u8> {
    let header = Header {
        payload_type: PayloadType::DYNAMIC,
        sequence: SequenceNumber(65_530_u16.wrapping_add(n)),
        timestamp: Timestamp(u32::from(n) * 480),
        ssrc: Ssrc(ssrc),
        ..Header::default()
    };
    let samples = std::iter::repeat_n(sample.to_be_bytes(), 480).flatten();
    header.to_bytes().into_iter().chain(samples).collect()
}
