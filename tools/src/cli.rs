//! What can be typed after `graphrun`.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, error::ErrorKind};
use graph_core::{Nanos, file::units};

use crate::exit;

/// Checks, runs and judges a graph of stages against the latency budget of every edge.
#[derive(Debug, Parser)]
#[command(
    name = "graphrun",
    version,
    arg_required_else_help = true,
    override_usage = "graphrun [run] <FILE> [OPTIONS]\n       graphrun <COMMAND>",
    after_help = after_help()
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// A command with its arguments.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a graph and judge its budgets; so does `graphrun FILE`
    Run(RunArgs),
    /// Check a graph and its budgets without running it
    Check(CheckArgs),
    /// Draw a graph
    Draw(DrawArgs),
    /// List the node kinds, or explain one
    Nodes(NodesArgs),
    /// Write the budgets of graphs as a page of Markdown
    Budgets(BudgetsArgs),
    /// Time one node kind alone, or every node of a graph
    Bench(BenchArgs),
    /// Judge what `cargo bench` measured by the budgets of graphs
    Report(CriterionArgs),
    /// Explain the code of an error
    Explain(ExplainArgs),
    /// Write a starter graph, or the source of a new node
    New(NewArgs),
    /// Fetch, list and verify models and recordings
    Assets(AssetsArgs),
    /// Tell what is missing on this machine, and the command that mends it
    Doctor(DoctorArgs),
}

/// A graph file and what is laid over it.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// The graph file
    pub file: PathBuf,
    /// Lay this file over the graph; may be given several times, the last one wins
    #[arg(long = "with", value_name = "OVERLAY")]
    pub overlays: Vec<PathBuf>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The graph
    #[command(flatten)]
    pub graph: GraphArgs,
    /// End the sources after this time, such as `30s`, `5 min` or `500 ms`
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub duration: Option<Nanos>,
    /// End the sources after this many turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub turns: Option<u64>,
    /// Measure everything on every edge, not only what its limits speak of; a report that --costs is to read needs it
    #[arg(long)]
    pub measure_all: bool,
    /// The form of the result
    #[command(flatten)]
    pub report: ReportArgs,
    /// Virtual time
    #[command(flatten)]
    pub simulation: SimulationArgs,
}

/// How a graph is simulated instead of run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Virtual time")]
#[group(skip)]
pub struct SimulationArgs {
    /// Simulate the graph with models of its nodes, faster than real time; --for is virtual time then, 60 s unless given
    #[arg(long = "virtual", group = "virtual_time", conflicts_with = "turns")]
    pub is_virtual: bool,
    /// What nodes cost: a costs file, or the JSON report of a run with --measure-all; may be given several times, the last
    /// one wins
    #[arg(long, value_name = "FILE", requires = "virtual_time")]
    pub costs: Vec<PathBuf>,
    /// What one node costs, such as stt="300 ms", vad.held="480 ms", mic.interval="10 ms", or the delay of a socket, "a ->
    /// b"="2 ms"; may be given several times
    #[arg(long, value_name = "NODE=TIME", requires = "virtual_time")]
    pub cost: Vec<String>,
    /// What the models draw from: the same seed gives the same report
    #[arg(long, value_name = "N", default_value_t = 1, requires = "virtual_time")]
    pub seed: u64,
    /// Write a costs file for the graph to stdout, with what --costs and --cost state and "?" where something is to be
    /// filled in
    #[arg(long, group = "virtual_time", conflicts_with = "turns")]
    pub costs_template: bool,
}

/// How a result is given.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// For people or for programs
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
    /// Write the result to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Whom a result is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables, as wide as the terminal
    Human,
    /// One JSON document with a `schema_version`
    Json,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The graph
    #[command(flatten)]
    pub graph: GraphArgs,
    /// Fail on warnings too
    #[arg(long)]
    pub strict: bool,
    /// Show what the graph runs as: threads, their order of service, queues and memory
    #[arg(long)]
    pub plan: bool,
    /// The form of the result
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Arguments of `draw`.
#[derive(Debug, Args)]
pub struct DrawArgs {
    /// The graph
    #[command(flatten)]
    pub graph: GraphArgs,
    /// The language of the drawing
    #[arg(long, value_enum, default_value_t = Drawing::Mermaid)]
    pub format: Drawing,
    /// Write the drawing to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The language of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Drawing {
    /// A Mermaid flow chart
    Mermaid,
    /// A Graphviz graph
    Dot,
}

