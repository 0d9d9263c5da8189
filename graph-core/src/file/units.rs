//! Durations, rates and shares as text with a unit.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{budget::Reference, diagnostic::near_miss, time::Nanos};

/// Nanoseconds of each unit of time.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
];

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// There is nothing to read.
    #[error("the text is empty; write a number and a unit, such as \"{example}\"")]
    Empty {
        /// A right one.
        example: &'static str,
    },
    /// It does not start with a number.
    #[error("\"{text}\" does not start with a number; write a number and a unit, such as \"{example}\"")]
    NoNumber {
        /// What was read.
        text: String,
        /// A right one.
        example: &'static str,
    },
    /// There is a number and nothing else.
    #[error("\"{number}\" has no unit; write \"{number} {unit}\"")]
    NoUnit {
        /// The number.
        number: String,
        /// A unit that would do.
        unit: &'static str,
    },
    /// The unit is not one of those that fit.
    #[error("\"{unit}\" is no unit here; write \"{number} {suggestion}\" (units: {units})")]
    UnknownUnit {
        /// The number before it.
        number: String,
        /// What was read.
        unit: String,
        /// The nearest right unit.
        suggestion: &'static str,
        /// All right units.
        units: &'static str,
    },
    /// It is below zero.
    #[error("\"{text}\" is negative")]
    Negative {
        /// What was read.
        text: String,
    },
    /// It does not fit.
    #[error("\"{text}\" is too large")]
    TooLarge {
        /// What was read.
        text: String,
    },
    /// It is not zero, and less than a nanosecond.
    #[error("\"{text}\" is less than a nanosecond")]
    TooSmall {
        /// What was read.
        text: String,
    },
    /// A share above the whole.
    #[error("\"{text}\" is more than 100 %")]
    AboveAll {
        /// What was read.
        text: String,
    },
    /// A floor of nothing, which every run holds.
    #[error("\"{text}\" limits nothing; a rate must be above zero")]
    NoRate {
        /// What was read.
        text: String,
    },
    /// A range whose end lies before its start.
    #[error("\"{text}\" ends before it starts")]
    Backwards {
        /// What was read.
        text: String,
    },
}

/// Splits `1.5 ms` into its number and its unit.
fn split<'a>(text: &'a str, example: &'static str) -> Result<(&'a str, &'a str), UnitError> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let whole = || text.to_owned();
    if text.is_empty() {
        Err(UnitError::Empty { example })
    } else if number.is_empty() && text.starts_with('-') {
        Err(UnitError::Negative { text: whole() })
    } else if !number.contains(|c: char| c.is_ascii_digit()) || number.matches('.').count() > 1 {
        Err(UnitError::NoNumber { text: whole(), example })
    } else {
        Ok((number, unit.trim_start()))
    }
}

/// `82 ns`, `300 us`, `1.5 ms`, `2 s`, `2 min`, `1 h`, to the whole nanosecond.
///
/// # Errors
/// A [`UnitError`] that shows how to write it.
pub fn duration(text: &str) -> Result<Nanos, UnitError> {
    const EXAMPLE: &str = "5 ms";
    let (number, unit) = split(text, EXAMPLE)?;
    if unit.is_empty() {
        return Err(UnitError::NoUnit { number: number.to_owned(), unit: "ms" });
    }
    let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        let long = match unit.to_lowercase().as_str() {
            "sec" | "secs" | "second" | "seconds" => Some("s"),
            "m" | "minute" | "minutes" | "mins" => Some("min"),
            "hour" | "hours" | "hr" => Some("h"),
            other if other.starts_with("milli") => Some("ms"),
            other if other.starts_with("micro") => Some("us"),
            other if other.starts_with("nano") => Some("ns"),
            _ => None,
        };
        let suggestion = long.or_else(|| near_miss(unit, UNITS.map(|(name, _)| name))).unwrap_or("ms");
        return Err(UnitError::UnknownUnit {
            number: number.to_owned(),
            unit: unit.to_owned(),
            suggestion,
            units: "ns, us, ms, s, min, h",
        });
    };
    let too_large = || UnitError::TooLarge { text: text.trim().to_owned() };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut nanos = digits(whole).ok_or_else(too_large)?.checked_mul(*scale).ok_or_else(too_large)?;
    // A fraction in integers: "16.67 ms" is 16,670,000 ns and not what a binary float comes nearest to.
    let (mut part, mut whole) = (0_u128, 1_u128);
    for digit in fraction.chars().filter_map(|c| c.to_digit(10)).take(20) {
        part = part * 10 + u128::from(digit) * u128::from(*scale);
        whole *= 10;
    }
    let rounded = (part + whole / 2) / whole;
    nanos = nanos.checked_add(u64::try_from(rounded).map_err(|_| too_large())?).ok_or_else(too_large)?;
    if nanos == 0 && number.contains(|c: char| ('1'..='9').contains(&c)) {
        return Err(UnitError::TooSmall { text: text.trim().to_owned() });
    }
    Ok(Nanos(nanos))
}

