//! `graphrun draw FILE`.

use std::fs;

use graph_core::draw;

use super::{fail, print};
use crate::{
    cli::{DrawArgs, Drawing, Format},
    exit, graph,
};

/// Draws a graph.
pub fn run(args: &DrawArgs) -> u8 {
    let graph = match graph::load(&args.graph, &graph_nodes::registry(), Format::Human) {
        Ok(graph) => graph,
        Err(status) => return status,
    };
    let text = match args.format {
        Drawing::Mermaid => draw::mermaid(&graph.plan),
        Drawing::Dot => draw::dot(&graph.plan),
    };
    match &args.output {
        None => print(&text),
        Some(path) => match fs::write(path, text) {
            Ok(()) => exit::OK,
            Err(error) => fail(&format_args!("cannot write {}: {error}", path.display())),
        },
    }
}
