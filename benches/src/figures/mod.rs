//! The figures of the runtime that are to be reached, all in one run: see `docs/performance.md`.

mod hops;
mod ring;
mod runner;
mod spread;
mod still;
mod table;

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
    path::{Path, PathBuf},
    process::Command,
};

use graph_core::{measure::MEASURED, report::Machine};
use serde::{Deserialize, Serialize};

use self::runner::Runner;

pub use self::{
    runner::Failure,
    spread::Spread,
    table::{Def, TABLE, Unit},
};

/// Changes when a field changes its meaning or goes.
const SCHEMA_VERSION: u32 = 1;
/// Of what takes seconds: waiting and ticking.
const SLOW_ROUNDS: usize = 3;

/// What is asked of a run.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// How often each figure is taken, all in turn.
    pub rounds: usize,
    /// Whether figures are only to be there, and not to mean anything.
    pub quick: bool,
    /// This program, and the same without measuring.
    pub against: Option<[PathBuf; 2]>,
}

/// Figures while the rounds go on.
#[derive(Default)]
pub struct Figures(BTreeMap<&'static str, Vec<f64>>);

impl Figures {
    fn put(&mut self, id: &'static str, value: f64) {
        self.0.entry(id).or_default().push(value);
    }
}

/// A figure.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name for programs.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// Of what is measured and of the goal.
    pub unit: Unit,
    /// Over rounds; `None` where it was not measured.
    pub measured: Option<Spread>,
    /// What is to be reached: at most so much.
    pub goal: Option<f64>,
    /// Whether the median reaches it.
    pub met: Option<bool>,
    /// How it is made; empty where it is as the one above.
    pub how: &'static str,
}

/// All figures of a run, and where they come from.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    /// Read before the run, which is a load of its own.
    pub machine: Machine,
    /// How often each figure was taken.
    pub rounds: usize,
    /// Whether the figures mean nothing.
    pub quick: bool,
    /// The figures.
    pub rows: Vec<Row>,
    /// Packets that were taken in all runs, over all edges.
    pub taken: u64,
    /// Negative differences of stamps among them, which are to be none.
    pub negative: u64,
}

/// Measures everything.
///
/// # Errors
/// When a run fails.
pub fn measure(wishes: &Wishes) -> Result<Report, Failure> {
    if !MEASURED {
        return Err("this build does not measure: it is there to be compared with one that does".into());
    }
    let machine = Machine::read();
    let (mut runner, mut figures) = (Runner::new(wishes.quick), Figures::default());
    for round in 0..wishes.rounds {
        hops::inside(&mut runner, &mut figures)?;
        hops::between(&mut runner, &mut figures)?;
        hops::parked(&mut runner, &mut figures)?;
        still::thousand(&mut runner, &mut figures)?;
        if let Some(programs) = &wishes.against {
            measuring(programs, wishes.quick, &mut figures)?;
        }
        if round < SLOW_ROUNDS {
            still::pacing(&mut runner, &mut figures)?;
            still::idle(&mut runner, &mut figures)?;
        }
    }
    let rows = TABLE.iter().map(|def| Row::new(def, figures.0.remove(def.id).and_then(Spread::of)));
    Ok(Report {
        schema_version: SCHEMA_VERSION,
        machine,
        rounds: wishes.rounds,
        quick: wishes.quick,
        rows: rows.collect(),
        taken: runner.account.taken,
        negative: runner.account.negative,
    })
}

/// What a build with measuring and one without tell each other.
#[derive(Debug, Serialize, Deserialize)]
pub struct Pair {
    measured: bool,
    fused_ns: f64,
    across_ns: f64,
}

/// One round of what is compared between two builds.
///
/// # Errors
/// When a run fails.
pub fn pair(quick: bool) -> Result<Pair, Failure> {
    let [fused_ns, across_ns] = hops::pair(&mut Runner::new(quick))?;
    Ok(Pair { measured: MEASURED, fused_ns, across_ns })
}

fn measuring(programs: &[PathBuf; 2], quick: bool, figures: &mut Figures) -> Result<(), Failure> {
    let run = |program: &Path| -> Result<Pair, Failure> {
        let mut command = Command::new(program);
        command.arg("--pair").args(quick.then_some("--quick"));
        let failed = |why: String| format!("{} --pair: {why}", program.display());
        let done = command.output().map_err(|error| failed(error.to_string()))?;
        if !done.status.success() {
            return Err(failed(String::from_utf8_lossy(&done.stderr).into_owned()).into());
        }
        serde_json::from_slice(&done.stdout).map_err(|error| failed(error.to_string()).into())
    };
    let [on, off] = [run(&programs[0])?, run(&programs[1])?];
    if off.measured {
        let program = programs[1].display();
        return Err(
            format!("{program} measures: build it with GRAPHRUN_UNMEASURED=1 in the environment").into()
        );
    }
    figures.put("measuring-fused", on.fused_ns - off.fused_ns);
    figures.put("measuring-across", on.across_ns - off.across_ns);
    Ok(())
}

impl Row {
    fn new(def: &Def, measured: Option<Spread>) -> Row {
        let &Def { id, name, unit, at_most, how } = def;
        let met = measured.zip(at_most).map(|(measured, at_most)| measured.median <= at_most);
        Row { id, name, unit, measured, goal: at_most, met, how }
    }
}

/// A table for people, and under it how each figure is made.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { cpu, cores, kernel, load, commit, profile, .. } = &self.machine;
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
        writeln!(
            f,
            "{}, {} cores, kernel {}, load {}, commit {}, {profile} profile; medians of {} rounds (least..most)\n",
            known(cpu),
            cores.map_or("?".into(), |cores| cores.to_string()),
            known(kernel),
            load.map_or("?".into(), |load| load.to_string()),
            known(commit),
            self.rounds,
        )?;
        if self.quick {
            writeln!(f, "A quick run: these figures mean nothing.\n")?;
        }
        writeln!(f, "| | measured | to reach | |\n|---|---|---|---|")?;
        for row in &self.rows {
            let unit = row.unit.name();
            let measured = row.measured.map_or("not measured".into(), |Spread { min, median, max }| {
                let [min, median, max] = [min, median, max].map(short);
                format!("{median} {unit} ({min}..{max})")
            });
            let goal = row.goal.map_or(String::new(), |goal| format!("at most {} {unit}", short(goal)));
            let met = row.met.map_or("", |met| if met { "met" } else { "MISSED" });
            writeln!(f, "| {} | {measured} | {goal} | {met} |", row.name)?;
        }
        let met = if self.negative == 0 { "met" } else { "MISSED" };
        writeln!(
            f,
            "| negative differences, of {} packets taken | {} | 0 | {met} |\n",
            self.taken, self.negative
        )?;
        let mut how = String::new();
        for row in self.rows.iter().filter(|row| !row.how.is_empty()) {
            writeln!(how, "- {}: {}", row.name.trim(), row.how)?;
        }
        f.write_str(&how)
    }
}

/// With as many digits as tell something.
fn short(value: f64) -> String {
    match value.abs() {
        size if size < 0.995 => format!("{value:.3}"),
        size if size < 9.95 => format!("{value:.2}"),
        size if size < 99.5 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
