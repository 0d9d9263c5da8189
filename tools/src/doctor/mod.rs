//! What is missing on this machine, and the command that mends it.

mod clock;
mod machine;
mod network;
mod software;
mod timing;

use crate::assets::{AssetError, Store};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, in a few words.
    pub what: &'static str,
    /// Whether it will do.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub mend: Option<String>,
}

/// Whether what was found will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It will.
    Ok,
    /// Graphs run, but something may be slow, or must be fetched first.
    Warn,
    /// Graphs cannot run, or cannot be made ready to.
    Missing,
}

impl Level {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Missing => "missing",
        }
    }
}

impl Finding {
    fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, level: Level::Ok, found: found.into(), mend: None }
    }

    fn warn(what: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what, level: Level::Warn, found: found.into(), mend: Some(mend.into()) }
    }

    fn missing(what: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what, level: Level::Missing, found: found.into(), mend: Some(mend.into()) }
    }
}

/// Looks at this machine. It takes about half a second, most of it to see how exactly sleeping threads wake.
///
/// # Errors
/// [`AssetError::NoCache`] when the environment names no place for the assets.
pub fn examine() -> Result<Vec<Finding>, AssetError> {
    let store = Store::shipped()?;
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let mut findings = vec![machine::system()];
    findings.extend(software::look(&store, &search_path));
    findings.extend(network::look());
    findings.extend(machine::look());
    findings.extend(clock::look());
    findings.extend(timing::look());
    Ok(findings)
}
