//! The `graphrun` command as a library.

pub mod assets;
pub mod cli;
pub mod commands;
pub mod doctor;
pub mod programs;
pub mod terminal;

pub use graph_core::budget::exit;
