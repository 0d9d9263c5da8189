//! The table of edges and paths: one row a limit.

use graph_core::{
    Nanos,
    budget::{Bound, Category, Figure, Judgement, Level, Measure, Reference, Verdict},
    report::{Figures, PacketReport, Report, Times},
};

use super::{
    look::{Look, Tone, whole},
    names::Names,
    table::{Cell, Column, Row},
};

const COLUMNS: [(&str, bool, Option<u8>); 10] = [
    ("edge", true, None),
    ("n", false, Some(3)),
    ("p50", false, Some(4)),
    ("p99", false, Some(1)),
    ("max", false, Some(5)),
    ("limit", false, None),
    ("reference", false, Some(0)),
    ("margin", false, Some(6)),
    ("category", true, Some(2)),
    ("verdict", true, None),
];

pub(super) fn table(report: &Report, names: &Names, look: &Look) -> Vec<String> {
    let columns = COLUMNS.map(|(title, left, leave)| Column { title, left, leave });
    let mut rows = vec![Row::Titles("edge")];
    for edge in &report.edges {
        let name = edge.name();
        subject(&mut rows, names.short(&name), &edge.times, edge.reference, &edge.limits);
        if edge.limits.iter().any(is_too_slow) {
            rows.extend(edge.worst.first().map(|worst| Row::Note(worst_packet(worst))));
        }
    }
    if !report.paths.is_empty() {
        rows.extend([Row::Gap, Row::Titles("path")]);
    }
    for path in &report.paths {
        subject(&mut rows, &path.name, &path.times, path.reference, &path.limits);
    }
    super::table::lines(&columns, &rows, look)
}

/// The rows of one edge or path.
fn subject(
    rows: &mut Vec<Row>,
    name: &str,
    times: &Times,
    reference: Option<Reference>,
    limits: &[Judgement],
) {
    let mut name = Cell::new(name, Tone::Plain);
    let mut reference =
        reference.map_or_else(absent, |reference| Cell::new(reference_text(reference), Tone::Faint));
    if limits.is_empty() {
        let measure = if times.contains_key(&Measure::First) { Measure::First } else { Measure::Latency };
        let figures = figures(times, measure);
        let mut cells = vec![name, Cell::new(count(figures.n), Tone::Plain)];
        cells.extend(stats(&figures));
        cells.extend([absent(), reference, absent(), absent(), verdict(Verdict::NotBudgeted)]);
        return rows.push(Row::Cells(cells));
    }
    for judgement in limits {
        let mut cells = vec![std::mem::take(&mut name), Cell::new(count(judgement.n), Tone::Plain)];
        cells.extend(measured(times, judgement));
        cells.push(Cell::new(limit_text(judgement), Tone::Plain));
        cells.push(std::mem::take(&mut reference));
        let tone = judgement.category().map(category_tone).unwrap_or_default();
        cells.push(judgement.margin.map_or_else(absent, |margin| Cell::new(margin.to_string(), tone)));
        cells.push(judgement.category().map_or_else(absent, |category| Cell::new(category.name(), tone)));
        cells.push(verdict(judgement.verdict));
        rows.push(Row::Cells(cells));
        rows.extend(explain(judgement).map(Row::Note));
    }
}

pub(super) fn absent() -> Cell {
    Cell::new("-", Tone::Faint)
}

fn figures(times: &Times, measure: Measure) -> Figures {
    times.get(&measure).copied().flatten().unwrap_or_default()
}

/// The three columns of times, of the measure that is judged; what is no time stands across them.
fn measured(times: &Times, judgement: &Judgement) -> [Cell; 3] {
    match judgement.limit.bound {
        Bound::AtMost { measure, .. } => stats(&figures(times, measure.unwrap_or(Measure::Latency))),
        Bound::RateAtLeast(_) => across(judgement, "least "),
        Bound::DropsAtMost(_) => across(judgement, ""),
    }
}

fn across(judgement: &Judgement, what: &str) -> [Cell; 3] {
    let text = judgement.measured.map_or_else(|| "-".to_owned(), |figure| format!("{what}{figure}"));
    [Cell::joined(), Cell::joined(), Cell::new(text, Tone::Plain)]
}

fn stats(figures: &Figures) -> [Cell; 3] {
    [figures.p50_ns, figures.p99_ns, figures.max_ns]
        .map(|nanos| nanos.map_or_else(absent, |nanos| Cell::new(Nanos(nanos).to_string(), Tone::Plain)))
}

