//! Every code that a diagnostic may have, with what `graphrun explain` says of it.
//!
//! GR01 is about reading files, GR02 about wiring, GR03 about paths, GR04 about budgets, GR05 about lanes, GR06 about the
//! parameters of nodes. A code keeps its number for ever.

mod budgets;
mod files;
mod wiring;

use std::fmt::{self, Write};

pub use budgets::*;
pub use files::*;
pub use wiring::*;

use crate::diagnostic::{Severity, wrap};

/// One code.
#[derive(PartialEq, Eq)]
pub struct Code {
    /// Such as `GR0103`.
    pub id: &'static str,
    /// The matter in a few words.
    pub title: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// Whether `check --strict` refuses the graph for it although it is no error.
    pub strict: bool,
    /// Why it is a matter, and what to do.
    pub about: &'static str,
    /// A graph file that gives this code, and no other error.
    pub wrong: &'static str,
    /// The same put right.
    pub right: &'static str,
}

/// All codes, by number.
pub static ALL: [&Code; 42] = [
    &SYNTAX,
    &UNREADABLE,
    &UNKNOWN_FIELD,
    &DUPLICATE,
    &MISSING_FIELD,
    &WRONG_SHAPE,
    &BARE_NUMBER,
    &BAD_QUANTITY,
    &UNKNOWN_WORD,
    &INCLUDE_CYCLE,
    &BAD_NAME,
    &NOTHING_TO_REMOVE,
    &UNKNOWN_KIND,
    &KIND_NOT_BUILT,
    &UNKNOWN_NODE,
    &UNKNOWN_PORT,
    &AMBIGUOUS_PORT,
    &PAYLOADS_DIFFER,
    &UNFED,
    &FED_TWICE,
    &NOT_SHARED,
    &WIRE,
    &CYCLE,
    &NO_FEEDBACK,
    &DEAD_NODE,
    &DONE_EDGE,
    &EMPTY_GRAPH,
    &NO_ROUTE,
    &SEVERAL_ROUTES,
    &NO_PACKETS,
    &UNKNOWN_PATH,
    &OVER_ALLOCATED,
    &FULLY_ALLOCATED,
    &OPEN_SUM,
    &NO_SUCH_MEASURE,
    &QUEUE_TOO_LONG,
    &BELOW_FLOOR,
    &UNKNOWN_LANE,
    &UNUSED_LANE,
    &UNKNOWN_PARAMETER,
    &BAD_PARAMETER,
    &MISSING_PARAMETER,
];

/// The code of that number, in any case of letters.
pub fn find(id: &str) -> Option<&'static Code> {
    ALL.into_iter().find(|code| code.id.eq_ignore_ascii_case(id))
}

/// All codes as a Markdown table, for the documentation.
pub fn table() -> String {
    let mut text = String::from("| code | weight | matter |\n|---|---|---|\n");
    for code in ALL {
        let strict = if code.strict { ", *strict*" } else { "" };
        _ = writeln!(text, "| {} | {}{strict} | {} |", code.id, code.severity, code.title);
    }
    text
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

impl Code {
    /// The whole explanation as plain text of 80 columns, which is Markdown too.
    pub fn explain(&self) -> String {
        let strict = if self.strict { ", refused by check --strict" } else { "" };
        let about = wrap(self.about, 80).join("\n");
        let mut text = format!("{}: {} ({}{strict})\n\n{about}\n", self.id, self.title, self.severity);
        for (lead, example) in [("Gives it:", self.wrong), ("Put right:", self.right)] {
            _ = write!(text, "\n{lead}\n\n");
            for line in example.trim().lines() {
                _ = writeln!(text, "    {line}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fixture;

    #[test]
    fn every_code_is_given_by_its_wrong_example_and_not_by_its_right_one() {
        for code in ALL {
            let (_, wrong) = fixture::check(code.wrong);
            assert!(wrong.iter().any(|d| d.code == code), "{}: {wrong}", code.id);
            let others =
                |d: &&crate::diagnostic::Diagnostic| d.code != code && d.severity() == Severity::Error;
            assert_eq!(wrong.iter().find(others), None, "{}", code.id);
            assert!(wrong.iter().all(|d| d.code != code || d.span.is_some()), "{}: {wrong}", code.id);

            let (plan, right) = fixture::check(code.right);
            assert!(right.iter().all(|d| d.code != code), "{}: {right}", code.id);
            assert!(plan.is_some(), "{}: {right}", code.id);
        }
    }

    const DOCS: &str = include_str!("../../docs/graph-file.md");

    #[test]
    fn the_documentation_lists_every_code() {
        assert!(DOCS.ends_with(&table()), "docs/graph-file.md is to end with this table:\n{}", table());
    }

    #[test]
    fn the_examples_of_the_documentation_are_sound() {
        let examples: Vec<&str> =
            DOCS.split("```ron\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        let [graph, overlay] = examples.as_slice() else { panic!("a graph and an overlay") };
        let (plan, diagnostics) = fixture::check(graph);
        assert!(plan.is_some() && diagnostics.is_empty(), "{diagnostics}");
        let files = [("graph.ron", *graph), ("overlay.ron", *overlay)];
        let (spec, diagnostics) = fixture::load_files(files, &["overlay.ron"]);
        assert!(diagnostics.is_empty(), "{diagnostics}");
        let (plan, diagnostics) = crate::check::check(&spec.unwrap(), &fixture::TestKinds::new());
        assert!(plan.is_some() && diagnostics.is_empty(), "{diagnostics}");
    }

    #[test]
    fn codes_are_found_by_number_and_sorted_by_it() {
        assert!(ALL.is_sorted_by_key(|code| code.id));
        assert_eq!(find("gr0103"), Some(&UNKNOWN_FIELD));
        assert_eq!(find("GR9999"), None);
        let text = UNKNOWN_FIELD.explain();
        assert!(ALL.iter().all(|code| code.explain().lines().all(|line| line.chars().count() <= 100)));
        assert!(text.starts_with("GR0103: ") && text.contains("\nPut right:\n\n    ("), "{text}");
    }
}
