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
