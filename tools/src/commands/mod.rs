//! What each command does: a module a command, with `run(&Args)` that gives the exit status.

pub mod assets;
pub mod doctor;

use std::{
    fmt::Display,
    io::{self, Write},
};

use crate::exit;

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
    eprintln!("graphrun: {error}");
    exit::FAILED
}
