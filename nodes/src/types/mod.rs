//! The payloads that cross edges between domains.

mod audio;
mod speech;

pub use audio::{Audio, Rate};
pub use speech::{Intent, Latent, Prosody, Reply, Speech, Spoken, SpokenPart, Transcript};
