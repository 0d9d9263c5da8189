//! Where a result goes: stdout, or the file that `--output` names.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

use super::{fail, print};
use crate::{exit, live, render::Look, terminal};

/// Where a result goes.
pub(super) struct Output(Option<(PathBuf, File)>);

impl Output {
    /// Makes the file before there is anything to write, so that a name that cannot be is told at once; the error is
    /// the exit status.
    pub(super) fn open(path: Option<&Path>) -> Result<Output, u8> {
        let Some(path) = path else { return Ok(Output(None)) };
        File::create(path).map(|file| Output(Some((path.to_owned(), file)))).map_err(|error| {
            fail(&format_args!("cannot write {}: {error}; name another file for --output", path.display()));
            exit::USAGE
        })
    }

    /// How text for people may look there.
    pub(super) fn look(&self) -> Look {
        let mut look = live::look(&terminal::stdout());
        look.colour &= self.0.is_none();
        look
    }

    /// Writes the result. One that cannot be written is a failure of the command, not of a budget.
    pub(super) fn write(self, text: &str) -> u8 {
        let written = match self.0 {
            None => print(text),
            Some((path, mut file)) => match file.write_all(text.as_bytes()) {
                Ok(()) => exit::OK,
                Err(error) => fail(&format_args!("cannot write {}: {error}", path.display())),
            },
        };
        if written == exit::OK { exit::OK } else { exit::NODE_FAILED }
    }
}