/// Arguments of `nodes`.
#[derive(Debug, Args)]
pub struct NodesArgs {
    /// Explain this kind, such as `speech/vad`
    pub kind: Option<String>,
    /// Give the whole reference as a page of Markdown
    #[arg(long, conflicts_with = "kind")]
    pub markdown: bool,
}

/// Arguments of `budgets`.
#[derive(Debug, Args)]
pub struct BudgetsArgs {
    /// The graph files
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
}

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// A kind, such as `audio/resample`, to be timed with the sample that it declares; or a graph file, whose nodes are
    /// timed with its parameters. Every kind of this build when left out
    #[arg(value_name = "KIND|FILE")]
    pub target: Option<String>,
    /// Lay this file over the graph; may be given several times, the last one wins
    #[arg(long = "with", value_name = "OVERLAY", requires = "target")]
    pub overlays: Vec<PathBuf>,
    /// The form of the result
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct CriterionArgs {
    /// The folder that criterion writes to
    #[arg(long, value_name = "DIR", default_value = "target/criterion")]
    pub criterion: PathBuf,
    /// Lay this file over each graph; may be given several times, the last one wins
    #[arg(long = "with", value_name = "OVERLAY")]
    pub overlays: Vec<PathBuf>,
    /// The graph files; when left out, those in the folder `graphs` that have `benches`
    pub files: Vec<PathBuf>,
    /// The form of the result
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The code, as an error shows it
    pub code: String,
}

/// Arguments of `new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// What to write
    #[command(subcommand)]
    pub what: New,
}

/// What `new` writes.
#[derive(Debug, Subcommand)]
pub enum New {
    /// Write NAME.ron, a graph that runs as it is
    Graph {
        /// Name of the graph, or the path of its file
        name: PathBuf,
    },
    /// Write nodes/src/DOMAIN/NAME.rs, a transform that passes its input on
    Node {
        /// The kind, such as `audio/gain`
        #[arg(value_name = "DOMAIN/NAME")]
        kind: String,
    },
}

/// Arguments of `assets`.
#[derive(Debug, Args)]
pub struct AssetsArgs {
    /// What to do; `list` when left out
    #[command(subcommand)]
    pub action: Option<AssetsAction>,
}

/// What `assets` does.
#[derive(Debug, Subcommand)]
pub enum AssetsAction {
    /// Fetch assets, by default all of them
    Pull {
        /// Which ones
        names: Vec<String>,
    },
    /// List the assets with their versions, sizes and licences, and whether they are here
    List,
    /// Read assets again and compare them with their hashes, by default all that are here
    Verify {
        /// Which ones
        names: Vec<String>,
    },
}

/// Arguments of `doctor`: none.
#[derive(Debug, Args)]
pub struct DoctorArgs {}

/// The command that the arguments state, the program's name first. Without the name of a command it is `run`.
///
/// # Errors
/// Clap's error, which prints itself: for `--help` and `--version` to stdout, for wrong use to stderr.
pub fn parse(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Command, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let unnamed = arguments.get(1).is_some_and(|first| !first.to_str().is_some_and(belongs_to_graphrun));
    if unnamed {
        arguments.insert(1, "run".into());
    }
    match Cli::try_parse_from(arguments)?.command {
        Command::Run(run) if unnamed => match misspelt(&run.graph.file) {
            Some(near) => Err(Cli::command().error(
                ErrorKind::InvalidSubcommand,
                format!("`{}` is no file and no command; did you mean `{near}`?", run.graph.file.display()),
            )),
            None => Ok(Command::Run(run)),
        },
        command => Ok(command),
    }
}

fn after_help() -> String {
    let meanings: String =
        exit::MEANINGS.iter().map(|(code, meaning)| format!("\n  {code:3}  {meaning}")).collect();
    format!(
        "The result goes to stdout, progress and logs to stderr. RUST_LOG sets what is logged.\n\n\
         Exit status (of a command that judges nothing: 0, or 1 when it could not be done):{meanings}"
    )
}

