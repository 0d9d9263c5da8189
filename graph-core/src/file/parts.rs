//! What one file states, before files are laid over each other: every field may be left out.

use std::sync::Arc;

use super::spec::{
    BudgetSpec, Capacity, Endpoint, Full, OnError, OverheadLimit, Priority, RawWith, Wait, WarmUp,
};
use crate::{
    budget::{Bound, Limit, Measure, Reference},
    diagnostic::{Source, Span, Spanned},
    time::Nanos,
};

/// One file.
pub(super) struct FilePart {
    pub(super) source: Arc<Source>,
    pub(super) include: Vec<Spanned<String>>,
    pub(super) name: Option<String>,
    pub(super) about: Option<String>,
    pub(super) class: Option<String>,
    pub(super) warm_up: Option<WarmUp>,
    pub(super) lanes: Vec<LanePart>,
    pub(super) nodes: Vec<NodePart>,
    pub(super) edges: Vec<EdgePart>,
    pub(super) paths: Vec<PathPart>,
    pub(super) benches: Vec<BenchPart>,
    pub(super) overheads: Vec<OverheadPart>,
}

/// Something that files state under a key, and later files change.
pub(super) trait Part: Sized {
    /// What it is called in complaints.
    const WHAT: &'static str;

    /// What tells it from others of its sort; for edges that is known once ports are completed.
    fn key(&self) -> String;

    /// Where the key stands.
    fn span(&self) -> &Span;

    /// Whether it takes away what earlier files state.
    fn removes(&self) -> bool;

    /// Lays a later file's statement over this one, field by field.
    fn lay(&mut self, over: Self);
}

pub(super) struct LanePart {
    pub(super) name: Spanned<String>,
    pub(super) remove: bool,
    pub(super) priority: Option<Priority>,
    pub(super) cpus: Option<Vec<usize>>,
    pub(super) wait: Option<Wait>,
    pub(super) lock_memory: Option<bool>,
    pub(super) strict: Option<bool>,
    pub(super) about: Option<String>,
}

pub(super) struct NodePart {
    pub(super) id: Spanned<String>,
    pub(super) remove: bool,
    pub(super) kind: Option<Spanned<String>>,
    pub(super) lane: Option<Spanned<String>>,
    pub(super) with: Option<RawWith>,
    pub(super) on_error: Option<OnError>,
    pub(super) about: Option<String>,
    /// Whether this file states the node and something in it could not be read.
    pub(super) broken: bool,
}

pub(super) struct EdgePart {
    pub(super) from: Spanned<Endpoint>,
    pub(super) to: Option<Spanned<Endpoint>>,
    pub(super) remove: bool,
    pub(super) queue: QueuePart,
    pub(super) budget: BudgetSpec,
    pub(super) wire: Option<bool>,
    pub(super) feedback: Option<bool>,
    pub(super) measure_all: Option<bool>,
    pub(super) about: Option<String>,
    pub(super) span: Span,
    /// What a limit without a measure is on, once the port is known.
    pub(super) default_measure: Measure,
}

#[derive(Default)]
pub(super) struct QueuePart {
    pub(super) capacity: Option<Capacity>,
    pub(super) full: Option<Full>,
    pub(super) late: Option<Nanos>,
}

pub(super) struct PathPart {
    pub(super) name: Spanned<String>,
    pub(super) remove: bool,
    pub(super) from: Option<Spanned<Endpoint>>,
    pub(super) to: Option<Spanned<Endpoint>>,
    pub(super) via: Option<Vec<Spanned<Endpoint>>>,
    pub(super) budget: BudgetSpec,
    pub(super) packets: Option<Spanned<u32>>,
    pub(super) about: Option<String>,
    pub(super) span: Span,
}

pub(super) struct BenchPart {
    pub(super) id: Spanned<String>,
    pub(super) remove: bool,
    pub(super) budget: BudgetSpec,
    pub(super) about: Option<String>,
}

pub(super) struct OverheadPart {
    pub(super) name: Spanned<String>,
    pub(super) remove: bool,
    pub(super) path: Option<Spanned<String>>,
    pub(super) direct: Option<Spanned<String>>,
    pub(super) limits: Vec<Spanned<OverheadLimit>>,
    pub(super) share_from: Option<Nanos>,
    pub(super) reference: Option<Spanned<Reference>>,
    pub(super) about: Option<String>,
}

/// Takes the later statement where there is one.
fn over<T>(field: &mut Option<T>, later: Option<T>) {
    if later.is_some() {
        *field = later;
    }
}

