//! Costs as an earlier run's JSON report has them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Costs, Distribution, NAMED, Name, NodeCosts, OutputCosts, Quantiles};
use crate::{report::SCHEMA_VERSION, time::Nanos};

/// Why a report has no costs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// It is JSON of another shape, or no JSON.
    #[error("it is no report of a run: {0}")]
    NoReport(#[from] serde_json::Error),
    /// A later version wrote it.
    #[error("its schema_version is {0}, and this version reads {SCHEMA_VERSION}")]
    Version(u32),
    /// Figures that models need were not measured.
    #[error(
        "it has no work and held of {}; make it by a run with --measure-all",
        .0.join(", ")
    )]
    NotMeasured(Vec<String>),
}

#[derive(Deserialize)]
struct Report {
    schema_version: u32,
    graph: String,
    elapsed_ns: u64,
    edges: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    from: String,
    to: Option<String>,
    counts: Counts,
    work: Option<Figures>,
    held: Option<Figures>,
    wait: Option<Figures>,
}

#[derive(Deserialize)]
struct Counts {
    sent: u64,
    taken: u64,
}

#[derive(Deserialize)]
struct Figures {
    n: u64,
    max_ns: Option<u64>,
    mean_ns: Option<u64>,
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

impl Figures {
    /// `None` without samples.
    fn distribution(&self) -> Option<Distribution> {
        let max = Nanos(self.max_ns.filter(|_| self.n > 0)?);
        let quantile = |name: &str| self.others.get(&format!("{name}_ns"))?.as_u64();
        let points: Vec<_> = NAMED
            .into_iter()
            // A bucket's middle may lie above what is exactly the largest.
            .filter_map(|(name, share)| Some((share, Nanos(quantile(name)?).min(max))))
            .collect();
        if points.iter().all(|(_, time)| *time == max) && self.mean_ns == Some(max.0) {
            return Some(Distribution::Constant(max));
        }
        Quantiles::new(&points, max, self.mean_ns.map(Nanos)).map(Distribution::Quantiles)
    }
}

/// What is known of a node from the edges around it.
#[derive(Default)]
struct Around<'a> {
    /// Packets that it took, of every input.
    taken: u64,
    fed: bool,
    leaving: Vec<(&'a str, &'a Edge)>,
}

