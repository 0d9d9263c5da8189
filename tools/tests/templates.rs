//! What `graphrun new` writes works: the template of a node is a module here, with its own test.

#[path = "../templates/node.rs"]
#[allow(unreachable_pub, reason = "its items are public where it is written to")]
mod template;

mod types {
    pub(crate) use graph_nodes::types::{Audio, Rate};
}

#[cfg(feature = "audio")]
#[test]
fn the_template_of_a_graph_passes_every_check_without_a_note() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/graph.ron");
    let checked = graph_core::check::check_file(&path, &[], &graph_nodes::registry());
    assert!(checked.plan.is_some());
    assert!(checked.diagnostics.is_empty(), "{}", checked.diagnostics.render(100));
}
