//! The exit statuses of `graphrun`, an interface of its own: scripts and CI may rely on them.

use super::{Judgement, Level, Verdict};

/// Every judged limit of level `fail` holds.
pub const OK: u8 = 0;
/// A budget failed; of commands that judge no budget: what was asked for could not be done.
pub const BUDGET_FAILED: u8 = 1;
/// The command was used wrongly.
pub const USAGE: u8 = 2;
/// Slower than the baseline, though the budgets hold.
pub const REGRESSION: u8 = 3;
/// A limit of level `fail` is undecided: no data, too few samples, or stamps out of order.
pub const UNDECIDED: u8 = 4;
/// The graph or budget file is invalid.
pub const INVALID: u8 = 5;
/// A node or the runtime failed.
pub const NODE_FAILED: u8 = 6;
/// Interrupted before anything could be judged.
pub const INTERRUPTED: u8 = 130;

/// Every status and what it means, for help and reports.
pub const MEANINGS: [(u8, &str); 8] = [
    (OK, "every judged limit of level fail holds"),
    (BUDGET_FAILED, "a budget failed"),
    (USAGE, "wrong use of the command"),
    (REGRESSION, "a regression against the baseline, the budgets hold"),
    (UNDECIDED, "a limit is undecided: no data, too few samples, or an uncertain clock"),
    (INVALID, "the graph or budget file is invalid"),
    (NODE_FAILED, "a node or the runtime failed"),
    (INTERRUPTED, "interrupted before anything could be judged"),
];

/// The weightiest first. An interrupt outranks the missing data that it explains.
const PRECEDENCE: [u8; 7] = [NODE_FAILED, INVALID, USAGE, BUDGET_FAILED, INTERRUPTED, UNDECIDED, REGRESSION];

/// What a status means.
pub fn meaning(code: u8) -> &'static str {
    MEANINGS.iter().find(|(known, _)| *known == code).map_or("unknown", |(_, meaning)| meaning)
}

/// The status that outranks the others; `OK` of none.
pub fn combine(codes: impl IntoIterator<Item = u8>) -> u8 {
    let rank = |code: &u8| PRECEDENCE.iter().position(|known| known == code).unwrap_or(PRECEDENCE.len());
    codes.into_iter().min_by_key(rank).unwrap_or(OK)
}

/// The status that one limit asks for. A limit of level `warn` asks for none.
pub fn of(judgement: &Judgement) -> u8 {
    match judgement.verdict {
        _ if judgement.limit.level == Level::Warn => OK,
        Verdict::Fail => BUDGET_FAILED,
        Verdict::NoData | Verdict::TooFewSamples | Verdict::Uncertain => UNDECIDED,
        Verdict::NotBudgeted | Verdict::NotJudged | Verdict::Pass | Verdict::Warn | Verdict::Flaky => OK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weightiest_status_wins_whatever_the_order() {
        let heaviest_first =
            [NODE_FAILED, INVALID, USAGE, BUDGET_FAILED, INTERRUPTED, UNDECIDED, REGRESSION, OK];
        for (place, code) in heaviest_first.iter().enumerate() {
            let mut rest = heaviest_first[place..].to_vec();
            assert_eq!(combine(rest.clone()), *code);
            rest.reverse();
            assert_eq!(combine(rest), *code);
        }
        assert_eq!(combine([]), OK);
    }

    #[test]
    fn every_status_has_its_meaning() {
        for (code, text) in MEANINGS {
            assert_eq!(meaning(code), text);
        }
        assert_eq!(meaning(77), "unknown");
    }
}
