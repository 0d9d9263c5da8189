//! The graph file: what it states, read from RON with a place for every error.

mod spec;

pub use spec::{
    BenchSpec, BudgetSpec, Capacity, EdgeSpec, Endpoint, Full, GraphSpec, LaneSpec, NodeSpec, OnError,
    OverheadBound, OverheadLimit, OverheadSpec, PathSpec, Priority, QueueSpec, RawWith, Restart, Wait,
    WarmUp,
};
