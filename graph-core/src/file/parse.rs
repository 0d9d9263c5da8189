//! One graph file into its parts, every complaint collected.

use std::sync::Arc;

use super::{
    limits::Owner,
    parts::{BenchPart, EdgePart, FilePart, LanePart, NodePart, OverheadPart, PathPart, QueuePart},
    raw::Item,
    reader::{Fields, Reader},
    spec::{BudgetSpec, Endpoint, OnError, Priority, RawWith, Restart, Wait, WarmUp},
    units,
};
use crate::{
    budget::Measure,
    codes,
    diagnostic::{Diagnostic, Diagnostics, Source, Spanned},
};

/// Reads one file. `None` where its syntax is broken; else whatever could be read, with complaints of the rest.
pub(super) fn parse(source: &Arc<Source>) -> (Option<FilePart>, Diagnostics) {
    let mut reader = Reader::default();
    let file = reader.keep(Item::whole(source)).map(|item| reader.file(item, source));
    (file, reader.diagnostics)
}

impl Reader {
    fn file(&mut self, item: Item<'_>, source: &Arc<Source>) -> FilePart {
        const KNOWN: [&str; 11] = [
            "include",
            "name",
            "about",
            "class",
            "warm_up",
            "lanes",
            "nodes",
            "edges",
            "paths",
            "benches",
            "overheads",
        ];
        let fields = self.fields(item, "a graph", &KNOWN);
        let value = |text: Option<Spanned<String>>| text.map(|text| text.value);
        FilePart {
            source: source.clone(),
            include: self.items(&fields, "include", "files in [ ]", |reader, item| {
                reader.keep(item.text("a path in quotes")).map(|path| Spanned::new(path, item.span()))
            }),
            name: value(self.text(&fields, "name")),
            about: value(self.text(&fields, "about")),
            class: value(self.text(&fields, "class")),
            warm_up: self.field(&fields, "warm_up", Reader::warm_up).map(|warm_up| warm_up.value),
            lanes: self.named(&fields, "lanes", "a lane", Reader::lane),
            nodes: self.named(&fields, "nodes", "a node", Reader::node),
            edges: self.items(&fields, "edges", "edges in [ ]", Reader::edge),
            paths: self.items(&fields, "paths", "paths in [ ]", Reader::path),
            benches: self.items(&fields, "benches", "benches in [ ]", Reader::bench),
            overheads: self.items(&fields, "overheads", "overheads in [ ]", Reader::overhead),
        }
    }

    /// `name: [..]`.
    fn items<'s, T>(
        &mut self,
        fields: &Fields<'s>,
        name: &str,
        expected: &str,
        mut read: impl FnMut(&mut Reader, Item<'s>) -> Option<T>,
    ) -> Vec<T> {
        let Some(item) = fields.get(name) else { return Vec::new() };
        let items = self.keep(item.list(expected)).unwrap_or_default();
        items.into_iter().filter_map(|item| read(self, item)).collect()
    }

    /// `name: { "key": (..), .. }`.
    fn named<'s, T>(
        &mut self,
        fields: &Fields<'s>,
        name: &str,
        owner: &str,
        mut read: impl FnMut(&mut Reader, Spanned<String>, Item<'s>) -> T,
    ) -> Vec<T> {
        let Some(item) = fields.get(name) else { return Vec::new() };
        let entries = self.keep(item.entries(&format!("{name} as {{ \"name\": (..) }}"))).unwrap_or_default();
        let read_one = |(key, item)| self.name(key, owner).map(|key| read(self, key, item));
        entries.into_iter().filter_map(read_one).collect()
    }

