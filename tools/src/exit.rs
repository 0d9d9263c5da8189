//! The exit statuses of `graphrun`, an interface of its own: scripts and CI may rely on them.
//!
//! When several apply, [`NODE_FAILED`], [`INVALID`] and [`USAGE`] come before [`BUDGET_FAILED`], that before
//! [`UNDECIDED`], that before [`REGRESSION`].

/// Every judged limit of level `fail` holds, or the command did what it was asked to.
pub const OK: u8 = 0;
/// A budget failed; of commands that judge no budget: what was asked for could not be done.
pub const BUDGET_FAILED: u8 = 1;
/// Wrong use of the command.
pub const USAGE: u8 = 2;
/// A regression against a baseline, though the budgets hold.
pub const REGRESSION: u8 = 3;
/// A limit of level `fail` is undecided: no data, too few samples or an uncertain clock.
pub const UNDECIDED: u8 = 4;
/// The graph or budget file is invalid.
pub const INVALID: u8 = 5;
/// A node or the runtime failed.
pub const NODE_FAILED: u8 = 6;
/// Interrupted before anything could be judged: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// The status of a command that does not judge, when it could not do what it was asked to.
pub const FAILED: u8 = BUDGET_FAILED;

/// The one status to exit with when all of `statuses` apply; [`OK`] when there are none.
///
/// [`INTERRUPTED`] stands back behind every other: it says that nothing could be judged.
pub fn worst(statuses: impl IntoIterator<Item = u8>) -> u8 {
    const RANK: [u8; 7] = [NODE_FAILED, INVALID, USAGE, BUDGET_FAILED, UNDECIDED, REGRESSION, INTERRUPTED];
    let rank = |status: &u8| RANK.iter().position(|ranked| ranked == status).unwrap_or(RANK.len());
    statuses.into_iter().min_by_key(rank).unwrap_or(OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_status_is_the_one_to_exit_with() {
        assert_eq!(worst([]), OK);
        assert_eq!(worst([OK, REGRESSION]), REGRESSION);
        assert_eq!(worst([REGRESSION, UNDECIDED]), UNDECIDED);
        assert_eq!(worst([UNDECIDED, BUDGET_FAILED]), BUDGET_FAILED);
        assert_eq!(worst([BUDGET_FAILED, USAGE]), USAGE);
        assert_eq!(worst([USAGE, INVALID]), INVALID);
        assert_eq!(worst([INVALID, NODE_FAILED]), NODE_FAILED);
        assert_eq!(worst([OK, INTERRUPTED]), INTERRUPTED);
        assert_eq!(worst([BUDGET_FAILED, INTERRUPTED]), BUDGET_FAILED);
    }
}
