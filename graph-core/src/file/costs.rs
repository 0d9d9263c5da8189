//! Costs files: what nodes cost under virtual time.

use std::{path::Path, sync::Arc};

use super::{
    load::{self, Disk},
    raw::Item,
    reader::{Fields, Reader},
    units,
};
use crate::{
    codes,
    diagnostic::{Diagnostic, Diagnostics, Source, Span, Spanned},
    model::{Costs, Distribution, NAMED, NodeCosts, OutputCosts, Quantiles},
    time::Nanos,
};

/// Reads what nodes cost: a costs file, or the JSON report of an earlier run.
///
/// # Errors
/// Everything that is wrong with it.
pub fn costs(path: &Path) -> Result<Costs, Diagnostics> {
    let missing = "check the path; `--costs-template` writes a costs file to be filled in";
    let source = load::source(&Disk, path, missing).map_err(|diagnostic| Diagnostics::from(*diagnostic))?;
    costs_of(&source)
}

/// As [`costs`], of a text that is read already.
///
/// # Errors
/// Everything that is wrong with it.
pub fn costs_of(source: &Arc<Source>) -> Result<Costs, Diagnostics> {
    if source.text().trim_start().starts_with('{') {
        return Costs::from_report(source.text()).map_err(|error| {
            let message = format!("{}: {error}", source.path().display());
            Diagnostics::from(Diagnostic::new(&codes::WRONG_SHAPE, message))
        });
    }
    let mut reader = Reader::default();
    let costs = reader.keep(Item::whole(source)).map(|item| reader.costs(item));
    match costs {
        Some(costs) if reader.diagnostics.is_empty() => Ok(costs),
        _ => Err(reader.diagnostics),
    }
}

/// One cost as the command line states it: `stt="300 ms"`, `vad.held="480 ms"`.
pub(crate) struct RawCost {
    /// A node, or a wire edge with its arrow.
    pub(crate) target: String,
    pub(crate) field: &'static str,
    pub(crate) time: Distribution,
}

impl RawCost {
    pub(crate) fn parse(text: &str) -> Result<RawCost, Diagnostics> {
        const FIELDS: [&str; 4] = ["work", "held", "quiet", "interval"];
        let source = Source::new("--cost", text);
        let whole = Span::new(&source, 0..text.len());
        let wrong = |message: &str| {
            Diagnostics::from(
                Diagnostic::new(&codes::WRONG_SHAPE, message)
                    .at(&whole)
                    .expected("NODE=TIME")
                    .help("write --cost stt=\"300 ms\", or --cost vad.held=\"480 ms\""),
            )
        };
        let Some((target, time)) = text.split_once('=') else {
            return Err(wrong("a cost names a node and a time"));
        };
        let (node, field) = match target.rsplit_once('.') {
            Some((node, name)) if !target.contains("->") => {
                let Some(field) = FIELDS.into_iter().find(|field| *field == name) else {
                    return Err(wrong("behind a node's dot stands work, held, quiet or interval"));
                };
                (node, field)
            }
            _ => (target, "work"),
        };
        // The quotes of a time are most often eaten by the shell.
        let time = time.trim();
        let quoted = match time.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            true => Source::new("--cost", format!("{time:?}")),
            false => Source::new("--cost", time),
        };
        let mut reader = Reader::default();
        let read = reader.keep(Item::whole(&quoted)).and_then(|item| reader.distribution(item));
        match read {
            Some(Distribution::Constant(Nanos::ZERO)) if field == "interval" => {
                Err(wrong("the time between two packets is above zero"))
            }
            Some(time) => Ok(RawCost { target: node.trim().to_owned(), field, time }),
            None => Err(reader.diagnostics),
        }
    }
}

impl Reader {
    fn costs(&mut self, item: Item<'_>) -> Costs {
        let fields = self.fields(item, "a costs file", &["about", "nodes", "wires"]);
        let mut costs =
            Costs { about: self.text(&fields, "about").map(|about| about.value), ..Costs::default() };
        for (name, item) in self.entries_of(&fields, "nodes") {
            self.node = Some(name.value.clone());
            let node = self.node_costs(item);
            self.node = None;
            costs.nodes.push((name.into(), node));
        }
        for (name, item) in self.entries_of(&fields, "wires") {
            if let Some(delay) = self.distribution(item) {
                costs.wires.push((name.into(), delay));
            }
        }
        costs
    }

