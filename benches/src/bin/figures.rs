//! Measures what the runtime is to reach, in one run: `tools/figures`, and `docs/performance.md` for what it prints.

use std::{env, fs, path::PathBuf, process::ExitCode};

use clap::Parser;
use graph_benches::figures::{self, Failure, Wishes};

/// Measures what the runtime is to reach, all in one run.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// How often each figure is taken, all of them in turn
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// One short round, to see that everything runs: its figures mean nothing
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,
    /// Write the figures to a file as JSON too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// This program, built with GRAPHRUN_UNMEASURED=1 in the environment: tells what measuring costs
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// Only print, as JSON, one round of what `--against` compares
    #[arg(long)]
    pair: bool,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("figures: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    if cli.pair {
        println!("{}", serde_json::to_string(&figures::pair(cli.quick)?)?);
        return Ok(());
    }
    let against = match &cli.against {
        Some(program) => Some([env::current_exe()?, program.clone()]),
        None => None,
    };
    let rounds = if cli.quick { 1 } else { cli.rounds.into() };
    let report = figures::measure(&Wishes { rounds, quick: cli.quick, against })?;
    print!("{report}");
    if let Some(path) = &cli.json {
        fs::write(path, serde_json::to_string_pretty(&report)? + "\n")
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}
