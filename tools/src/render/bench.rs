//! Nodes alone, for people: what a step takes, how much faster than real time that is, and what it says of the limits.

use graph_core::{Nanos, report::Machine};

use super::{
    limits::{absent, count},
    look::{Look, Tone, whole},
    summary,
    table::{Cell, Column, Row, lines},
};
use crate::bench::{Benched, Compared, Standing};

const COLUMNS: [(&str, bool, Option<u8>); 8] = [
    ("node", true, None),
    ("samples", false, Some(0)),
    ("mean", false, None),
    ("p50", false, Some(3)),
    ("p99", false, Some(4)),
    ("max", false, Some(2)),
    ("share", false, Some(5)),
    ("real time", false, Some(1)),
];

/// What one step of each node takes of one step of all of them.
pub struct Share(f64);

impl Share {
    /// Of these nodes.
    pub fn of(benched: &[Benched]) -> Share {
        Share(benched.iter().filter_map(|node| node.figures.as_ref().ok()).map(|figures| figures.mean).sum())
    }

    /// One node's, 0.0 to 1.0.
    pub fn of_node(&self, node: &Benched) -> Option<f64> {
        let figures = node.figures.as_ref().ok()?;
        (self.0 > 0.0).then(|| figures.mean / self.0)
    }
}

/// The table of nodes, or of kinds where there is no graph.
pub fn bench(graph: Option<&str>, machine: &Machine, benched: &[Benched], look: &Look) -> String {
    let what = match graph {
        Some(graph) => format!("{graph}: each node alone, one packet at a time"),
        None => "each kind alone, one packet at a time".to_owned(),
    };
    let mut text = vec![look.paint(&look.cut(&what, look.width), Tone::Strong)];
    let on = format!("on {}", summary::machine(machine));
    text.extend(look.wrap("", &on).iter().map(|line| look.paint(line, Tone::Faint)));
    text.push(String::new());
    let share = Share::of(benched);
    let mut rows = vec![Row::Titles(if graph.is_some() { "node" } else { "kind" })];
    for node in benched {
        rows.push(row(node, graph.and_then(|_| share.of_node(node))));
        match &node.figures {
            Err(error) => rows.push(Row::Note(error.to_string())),
            Ok(_) => rows.extend(node.limits.iter().filter_map(told).map(Row::Note)),
        }
    }
    // A column that would be empty is none.
    let has_share = graph.is_some();
    let columns = COLUMNS.map(|(title, left, leave)| Column { title, left, leave });
    let columns: Vec<Column> =
        columns.into_iter().filter(|column| has_share || column.title != "share").collect();
    text.extend(lines(&columns, &rows, look));
    text.join("\n") + "\n"
}

fn row(node: &Benched, share: Option<f64>) -> Row {
    let name = Cell::new(node.node.as_deref().unwrap_or(&node.kind), Tone::Plain);
    let mut cells = vec![name];
    let time = |nanos: f64| Cell::new(time_text(nanos), Tone::Plain);
    match &node.figures {
        Ok(figures) => {
            cells.push(Cell::new(count(figures.samples as u64), Tone::Plain));
            cells.extend([figures.mean, figures.p50, figures.p99, figures.max].map(time));
        }
        Err(_) => cells.extend([absent(), absent(), absent(), absent(), absent()]),
    }
    if node.node.is_some() {
        cells.push(share.map_or_else(absent, |share| Cell::new(percent(share), Tone::Plain)));
    }
    let factor = node.real_time_factor();
    cells.push(factor.map_or_else(absent, |factor| Cell::new(factor_text(factor), Tone::Plain)));
    Row::Cells(cells)
}