    /// `name: { "key": value, .. }`, each key once.
    fn entries_of<'s>(&mut self, fields: &Fields<'s>, name: &str) -> Vec<(Spanned<String>, Item<'s>)> {
        let Some(item) = fields.get(name) else { return Vec::new() };
        let entries = self.keep(item.entries("names in quotes with what they cost, in { }"));
        let mut kept: Vec<(Spanned<String>, Item<'s>)> = Vec::new();
        for (key, item) in entries.unwrap_or_default() {
            match kept.iter().find(|(known, _)| known.value == key.value) {
                Some((first, _)) => {
                    let message = format!("`{}` is stated twice", key.value);
                    let diagnostic = Diagnostic::new(&codes::DUPLICATE, message).at(&key.span);
                    let diagnostic = diagnostic.help("keep one of the two");
                    self.complain(diagnostic.related(&first.span, "stated here first"));
                }
                None => kept.push((key, item)),
            }
        }
        kept
    }

    fn node_costs(&mut self, item: Item<'_>) -> NodeCosts {
        const KNOWN: [&str; 8] = ["work", "quiet", "held", "interval", "count", "aside", "turns", "outputs"];
        let fields = self.fields(item, "a node's costs", &KNOWN);
        let interval = self.time(&fields, "interval").filter(|interval| {
            let never_ends = *interval == Distribution::ZERO;
            if never_ends && let Some(item) = fields.get("interval") {
                let message = "the time between two packets is above zero";
                self.complain(Diagnostic::new(&codes::BAD_QUANTITY, message).at(&item.span()));
            }
            !never_ends
        });
        let mut costs = NodeCosts {
            interval,
            work: self.time(&fields, "work"),
            quiet: self.time(&fields, "quiet"),
            held: self.time(&fields, "held"),
            count: self
                .field(&fields, "count", |reader, item| {
                    reader.whole(item, "a number of packets", 1..=u64::MAX)
                })
                .map(|count| count.value),
            aside: self.flag(&fields, "aside"),
            turns: self.real(&fields, "turns", 0.0),
            outputs: Vec::new(),
        };
        for (name, item) in self.entries_of(&fields, "outputs") {
            let fields = self.fields(item, "an output's costs", &["ratio", "every", "pace", "work", "held"]);
            let output = OutputCosts {
                ratio: self.real(&fields, "ratio", 0.0),
                every: self.time(&fields, "every"),
                pace: self.time(&fields, "pace"),
                work: self.time(&fields, "work"),
                held: self.time(&fields, "held"),
            };
            costs.outputs.push((name.into(), output));
        }
        costs
    }

    fn time(&mut self, fields: &Fields<'_>, name: &str) -> Option<Distribution> {
        self.field(fields, name, Reader::distribution).map(|time| time.value)
    }

    /// A number of at least `least`.
    fn real(&mut self, fields: &Fields<'_>, name: &str, least: f64) -> Option<f64> {
        let item = fields.get(name)?;
        let expected = format!("a number of at least {least}, such as 0.5");
        let read = if item.is_number() { item.scalar(&expected) } else { Err(item.unlike(&expected)) };
        let number: f64 = self.keep(read)?;
        if number.is_finite() && number >= least {
            return Some(number);
        }
        self.complain(
            Diagnostic::new(&codes::BAD_QUANTITY, format!("{number} is not {expected}")).at(&item.span()),
        );
        None
    }

    /// `"300 ms"`, or `exponential(mean: "300 ms")` and others.
    fn distribution(&mut self, item: Item<'_>) -> Option<Distribution> {
        if item.is_text() || item.is_number() {
            return self.quantity(item, "a time", "ms", units::duration).map(Distribution::Constant);
        }
        let (word, inner) = self.keep(item.call("a time such as \"300 ms\", or a distribution of times"))?;
        let known: &[&str] = match word.value {
            "uniform" => &["from", "to"],
            "normal" => &["mean", "sd"],
            "lognormal" => &["p50", "p99"],
            "exponential" => &["mean"],
            "pareto" => &["least", "shape"],
            "quantiles" => &["min", "p50", "p90", "p99", "p999", "max", "mean"],
            _ => {
                const WORDS: [&str; 6] =
                    ["uniform", "normal", "lognormal", "exponential", "pareto", "quantiles"];
                self.unknown_word(item, "distribution", &WORDS);
                return None;
            }
        };
        let Some(inner) = inner else {
            self.keep::<()>(Err(item.unlike(&format!("{}({}: ..)", word.value, known.join(": .., ")))));
            return None;
        };
        let before = self.diagnostics.len();
        let fields = self.fields(inner, word.value, known);
        let made = match word.value {
            "uniform" => self.two(&fields, "from", "to").map(|(from, to)| Distribution::Uniform { from, to }),
            "normal" => self.two(&fields, "mean", "sd").map(|(mean, sd)| Distribution::Normal { mean, sd }),
            "lognormal" => {
                self.two(&fields, "p50", "p99").map(|(p50, p99)| Distribution::LogNormal { p50, p99 })
            }
            "exponential" => self.nanos(&fields, "mean").map(|mean| Distribution::Exponential { mean }),
            "pareto" => self.pareto(&fields),
            _ => self.quantiles(&fields),
        };
        // A field that could not be read has been complained of.
        match made.filter(is_sound) {
            Some(made) => Some(made),
            None if self.diagnostics.len() > before => None,
            None => {
                let needs = match word.value {
                    "uniform" => "`from`, and a `to` that is not shorter",
                    "normal" => "`mean` and `sd`",
                    "lognormal" => "`p50` above zero, and a `p99` that is not shorter",
                    "exponential" => "`mean` above zero",
                    "pareto" => "`least` above zero and `shape` above 1",
                    _ => "`max` and at least one quantile, rising, with `min` or `mean` or neither",
                };
                let message = format!("`{}` needs {needs}", word.value);
                self.complain(
                    Diagnostic::new(&codes::BAD_QUANTITY, message).at(&item.span()).expected(needs),
                );
                None
            }
        }
    }

    fn nanos(&mut self, fields: &Fields<'_>, name: &str) -> Option<Nanos> {
        let item = fields.get(name)?;
        self.quantity(item, "a time", "ms", units::duration)
    }

    fn two(&mut self, fields: &Fields<'_>, first: &str, second: &str) -> Option<(Nanos, Nanos)> {
        Some((self.nanos(fields, first)?, self.nanos(fields, second)?))
    }

    fn pareto(&mut self, fields: &Fields<'_>) -> Option<Distribution> {
        let least = self.nanos(fields, "least")?;
        Some(Distribution::Pareto { least, shape: self.real(fields, "shape", 1.0)? })
    }

    fn quantiles(&mut self, fields: &Fields<'_>) -> Option<Distribution> {
        let points: Vec<_> =
            NAMED.into_iter().filter_map(|(name, share)| Some((share, self.nanos(fields, name)?))).collect();
        let max = self.nanos(fields, "max")?;
        let made = match (points.is_empty(), self.nanos(fields, "min"), self.nanos(fields, "mean")) {
            (true, ..) | (_, Some(_), Some(_)) => None,
            (_, Some(least), None) => Quantiles::from_least(least, &points, max),
            (_, None, mean) => Quantiles::new(&points, max, mean),
        };
        made.map(Distribution::Quantiles)
    }
}

