//! Requests of a window manager to a compositor over a Unix socket.

pub mod client;
pub mod decode;
pub mod desk;
pub mod encode;
pub mod frame;
pub mod header;
pub mod homography;
pub mod link;
pub mod message;
pub mod receive;
pub mod requests;
pub mod results;
pub mod server;
pub mod socket;
#[cfg(test)]
pub(crate) mod testing;
pub mod wayfire;

use graph_core::Registry;

/// Adds the kinds of this domain.
pub fn register(registry: &mut Registry) {
    registry
        .node::<client::Client>()
        .transform::<decode::Decode>()
        .transform::<encode::Encode>()
        .node::<receive::Receive>()
        .source::<requests::Requests>()
        .sink::<results::Results>()
        .node::<server::Server>()
        .node::<wayfire::Wayfire>();
}
