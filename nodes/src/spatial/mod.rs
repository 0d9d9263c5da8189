//! Requests of a window manager to a compositor over a Unix socket.

pub mod frame;
pub mod header;
pub mod homography;
pub mod message;
