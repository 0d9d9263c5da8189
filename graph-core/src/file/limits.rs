//! Budgets and queues as a file states them.

use super::{
    parts::QueuePart,
    raw::Item,
    reader::Reader,
    spec::{BudgetSpec, Capacity, Full, OverheadBound, OverheadLimit},
    units,
};
use crate::{
    budget::{Bound, Level, Limit, Measure, Stat},
    codes,
    diagnostic::{Diagnostic, Spanned},
};

const STATS: [Stat; 6] = [Stat::P50, Stat::P90, Stat::P99, Stat::P999, Stat::Max, Stat::Mean];

/// Whose budget it is, which says what it may limit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// An edge or a path.
    Graph,
    /// A micro-benchmark.
    Bench,
}

/// A limit's figure, and what is said of it.
struct Stated<T> {
    figure: T,
    level: Level,
    assumed: bool,
    basis: Option<String>,
}

impl Reader {
    /// A budget.
    pub(super) fn budget(&mut self, item: Item<'_>, owner: Owner) -> BudgetSpec {
        let stats = STATS.map(Stat::name);
        let (whose, known) = match owner {
            Owner::Bench => ("the budget of a bench", vec!["mean", "p50", "reference"]),
            Owner::Graph => {
                let measures = Measure::ALL.map(Measure::name);
                ("a budget", [&stats[..], &measures, &["rate", "drops", "reference"]].concat())
            }
        };
        let fields = self.fields(item, whose, &known);
        let mut budget = BudgetSpec::default();
        for (name, item) in fields.iter() {
            let span = item.span();
            if let Some(stat) = stat(name) {
                budget.limits.extend(self.time_limit(item, None, stat));
            } else if let Some(measure) =
                Measure::ALL.into_iter().find(|measure| measure.name() == name.value)
            {
                self.measure(item, name, measure, &mut budget);
            } else if name.value == "rate" {
                let limit = self.limit(item, "a rate", "/s", units::rate);
                budget.limits.extend(limit.map(|l| Spanned::new(l.into_limit(Bound::RateAtLeast), span)));
            } else if name.value == "drops" {
                let limit = self.limit(item, "a share", "%", units::share);
                budget.limits.extend(limit.map(|l| Spanned::new(l.into_limit(Bound::DropsAtMost), span)));
            } else {
                budget.reference = self
                    .quantity(item, "a reference", "ms", units::reference)
                    .map(|reference| Spanned::new(reference, span));
            }
        }
        budget
    }

    /// `cost: (max: "5 ms")`.
    fn measure(&mut self, item: Item<'_>, name: &str, measure: Measure, budget: &mut BudgetSpec) {
        if !item.is_fields() {
            let figure = if item.is_text() { item.ron().to_owned() } else { "\"5 ms\"".to_owned() };
            let complaint = item.unlike(&format!("the figures of `{name}` in ( )"));
            let help = format!("say which figure is limited: {name}: (max: {figure})");
            return self.complain(complaint.help(help));
        }
        let fields = self.fields(item, "a measure", &STATS.map(Stat::name));
        for (figure, item) in fields.iter() {
            if let Some(stat) = stat(figure) {
                budget.limits.extend(self.time_limit(item, Some(measure), stat));
            }
        }
    }

    fn time_limit(&mut self, item: Item<'_>, measure: Option<Measure>, stat: Stat) -> Option<Spanned<Limit>> {
        let limit = self.limit(item, "a duration", "ms", units::duration)?;
        let bound = |limit| Bound::AtMost { measure, stat, limit };
        Some(Spanned::new(limit.into_limit(bound), item.span()))
    }

