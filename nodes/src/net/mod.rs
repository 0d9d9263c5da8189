//! Sound over UDP: RTP in and out.

pub mod conceal;
pub mod packetize;
pub mod playout;
pub mod receive;
pub mod reorder;
pub mod rtcp;
pub mod rtp;
pub mod socket;
