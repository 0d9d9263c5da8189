//! What the user's terminal can show.

use std::{
    env,
    fmt::Display,
    io::{self, IsTerminal, Write},
};

use terminal_size::{Width, terminal_size_of};

/// Columns where nothing says how many there are.
pub const DEFAULT_WIDTH: u16 = 80;

/// One output stream, as far as it matters for laying out text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Whether somebody may be watching: the stream goes to a terminal.
    pub is_terminal: bool,
    /// Columns: `COLUMNS`, else the terminal's own, else [`DEFAULT_WIDTH`].
    pub width: u16,
    /// Whether to colour: a terminal that is not `dumb`, and `NO_COLOR` unset or empty (no-color.org).
    pub colour: bool,
}

/// Standard output.
pub fn stdout() -> Terminal {
    let size = terminal_size_of(io::stdout());
    describe(io::stdout().is_terminal(), size.map(|(Width(columns), _)| columns), |name| env::var(name).ok())
}

/// Standard error.
pub fn stderr() -> Terminal {
    let size = terminal_size_of(io::stderr());
    describe(io::stderr().is_terminal(), size.map(|(Width(columns), _)| columns), |name| env::var(name).ok())
}

/// Writes text to stderr.
///
/// A stderr that is closed, or on a full disk, leaves nobody to tell: the run and its exit status do not depend on it.
pub fn say(text: &dyn Display) {
    _ = write!(io::stderr(), "{text}");
}

fn describe(is_terminal: bool, columns: Option<u16>, variable: impl Fn(&str) -> Option<String>) -> Terminal {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let stated = set("COLUMNS").and_then(|text| text.parse().ok()).filter(|columns| *columns > 0);
    let width = stated.or(columns.filter(|columns| *columns > 0)).unwrap_or(DEFAULT_WIDTH);
    let colour = is_terminal && set("NO_COLOR").is_none() && set("TERM").is_some_and(|term| term != "dumb");
    Terminal { is_terminal, width, colour }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(is_terminal: bool, columns: Option<u16>, variables: &[(&str, &str)]) -> Terminal {
        describe(is_terminal, columns, |name| {
            variables.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).into())
        })
    }

    #[test]
    fn the_width_is_stated_or_measured_or_eighty() {
        assert_eq!(with(true, Some(132), &[("COLUMNS", "100")]).width, 100);
        assert_eq!(with(true, Some(132), &[]).width, 132);
        assert_eq!(with(true, Some(132), &[("COLUMNS", "wide")]).width, 132);
        assert_eq!(with(true, Some(0), &[("COLUMNS", "0")]).width, DEFAULT_WIDTH);
        assert_eq!(with(false, None, &[]).width, DEFAULT_WIDTH);
    }

    #[test]
    fn colour_needs_a_terminal_that_can_and_a_user_who_does_not_mind() {
        let term = ("TERM", "xterm-256color");
        assert!(with(true, None, &[term]).colour);
        assert!(with(true, None, &[term, ("NO_COLOR", "")]).colour);
        assert!(!with(true, None, &[term, ("NO_COLOR", "1")]).colour);
        assert!(!with(true, None, &[("TERM", "dumb")]).colour);
        assert!(!with(true, None, &[]).colour);
        assert!(!with(false, None, &[term]).colour);
    }
}
