//! The graphrun runtime: packets, ports, queues, lanes, the graph file, measuring and budgets.
//!
//! This crate knows no node and no codec.

pub mod budget;
pub mod check;
pub mod diagnostic;
pub mod file;
pub mod kind;
pub mod measure;
pub mod payload;
pub mod time;

pub use payload::Payload;
pub use time::{Clock, Nanos, Stamp};
