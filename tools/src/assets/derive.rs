//! The code that makes assets on this machine.

use std::path::Path;

/// Makes the assets of one bundle from another asset.
#[derive(Clone, Copy, Debug)]
pub struct Deriver {
    /// What `by` in assets.ron calls it: the cargo feature that brings it, a slash, its name.
    pub name: &'static str,
    /// Reads the first file and writes its results into the directory, under the paths that assets.ron gives them.
    /// Says in a line why it cannot.
    pub make: fn(&Path, &Path) -> Result<(), String>,
}

/// What this build can make.
pub const DERIVERS: &[Deriver] = &[];