/// `2.9 ns`, `28 ns`, `1.5 us`: tenths below ten ns.
pub(super) fn time_text(nanos: f64) -> String {
    let tenths = (nanos * 10.0).round() / 10.0;
    if tenths < 10.0 && tenths.fract() != 0.0 {
        return format!("{tenths:.1} ns");
    }
    Nanos(nanos.round() as u64).to_string()
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.05 => "<0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// `0.8x`, `212x`: under 1 it does not keep pace.
fn factor_text(factor: f64) -> String {
    if factor < 10.0 { format!("{factor:.1}x") } else { format!("{factor:.0}x") }
}

/// A limit that the node alone is over, or may be.
fn told(compared: &Compared) -> Option<String> {
    let (edge, bound) = (&compared.edge, whole(compared.limit.bound));
    let alone = whole(time_text(compared.alone));
    match compared.standing {
        Standing::Within => None,
        Standing::Over => Some(format!(
            "over: {alone} alone, and {edge} is to keep {bound}; the edge cannot hold on this machine"
        )),
        Standing::Unclear => Some(format!(
            "unclear: all packets of a step take {alone} alone, and the first over {edge} is to keep {bound}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use graph_core::{
        NoSample,
        bench::NotBenched,
        budget::{Bound, Level, Limit, Stat},
    };

    use super::*;
    use crate::bench::Figures;

    fn figures(mean: f64) -> Figures {
        let (p50, p90, p99, p999, max) = (mean, mean, mean * 2.0, mean * 3.0, mean * 3.0);
        Figures { samples: 1_000, steps_per_sample: 1, mean, p50, p90, p99, p999, max }
    }

    fn benched(node: &str, figures: Result<Figures, NotBenched>) -> Benched {
        let every = Some(Nanos::from_millis(10));
        Benched {
            node: Some(node.to_owned()),
            kind: "test/kind".to_owned(),
            figures,
            every,
            limits: Vec::new(),
        }
    }

    fn voice() -> Vec<Benched> {
        let mut vad = benched("vad", Ok(figures(75_000.0)));
        let bound = Bound::AtMost { measure: None, stat: Stat::Max, limit: Nanos::from_micros(100) };
        let limit = Limit { bound, level: Level::Fail, assumed: false, basis: None };
        let edge = "vad.out -> stt.in".to_owned();
        vad.limits = vec![Compared { edge, limit, alone: 225_000.0, standing: Standing::Over }];
        let absent = NotBenched::NoSample(NoSample::Absent("the model is not there".to_owned()));
        vec![benched("denoise", Ok(figures(25_000.0))), vad, benched("stt", Err(absent))]
    }

    #[test]
    fn each_node_has_its_share_and_what_is_over_a_limit_is_said() {
        let look = Look { width: 110, colour: false, unicode: true };
        let text = bench(Some("voice"), &Machine::default(), &voice(), &look);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[3..],
            [
                "node     samples   mean    p50     p99     max   share  real time",
                "denoise     1000  25 us  25 us   50 us   75 us  25.0 %       400x",
                "vad         1000  75 us  75 us  150 us  225 us  75.0 %       133x",
                "  └ over: 225 us alone, and vad.out -> stt.in is to keep max 100 us; the edge cannot hold on this machine",
                "stt            -      -      -       -       -       -          -",
                "  └ the model is not there",
            ]
        );
    }

    #[test]
    fn kinds_without_a_graph_have_no_share() {
        let look = Look { width: 80, colour: false, unicode: false };
        let alone = vec![Benched { node: None, ..benched("", Ok(figures(3.1))) }];
        let text = bench(None, &Machine::default(), &alone, &look);
        assert!(!text.contains("share"), "{text}");
        assert!(text.contains("test/kind"), "{text}");
        assert!(text.contains("3.1 ns"), "{text}");
    }

    #[test]
    fn shares_and_factors_are_never_rounded_to_nothing() {
        assert_eq!([percent(0.0), percent(0.0001), percent(0.5)], ["0.0 %", "<0.1 %", "50.0 %"]);
        assert_eq!([factor_text(0.84), factor_text(212.4)], ["0.8x", "212x"]);
        assert_eq!([time_text(2.9), time_text(9.97), time_text(28.4)], ["2.9 ns", "10 ns", "28 ns"]);
    }
}
