//! What must be true of a graph before anything runs, and the plan that comes of it.

mod plan;

pub use plan::{Plan, PlanEdge, PlanEnd, PlanLane, PlanNode, PlanPath};
