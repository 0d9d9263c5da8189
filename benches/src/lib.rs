//! What the benches share: nodes that do nothing, chains of them, and the figures of the runtime.

mod chain;
pub mod figures;
mod nodes;

pub use chain::{Chain, chain};
pub use nodes::{
    Arrive, Block, Feed, Forget, Load, Nothing, Paced, Pass, Picture, Waiting, Watching, registry,
    registry_of,
};
