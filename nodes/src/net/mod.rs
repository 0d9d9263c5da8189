//! Sockets: RTP and UDP.
