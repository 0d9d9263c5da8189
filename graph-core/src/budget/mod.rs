//! Budgets: what edges, paths and benchmarks may cost, and what a run says of that.

mod evidence;
mod spec;

pub use evidence::{Evidence, Pace};
pub use spec::{Bench, Bound, Budget, Level, Limit, Measure, Reference, Stat};
