//! Sound over UDP: RTP in and out.

pub mod conceal;
pub mod reorder;
pub mod rtcp;
pub mod rtp;
