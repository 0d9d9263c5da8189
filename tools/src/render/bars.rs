//! Where the time of a path goes: what each edge adds, and the slowest turn on a time line.

use graph_core::{
    Nanos,
    report::{PathReport, TurnReport},
};
use unicode_width::UnicodeWidthStr;

use super::{
    look::{Look, Tone, whole},
    names::Names,
};

/// One row of a chart.
struct Bar<'a> {
    label: &'a str,
    /// Where it begins on the scale.
    start: u64,
    work: u64,
    held: u64,
    wait: u64,
}

impl Bar<'_> {
    fn total(&self) -> u64 {
        self.work + self.held + self.wait
    }

    /// Its cells on a scale of `whole` over `columns`: each border is rounded on its own, so that bars that follow each
    /// other in time do so on the screen. What is more than nothing is seen.
    fn draw(&self, whole: u64, columns: usize, look: &Look) -> String {
        let glyphs = look.glyphs();
        let place = |at: u64| {
            let exact = u128::from(at) * columns as u128 * 2;
            let rounded = (exact / u128::from(whole.max(1))).div_ceil(2);
            usize::try_from(rounded).unwrap_or(columns).min(columns)
        };
        let (start, end) = (place(self.start), place(self.start + self.total()));
        let mut drawn = " ".repeat(start.min(columns - 1));
        if start == end && self.total() > 0 {
            drawn.push(glyphs.trace);
            return drawn;
        }
        let mut from = self.start;
        for (length, glyph) in [(self.work, glyphs.work), (self.held, glyphs.held), (self.wait, glyphs.wait)]
        {
            drawn.extend(std::iter::repeat_n(glyph, place(from + length) - place(from)));
            from += length;
        }
        drawn
    }
}

fn legend(look: &Look) -> String {
    let glyphs = look.glyphs();
    format!("{} work  {} held  {} wait", glyphs.work, glyphs.held, glyphs.wait)
}

fn label_width(labels: impl Iterator<Item = usize>, look: &Look) -> usize {
    labels.max().unwrap_or(0).min(look.width / 3)
}

/// What each edge adds to the mean latency of a path.
pub(super) fn contributions(path: &PathReport, names: &Names, look: &Look) -> Vec<String> {
    let all: u64 = path.parts.iter().map(|part| part.mean_ns).sum();
    if all == 0 {
        return Vec::new();
    }
    let bars: Vec<Bar> = path
        .parts
        .iter()
        .map(|part| Bar {
            label: names.short(&part.edge),
            start: 0,
            work: part.work_ns,
            held: part.held_ns,
            wait: part.wait_ns,
        })
        .collect();
    let largest = bars.iter().map(Bar::total).max().unwrap_or(0);
    let label = label_width(bars.iter().map(|bar| bar.label.width()), look);
    let split = look.width >= 100;
    let numbers = if split { 61 } else { 17 };
    let columns = look.width.saturating_sub(2 + label + 2 + numbers).clamp(8, 48);
    let held: u64 = bars.iter().map(|bar| bar.held).sum();
    let of_it = if held > 0 { format!(", {} of it held on purpose", Nanos(held)) } else { String::new() };
    let heading = look.cut(&format!("{}: {} on average{of_it}", path.name, Nanos(all)), look.width);
    let legend = legend(look);
    let (title, key) = (look.paint(&heading, Tone::Strong), look.paint(&legend, Tone::Faint));
    let side_by_side = heading.width() + 3 + legend.width() <= look.width;
    let mut lines = if side_by_side { vec![format!("{title}   {key}")] } else { vec![title, key] };
    for bar in bars {
        let total = bar.total();
        let share = (total as f64 / all as f64 * 100.0).round();
        let mut line = format!(
            "  {}  {}  {:>8}  {share:>3} %",
            look.fit(bar.label, label, true),
            look.fit(&bar.draw(largest, columns, look), columns, true),
            Nanos(total).to_string(),
        );
        if split {
            let part = |name: &str, nanos: u64| {
                let text = if nanos == 0 { String::new() } else { format!("{name} {}", Nanos(nanos)) };
                look.paint(&look.fit(&text, 14, true), Tone::Faint)
            };
            line +=
                &format!("  {}{}{}", part("work", bar.work), part("held", bar.held), part("wait", bar.wait));
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// One packet's way along a path, edge after edge.
pub(super) fn turn(turn: &TurnReport, names: &Names, look: &Look) -> Vec<String> {
    let mut start = 0;
    let bars: Vec<Bar> = turn
        .parts
        .iter()
        .map(|part| {
            let bar = Bar {
                label: names.short(&part.edge),
                start,
                work: part.work_ns,
                held: part.held_ns,
                wait: part.wait_ns,
            };
            start += part.latency_ns();
            bar
        })
        .collect();
    let label = label_width(bars.iter().map(|bar| bar.label.width()), look);
    let columns = look.width.saturating_sub(2 + label + 2 + 10).clamp(8, 84);
    let [latency, cost, held] =
        [turn.latency_ns, turn.cost_ns, turn.held_ns].map(|nanos| whole(Nanos(nanos)));
    let heading = format!(
        "slowest of {}: turn {}, packet {}, {latency} = cost {cost} + held {held}",
        turn.path, turn.turn, turn.seq
    );
    let mut lines: Vec<_> =
        look.wrap("", &heading).iter().map(|line| look.paint(line, Tone::Strong)).collect();
    for bar in &bars {
        lines.push(format!(
            "  {}  {}  {:>8}",
            look.fit(bar.label, label, true),
            look.fit(&bar.draw(turn.latency_ns, columns, look), columns, true),
            Nanos(bar.total()).to_string()
        ));
    }
    lines.push(look.paint(&scale(turn.latency_ns, label, columns, look), Tone::Faint));
    lines
}

/// `0 ──── 400 ms ──── 800 ms` under the chart.
fn scale(whole: u64, label: usize, columns: usize, look: &Look) -> String {
    let axis = look.glyphs().axis;
    let (half, end) = (Nanos(whole / 2).to_string(), Nanos(whole).to_string());
    let dashes = |n: usize| axis.to_string().repeat(n);
    let left = (columns / 2).saturating_sub(2 + half.width() / 2);
    let right = columns.saturating_sub(2 + left + 1 + half.width() + 1 + 1 + end.width());
    let line = format!("0 {} {half} {} {end}", dashes(left), dashes(right));
    format!("  {}  {}", " ".repeat(label), look.cut(&line, columns))
}
