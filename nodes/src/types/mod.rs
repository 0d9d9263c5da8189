//! The payloads that cross edges between domains.

mod audio;
mod spatial;
mod speech;

pub use audio::{Audio, Rate};
pub use spatial::{Event, Geometry, Output, Refusal, Request, Response, View, Zone};
pub use speech::{Intent, Latent, Prosody, Reply, Speech, Spoken, SpokenPart, Transcript};
