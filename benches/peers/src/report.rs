//! Tables for people, JSON for programs.

use std::{collections::BTreeMap, fs, path::Path};

use comfy_table::{CellAlignment, Table, presets};
use graph_core::report::Machine;
use serde::Serialize;

use crate::{
    figures::{Spread, short},
    floors::Floor,
    peer::Failure,
    rounds::{Broken, Effort, Row},
};

/// Changes when a field changes its meaning or goes.
const SCHEMA_VERSION: u32 = 1;

/// Everything of one run.
#[derive(Serialize)]
pub struct Report<'a> {
    schema_version: u32,
    machine: Machine,
    #[serde(flatten)]
    effort: Effort,
    /// Peers.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub rows: &'a [Row],
    /// Peers that did not run.
    pub failures: &'a [Broken],
    /// What the machine itself costs.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub floors: &'a [Floor],
}

impl<'a> Report<'a> {
    /// An empty one. `machine` is read before the run, which is a load of its own.
    pub fn new(machine: Machine, effort: Effort) -> Report<'a> {
        Report { schema_version: SCHEMA_VERSION, machine, effort, rows: &[], failures: &[], floors: &[] }
    }

    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self)?;
        fs::write(path, text + "\n")
            .map_err(|error| format!("cannot write {}: {error}", path.display()).into())
    }

    /// On what it was measured.
    pub fn provenance(&self) -> String {
        let Machine { cpu, cores, kernel, load, commit, profile, .. } = &self.machine;
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
        format!(
            "{}, {} cores, kernel {}, load {}, commit {}, {profile} profile; medians of {} rounds (least..most)",
            known(cpu),
            cores.map_or("?".into(), |cores| cores.to_string()),
            known(kernel),
            load.map_or("?".into(), |load| load.to_string()),
            known(commit),
            self.effort.rounds,
        )
    }
}

/// A table for each chain, and how the peers are set up.
pub fn peers(rows: &[Row]) -> String {
    let mut text = String::new();
    for chain in rows.chunk_by(|one, other| (one.stages, one.payload) == (other.stages, other.payload)) {
        let Row { stages, payload, hops, .. } = &chain[0];
        let words = payload.words();
        let ours = |row: &&Row| row.peer == "ours" && row.threads == 1;
        let ours = chain.iter().find(ours).and_then(|row| row.cpu_ns_per_hop).map(|cpu| cpu.median);
        text += &format!("\n{stages} stages ({hops} hops), {words}\n");
        let mut table = table([
            "peer",
            "threads",
            "CPU ns a hop",
            "x ours",
            "hop p50 ns",
            "hop p99 ns",
            "end to end p50 us",
        ]);
        for row in chain {
            let cpu = row.cpu_ns_per_hop.map(|cpu| cpu.median);
            table.add_row([
                row.peer.to_owned(),
                row.threads.to_string(),
                spread(row.cpu_ns_per_hop, 1.0),
                cpu.zip(ours).map_or("-".into(), |(cpu, ours)| format!("{:.2}", cpu / ours)),
                spread(row.hop_p50_ns, 1.0),
                spread(row.hop_p99_ns, 1.0),
                spread(row.e2e_p50_ns, 1_000.0),
            ]);
        }
        text += &align(table);
    }
    let mut setups: Vec<(&str, String)> = Vec::new();
    for row in rows {
        let setup = format!("{} {}: {}", row.peer, row.version, row.configuration);
        // One thread a stage differs by the number alone.
        if !setups.iter().any(|(_, seen)| *seen == setup) {
            setups.push((row.peer, setup));
        }
    }
    let negative: u64 = rows.iter().map(|row| row.negative).sum();
    let mut by_peer: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (peer, setup) in setups {
        let first = rows.iter().position(|row| row.peer == peer).unwrap_or_default();
        by_peer.entry(first).or_default().push(setup);
    }
    text += "\nEach peer as it was set up\n";
    text += &by_peer.into_values().flatten().map(|setup| format!("  {setup}\n")).collect::<String>();
    text + &format!("\nNegative hops: {negative}\n")
}

/// What did not run.
pub fn failures(broken: &[Broken]) -> String {
    let lines = broken.iter().map(|Broken { peer, stages, payload, error }| {
        format!("{peer}, {stages} stages, {}: {error}\n", payload.words())
    });
    lines.collect()
}

/// One table of all.
pub fn floors(floors: &[Floor]) -> String {
    let mut table = table(["floor", "p50 ns", "p99 ns"]);
    for floor in floors {
        table.add_row([floor.name.to_owned(), spread(floor.p50_ns, 1.0), spread(floor.p99_ns, 1.0)]);
    }
    let mut text = align(table);
    text += "\n";
    text += &floors.iter().map(|floor| format!("  {}: {}\n", floor.name, floor.about)).collect::<String>();
    text
}

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header);
    table
}

fn align(mut table: Table) -> String {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

fn spread(spread: Option<Spread>, unit: f64) -> String {
    spread.map_or("-".into(), |Spread { min, median, max }| {
        let [min, median, max] = [min, median, max].map(|value| short_in(value, unit));
        format!("{median} ({min}..{max})")
    })
}

fn short_in(value: f64, unit: f64) -> String {
    if unit > 1.0 && value / unit < 9.95 { format!("{:.2}", value / unit) } else { short(value / unit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_shows_its_spread() {
        let figures = Spread { min: 1240.0, median: 1310.0, max: 19_900.0 };
        assert_eq!(spread(Some(figures), 1.0), "1310 (1240..19900)");
        assert_eq!(spread(Some(figures), 1_000.0), "1.31 (1.24..20)");
        assert_eq!(spread(None, 1.0), "-");
    }
}
