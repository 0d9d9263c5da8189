//! What `graphrun new` writes compiles and works: the template of a node is a module here, with its own test.

#[path = "../templates/node.rs"]
#[allow(unreachable_pub, reason = "its items are public where it is written to")]
mod template;

mod types {
    pub(crate) use graph_nodes::types::{Audio, Rate};
}