impl BudgetSpec {
    /// Lays the limits of a later file over these: one on the same figure of the same measure takes its place whole.
    fn lay(&mut self, later: BudgetSpec, default: Measure) {
        let subject = |bound: &Bound| match bound {
            Bound::AtMost { measure, stat, .. } => (Some((measure.unwrap_or(default), *stat)), 0),
            Bound::RateAtLeast(_) => (None, 1),
            Bound::DropsAtMost(_) => (None, 2),
        };
        for limit in later.limits {
            let same = |old: &&mut Spanned<Limit>| subject(&old.value.bound) == subject(&limit.bound);
            match self.limits.iter_mut().find(same) {
                Some(old) => *old = limit,
                None => self.limits.push(limit),
            }
        }
        over(&mut self.reference, later.reference);
    }
}

impl Part for LanePart {
    const WHAT: &'static str = "lane";

    fn key(&self) -> String {
        self.name.value.clone()
    }

    fn span(&self) -> &Span {
        &self.name.span
    }

    fn removes(&self) -> bool {
        self.remove
    }

    fn lay(&mut self, later: LanePart) {
        over(&mut self.priority, later.priority);
        over(&mut self.cpus, later.cpus);
        over(&mut self.wait, later.wait);
        over(&mut self.lock_memory, later.lock_memory);
        over(&mut self.strict, later.strict);
        over(&mut self.about, later.about);
    }
}

impl Part for NodePart {
    const WHAT: &'static str = "node";

    fn key(&self) -> String {
        self.id.value.clone()
    }

    fn span(&self) -> &Span {
        &self.id.span
    }

    fn removes(&self) -> bool {
        self.remove
    }

    fn lay(&mut self, later: NodePart) {
        over(&mut self.kind, later.kind);
        over(&mut self.lane, later.lane);
        over(&mut self.on_error, later.on_error);
        over(&mut self.about, later.about);
        self.broken |= later.broken;
        match (&mut self.with, later.with) {
            (Some(with), Some(later)) => {
                for (name, value) in later.fields {
                    match with.fields.iter_mut().find(|(old, _)| old.value == name.value) {
                        Some(old) => *old = (name, value),
                        None => with.fields.push((name, value)),
                    }
                }
            }
            (with, later) => over(with, later),
        }
    }
}

impl Part for EdgePart {
    const WHAT: &'static str = "edge";

    fn key(&self) -> String {
        match &self.to {
            Some(to) => format!("{} -> {}", self.from.value, to.value),
            None => self.from.to_string(),
        }
    }

    fn span(&self) -> &Span {
        &self.span
    }

    fn removes(&self) -> bool {
        self.remove
    }

    fn lay(&mut self, later: EdgePart) {
        over(&mut self.queue.capacity, later.queue.capacity);
        over(&mut self.queue.full, later.queue.full);
        over(&mut self.queue.late, later.queue.late);
        self.budget.lay(later.budget, self.default_measure);
        over(&mut self.wire, later.wire);
        over(&mut self.feedback, later.feedback);
        over(&mut self.measure_all, later.measure_all);
        over(&mut self.about, later.about);
    }
}

impl Part for PathPart {
    const WHAT: &'static str = "path";

    fn key(&self) -> String {
        self.name.value.clone()
    }

    fn span(&self) -> &Span {
        &self.name.span
    }

    fn removes(&self) -> bool {
        self.remove
    }

    fn lay(&mut self, later: PathPart) {
        over(&mut self.from, later.from);
        over(&mut self.to, later.to);
        over(&mut self.via, later.via);
        self.budget.lay(later.budget, Measure::Latency);
        over(&mut self.packets, later.packets);
        over(&mut self.about, later.about);
    }
}

impl Part for BenchPart {
    const WHAT: &'static str = "bench";

    fn key(&self) -> String {
        self.id.value.clone()
    }

    fn span(&self) -> &Span {
        &self.id.span
    }

    fn removes(&self) -> bool {
        self.remove
    }

    fn lay(&mut self, later: BenchPart) {
        self.budget.lay(later.budget, Measure::Latency);
        over(&mut self.about, later.about);
    }
}

impl Part for OverheadPart {
    const WHAT: &'static str = "overhead";

    fn key(&self) -> String {
        self.name.value.clone()
    }

    fn span(&self) -> &Span {
        &self.name.span
    }

    fn removes(&self) -> bool {
        self.remove
    }

    fn lay(&mut self, later: OverheadPart) {
        use super::spec::OverheadBound::{Difference, Share};
        over(&mut self.path, later.path);
        over(&mut self.direct, later.direct);
        for limit in later.limits {
            let same = |old: &&mut Spanned<OverheadLimit>| match (&old.bound, &limit.bound) {
                (Difference { stat: a, .. }, Difference { stat: b, .. }) => a == b,
                (Share(_), Share(_)) => true,
                _ => false,
            };
            match self.limits.iter_mut().find(same) {
                Some(old) => *old = limit,
                None => self.limits.push(limit),
            }
        }
        over(&mut self.share_from, later.share_from);
        over(&mut self.reference, later.reference);
        over(&mut self.about, later.about);
    }
}
