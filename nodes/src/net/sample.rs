//! What the nodes of this domain are benched with: a peer on the loopback.

use std::net::UdpSocket;

use graph_core::{Nanos, NoSample, Sample};

use super::{
    packetize::Packetizer,
    rtp::{PayloadType, Ssrc},
    socket::Sending,
};
use crate::{
    sound::sample::{ten_millis, tone},
    types::Rate,
};

/// A peer that sends 10 ms of sound at 48 kHz a step. Returns the address that it sends to.
pub(super) fn sender(sample: &mut Sample<'_>) -> Result<String, NoSample> {
    // A port that is free; held until the sender has another one.
    let free = UdpSocket::bind("127.0.0.1:0")?;
    let to = free.local_addr()?.to_string();
    let (frame, rate) = (Nanos::from_millis(10), Rate::HZ_48000);
    let mut packets = Packetizer::new(frame, rate, PayloadType::DYNAMIC, Some(Ssrc(7)))?;
    let mut socket = Sending::connect(&to)?;
    drop(free);
    let sound = tone(rate, ten_millis(rate)).samples;
    sample.outside(move || socket.send(packets.packet(&sound).1).map(drop));
    sample.every(frame);
    Ok(to)
}

/// A peer that listens as long as the bench lives. Returns its address.
pub(super) fn listener(sample: &mut Sample<'_>) -> Result<String, NoSample> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let address = socket.local_addr()?.to_string();
    sample.keep(socket);
    Ok(address)
}
