//! Sound over UDP: RTP in and out.

pub mod conceal;
pub mod glasses;
mod listen;
pub mod packetize;
pub mod playout;
pub mod receive;
pub mod reorder;
pub mod rtcp;
pub mod rtp;
pub mod rtp_audio_out;
mod sample;
pub mod socket;
pub mod speech_player;
#[cfg(test)]
pub(crate) mod testing;
pub mod udp_audio;

use graph_core::Registry;

/// Adds the kinds of this domain.
pub fn register(registry: &mut Registry) {
    registry
        .node::<glasses::Glasses>()
        .node::<rtp_audio_out::RtpAudioOut>()
        .node::<speech_player::SpeechPlayer>()
        .node::<udp_audio::UdpAudio>();
}
