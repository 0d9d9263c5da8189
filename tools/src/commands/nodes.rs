//! `graphrun nodes [KIND]`.

use graph_core::kind::Kinds;

use super::{fail, print};
use crate::{cli::NodesArgs, exit, reference};

/// Lists the node kinds, or explains one.
pub fn run(args: &NodesArgs) -> u8 {
    let registry = graph_nodes::registry();
    if args.markdown {
        return print(&reference::page(&registry));
    }
    let Some(wanted) = &args.kind else {
        let widest = registry.kinds().map(|kind| kind.kind.len()).max().unwrap_or(0);
        let lines = registry.kinds().map(|kind| format!("{:widest$}  {}\n", kind.kind, kind.about));
        return print(&lines.collect::<String>());
    };
    if let Some(kind) = registry.get(wanted) {
        return print(&reference::kind(kind));
    }
    match registry.missing_feature(wanted) {
        Some(feature) => {
            fail(&format_args!("`{wanted}` needs the cargo feature `{feature}`, which this build lacks"))
        }
        None => fail(&format_args!("there is no kind `{wanted}`; `graphrun nodes` lists them")),
    };
    exit::USAGE
}
