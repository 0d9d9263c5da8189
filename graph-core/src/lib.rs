//! The graphrun runtime: packets, ports, queues, lanes, the graph file, measuring and budgets.
//!
//! This crate knows no node and no codec.

mod adapt;
mod asset;
mod bell;
pub mod bench;
pub mod budget;
mod build;
pub mod check;
pub mod codes;
mod context;
pub mod diagnostic;
pub mod draw;
mod edge;
mod error;
pub mod file;
pub mod floors;
mod inlet;
pub mod kind;
mod lane;
pub mod measure;
pub mod model;
mod node;
mod packet;
pub mod payload;
mod port;
mod prefetch;
mod record;
mod registry;
pub mod report;
pub mod run;
mod sample;
mod sync;
pub mod testing;
pub mod time;
mod trail;
mod turn;
mod wait;
mod wire_port;
mod wiring;

pub use asset::{AssetRef, Assets, AssetsIn, NoAssets, asset_folder};
pub use bell::Waker;
pub use build::{Build, Counter};
pub use context::{Ctx, Cx, SinkCx};
pub use edge::RingKind;
pub use error::{BuildError, NodeError};
pub use inlet::{Inlet, InletPort};
pub use node::{Fault, Flow, Kind, Node, Sink, Source, Transform};
pub use packet::{Cause, Header, Packet};
pub use payload::Payload;
pub use port::{Done, In, Latch, Out, Taken};
pub use registry::Registry;
pub use sample::{NoSample, Sample};
pub use time::{Clock, Nanos, Stamp};
pub use trail::TrailRef;
pub use turn::{Turn, Turns};
pub use wire_port::{WireIn, WireOut};
pub use wiring::Ports;

/// The examples of the book are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/authoring.md")]
struct Authoring;
