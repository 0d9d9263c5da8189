//! How far a measured figure is from its limit.

use std::fmt;

use serde::Serialize;

use super::{Pace, Reference};
use crate::time::Nanos;

/// Limit over measured (measured over limit for a floor), as an exact ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Margin {
    over: u128,
    under: u128,
    at_least: bool,
}

/// The band that a margin lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Under 2x.
    Critical,
    /// From 2x to under 10x.
    Monitor,
    /// 10x and above.
    Safe,
}

impl Category {
    /// As the reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Category::Critical => "critical",
            Category::Monitor => "monitor",
            Category::Safe => "safe",
        }
    }
}

impl Margin {
    /// The ratio `over / under`, unlimited where `under` is zero; `None` where both are.
    pub(super) fn new(over: u128, under: u128) -> Option<Margin> {
        (over > 0 || under > 0).then_some(Margin { over, under, at_least: false })
    }

    /// Of a time against its limit.
    pub fn of_time(measured: Nanos, limit: Nanos) -> Option<Margin> {
        Margin::new(limit.0.into(), measured.0.into())
    }

    /// Of a rate against its floor in packets a second.
    pub fn of_rate(measured: Pace, floor: f64) -> Option<Margin> {
        let (measured, floor) = measured.against(floor);
        Margin::new(measured, floor)
    }

    /// Of a published figure against a limit, for the tables of a graph that has not run. A range counts by its upper
    /// end. "Below 100 ns" is a bound and not a value, so that the margin is at least this, and never safe.
    /// `None` for a rate.
    pub fn of_reference(reference: Reference, limit: Nanos) -> Option<Margin> {
        match reference {
            Reference::Time(time) | Reference::Range(_, time) => Margin::of_time(time, limit),
            Reference::Below(bound) => {
                Margin::of_time(bound, limit).map(|margin| Margin { at_least: true, ..margin })
            }
            Reference::Rate(_) => None,
        }
    }

    /// The band, by the exact ratio.
    pub fn category(self) -> Category {
        if self.reaches(10) && !self.at_least {
            Category::Safe
        } else if self.reaches(2) {
            Category::Monitor
        } else {
            Category::Critical
        }
    }

    /// The ratio for display; infinite where nothing was measured but zero.
    pub fn as_f64(self) -> f64 {
        self.over as f64 / self.under as f64
    }

    /// Whether it is smaller than another.
    pub fn is_below(self, other: Margin) -> bool {
        match (self.over.checked_mul(other.under), other.over.checked_mul(self.under)) {
            (Some(ours), Some(theirs)) => ours < theirs,
            _ => self.as_f64() < other.as_f64(),
        }
    }

    fn reaches(self, times: u128) -> bool {
        self.under.checked_mul(times).is_some_and(|least| self.over >= least)
    }
}

