//! The `graphrun` command as a library.

pub mod assets;
pub mod exit;
pub mod programs;
pub mod terminal;