    /// A name that the file gives to something.
    fn name(&mut self, name: Spanned<String>, owner: &str) -> Option<Spanned<String>> {
        let wrong = if name.trim().is_empty() {
            "is empty"
        } else if name.trim() != name.value {
            "has a space at an end"
        } else if name.contains(char::is_control) {
            "has a control character in it"
        } else if owner == "a node" && name.contains('.') {
            "has a dot in it"
        } else {
            return Some(name);
        };
        let complaint =
            Diagnostic::new(&codes::BAD_NAME, format!("the name {:?} of {owner} {wrong}", name.value))
                .at(&name.span)
                .help(match wrong {
                    "has a dot in it" => {
                        "a dot separates a node from its port, as in `vad.audio`; use `-` instead"
                    }
                    _ => "use letters, digits, `-` and `_`",
                });
        self.complain(complaint);
        None
    }

    /// `"node"` or `"node.port"`.
    fn endpoint(&mut self, item: Item<'_>) -> Option<Endpoint> {
        let text = self.keep(item.text("a node, or `node.port`, in quotes"))?;
        let (node, port) = match text.split_once('.') {
            Some((node, port)) => (node, Some(port)),
            None => (text.as_str(), None),
        };
        if node.is_empty() || port.is_some_and(|port| port.is_empty() || port.contains('.')) {
            let complaint = Diagnostic::new(&codes::BAD_NAME, format!("{text:?} names no port"))
                .at(&item.span())
                .expected("`node` or `node.port`")
                .found(item.describe());
            self.complain(complaint);
            return None;
        }
        Some(Endpoint { node: node.to_owned(), port: port.map(str::to_owned) })
    }

    fn warm_up(&mut self, item: Item<'_>) -> Option<WarmUp> {
        if item.is_text() {
            return self.quantity(item, "a duration", "s", units::duration).map(WarmUp::Time);
        }
        self.whole(item, "a number of packets", 0..=u64::from(u32::MAX)).map(WarmUp::Packets)
    }

    fn lane(&mut self, name: Spanned<String>, item: Item<'_>) -> LanePart {
        const KNOWN: [&str; 7] = ["priority", "cpus", "wait", "lock_memory", "strict", "about", "remove"];
        let fields = self.fields(item, "a lane", &KNOWN);
        LanePart {
            name,
            remove: self.flag(&fields, "remove").unwrap_or_default(),
            priority: self.field(&fields, "priority", Reader::priority).map(|priority| priority.value),
            cpus: fields.get("cpus").is_some().then(|| {
                self.items(&fields, "cpus", "CPU numbers in [ ]", |reader, item| {
                    reader.whole(item, "a CPU number", 0..=1023).map(|cpu| cpu as usize)
                })
            }),
            wait: self.field(&fields, "wait", Reader::wait).map(|wait| wait.value),
            lock_memory: self.flag(&fields, "lock_memory"),
            strict: self.flag(&fields, "strict"),
            about: self.text(&fields, "about").map(|about| about.value),
        }
    }

    fn priority(&mut self, item: Item<'_>) -> Option<Priority> {
        const WORDS: [&str; 3] = ["normal", "fifo(40)", "rr(40)"];
        let make: fn(u8) -> Priority = match item.call("").map(|(word, inner)| (word.value, inner.is_some()))
        {
            Ok(("normal", false)) => return Some(Priority::Normal),
            Ok(("fifo", true)) => Priority::Fifo,
            Ok(("rr", true)) => Priority::RoundRobin,
            _ => {
                self.unknown_word(item, "priority", &WORDS);
                return None;
            }
        };
        let level = self.argument(item, "a priority")?;
        self.whole(level, "a priority", 1..=99).map(|level| make(level as u8))
    }

    fn wait(&mut self, item: Item<'_>) -> Option<Wait> {
        match item.call("").map(|(word, inner)| (word.value, inner.is_some())) {
            Ok(("poll", false)) => Some(Wait::Poll),
            Ok(("park", false)) => Some(Wait::Park),
            Ok(("spin", true)) => {
                let time = self.argument(item, "a duration")?;
                self.quantity(time, "a duration", "us", units::duration).map(Wait::Spin)
            }
            _ => {
                self.unknown_word(item, "way to wait", &["poll", "spin(\"20 us\")", "park"]);
                None
            }
        }
    }