/// `1.7x`, `12x`: one decimal under 10, none above, never rounded up into a band that the ratio does not reach.
/// Ratios of 10,000 and more print `>9999x`, those under a tenth `<0.1x`.
impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = self.as_f64();
        let band = [1, 2, 10].into_iter().find(|band| !self.reaches(*band));
        let text = if self.reaches(10_000) {
            ">9999x".to_owned()
        } else if ratio < 0.1 {
            "<0.1x".to_owned()
        } else if self.reaches(10) {
            format!("{:.0}x", ratio.round())
        } else {
            let tenths = (ratio * 10.0).round();
            let highest = band.map_or(f64::MAX, |band| band as f64 * 10.0 - 1.0);
            format!("{:.1}x", tenths.min(highest) / 10.0)
        };
        if self.at_least { f.pad(&format!(">={text}")) } else { f.pad(&text) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn margin(measured: u64, limit: u64) -> Margin {
        Margin::of_time(Nanos(measured), Nanos(limit)).unwrap()
    }

    #[test]
    fn margins_print_with_one_decimal_under_ten_and_none_above() {
        for (measured, limit, text) in [
            (82, 1_000, "12x"),
            (59, 1_000, "17x"),
            (29, 1_000, "34x"),
            (300, 500, "1.7x"),
            (5, 25, "5.0x"),
            (100, 1_000, "10x"),
            (1, 9_999, "9999x"),
            (1, 10_000, ">9999x"),
            (0, 1, ">9999x"),
            (1_000, 1, "<0.1x"),
        ] {
            assert_eq!(margin(measured, limit).to_string(), text, "{measured} of {limit}");
        }
        assert_eq!(Margin::new(1_220, 100).unwrap().to_string(), "12x");
        assert_eq!(Margin::new(1_695, 100).unwrap().to_string(), "17x");
        assert_eq!(Margin::new(3_448, 100).unwrap().to_string(), "34x");
        assert_eq!(Margin::new(167, 100).unwrap().to_string(), "1.7x");
    }

    #[test]
    fn a_printed_margin_never_reaches_a_band_that_the_ratio_does_not() {
        for (measured, limit, text) in
            [(1_001, 1_000, "0.9x"), (1_001, 2_000, "1.9x"), (1_001, 10_000, "9.9x")]
        {
            assert_eq!(margin(measured, limit).to_string(), text);
        }
    }

    #[test]
    fn exactly_ten_is_safe_and_exactly_two_is_monitor() {
        assert_eq!(margin(100, 1_000).category(), Category::Safe);
        assert_eq!(margin(101, 1_000).category(), Category::Monitor);
        assert_eq!(margin(500, 1_000).category(), Category::Monitor);
        assert_eq!(margin(501, 1_000).category(), Category::Critical);
    }

    #[test]
    fn touch_with_the_blit_counted_is_at_seven_and_to_be_monitored() {
        let touch = Margin::of_time(Nanos::from_micros(700), Nanos::from_millis(5)).unwrap();
        assert_eq!((touch.to_string(), touch.category()), ("7.1x".into(), Category::Monitor));
    }

    #[test]
    fn a_reference_below_a_bound_is_at_least_that_far_and_never_safe() {
        let limit = Nanos(100);
        let equal = Margin::of_reference(Reference::Below(Nanos(100)), limit).unwrap();
        assert_eq!((equal.to_string(), equal.category()), (">=1.0x".into(), Category::Critical));
        let far = Margin::of_reference(Reference::Below(Nanos(1)), limit).unwrap();
        assert_eq!(far.category(), Category::Monitor);
    }

    #[test]
    fn a_reference_range_counts_by_its_upper_end() {
        let range = Reference::Range(Nanos::from_millis(300), Nanos::from_millis(500));
        assert_eq!(Margin::of_reference(range, Nanos::from_secs(1)).unwrap().to_string(), "2.0x");
        assert_eq!(Margin::of_reference(Reference::Rate(30.0), Nanos(1)), None);
    }

    #[test]
    fn a_floor_is_measured_over_limit() {
        let tokens = Pace { gaps: 30, span: Nanos::from_secs(1) };
        let margin = Margin::of_rate(tokens, 15.0).unwrap();
        assert_eq!((margin.to_string(), margin.category()), ("2.0x".into(), Category::Monitor));
    }

    #[test]
    fn nothing_of_nothing_has_no_margin() {
        assert_eq!(Margin::new(0, 0), None);
        assert_eq!(Margin::new(1, 0).unwrap().category(), Category::Safe);
    }

    proptest! {
        #[test]
        fn the_category_follows_the_exact_ratio(measured in 1..u64::MAX, limit: u64) {
            let ratio = |times: u128| u128::from(limit) >= times * u128::from(measured);
            let right = if ratio(10) { Category::Safe } else if ratio(2) { Category::Monitor } else { Category::Critical };
            prop_assert_eq!(margin(measured, limit).category(), right);
        }

        #[test]
        fn a_longer_time_has_the_smaller_margin(measured in 0..u64::MAX, limit in 1..u64::MAX) {
            prop_assert!(margin(measured + 1, limit).is_below(margin(measured, limit)));
        }

        #[test]
        fn what_is_printed_tells_one_from_what_is_less(measured in 1_u64..100_000, limit in 1_u64..100_000) {
            let margin = margin(measured, limit);
            let printed: f64 = margin.to_string().trim_matches(['x', '<', '>']).parse().unwrap();
            prop_assert_eq!(printed >= 1.0, limit >= measured, "{}", margin);
        }
    }
}