fn digits(text: &str) -> Option<u64> {
    let text: String = text.chars().filter(char::is_ascii_digit).collect();
    if text.is_empty() { Some(0) } else { text.parse().ok() }
}

fn number(text: &str) -> Option<f64> {
    text.replace('_', "").parse().ok().filter(|value: &f64| value.is_finite())
}

/// `15 /s`: so many packets a second, more than none.
///
/// # Errors
/// A [`UnitError`] that shows how to write it.
pub fn rate(text: &str) -> Result<f64, UnitError> {
    const EXAMPLE: &str = "15 /s";
    let (digits, unit) = split(text, EXAMPLE)?;
    let value = number(digits).ok_or_else(|| UnitError::TooLarge { text: text.trim().to_owned() })?;
    match unit {
        "/s" | "/ s" if value == 0.0 => Err(UnitError::NoRate { text: text.trim().to_owned() }),
        "/s" | "/ s" => Ok(value),
        "" => Err(UnitError::NoUnit { number: digits.to_owned(), unit: "/s" }),
        _ => Err(UnitError::UnknownUnit {
            number: digits.to_owned(),
            unit: unit.to_owned(),
            suggestion: "/s",
            units: "/s",
        }),
    }
}

/// `0.5 %`: a share of the whole, returned as 0.0 to 1.0.
///
/// # Errors
/// A [`UnitError`] that shows how to write it.
pub fn share(text: &str) -> Result<f64, UnitError> {
    const EXAMPLE: &str = "0 %";
    let (digits, unit) = split(text, EXAMPLE)?;
    let value = number(digits).ok_or_else(|| UnitError::TooLarge { text: text.trim().to_owned() })?;
    match unit {
        "%" if value > 100.0 => Err(UnitError::AboveAll { text: text.trim().to_owned() }),
        "%" => Ok(value / 100.0),
        "" => Err(UnitError::NoUnit { number: digits.to_owned(), unit: "%" }),
        _ => Err(UnitError::UnknownUnit {
            number: digits.to_owned(),
            unit: unit.to_owned(),
            suggestion: "%",
            units: "%",
        }),
    }
}

/// `50 ms`, `< 100 ns`, `300..500 ms` or `30 /s`.
///
/// # Errors
/// A [`UnitError`] that shows how to write it.
pub fn reference(text: &str) -> Result<Reference, UnitError> {
    let text = text.trim();
    if let Some(bound) = text.strip_prefix('<') {
        return duration(bound).map(Reference::Below);
    }
    if let Some((start, end)) = text.split_once("..") {
        let end_time = duration(end)?;
        let start_time = match duration(start) {
            // "300..500 ms": the unit at the end is meant for both.
            Err(UnitError::NoUnit { number, .. }) => {
                duration(&format!("{number} {}", split(end, "5 ms")?.1))?
            }
            other => other?,
        };
        return if start_time <= end_time {
            Ok(Reference::Range(start_time, end_time))
        } else {
            Err(UnitError::Backwards { text: text.to_owned() })
        };
    }
    if text.contains('/') { rate(text).map(Reference::Rate) } else { duration(text).map(Reference::Time) }
}

