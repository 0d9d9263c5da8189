//! `graphrun explain CODE`.

use graph_core::codes;

use super::{fail, print};
use crate::{cli::ExplainArgs, exit};

/// Explains the code of an error.
pub fn run(args: &ExplainArgs) -> u8 {
    match codes::find(&args.code) {
        Some(code) => print(&code.explain()),
        None => {
            fail(&format_args!("there is no code `{}`; errors show theirs as in error[GR0501]", args.code));
            exit::USAGE
        }
    }
}
