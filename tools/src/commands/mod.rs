//! What each command does: a module a command, with `run(&Args)` that gives the exit status.

pub mod assets;
pub mod bench;
pub mod budgets;
pub mod check;
pub mod doctor;
pub mod draw;
pub mod explain;
pub mod new;
pub mod nodes;
mod output;
pub mod report;
pub mod run;
mod simulate;

use std::{
    fmt::Display,
    io::{self, Write},
};

use comfy_table::{ContentArrangement, Table, presets};

use crate::{
    exit,
    terminal::{self, Terminal},
};

/// Writes a result to stdout.
///
/// A reader that has seen enough and closed the pipe, like `head`, is no error.
pub fn print(result: &str) -> u8 {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(result.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => exit::OK,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::OK,
        Err(error) => fail(&format_args!("cannot write to stdout: {error}")),
    }
}

/// Says on stderr why the command could not do what it was asked to.
pub fn fail(error: &dyn Display) -> u8 {
    terminal::say(&format_args!("graphrun: {error}\n"));
    exit::BUDGET_FAILED
}

/// A table without lines, as wide as the terminal where there is one, else as wide as what it says.
fn plain_table(terminal: Terminal) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if terminal.is_terminal {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(terminal.width);
    }
    if terminal.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table
}

/// The text of a table, without the blanks that pad its lines.
fn lines(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
