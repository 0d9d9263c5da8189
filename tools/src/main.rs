//! The `graphrun` command.

use std::process::ExitCode;

use graphrun::{
    cli::{self, Command},
    commands, terminal,
};
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

fn main() -> ExitCode {
    let command = match cli::parse(std::env::args_os()) {
        Ok(command) => command,
        Err(error) => error.exit(),
    };
    log_to_stderr();
    ExitCode::from(match &command {
        Command::Run(args) => commands::run::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Draw(args) => commands::draw::run(args),
        Command::Nodes(args) => commands::nodes::run(args),
        Command::Budgets(args) => commands::budgets::run(args),
        Command::Bench(args) => commands::bench::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Explain(args) => commands::explain::run(args),
        Command::New(args) => commands::new::run(args),
        Command::Assets(args) => commands::assets::run(args),
        Command::Doctor(args) => commands::doctor::run(args),
    })
}

/// Logs go to stderr, warnings and worse unless `RUST_LOG` says otherwise.
fn log_to_stderr() {
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::WARN.into()).from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(terminal::stderr().colour)
        .init();
}
