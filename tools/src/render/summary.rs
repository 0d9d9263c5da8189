//! What stands around the table: where it ran, what was lost, and what it all comes to.

use graph_core::{
    budget::{Judgement, Margin, Verdict, exit},
    report::{EdgeReport, Machine, NoteValue, Report, Simulation},
};

use super::{
    limits::{count, limit_text, verdict_tone},
    look::{Look, Tone, plural, whole},
    names::Names,
};

/// The graph, how long it ran, and on what.
pub(super) fn head(report: &Report, look: &Look) -> Vec<String> {
    let machine = machine(&report.machine);
    let turns = &report.interactions;
    let what = if report.simulation.is_some() { "simulated: virtual time" } else { "ran" };
    let mut ran = format!("{} {what} {}", report.graph, report.elapsed);
    if turns.begun > 0 {
        ran += &format!(": {}, {} answered", plural(turns.begun, "turn"), turns.answered);
    }
    if !turns.cancelled.is_empty() {
        let slowest = turns.cancelled.iter().map(|cancelled| cancelled.last_effect).max().unwrap_or_default();
        ran += &format!(", {} cancelled (silent after {slowest} at most)", turns.cancelled.len());
    }
    let mut lines = vec![look.paint(&look.cut(&ran, look.width), Tone::Strong)];
    let on = match &report.simulation {
        Some(simulation) => simulated(simulation),
        None => format!("on {machine}"),
    };
    let on = match &report.class {
        Some(class) => format!("{on}; limits and references are for class {class}"),
        None => on,
    };
    lines.extend(look.wrap("", &on).iter().map(|line| look.paint(line, Tone::Faint)));
    lines
}

fn simulated(Simulation { seed, costs }: &Simulation) -> String {
    format!("with models of its nodes, nothing measured: costs from {}; seed {seed}", costs.join(", "))
}

