//! The `graphrun` command as a library.

pub mod analysis;
pub mod assets;
pub mod bench;
pub mod cli;
pub mod commands;
pub mod criterion;
pub mod doctor;
pub mod graph;
pub mod live;
pub mod programs;
pub mod reference;
pub mod render;
pub mod terminal;

pub use graph_core::budget::exit;
