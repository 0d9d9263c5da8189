//! A report for people: the verdict table, where the time of each path goes, the slowest turn, what was lost.

mod bars;
mod bench;
mod benches;
mod limits;
mod look;
mod names;
mod plan;
mod progress;
mod summary;
mod table;
#[cfg(test)]
mod tests;

use graph_core::report::{Report, TurnReport};

pub use bench::{Share, bench};
pub use benches::criterion;
pub use look::{Look, is_utf8_locale};
pub(crate) use plan::floors_text;
pub use plan::plan;
pub use progress::progress;

use names::Names;

/// The whole report as text that ends with a line break, no line wider than the look where that has
/// 48 columns or more.
pub fn human(report: &Report, look: &Look) -> String {
    let names = Names::of(&report.edges, look);
    let mut sections = vec![summary::head(report, look), limits::table(report, &names, look)];
    sections.extend(report.paths.iter().map(|path| bars::contributions(path, &names, look)));
    sections.extend(slowest(report).map(|turn| bars::turn(turn, &names, look)));
    sections.push(summary::losses(report, &names, look));
    sections.push(summary::notes(report, &names, look));
    sections.push(summary::last(report, &names, look));
    sections.retain(|lines| !lines.is_empty());
    sections.iter().map(|lines| lines.join("\n") + "\n").collect::<Vec<_>>().join("\n")
}

/// The slowest packet of the path with the most edges.
fn slowest(report: &Report) -> Option<&TurnReport> {
    let mut turns = report.turns.iter();
    let first = turns.next()?;
    Some(
        turns
            .fold(first, |longest, turn| if turn.parts.len() > longest.parts.len() { turn } else { longest }),
    )
}
