//! The `graphrun` command as a library.

pub mod render;