/// `cost max 100 ms`; the latency needs no name.
pub(super) fn limit_text(judgement: &Judgement) -> String {
    match judgement.limit.bound {
        Bound::AtMost { measure: None | Some(Measure::Latency), stat, limit } => {
            format!("{} {limit}", stat.name())
        }
        Bound::AtMost { measure: Some(measure), stat, limit } => {
            format!("{} {} {limit}", measure.name(), stat.name())
        }
        Bound::RateAtLeast(rate) => format!("rate {}", Figure::Rate(rate)),
        Bound::DropsAtMost(share) => format!("drops {}", Figure::Share(share)),
    }
}

pub(super) fn reference_text(reference: Reference) -> String {
    match reference {
        Reference::Time(time) => time.to_string(),
        Reference::Below(time) => format!("< {time}"),
        Reference::Range(from, to) => format!("{from}..{to}"),
        Reference::Rate(rate) => Figure::Rate(rate).to_string(),
    }
}

pub(super) fn verdict(verdict: Verdict) -> Cell {
    let text = match verdict {
        Verdict::Fail => "FAIL",
        Verdict::TooFewSamples => "too-few",
        Verdict::NotBudgeted => "no-budget",
        other => other.name(),
    };
    Cell::new(text, verdict_tone(verdict))
}

pub(super) fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Pass => Tone::Good,
        Verdict::Fail => Tone::Bad,
        Verdict::NotBudgeted | Verdict::NotJudged => Tone::Faint,
        _ => Tone::Doubtful,
    }
}

pub(super) fn category_tone(category: Category) -> Tone {
    match category {
        Category::Safe => Tone::Good,
        Category::Monitor => Tone::Plain,
        Category::Critical => Tone::Doubtful,
    }
}

/// Whether packets that arrived were over the limit, so that the worst of them tells something.
fn is_too_slow(judgement: &Judgement) -> bool {
    let failed = matches!(judgement.verdict, Verdict::Fail | Verdict::Warn);
    failed && judgement.margin.is_some() && matches!(judgement.limit.bound, Bound::AtMost { .. })
}

/// What a verdict rests on, where it is not plain.
pub(super) fn explain(judgement: &Judgement) -> Option<String> {
    const SURE: f64 = 0.95;
    let sure = judgement.confidence.map(|sure| whole(format!("{} % sure", (sure * 100.0).floor())));
    let unsure = judgement.confidence.is_some_and(|sure| sure < SURE);
    let assumed = || judgement.limit.assumed.then(|| "the limit is an assumption".to_owned());
    let parts: Vec<String> = match judgement.verdict {
        Verdict::Pass if unsure => {
            let over = format!("{} of {} over", judgement.over, judgement.n);
            [Some(over), sure, assumed()].into_iter().flatten().collect()
        }
        Verdict::Pass | Verdict::NotBudgeted | Verdict::NotJudged => assumed().into_iter().collect(),
        Verdict::Fail | Verdict::Warn | Verdict::Flaky => {
            [figure(judgement), judgement.reason.clone(), sure, assumed()].into_iter().flatten().collect()
        }
        undecided => {
            let reason = judgement.reason.as_deref().unwrap_or_default();
            let level = (judgement.limit.level == Level::Warn).then(|| "the limit only warns".to_owned());
            [Some(format!("{undecided}: {reason}")), level, assumed()].into_iter().flatten().collect()
        }
    };
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// `mean 1.3 ms`, where the columns do not show it.
fn figure(judgement: &Judgement) -> Option<String> {
    let measured = judgement.measured?;
    match judgement.limit.bound {
        Bound::AtMost { stat, .. } => Some(whole(format!("{} {measured}", stat.name()))),
        _ => None,
    }
}

/// The worst packet and what it spent its time on.
fn worst_packet(worst: &PacketReport) -> String {
    let parts = [("work", worst.work_ns), ("held", Some(worst.held_ns)), ("wait", worst.wait_ns)];
    let part = |(name, nanos): (&str, Option<u64>)| match nanos {
        Some(0) => None,
        Some(nanos) => Some(whole(format!("{name} {}", Nanos(nanos)))),
        None => Some(whole(format!("{name} unknown"))),
    };
    let parts: Vec<_> = parts.into_iter().filter_map(part).collect();
    let latency = worst.latency_ns.map_or_else(|| "unknown".to_owned(), |nanos| whole(Nanos(nanos)));
    format!("worst: packet {} of turn {}, {latency} = {}", worst.seq, worst.turn, parts.join(" + "))
}

pub(super) fn count(n: u64) -> String {
    match n {
        0..1_000_000 => n.to_string(),
        1_000_000..1_000_000_000 => format!("{:.1}M", n as f64 / 1e6),
        _ => format!("{:.1}G", n as f64 / 1e9),
    }
}