impl Costs {
    /// Every node's model from the report of an earlier run: work and held of each output's packets as quantiles, and
    /// from the counts how many there are for each packet taken, and how often a source emits. A turn begins where one
    /// did: at the first node of the graph.
    ///
    /// # Errors
    /// Why the report has no costs.
    pub fn from_report(json: &str) -> Result<Costs, ReportError> {
        let report: Report = serde_json::from_str(json)?;
        if report.schema_version != SCHEMA_VERSION {
            return Err(ReportError::Version(report.schema_version));
        }
        let mut around: Vec<(&str, Around<'_>)> = Vec::new();
        let mut not_measured = Vec::new();
        let mut waits = Vec::new();
        for edge in &report.edges {
            let (node, port) = edge.from.rsplit_once('.').unwrap_or((&edge.from, ""));
            place(&mut around, node).leaving.push((port, edge));
            if edge.counts.taken > 0 && (edge.work.is_none() || edge.held.is_none()) {
                not_measured.push(edge.from.clone());
            }
            if let Some(to) = &edge.to {
                let (node, _) = to.rsplit_once('.').unwrap_or((to, ""));
                let consumer = place(&mut around, node);
                consumer.taken += edge.counts.taken;
                consumer.fed = true;
                let wait = edge.wait.as_ref().and_then(Figures::distribution);
                waits.extend(wait.map(|wait| (format!("{} -> {to}", edge.from), wait)));
            }
        }
        if !not_measured.is_empty() {
            return Err(ReportError::NotMeasured(not_measured));
        }
        let about =
            format!("from the report of a run of {} that took {}", report.graph, Nanos(report.elapsed_ns));
        let nodes = around.iter().map(|(node, around)| {
            (Name { text: (*node).to_owned(), span: None }, around.costs(report.elapsed_ns))
        });
        Ok(Costs { about: Some(about), nodes: nodes.collect(), waits, ..Costs::default() })
    }
}

fn place<'a, 'b>(around: &'b mut Vec<(&'a str, Around<'a>)>, node: &'a str) -> &'b mut Around<'a> {
    let at = around.iter().position(|(known, _)| *known == node).unwrap_or_else(|| {
        around.push((node, Around::default()));
        around.len() - 1
    });
    &mut around[at].1
}

impl Around<'_> {
    fn costs(&self, elapsed_ns: u64) -> NodeCosts {
        let most = self.leaving.iter().map(|(_, edge)| edge.counts.sent).max().unwrap_or_default();
        let causes = if self.fed { self.taken } else { most };
        let mut costs = NodeCosts::default();
        if causes == 0 {
            return costs;
        }
        let mut outputs: Vec<(Name, OutputCosts)> = Vec::new();
        for &(port, edge) in &self.leaving {
            // Edges of a fan-out say the same.
            if outputs.iter().any(|(known, _)| known.text == port) {
                continue;
            }
            let drawn = |figures: &Option<Figures>| figures.as_ref().and_then(Figures::distribution);
            let ratio = edge.counts.sent as f64 / causes as f64;
            let output = OutputCosts {
                ratio: (edge.counts.sent != causes).then_some(ratio),
                work: drawn(&edge.work),
                held: drawn(&edge.held).filter(|held| *held != Distribution::ZERO),
                ..OutputCosts::default()
            };
            outputs.push((Name { text: port.to_owned(), span: None }, output));
        }
        if let [(_, only)] = &mut outputs[..] {
            (costs.work, costs.held) = (only.work.take(), only.held.take());
        }
        if !self.fed {
            costs.interval = Some(Distribution::Constant(Nanos((elapsed_ns / most).max(1))));
        }
        // No output was due to what it took.
        if costs.work.is_none() && outputs.iter().all(|(_, output)| output.work.is_none()) {
            costs.work = Some(Distribution::ZERO);
        }
        outputs.retain(|(_, output)| *output != OutputCosts::default());
        costs.outputs = outputs;
        costs
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn figures(millis: u64) -> Value {
        let ns = millis * 1_000_000;
        json!({ "n": 9, "p50_ns": ns, "p90_ns": ns, "p99_ns": ns, "p999_ns": ns, "max_ns": ns, "mean_ns": ns })
    }

    fn edge(from: &str, to: Option<&str>, packets: u64, work: u64, held: u64) -> Value {
        json!({
            "from": from, "to": to, "counts": { "sent": packets, "taken": packets },
            "work": figures(work), "held": figures(held), "wait": figures(1),
        })
    }

    fn report(edges: &[Value]) -> String {
        json!({ "schema_version": 1, "graph": "g", "elapsed_ns": 2_000_000_000, "edges": edges }).to_string()
    }

    #[test]
    fn sources_tick_as_often_as_they_did_and_nodes_emit_as_much_for_each_packet() {
        let text = report(&[
            edge("mic.out", Some("vad.in"), 200, 0, 0),
            edge("vad.out", Some("stt.in"), 50, 2, 480),
            edge("stt.done", None, 50, 3, 0),
        ]);
        let costs = Costs::from_report(&text).unwrap();
        let ms = |millis| Some(Distribution::Constant(Nanos::from_millis(millis)));
        let [mic, vad, stt] = ["mic", "vad", "stt"].map(|node| costs.node(node));
        assert_eq!((mic.interval, mic.work), (ms(10), ms(0)));
        assert_eq!((vad.work, vad.held, vad.outputs[0].1.ratio), (ms(2), ms(480), Some(0.25)));
        assert_eq!((stt.work, stt.held, stt.outputs.len()), (ms(3), None, 0));
        assert_eq!(costs.wire("mic.out -> vad.in"), ms(1).as_ref());
    }

    #[test]
    fn quantiles_come_with_the_mean_that_was_measured() {
        let mut text = edge("a.out", Some("b.in"), 9, 5, 0);
        text["work"]["max_ns"] = json!(9_000_000);
        text["work"]["mean_ns"] = json!(4_500_000);
        let costs = Costs::from_report(&report(&[text])).unwrap();
        let work = costs.node("a").work.unwrap();
        assert_eq!(work.mean(), Nanos(4_500_000), "{work}");
    }

    #[test]
    fn a_report_without_the_figures_says_how_to_get_them() {
        let mut bare = edge("mic.out", Some("vad.in"), 200, 0, 0);
        bare["work"] = Value::Null;
        let error = Costs::from_report(&report(&[bare])).unwrap_err().to_string();
        assert_eq!(error, "it has no work and held of mic.out; make it by a run with --measure-all");
        assert!(
            Costs::from_report("{}")
                .unwrap_err()
                .to_string()
                .starts_with("it is no report of a run: missing")
        );
        let later = report(&[]).replace("\"schema_version\":1", "\"schema_version\":9");
        assert!(matches!(Costs::from_report(&later), Err(ReportError::Version(9))));
    }
}
