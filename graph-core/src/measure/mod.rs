//! Measuring: histograms, exact limit counters, and the meters of edges and paths.
//!
//! A meter has one writer a side and any number of readers, and costs its writer a few plain adds: nothing is
//! allocated, locked or formatted while packets flow.

mod causes;
mod counter;
mod histogram;
mod meter;
mod path;
mod pending;
mod recorder;
mod sample;
mod worst;

pub use histogram::{Histogram, Snapshot};
pub use meter::{Counts, EdgeMeter, EdgeSpec, Side};
pub use path::{Lineage, Part, PathCounts, PathMeter, PathSpec, WorstLineage};
pub(crate) use pending::Pending;
pub use sample::{Hop, Sample};

/// Whether packets are stamped and recorded, which they always are but in a build for one comparison: what measuring
/// costs. With `GRAPHRUN_UNMEASURED` in the environment of the compiler a lane reads the clock after one step of a node in
/// 16, so that timers go on, and packets are counted but neither stamped nor recorded.
///
/// Not a cargo feature, since features add up: `--all-features` would take the measuring away.
pub const MEASURED: bool = option_env!("GRAPHRUN_UNMEASURED").is_none();
