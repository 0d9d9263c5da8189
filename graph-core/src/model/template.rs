//! Costs as a file: what is known, and what is to be filled in.

use std::fmt;

use super::{
    Costs, Distribution,
    costs::{NodeCosts, OutputCosts, is_source},
};
use crate::{check::Plan, registry::Registry};

/// A costs file of a plan's nodes.
pub(super) struct Template<'a> {
    pub(super) costs: &'a Costs,
    pub(super) plan: &'a Plan,
    pub(super) registry: &'a Registry,
}

impl fmt::Display for Template<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = self.costs.about.as_deref().unwrap_or("?");
        writeln!(f, "(\n    about: {about:?},\n    nodes: {{")?;
        for (at, node) in self.plan.nodes.iter().enumerate() {
            let costs = self.costs.node(&node.id);
            let needed = if is_source(self.plan, self.registry, at) { "interval" } else { "work" };
            writeln!(f, "        {:?}: ({}),", node.id, fields(&costs, needed).join(", "))?;
        }
        writeln!(f, "    }},")?;
        let mut wires = self.plan.edges.iter().filter(|edge| edge.wire).map(|edge| edge.name()).peekable();
        if wires.peek().is_some() {
            writeln!(f, "    wires: {{")?;
            for wire in wires {
                let delay =
                    self.costs.wire(&wire).map_or_else(|| "\"?\"".to_owned(), Distribution::to_string);
                writeln!(f, "        {wire:?}: {delay},")?;
            }
            writeln!(f, "    }},")?;
        }
        writeln!(f, ")")
    }
}

fn fields(costs: &NodeCosts, needed: &str) -> Vec<String> {
    let times = [
        ("interval", &costs.interval),
        ("work", &costs.work),
        ("quiet", &costs.quiet),
        ("held", &costs.held),
    ];
    let worked_by_outputs = needed == "work" && costs.outputs.iter().any(|(_, output)| output.work.is_some());
    let mut fields: Vec<String> = times
        .into_iter()
        .filter_map(|(name, time)| match time {
            Some(time) => Some(format!("{name}: {time}")),
            None if name == needed && !worked_by_outputs => Some(format!("{name}: \"?\"")),
            None => None,
        })
        .collect();
    fields.extend(costs.count.map(|count| format!("count: {count}")));
    fields.extend(costs.aside.map(|aside| format!("aside: {aside}")));
    fields.extend(costs.turns.map(|turns| format!("turns: {turns:?}")));
    let outputs =
        costs.outputs.iter().map(|(name, output)| format!("{:?}: ({})", name.text, of_output(output)));
    let outputs: Vec<_> = outputs.collect();
    if !outputs.is_empty() {
        fields.push(format!("outputs: {{ {} }}", outputs.join(", ")));
    }
    fields
}

fn of_output(costs: &OutputCosts) -> String {
    let ratio = costs.ratio.map(|ratio| format!("ratio: {ratio:?}"));
    let times =
        [("every", &costs.every), ("pace", &costs.pace), ("work", &costs.work), ("held", &costs.held)];
    let times = times.into_iter().filter_map(|(name, time)| Some(format!("{name}: {}", time.as_ref()?)));
    ratio.into_iter().chain(times).collect::<Vec<_>>().join(", ")
}
