//! The `graphrun` command as a library.

pub mod assets;
pub mod cli;
pub mod commands;
pub mod doctor;
pub mod exit;
pub mod programs;
pub mod render;
pub mod terminal;