/// A processor, a kernel and a build in one line.
pub(super) fn machine(machine: &Machine) -> String {
    let parts = [
        machine.cpu.clone(),
        machine.cores.map(|cores| plural(cores as u64, "core")),
        machine.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
        machine.governor.as_ref().map(|governor| format!("governor {governor}")),
        machine.load.map(|load| format!("load {load}")),
        (!machine.profile.is_empty()).then(|| format!("{} build", machine.profile)),
        machine.commit.as_ref().map(|commit| format!("commit {commit}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Edges on which packets did not arrive, or producers had to wait.
pub(super) fn losses(report: &Report, names: &Names, look: &Look) -> Vec<String> {
    let lines: Vec<_> = report.edges.iter().flat_map(|edge| losses_of(edge, names, look)).collect();
    section("packets", lines, look)
}

fn losses_of(edge: &EdgeReport, names: &Names, look: &Look) -> Vec<String> {
    let counts = &edge.counts;
    let mut parts: Vec<String> = [
        ("dropped", counts.dropped),
        ("lost", counts.lost),
        ("cancelled", counts.cancelled),
        ("left at the end", counts.left),
        ("in the warm-up", counts.warm_up),
    ]
    .into_iter()
    .filter(|(_, packets)| *packets > 0)
    .map(|(fate, packets)| format!("{} {fate}", count(packets)))
    .collect();
    if edge.blocked.n > 0 {
        parts.push(format!("full {}, for {}", plural(edge.blocked.n, "time"), whole(edge.blocked.sum)));
    }
    let negative = edge.negative.iter();
    parts.extend(negative.map(|(measure, packets)| format!("{packets} with a negative {}", measure.name())));
    if parts.is_empty() {
        return Vec::new();
    }
    let name = edge.name();
    look.wrap("  ", &format!("{}: of {} sent, {}", names.short(&name), count(counts.sent), parts.join(", ")))
}

/// What nodes counted, what was not judged, and what failed.
pub(super) fn notes(report: &Report, names: &Names, look: &Look) -> Vec<String> {
    let mut lines = Vec::new();
    for note in &report.notes {
        let value = match &note.value {
            // What did not happen is in the JSON.
            NoteValue::Count(0) => continue,
            NoteValue::Count(n) => format!("{} {n}", note.name),
            NoteValue::Text(text) => format!("{}: {text}", note.name),
        };
        lines.extend(look.wrap("  ", &format!("{}: {value}", names.short(&note.node))));
    }
    if !report.benches.is_empty() {
        let budgets = plural(report.benches.len() as u64, "budget");
        let text = format!("{budgets} of benchmarks not judged here; `cargo bench` measures them");
        lines.extend(look.wrap("  ", &text));
    }
    for overhead in &report.overheads {
        lines.extend(
            look.wrap("  ", &format!("{}: {}, {}", overhead.name, overhead.verdict, overhead.reason)),
        );
    }
    let mut lines = section("notes", lines, look);
    for failure in &report.failures {
        let what = match (failure.fatal, failure.times) {
            (true, _) => "failed".to_owned(),
            (false, 1) => "failed and went on".to_owned(),
            (false, times) => format!("failed and went on, {times} times"),
        };
        let text = look.wrap("", &format!("{} {what}: {}", failure.node, failure.message));
        lines.extend(text.iter().map(|line| look.paint(line, Tone::Bad)));
    }
    lines
}

fn section(title: &str, lines: Vec<String>, look: &Look) -> Vec<String> {
    if lines.is_empty() {
        return lines;
    }
    std::iter::once(look.paint(title, Tone::Strong)).chain(lines).collect()
}

/// The verdict, how many limits came out how, the smallest margin, and the exit status in words.
pub(super) fn last(report: &Report, names: &Names, look: &Look) -> Vec<String> {
    let word = match report.verdict {
        Verdict::Fail => "FAIL".to_owned(),
        other => other.name().to_owned(),
    };
    let word = if report.simulation.is_some() { format!("{word} (simulated)") } else { word };
    let mut parts = vec![tally(|| report.judgements())];
    parts.extend(smallest(report, names).map(|(name, margin)| format!("smallest margin {margin} ({name})")));
    let code = report.exit_code();
    let text = format!("{word}: {}; exit {code}, {}", parts.join("; "), exit::meaning(code));
    let mut lines = look.wrap("", &text);
    if let (Verdict::Fail, Some(class)) = (report.verdict, &report.class) {
        let hint =
            format!("the limits are those of machine class {class}; --with OVERLAY lays others over them");
        lines.extend(look.wrap("", &hint));
    }
    lines.iter().map(|line| look.paint(line, verdict_tone(report.verdict))).collect()
}

/// How many limits came out how.
pub(super) fn tally<'a, I: Iterator<Item = &'a Judgement>>(limits: impl Fn() -> I) -> String {
    let total = limits().count() as u64;
    let by_verdict = [
        Verdict::Fail,
        Verdict::Uncertain,
        Verdict::NoData,
        Verdict::TooFewSamples,
        Verdict::Flaky,
        Verdict::Warn,
        Verdict::Pass,
        Verdict::NotJudged,
    ]
    .into_iter()
    .map(|verdict| (verdict, limits().filter(|limit| limit.verdict == verdict).count()))
    .filter(|(_, n)| *n > 0);
    let parts: Vec<_> = by_verdict.map(|(verdict, n)| format!("{n} {verdict}")).collect();
    match total {
        0 => "no limits".to_owned(),
        _ => format!("{}, {}", plural(total, "limit"), parts.join(", ")),
    }
}

/// Whose margin is the smallest, and what it is.
fn smallest(report: &Report, names: &Names) -> Option<(String, Margin)> {
    let edges = report.edges.iter().flat_map(|edge| {
        let name = names.short(&edge.name()).to_owned();
        edge.limits.iter().map(move |limit| (name.clone(), limit))
    });
    let paths =
        report.paths.iter().flat_map(|path| path.limits.iter().map(|limit| (path.name.clone(), limit)));
    let margins =
        edges.chain(paths).filter_map(|(name, limit)| Some((name, limit_text(limit), limit.margin?)));
    let (name, limit, margin) =
        margins.reduce(|least, next| if next.2.is_below(least.2) { next } else { least })?;
    Some((format!("{name}, {limit}"), margin))
}
