//! Budgets: what edges, paths and benchmarks may cost, and what a run says of that.

mod confidence;
mod criterion;
mod evidence;
pub mod exit;
mod margin;
mod spec;
mod verdict;

pub use confidence::samples_needed;
pub use criterion::{BenchTimes, judge_bench};
pub use evidence::{Evidence, Pace};
pub use margin::{Category, Margin};
pub use spec::{Bench, Bound, Budget, Level, Limit, Measure, Reference, Stat};
pub use verdict::{Figure, Judgement, Verdict, judge};
