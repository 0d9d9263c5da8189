//! What a node alone says of the limits of the edges that leave it.

use graph_core::{
    Registry,
    budget::{Bound, Limit, Measure, Stat},
    check::{Plan, PlanEdge},
    kind::{Arity, Kinds, PortRole},
};

use super::Figures;

/// A limit of an edge that leaves a node, and the node alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The edge.
    pub edge: String,
    /// The limit.
    pub limit: Limit,
    /// The limit's figure of the node alone, in ns.
    pub alone: f64,
    /// What follows.
    pub standing: Standing,
}

/// What a node alone says of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It leaves room for queues, other nodes and the machine's whims.
    Within,
    /// It is over the limit already, so that the edge will be.
    Over,
    /// Its whole step is over the limit, which is only on a part of that: the first of several packets.
    Unclear,
}

impl Standing {
    /// As the reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Within => "within",
            Standing::Over => "over",
            Standing::Unclear => "unclear",
        }
    }
}

/// Compares with each limit that bounds the node's own work. What is waited on purpose and what lies between packets
/// is none.
pub(super) fn compare(registry: &Registry, plan: &Plan, node: usize, figures: &Figures) -> Vec<Compared> {
    let edges = plan.nodes[node].outputs.iter().map(|edge| &plan.edges[*edge]);
    let compared = edges.flat_map(|edge| {
        let port = registry.get(&plan.nodes[node].kind).map(|kind| &kind.ports[edge.from.port]);
        let many = port.is_some_and(|port| port.role == PortRole::Output { arity: Arity::Many });
        let default = if many { Measure::First } else { Measure::Latency };
        edge.budget.limits.iter().filter_map(move |limit| compare_one(edge, limit, default, figures))
    });
    compared.collect()
}

fn compare_one(edge: &PlanEdge, of: &Limit, default: Measure, figures: &Figures) -> Option<Compared> {
    let Bound::AtMost { measure, stat, limit } = of.bound else { return None };
    let measure = measure.unwrap_or(default);
    if matches!(measure, Measure::Wait | Measure::Held | Measure::Interval) {
        return None;
    }
    let alone = match stat {
        Stat::Mean => figures.mean,
        Stat::P50 => figures.p50,
        Stat::P90 => figures.p90,
        Stat::P99 => figures.p99,
        Stat::P999 => figures.p999,
        Stat::Max => figures.max,
    };
    let standing = match alone <= limit.0 as f64 {
        true => Standing::Within,
        false if measure == Measure::First => Standing::Unclear,
        false => Standing::Over,
    };
    Some(Compared { edge: edge.name(), limit: of.clone(), alone, standing })
}

#[cfg(test)]
mod tests {
    use graph_core::{
        Build, BuildError, Cx, Kind, NodeError, Sink, SinkCx, Source, Stamp, Transform, payload, testing,
    };

    use super::*;

    #[derive(Clone)]
    struct Word;
    payload!(Word, "word");

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}

    macro_rules! kind {
        ($name:ident, $kind:literal) => {
            struct $name;
            impl Kind for $name {
                const KIND: &'static str = $kind;
                const ABOUT: &'static str = "For a test.";
                type Params = Nothing;
                fn new(_: &Nothing, _: &mut Build<'_>) -> Result<Self, BuildError> {
                    Ok($name)
                }
            }
        };
    }
    kind!(Give, "test/give");
    kind!(Split, "test/split");
    kind!(Take, "test/take");

    impl Source for Give {
        type Out = Word;
        fn poll(&mut self, _: Stamp, _: &mut Cx<'_, '_, Word>) -> Result<graph_core::Flow, NodeError> {
            Ok(graph_core::Flow::Done)
        }
    }
    impl Transform for Split {
        type In = Word;
        type Out = Word;
        const MANY: bool = true;
        fn process(&mut self, _: Word, _: &mut Cx<'_, '_, Word>) -> Result<(), NodeError> {
            Ok(())
        }
    }
    impl Sink for Take {
        type In = Word;
        fn consume(&mut self, _: Word, _: &mut SinkCx<'_, '_>) -> Result<(), NodeError> {
            Ok(())
        }
    }

    #[test]
    fn a_node_alone_is_over_within_or_unclear_by_the_measure_of_each_limit() {
        let mut registry = Registry::new();
        registry.source::<Give>().transform::<Split>().sink::<Take>();
        let plan = testing::plan(
            r#"(
                nodes: {
                    "give": (kind: "test/give"),
                    "split": (kind: "test/split"),
                    "take": (kind: "test/take"),
                },
                edges: [
                    (from: "give", to: "split", budget: (max: "2 ms", p50: "1 us", wait: (max: "1 us"))),
                    (from: "split", to: "take", budget: (max: "2 ms", last: (max: "2 ms"), rate: "15 /s")),
                    (from: "take.done", budget: (mean: "2 ms")),
                ],
            )"#,
            &registry,
        );
        let figures = Figures {
            samples: 100,
            steps_per_sample: 1,
            mean: 1e6,
            p50: 1e6,
            p90: 1e6,
            p99: 2e6,
            p999: 3e6,
            max: 3e6,
        };
        let standings = |node| {
            let compared = compare(&registry, &plan, node, &figures);
            compared.iter().map(|one| (one.edge.clone(), one.standing)).collect::<Vec<_>>()
        };
        let edge = |name: &str, standing| (name.to_owned(), standing);
        let first = "give.out -> split.in";
        assert_eq!(standings(0), [edge(first, Standing::Over), edge(first, Standing::Over)]);
        let second = "split.out -> take.in";
        assert_eq!(standings(1), [edge(second, Standing::Unclear), edge(second, Standing::Over)]);
        assert_eq!(standings(2), [edge("take.done", Standing::Within)]);
    }
}
