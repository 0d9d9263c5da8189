//! The budgets of benchmarks, for people: one row a limit.

use graph_core::budget::{Judgement, Margin, Verdict, exit};

use super::{
    bench::time_text,
    limits::{absent, category_tone, count, explain, limit_text, reference_text, verdict, verdict_tone},
    look::{Look, Tone},
    summary,
    table::{Cell, Column, Row, lines},
};
use crate::criterion::{Against, GraphBenches, Judged, Report};

const COLUMNS: [(&str, bool, Option<u8>); 10] = [
    ("benchmark", true, None),
    ("n", false, Some(0)),
    ("mean", false, None),
    ("median", false, Some(2)),
    ("limit", false, None),
    ("reference", false, Some(3)),
    ("of it", false, Some(1)),
    ("margin", false, Some(5)),
    ("category", true, Some(4)),
    ("verdict", true, None),
];

/// The whole report as text that ends with a line break.
pub fn criterion(report: &Report, look: &Look) -> String {
    let what = format!("benchmarks in {}", report.criterion.display());
    let mut text = vec![look.paint(&look.cut(&what, look.width), Tone::Strong)];
    let on = format!("on {}", summary::machine(&report.machine));
    text.extend(look.wrap("", &on).iter().map(|line| look.paint(line, Tone::Faint)));
    for graph in &report.graphs {
        text.push(String::new());
        text.extend(section(graph, look));
    }
    text.push(String::new());
    text.extend(last(report, look));
    text.join("\n") + "\n"
}

fn section(graph: &GraphBenches, look: &Look) -> Vec<String> {
    let title = match &graph.class {
        Some(class) => format!("{}, limits and references for class {class}", graph.graph),
        None => graph.graph.clone(),
    };
    let mut text = vec![look.paint(&look.cut(&title, look.width), Tone::Strong)];
    let mut rows = vec![Row::Titles("benchmark")];
    for judged in &graph.benches {
        bench(&mut rows, judged);
    }
    let columns = COLUMNS.map(|(title, left, leave)| Column { title, left, leave });
    text.extend(lines(&columns, &rows, look));
    text
}

fn bench(rows: &mut Vec<Row>, judged: &Judged) {
    let bench = &judged.bench;
    let mut name = Cell::new(&bench.id, Tone::Plain);
    let measured = || match &judged.figures {
        Some(figures) => [
            Cell::new(count(figures.n), Tone::Plain),
            Cell::new(time_text(figures.mean_ps as f64 / 1e3), Tone::Plain),
            Cell::new(time_text(figures.median_ps as f64 / 1e3), Tone::Plain),
        ],
        None => [absent(), absent(), absent()],
    };
    let reference = bench.reference.map(|reference| Cell::new(reference_text(reference), Tone::Faint));
    let against = judged.against_reference.map(|against| Cell::new(against_text(against), Tone::Faint));
    let mut compared = [reference.unwrap_or_else(absent), against.unwrap_or_else(absent)];
    if bench.limits.is_empty() {
        let mut cells = vec![name];
        cells.extend(measured());
        cells.push(absent());
        cells.extend(compared);
        cells.extend([absent(), absent(), verdict(bench.verdict)]);
        rows.push(Row::Cells(cells));
    } else {
        for judgement in &bench.limits {
            let mut cells = vec![std::mem::take(&mut name)];
            cells.extend(measured());
            cells.push(Cell::new(limit_text(judgement), Tone::Plain));
            cells.extend(compared.each_mut().map(std::mem::take));
            let tone = judgement.category().map(category_tone).unwrap_or_default();
            cells.push(judgement.margin.map_or_else(absent, |margin| Cell::new(margin.to_string(), tone)));
            cells.push(judgement.category().map_or_else(absent, |category| Cell::new(category.name(), tone)));
            cells.push(verdict(judgement.verdict));
            rows.push(Row::Cells(cells));
            // What is missing is said once, below.
            rows.extend(explain(judgement).filter(|_| judged.reason.is_none()).map(Row::Note));
        }
    }
    rows.extend(judged.reason.clone().map(Row::Note));
}

fn against_text(against: Against) -> String {
    match against {
        Against::Times(times) => format!("{times:.2}x"),
        Against::Under => "under".to_owned(),
        Against::Within => "within".to_owned(),
        Against::Over => "over".to_owned(),
    }
}

fn last(report: &Report, look: &Look) -> Vec<String> {
    let word = match report.verdict {
        Verdict::Fail => "FAIL",
        other => other.name(),
    };
    let mut parts = vec![summary::tally(|| report.judgements())];
    parts.extend(smallest(report).map(|(id, margin)| format!("smallest margin {margin} ({id})")));
    let code = report.exit_code;
    let text = format!("{word}: {}; exit {code}, {}", parts.join("; "), exit::meaning(code));
    look.wrap("", &text).iter().map(|line| look.paint(line, verdict_tone(report.verdict))).collect()
}

/// Whose margin is the smallest, and what it is.
fn smallest(report: &Report) -> Option<(String, Margin)> {
    let benches = report.graphs.iter().flat_map(|graph| &graph.benches);
    let margin = |judged: &Judged, limit: &Judgement| {
        Some((format!("{}, {}", judged.bench.id, limit_text(limit)), limit.margin?))
    };
    let margins =
        benches.flat_map(|judged| judged.bench.limits.iter().filter_map(move |limit| margin(judged, limit)));
    margins.reduce(|least, next| if next.1.is_below(least.1) { next } else { least })
}
