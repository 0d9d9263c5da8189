//! The graphrun runtime: packets, ports, queues, lanes, the graph file, measuring and budgets.
//!
//! This crate knows no node and no codec.

pub mod payload;

pub use payload::Payload;
