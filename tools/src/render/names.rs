//! Names of edges, as short as they can be told apart.

use std::collections::HashMap;

use graph_core::report::EdgeReport;

use super::look::Look;

/// The short name of each edge: `denoise → vad`, with ports only where two edges join the same nodes.
pub(super) struct Names(HashMap<String, String>);

impl Names {
    pub(super) fn of(edges: &[EdgeReport], look: &Look) -> Names {
        Names::of_ends(edges.iter().map(|edge| (edge.from.as_str(), edge.to.as_deref())), look)
    }

    /// From what feeds each edge, and what it feeds.
    pub(super) fn of_ends<'a>(
        edges: impl Iterator<Item = (&'a str, Option<&'a str>)> + Clone,
        look: &Look,
    ) -> Names {
        let arrow = look.glyphs().arrow;
        let node = |end: &'a str| end.rsplit_once('.').map_or(end, |(node, _)| node);
        let joined = |from: &str, to: Option<&str>, arrow: &str| {
            to.map_or_else(|| from.to_owned(), |to| format!("{from} {arrow} {to}"))
        };
        let short = |from: &'a str, to: Option<&'a str>| match to {
            Some(to) => joined(node(from), Some(node(to)), arrow),
            None => from.to_owned(),
        };
        let mut uses: HashMap<String, usize> = HashMap::new();
        edges.clone().for_each(|(from, to)| *uses.entry(short(from, to)).or_default() += 1);
        let name = |(from, to): (&'a str, Option<&'a str>)| {
            let short = short(from, to);
            let name = if uses[&short] == 1 { short } else { joined(from, to, arrow) };
            (joined(from, to, "->"), name)
        };
        Names(edges.map(name).collect())
    }

    /// The short name, where an edge has it.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The short name, or the name itself where no edge has it.
    pub(super) fn short<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }
}
