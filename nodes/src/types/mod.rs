//! The payloads that cross edges between domains.

mod audio;
mod request;
mod spatial;
mod speech;

pub use audio::{Audio, Rate};
pub use request::IpcRequest;
pub use spatial::{Event, Geometry, Output, Refusal, Request, Response, View, Zone};
pub use speech::{Intent, Latent, Prosody, Reply, Speech, Spoken, SpokenPart, Transcript};
