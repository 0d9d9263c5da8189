//! The graph file: what it states, read from RON with a place for every error.
//!
//! Files are parsed one by one into parts of which every field may be missing, laid over each other by key, and become a
//! [`GraphSpec`]. Nothing here judges the graph; that is [`check`](crate::check).

mod costs;
mod limits;
mod load;
mod merge;
mod params;
mod parse;
mod parts;
mod raw;
mod reader;
mod spec;
mod syntax;
pub mod units;

pub(crate) use costs::RawCost;
pub use costs::{costs, costs_of};
pub use load::{Disk, Files, load};
pub use params::params;
pub use spec::{
    BenchSpec, BudgetSpec, Capacity, EdgeSpec, Endpoint, Full, GraphSpec, LaneSpec, NodeSpec, OnError,
    OverheadBound, OverheadLimit, OverheadSpec, PathSpec, Priority, QueueSpec, RawWith, Restart, Wait,
    WarmUp,
};
