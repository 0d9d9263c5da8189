//! `graphrun doctor`.

use comfy_table::{Attribute, Cell, Color};

use super::{fail, lines, plain_table, print};
use crate::{
    cli::DoctorArgs,
    doctor::{self, Finding, Level},
    exit,
    terminal::{self, Terminal},
};

/// Looks at this machine; [`exit::BUDGET_FAILED`] when something is missing.
pub fn run(_args: &DoctorArgs) -> u8 {
    let findings = match doctor::examine() {
        Ok(findings) => findings,
        Err(error) => return fail(&error),
    };
    let missing = findings.iter().any(|finding| finding.level == Level::Missing);
    exit::combine([
        print(&render(&findings, terminal::stdout())),
        if missing { exit::BUDGET_FAILED } else { exit::OK },
    ])
}

fn render(findings: &[Finding], terminal: Terminal) -> String {
    let mut table = plain_table(terminal);
    for finding in findings {
        let word = Cell::new(finding.level.word());
        let word = match finding.level {
            Level::Ok => word.fg(Color::Green),
            Level::Warn => word.fg(Color::Yellow),
            Level::Missing => word.fg(Color::Red).add_attribute(Attribute::Bold),
        };
        let found = match &finding.mend {
            None => finding.found.clone(),
            Some(mend) => format!("{}\n-> {mend}", finding.found),
        };
        table.add_row([word, Cell::new(finding.what), Cell::new(found)]);
    }
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let [ok, warn, missing] = [Level::Ok, Level::Warn, Level::Missing].map(count);
    format!("{}\n {ok} ok, {warn} to know of, {missing} missing\n", lines(&table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_told_in_words_and_the_cure_stands_below_what_was_found() {
        let findings = [
            Finding { what: "clock source", level: Level::Ok, found: "tsc".into(), mend: None },
            Finding {
                what: "C compiler",
                level: Level::Missing,
                found: "no cc in PATH".into(),
                mend: Some("apt-get install gcc".into()),
            },
        ];
        let plain = render(&findings, Terminal { is_terminal: false, width: 80, colour: false });
        let expected = " ok       clock source  tsc\n missing  C compiler    no cc in PATH\n                        \
                        -> apt-get install gcc\n\n 1 ok, 0 to know of, 1 missing\n";
        assert_eq!(plain, expected);
    }

    #[test]
    fn a_narrow_terminal_is_kept_to_and_colours_come_only_where_they_are_wanted() {
        let long = "word ".repeat(40);
        let findings = [Finding { what: "clock source", level: Level::Ok, found: long, mend: None }];
        let narrow = render(&findings, Terminal { is_terminal: true, width: 60, colour: false });
        assert!(narrow.lines().all(|line| line.len() <= 60), "{narrow}");
        assert!(!narrow.contains('\u{1b}'));
        let coloured = render(&findings, Terminal { is_terminal: true, width: 60, colour: true });
        assert!(coloured.contains('\u{1b}'));
    }
}
