//! Reading a graph for a command, and showing what is wrong with it.

use graph_core::{
    Registry,
    check::{Plan, check_file},
    diagnostic::Diagnostics,
    file::GraphSpec,
    run::{NotMade, StartError},
};
use serde::Serialize;

use crate::{
    cli::{Format, GraphArgs},
    commands::print,
    exit, terminal,
};

/// A graph that may run.
pub struct Graph {
    /// What its files state.
    pub spec: GraphSpec,
    /// What is to run.
    pub plan: Plan,
    /// Warnings and notes.
    pub diagnostics: Diagnostics,
}

/// Reads and checks a graph. What is wrong with it goes to stderr, or to stdout as JSON; the error is the exit status.
pub fn load(args: &GraphArgs, registry: &Registry, format: Format) -> Result<Graph, u8> {
    let checked = check_file(&args.file, &args.overlays, registry);
    match (checked.graph, checked.plan) {
        (Some(spec), Some(plan)) if !checked.diagnostics.refuse(false) => {
            Ok(Graph { spec, plan, diagnostics: checked.diagnostics })
        }
        _ => Err(refuse(&checked.diagnostics, format)),
    }
}

/// Shows why a graph is refused, and gives the exit status for it.
pub fn refuse(diagnostics: &Diagnostics, format: Format) -> u8 {
    match format {
        Format::Human => terminal::say(&diagnostics.render(usize::from(terminal::stderr().width))),
        Format::Json => {
            print(&json(&Findings { schema_version: 1, exit_code: exit::INVALID, diagnostics }));
        }
    }
    exit::INVALID
}

/// What a check found, for programs.
#[derive(Serialize)]
pub struct Findings<'a> {
    /// Counts up when a field changes its meaning.
    pub schema_version: u32,
    /// The exit status of the command.
    pub exit_code: u8,
    /// All that was found.
    pub diagnostics: &'a Diagnostics,
}

/// Why a run did not start, for programs.
#[derive(Serialize)]
pub struct NotStarted<'a> {
    schema_version: u32,
    exit_code: u8,
    /// The nodes that could not be made.
    failures: &'a [NotMade],
}

impl<'a> NotStarted<'a> {
    /// From what kept the run from starting.
    pub fn new(error: &'a StartError) -> NotStarted<'a> {
        NotStarted { schema_version: 1, exit_code: exit::NODE_FAILED, failures: &error.0 }
    }
}

/// A document, ended by a line break.
pub fn json(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("reports have string keys only");
    text.push('\n');
    text
}