    /// The one value in the parentheses of `word(value)`.
    fn argument<'s>(&mut self, item: Item<'s>, expected: &str) -> Option<Item<'s>> {
        let (_, inner) = self.keep(item.call(expected))?;
        self.keep(inner.ok_or_else(|| item.unlike(expected)).and_then(|inner| inner.single(expected)))
    }

    fn node(&mut self, id: Spanned<String>, item: Item<'_>) -> NodePart {
        const KNOWN: [&str; 6] = ["kind", "lane", "with", "on_error", "about", "remove"];
        self.node = Some(id.value.clone());
        let before = self.diagnostics.len();
        let fields = self.fields(item, "a node", &KNOWN);
        let mut part = NodePart {
            remove: self.flag(&fields, "remove").unwrap_or_default(),
            kind: self.text(&fields, "kind"),
            lane: self.text(&fields, "lane"),
            with: self.field(&fields, "with", |reader, item| reader.with(&id, item)).map(|with| with.value),
            on_error: self.field(&fields, "on_error", Reader::on_error).map(|on_error| on_error.value),
            about: self.text(&fields, "about").map(|about| about.value),
            broken: false,
            id,
        };
        part.broken = self.diagnostics.len() > before;
        self.node = None;
        part
    }

    fn with(&mut self, node: &str, item: Item<'_>) -> Option<RawWith> {
        let pairs = self.keep(item.fields("the parameters of a node in ( )"))?;
        let mut with =
            RawWith { node: node.to_owned(), fields: Vec::with_capacity(pairs.len()), span: item.span() };
        for (name, value) in pairs {
            if let Some((first, _)) = with.fields.iter().find(|(field, _)| field.value == name.value) {
                let complaint = Diagnostic::new(
                    &codes::DUPLICATE,
                    format!("the parameter `{}` is stated twice", name.value),
                )
                .at(&name.span)
                .help("keep one of the two")
                .related(&first.span, "stated here first");
                self.complain(complaint);
            } else {
                with.fields.push((name, Spanned::new(value.ron().to_owned(), value.span())));
            }
        }
        Some(with)
    }

    fn on_error(&mut self, item: Item<'_>) -> Option<OnError> {
        match item.call("").map(|(word, inner)| (word.value, inner)) {
            Ok(("fail", None)) => Some(OnError::Fail),
            Ok(("skip", None)) => Some(OnError::Skip),
            Ok(("restart", None)) => Some(OnError::Restart(Restart::default())),
            Ok(("restart", Some(inner))) => {
                let fields = self.fields(inner, "`restart`", &["first", "max", "times"]);
                let time = |reader: &mut Reader, item: Item<'_>| {
                    reader.quantity(item, "a duration", "ms", units::duration)
                };
                let default = Restart::default();
                let first = self.field(&fields, "first", time).map_or(default.first, |time| time.value);
                let max = self.field(&fields, "max", time).map_or(default.max, |time| time.value);
                let times = self.field(&fields, "times", |reader, item| {
                    reader.whole(item, "a number of restarts", 1..=u64::from(u32::MAX))
                });
                let times = times.map(|times| times.value as u32);
                Some(OnError::Restart(Restart { first, max: max.max(first), times }))
            }
            _ => {
                self.unknown_word(item, "policy for errors", &["fail", "restart", "skip"]);
                None
            }
        }
    }

    fn edge(&mut self, item: Item<'_>) -> Option<EdgePart> {
        const KNOWN: [&str; 9] =
            ["from", "to", "queue", "budget", "wire", "feedback", "measure", "about", "remove"];
        let fields = self.fields(item, "an edge", &KNOWN);
        let from = self.field(&fields, "from", Reader::endpoint);
        let to = self.field(&fields, "to", Reader::endpoint);
        let queue = self.field(&fields, "queue", |reader, item| Some(reader.queue(item)));
        let measure_all = self
            .field(&fields, "measure", |reader, item| reader.word(item, "set of measures", &[("all", true)]));
        let part = EdgePart {
            remove: self.flag(&fields, "remove").unwrap_or_default(),
            queue: queue.map_or_else(QueuePart::default, |queue| queue.value),
            budget: self.edge_budget(&fields, Owner::Graph),
            wire: self.flag(&fields, "wire"),
            feedback: self.flag(&fields, "feedback"),
            measure_all: measure_all.map(|all| all.value),
            about: self.text(&fields, "about").map(|about| about.value),
            span: fields.span.clone(),
            default_measure: Measure::Latency,
            to,
            from: match from {
                Some(from) => from,
                None => {
                    if item.is_fields() && fields.get("from").is_none() {
                        self.missing(
                            "an edge",
                            "from",
                            &fields.span,
                            "from: \"node\", or from: \"node.port\"",
                        );
                    }
                    return None;
                }
            },
        };
        // A `to` that could not be read must not be mistaken for one that was left out.
        (part.to.is_some() || fields.get("to").is_none()).then_some(part)
    }

    fn edge_budget(&mut self, fields: &Fields<'_>, owner: Owner) -> BudgetSpec {
        fields.get("budget").map(|item| self.budget(item, owner)).unwrap_or_default()
    }

    fn path(&mut self, item: Item<'_>) -> Option<PathPart> {
        const KNOWN: [&str; 8] = ["name", "from", "to", "via", "budget", "packets", "about", "remove"];
        let fields = self.fields(item, "a path", &KNOWN);
        let name = self.key(&fields, "name", "a path", "name: \"round trip\"");
        let packets = self.field(&fields, "packets", |reader, item| {
            reader.whole(item, "a number of packets", 1..=u64::from(u32::MAX)).map(|packets| packets as u32)
        });
        Some(PathPart {
            remove: self.flag(&fields, "remove").unwrap_or_default(),
            from: self.field(&fields, "from", Reader::endpoint),
            to: self.field(&fields, "to", Reader::endpoint),
            via: fields.get("via").is_some().then(|| {
                self.items(&fields, "via", "nodes or ports in [ ]", |reader, item| {
                    reader.endpoint(item).map(|endpoint| Spanned::new(endpoint, item.span()))
                })
            }),
            budget: self.edge_budget(&fields, Owner::Graph),
            packets,
            about: self.text(&fields, "about").map(|about| about.value),
            span: fields.span.clone(),
            name: name?,
        })
    }

    fn bench(&mut self, item: Item<'_>) -> Option<BenchPart> {
        let fields = self.fields(item, "a bench", &["id", "budget", "about", "remove"]);
        let id = self.key(&fields, "id", "a bench", "id: \"rtp_encode/header_to_bytes\"");
        Some(BenchPart {
            remove: self.flag(&fields, "remove").unwrap_or_default(),
            budget: self.edge_budget(&fields, Owner::Bench),
            about: self.text(&fields, "about").map(|about| about.value),
            id: id?,
        })
    }

    fn overhead(&mut self, item: Item<'_>) -> Option<OverheadPart> {
        let fields =
            self.fields(item, "an overhead", &["name", "path", "direct", "budget", "about", "remove"]);
        let name = self.key(&fields, "name", "an overhead", "name: \"governed\"");
        let mut part = OverheadPart {
            remove: self.flag(&fields, "remove").unwrap_or_default(),
            path: self.text(&fields, "path"),
            direct: self.text(&fields, "direct"),
            limits: Vec::new(),
            share_from: None,
            reference: None,
            about: self.text(&fields, "about").map(|about| about.value),
            name: name?,
        };
        if let Some(item) = fields.get("budget") {
            self.overhead_limits(item, &mut part);
        }
        Some(part)
    }

    /// The field that names an entry of a list.
    fn key(
        &mut self,
        fields: &Fields<'_>,
        field: &str,
        owner: &str,
        example: &str,
    ) -> Option<Spanned<String>> {
        if fields.get(field).is_none() {
            self.missing(owner, field, &fields.span, example);
        }
        self.text(fields, field).and_then(|name| self.name(name, owner))
    }
}