    /// `"5 ms"`, or `(limit: "5 ms", level: warn, assumed: true, basis: "..")`.
    fn limit<T>(
        &mut self,
        item: Item<'_>,
        what: &str,
        unit: &str,
        parse: fn(&str) -> Result<T, units::UnitError>,
    ) -> Option<Stated<T>> {
        if !item.is_fields() {
            let figure = self.quantity(item, what, unit, parse)?;
            return Some(Stated { figure, level: Level::Fail, assumed: false, basis: None });
        }
        let fields = self.fields(item, "a limit", &["limit", "level", "assumed", "basis"]);
        let level = self.field(&fields, "level", |reader, item| {
            reader.word(item, "level", &[("fail", Level::Fail), ("warn", Level::Warn)])
        });
        let assumed = self.flag(&fields, "assumed").unwrap_or_default();
        let basis = self.text(&fields, "basis").map(|basis| basis.value);
        let item = self.required(&fields, "a limit", "limit", &format!("limit: \"5 {unit}\""))?;
        let figure = self.quantity(item, what, unit, parse)?;
        Some(Stated { figure, level: level.map_or(Level::Fail, |level| level.value), assumed, basis })
    }

    /// The limits of an overhead.
    pub(super) fn overhead_limits(&mut self, item: Item<'_>, part: &mut super::parts::OverheadPart) {
        let fields = self.fields(
            item,
            "the budget of an overhead",
            &["p50", "p99", "share", "share_from", "reference"],
        );
        for (name, item) in fields.iter() {
            let span = item.span();
            match name.as_str() {
                "share" => {
                    let limit = self.limit(item, "a share", "%", units::share);
                    part.limits
                        .extend(limit.map(|l| Spanned::new(l.into_overhead(OverheadBound::Share), span)));
                }
                "share_from" => part.share_from = self.quantity(item, "a duration", "ms", units::duration),
                "reference" => {
                    part.reference = self
                        .quantity(item, "a reference", "ms", units::reference)
                        .map(|reference| Spanned::new(reference, span));
                }
                stat => {
                    let stat = if stat == "p50" { Stat::P50 } else { Stat::P99 };
                    let limit = self.limit(item, "a duration", "ms", units::duration);
                    let bound = |limit| OverheadBound::Difference { stat, limit };
                    part.limits.extend(limit.map(|l| Spanned::new(l.into_overhead(bound), span)));
                }
            }
        }
    }

    /// A queue.
    pub(super) fn queue(&mut self, item: Item<'_>) -> QueuePart {
        let fields = self.fields(item, "a queue", &["capacity", "full", "late"]);
        let capacity = self.field(&fields, "capacity", |reader, item| {
            if item.is_text() {
                reader.quantity(item, "a time", "ms", units::duration).map(Capacity::Time)
            } else {
                reader
                    .whole(item, "a number of packets", 1..=MOST_PACKETS)
                    .map(|n| Capacity::Packets(n as usize))
            }
        });
        let full = self.field(&fields, "full", |reader, item| {
            let words = [
                ("block", Full::Block),
                ("drop_oldest", Full::DropOldest),
                ("drop_newest", Full::DropNewest),
                ("fail", Full::Fail),
            ];
            reader.word(item, "way to treat a full queue", &words)
        });
        let late = self.field(&fields, "late", |reader, item| {
            reader.quantity(item, "a duration", "ms", units::duration)
        });
        if let Some(Spanned { value: Capacity::Time(time), span }) = &capacity
            && time.0 == 0
        {
            let complaint =
                Diagnostic::new(&codes::BAD_QUANTITY, "a queue must hold some time, or one packet at least")
                    .at(span)
                    .help("write capacity: 1 for a queue of one packet");
            self.complain(complaint);
        }
        QueuePart {
            capacity: capacity.map(|capacity| capacity.value),
            full: full.map(|full| full.value),
            late: late.map(|late| late.value),
        }
    }
}

/// A ring is allocated whole before the run; more packets than these are a mistake.
const MOST_PACKETS: u64 = 1 << 20;

impl<T> Stated<T> {
    fn into_limit(self, bound: impl FnOnce(T) -> Bound) -> Limit {
        Limit { bound: bound(self.figure), level: self.level, assumed: self.assumed, basis: self.basis }
    }

    fn into_overhead(self, bound: impl FnOnce(T) -> OverheadBound) -> OverheadLimit {
        OverheadLimit {
            bound: bound(self.figure),
            level: self.level,
            assumed: self.assumed,
            basis: self.basis,
        }
    }
}

fn stat(name: &str) -> Option<Stat> {
    STATS.into_iter().find(|stat| stat.name() == name)
}