/// Whether a distribution of that kind has such parameters.
fn is_sound(distribution: &Distribution) -> bool {
    match distribution {
        Distribution::Uniform { from, to } => from <= to,
        Distribution::LogNormal { p50, p99 } => *p50 > Nanos::ZERO && p50 <= p99,
        Distribution::Exponential { mean } => *mean > Nanos::ZERO,
        Distribution::Pareto { least, shape } => *least > Nanos::ZERO && *shape > 1.0,
        Distribution::Constant(_) | Distribution::Normal { .. } | Distribution::Quantiles(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Costs, Diagnostics> {
        costs_of(&Source::new("costs.ron", text))
    }

    fn time(text: &str) -> Result<Distribution, String> {
        let costs = read(&format!("(nodes: {{ \"n\": (work: {text}) }})"));
        let costs =
            costs.map_err(|wrong| format!("{}: {}", wrong[0].span.as_ref().unwrap(), wrong[0].message));
        costs.map(|costs| costs.nodes[0].1.work.clone().unwrap())
    }

    #[test]
    fn a_time_may_be_constant_or_drawn_and_is_written_as_it_is_read() {
        for (text, written) in [
            ("\"300 ms\"", "\"300 ms\""),
            ("\"1234567 ns\"", "\"1.234567 ms\""),
            ("uniform(from: \"1 ms\", to: \"3 ms\")", "uniform(from: \"1 ms\", to: \"3 ms\")"),
            ("normal(sd: \"1 ms\", mean: \"5 ms\")", "normal(mean: \"5 ms\", sd: \"1 ms\")"),
            ("lognormal(p50: \"1 ms\", p99: \"5 ms\")", "lognormal(p50: \"1 ms\", p99: \"5 ms\")"),
            ("exponential(mean: \"5 ms\")", "exponential(mean: \"5 ms\")"),
            ("pareto(least: \"1 ms\", shape: 2)", "pareto(least: \"1 ms\", shape: 2.0)"),
            (
                "quantiles(p50: \"2 ms\", p99: \"4 ms\", max: \"5 ms\", mean: \"2.2 ms\")",
                "quantiles(min: \"740 us\", p50: \"2 ms\", p99: \"4 ms\", max: \"5 ms\")",
            ),
        ] {
            let read = time(text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(read.to_string(), written);
            assert_eq!(time(written), Ok(read), "what is written is read as the same");
        }
    }

    #[test]
    fn a_time_that_cannot_be_is_refused_with_its_place() {
        for (text, message) in [
            ("5", "a time is text with a unit, not a bare number"),
            ("\"?\"", "\"?\" does not start with a number; write a number and a unit, such as \"5 ms\""),
            ("gamma(mean: \"5 ms\")", "`gamma` is no distribution"),
            ("exponential", "expected exponential(mean: ..), found the word exponential"),
            ("exponential(mean: \"0 ms\")", "`exponential` needs `mean` above zero"),
            (
                "uniform(from: \"5 ms\", to: \"1 ms\")",
                "`uniform` needs `from`, and a `to` that is not shorter",
            ),
            ("pareto(least: \"5 ms\", shape: 1.0)", "`pareto` needs `least` above zero and `shape` above 1"),
            (
                "exponential(mean: \"5 msec\")",
                "\"msec\" is no unit here; write \"5 ms\" (units: ns, us, ms, s, min, h)",
            ),
        ] {
            let found = time(text).unwrap_err();
            let (place, found) = found.split_once(": ").unwrap();
            assert_eq!(found, message, "{text}");
            assert!(place.starts_with("costs.ron:1:"), "{place}");
        }
    }

    #[test]
    fn all_that_is_wrong_with_a_file_is_told_at_once() {
        let wrong = read(
            r#"(
                nodes: {
                    "mic": (interval: "0 ms", cuont: 3),
                    "stt": (work: "1 ms", outputs: { "text": (ratio: -1) }),
                    "stt": (work: "2 ms"),
                },
                wires: { "a -> b": soon("1 ms") },
            )"#,
        );
        let wrong: Vec<_> =
            wrong.unwrap_err().iter().map(|found| (found.code.id, found.message.clone())).collect();
        let expected = [
            ("GR0104", "`stt` is stated twice"),
            ("GR0103", "a node's costs has no field `cuont`"),
            ("GR0108", "the time between two packets is above zero"),
            ("GR0108", "-1 is not a number of at least 0, such as 0.5"),
            ("GR0109", "`soon` is no distribution"),
        ];
        assert_eq!(wrong, expected.map(|(code, message)| (code, message.to_owned())));
    }

    #[test]
    fn the_command_line_states_a_node_a_field_or_a_wire() {
        let cost =
            |text: &str| RawCost::parse(text).map(|cost| (cost.target, cost.field, cost.time.to_string()));
        let stated = |target: &str, field, time: &str| Ok((target.to_owned(), field, time.to_owned()));
        assert_eq!(cost("stt=300 ms"), stated("stt", "work", "\"300 ms\""));
        assert_eq!(cost("stt=\"300ms\""), stated("stt", "work", "\"300 ms\""));
        assert_eq!(cost("vad.held=480ms"), stated("vad", "held", "\"480 ms\""));
        let drawn = "exponential(mean: \"2 ms\")";
        assert_eq!(cost(&format!("a.x -> b={drawn}")), stated("a.x -> b", "work", drawn));
        for wrong in ["stt", "stt.speed=3 ms", "stt=quick", "mic.interval=0 ms", "stt=300"] {
            assert!(cost(wrong).is_err(), "{wrong}");
        }
    }
}