/// From text with a unit; a bare number is refused with the fix.
impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Nanos;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration with its unit, such as \"5 ms\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Nanos, E> {
                duration(text).map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Nanos, E> {
                Err(E::custom(UnitError::NoUnit { number: number.to_string(), unit: "ms" }))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Nanos, E> {
                Err(E::custom(UnitError::NoUnit { number: number.to_string(), unit: "ms" }))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

/// As text that reads as exactly the same duration, as the defaults in a kind's schema do.
impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let exact = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
        let (unit, scale) = exact
            .into_iter()
            .find(|(_, scale)| self.0 > 0 && self.0.is_multiple_of(*scale))
            .unwrap_or(("ns", 1));
        serializer.collect_str(&format_args!("{} {unit}", self.0 / scale))
    }
}

impl schemars::JsonSchema for Nanos {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "examples": ["5 ms", "1.5 s", "300 us"] })
    }

    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact_to_the_nanosecond() {
        for (text, nanos) in [
            ("82 ns", 82),
            ("300us", 300_000),
            ("2.5 µs", 2_500),
            ("16.67 ms", 16_670_000),
            ("1.5 s", 1_500_000_000),
            ("0.1 s", 100_000_000),
            ("2.9 ns", 3),
            (" 2 min ", 120_000_000_000),
            ("1 h", 3_600_000_000_000),
            ("1_000 us", 1_000_000),
            ("0 ms", 0),
            (".5 ms", 500_000),
        ] {
            assert_eq!(duration(text), Ok(Nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_told_how_to_become_one() {
        for (text, message) in [
            ("5", "\"5\" has no unit; write \"5 ms\""),
            ("", "the text is empty; write a number and a unit, such as \"5 ms\""),
            ("soon", "\"soon\" does not start with a number; write a number and a unit, such as \"5 ms\""),
            ("5 msec", "\"msec\" is no unit here; write \"5 ms\" (units: ns, us, ms, s, min, h)"),
            ("2 seconds", "\"seconds\" is no unit here; write \"2 s\" (units: ns, us, ms, s, min, h)"),
            ("-5 ms", "\"-5 ms\" is negative"),
            (
                "1.2.3 ms",
                "\"1.2.3 ms\" does not start with a number; write a number and a unit, such as \"5 ms\"",
            ),
            ("99999999999999999999 s", "\"99999999999999999999 s\" is too large"),
            ("6000000 h", "\"6000000 h\" is too large"),
            ("0.1 ns", "\"0.1 ns\" is less than a nanosecond"),
        ] {
            assert_eq!(duration(text).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn rates_and_shares_have_their_own_units() {
        assert_eq!(rate("15 /s"), Ok(15.0));
        assert_eq!(rate("59.94/s"), Ok(59.94));
        assert_eq!(rate("15").unwrap_err().to_string(), "\"15\" has no unit; write \"15 /s\"");
        assert_eq!(share("0 %"), Ok(0.0));
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("101 %").unwrap_err().to_string(), "\"101 %\" is more than 100 %");
        assert_eq!(
            share("5 ms").unwrap_err().to_string(),
            "\"ms\" is no unit here; write \"5 %\" (units: %)"
        );
    }

    #[test]
    fn references_may_be_values_bounds_ranges_and_rates() {
        assert_eq!(reference("50 ms"), Ok(Reference::Time(Nanos::from_millis(50))));
        assert_eq!(reference("< 100 ns"), Ok(Reference::Below(Nanos(100))));
        let range = Reference::Range(Nanos::from_millis(300), Nanos::from_millis(500));
        assert_eq!(reference("300..500 ms"), Ok(range));
        assert_eq!(reference("300 ms .. 0.5 s"), Ok(range));
        assert_eq!(reference("30 /s"), Ok(Reference::Rate(30.0)));
        assert!(reference("500..300 ms").is_err());
    }

    #[test]
    fn a_parameter_may_be_a_duration() {
        assert_eq!(ron::from_str("\"1.5 ms\""), Ok(Nanos(1_500_000)));
        for nanos in [0, 82, 1_500, 1_500_000_000, 2_000_000_000, 61_000_000_001] {
            let text = serde_json::to_value(Nanos(nanos)).unwrap();
            assert_eq!(duration(text.as_str().unwrap()), Ok(Nanos(nanos)), "{text}");
        }
        let error = ron::from_str::<Nanos>("5").unwrap_err();
        assert_eq!(error.code.to_string(), "\"5\" has no unit; write \"5 ms\"");
    }
}
