//! Names of edges, as short as they can be told apart.

use std::collections::HashMap;

use graph_core::report::EdgeReport;

use super::look::Look;

/// The short name of each edge: `denoise → vad`, with ports only where two edges join the same nodes.
pub(super) struct Names(HashMap<String, String>);

impl Names {
    pub(super) fn of(edges: &[EdgeReport], look: &Look) -> Names {
        let arrow = look.glyphs().arrow;
        let node = |end: &str| end.rsplit_once('.').map_or(end, |(node, _)| node).to_owned();
        let short = |edge: &EdgeReport| {
            edge.to
                .as_ref()
                .map_or_else(|| edge.from.clone(), |to| format!("{} {arrow} {}", node(&edge.from), node(to)))
        };
        let mut uses: HashMap<String, usize> = HashMap::new();
        edges.iter().for_each(|edge| *uses.entry(short(edge)).or_default() += 1);
        let name = |edge: &EdgeReport| {
            let short = short(edge);
            let name = if uses[&short] == 1 { short } else { edge.name().replace("->", arrow) };
            (edge.name(), name)
        };
        Names(edges.iter().map(name).collect())
    }

    /// The short name, or the name itself where no edge has it.
    pub(super) fn short<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }
}
