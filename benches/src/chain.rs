//! Graph files of chains.

/// A chain of nodes, each fed by the one before.
#[derive(Default)]
pub struct Chain {
    lanes: Vec<String>,
    nodes: Vec<String>,
    edges: Vec<String>,
}

impl Chain {
    /// Declares a lane, with what its parentheses hold.
    pub fn lane(mut self, name: &str, wishes: &str) -> Chain {
        self.lanes.push(format!("\"{name}\": ({wishes})"));
        self
    }

    /// The next node of a kind without parameters.
    pub fn then(self, kind: &str, lane: &str) -> Chain {
        self.then_with(kind, lane, "")
    }

    /// The next node, with what the parentheses of its `with` hold.
    pub fn then_with(mut self, kind: &str, lane: &str, with: &str) -> Chain {
        let at = self.nodes.len();
        self.nodes.push(format!("\"s{at}\": (kind: \"bench/{kind}\", lane: \"{lane}\", with: ({with}))"));
        if at > 0 {
            self.edges.push(format!("(from: \"s{}\", to: \"s{at}\")", at - 1));
        }
        self
    }

    /// The graph file.
    pub fn text(&self) -> String {
        let Chain { lanes, nodes, edges } = self;
        format!(
            "(lanes: {{ {} }}, nodes: {{ {} }}, edges: [ {} ])",
            lanes.join(", "),
            nodes.join(", "),
            edges.join(", ")
        )
    }
}

/// `stages` nodes that hand on between a source that emits as fast as it can and a sink; the lanes taken in turn.
pub fn chain(packets: u64, stages: usize, lanes: &[&str]) -> String {
    let lane = |stage: usize| lanes[stage % lanes.len()];
    let chain = lanes.iter().fold(Chain::default(), |chain, lane| chain.lane(lane, ""));
    let chain = chain.then_with("feed", lane(0), &format!("packets: {packets}"));
    let chain = (1..=stages).fold(chain, |chain, stage| chain.then("pass", lane(stage)));
    chain.then("forget", lane(stages + 1)).text()
}
