//! Graphs under virtual time whose nodes are models: a node takes what comes, costs a drawn time and emits.
//!
//! A model has the ports of the kind that it stands for, so that the graph is the one of the file: its lanes, queues,
//! policies, measures and budgets. What runs on its lanes is a cost model with nothing in its packets. The same seed
//! gives the same run, to the nanosecond.

mod costs;
mod distribution;
mod node;
mod ports;
mod report;
mod template;

use std::sync::Arc;

pub use costs::Costs;
pub(crate) use costs::{Name, NodeCosts, OutputCosts};
pub(crate) use distribution::NAMED;
pub use distribution::{Distribution, Quantiles};
pub(crate) use node::make;
pub(crate) use ports::Token;
pub use report::ReportError;

use crate::{
    adapt::AnyParams,
    check::Plan,
    diagnostic::Diagnostics,
    registry::Registry,
    run::{Prepared, prepare_models},
};

/// Makes a run of a graph under virtual time, its nodes being models; [`Prepared::simulate`] runs it.
///
/// # Errors
/// Nodes and sockets without a model, and costs of what the graph does not have, all at once.
pub fn prepare(plan: &Plan, registry: &Registry, costs: &Costs, seed: u64) -> Result<Prepared, Diagnostics> {
    let models = costs.models(plan, registry, seed)?;
    let params = models.into_iter().map(|model| Arc::new(model) as AnyParams).collect();
    Ok(prepare_models(plan, &registry.modelled(), params))
}