/// Whether a first argument is the name of a command, or an option of `graphrun` itself.
fn belongs_to_graphrun(argument: &str) -> bool {
    ["-h", "--help", "-V", "--version", "help"].contains(&argument)
        || Cli::command().find_subcommand(argument).is_some()
}

/// The command that was meant by a file name which is no file.
fn misspelt(file: &Path) -> Option<String> {
    let bare = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let word = file.to_str().filter(bare).filter(|_| !file.exists())?;
    let commands = Cli::command();
    let names = commands.get_subcommands().map(clap::Command::get_name);
    let (distance, near) = names.map(|name| (strsim::damerau_levenshtein(word, name), name)).min()?;
    (distance <= 2).then(|| near.to_owned())
}

/// Reads a time as the graph file writes it.
fn duration(text: &str) -> Result<Nanos, String> {
    match units::duration(text) {
        Ok(Nanos::ZERO) => Err("give a time above zero".into()),
        Ok(time) => Ok(time),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Result<Command, clap::Error> {
        parse(line.split(' '))
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_file_alone_runs_and_options_may_stand_anywhere() {
        let Command::Run(run) =
            typed("graphrun --turns 3 voice.ron --for 1.5s --with a.ron --with b.ron").unwrap()
        else {
            panic!("it must run")
        };
        assert_eq!(run.graph.file, PathBuf::from("voice.ron"));
        assert_eq!(run.graph.overlays, [PathBuf::from("a.ron"), PathBuf::from("b.ron")]);
        assert_eq!((run.turns, run.duration), (Some(3), Some(Nanos::from_millis(1500))));
        assert_eq!(run.report.format, Format::Human);
        assert!(matches!(typed("graphrun run voice.ron --format json"), Ok(Command::Run(_))));
    }

    #[test]
    fn costs_and_a_seed_belong_to_virtual_time() {
        let line =
            "graphrun voice.ron --virtual --costs a.ron --costs b.json --cost stt=300ms --seed 7 --for 1min";
        let Command::Run(run) = typed(line).unwrap() else { panic!("it must run") };
        assert!(run.simulation.is_virtual);
        assert_eq!((run.simulation.costs.len(), run.simulation.seed), (2, 7));
        assert_eq!(run.simulation.cost, ["stt=300ms"]);
        assert!(typed("graphrun voice.ron --costs-template --costs a.json").is_ok());
        for line in [
            "--cost stt=300ms",
            "--costs a.ron",
            "--seed 3",
            "--virtual --turns 3",
            "--virtual --costs-template",
        ] {
            assert!(typed(&format!("graphrun voice.ron {line}")).is_err(), "{line}");
        }
    }

    #[test]
    fn the_name_of_a_command_wins_over_a_file_of_that_name() {
        assert!(matches!(typed("graphrun nodes"), Ok(Command::Nodes(NodesArgs { kind: None, .. }))));
        assert!(matches!(typed("graphrun ./nodes"), Ok(Command::Run(_))));
        assert!(matches!(typed("graphrun run nodes"), Ok(Command::Run(_))));
    }

    #[test]
    fn wrong_use_exits_with_two_and_help_with_zero() {
        for line in [
            "graphrun",
            "graphrun run",
            "graphrun a.ron b.ron",
            "graphrun a.ron --for 30",
            "graphrun --turns 3",
        ] {
            assert_eq!(typed(line).unwrap_err().exit_code(), i32::from(exit::USAGE), "{line}");
        }
        assert_eq!(typed("graphrun --help").unwrap_err().exit_code(), 0);
    }

    #[test]
    fn a_misspelt_command_is_not_taken_for_a_file() {
        let error = typed("graphrun docter").unwrap_err();
        assert!(error.to_string().contains("did you mean `doctor`?"), "{error}");
        assert_eq!(error.exit_code(), i32::from(exit::USAGE));
        assert!(matches!(typed("graphrun graphs/check.ron"), Ok(Command::Run(_))));
    }

    #[test]
    fn a_time_needs_its_unit() {
        assert_eq!(duration("500 ms"), Ok(Nanos::from_millis(500)));
        assert_eq!(duration("2min"), Ok(Nanos::from_secs(120)));
        for wrong in ["30", "s", "-1s", "0s", "1e300h", "1 week"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
