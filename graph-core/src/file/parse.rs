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
        self.required(&fields, "an edge", "from", "from: \"node\", or from: \"node.port\"");
        let from = self.field(&fields, "from", Reader::endpoint);
        let to = self.field(&fields, "to", Reader::endpoint);
        let queue = self.field(&fields, "queue", |reader, item| Some(reader.queue(item)));
        let measure_all = self
            .field(&fields, "measure", |reader, item| reader.word(item, "set of measures", &[("all", true)]));
        let part = EdgePart {
            remove: self.flag(&fields, "remove").unwrap_or_default(),
            queue: queue.map_or_else(QueuePart::default, |queue| queue.value),
            budget: self.budget_of(&fields, Owner::Graph),
            wire: self.flag(&fields, "wire"),
            feedback: self.flag(&fields, "feedback"),
            measure_all: measure_all.map(|all| all.value),
            about: self.text(&fields, "about").map(|about| about.value),
            span: fields.span.clone(),
            default_measure: Measure::Latency,
            to,
            from: from?,
        };
        // A `to` that could not be read must not be mistaken for one that was left out.
        (part.to.is_some() || fields.get("to").is_none()).then_some(part)
    }

    fn budget_of(&mut self, fields: &Fields<'_>, owner: Owner) -> BudgetSpec {
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
            budget: self.budget_of(&fields, Owner::Graph),
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
            budget: self.budget_of(&fields, Owner::Bench),
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
        self.required(fields, owner, field, example);
        self.text(fields, field).and_then(|name| self.name(name, owner))
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::{Capacity, Full, GraphSpec, OverheadBound, QueueSpec};
    use super::*;
    use crate::{
        budget::{Bound, Level, Reference, Stat},
        check::fixture::load_files,
        time::Nanos,
    };

    fn graph(text: &str) -> GraphSpec {
        let (graph, diagnostics) = load_files([("graph.ron", text)], &[]);
        assert!(diagnostics.is_empty(), "{diagnostics}");
        graph.unwrap()
    }

    fn complaints(text: &str) -> Vec<String> {
        let (_, diagnostics) = load_files([("graph.ron", text)], &[]);
        let one = |d: &Diagnostic| format!("{} {}", d.span.as_ref().unwrap().text(), d.message);
        diagnostics.iter().map(one).collect()
    }

    #[test]
    fn every_field_of_a_graph_is_read() {
        let graph = graph(
            r#"(
                name: "all", about: "every field", class: "ci-2core", warm_up: "2 s",
                lanes: {
                    "audio": (
                        priority: fifo(40), cpus: [0, 1], wait: spin("20 us"), lock_memory: true, strict: true, about: "a",
                    ),
                    "slow": (priority: rr(1), wait: park),
                    "plain": (),
                },
                nodes: {
                    "in": (
                        kind: "audio/wav-source", lane: Some("audio"), with: (path: "x.wav" /* why */, gain: 2),
                        on_error: restart(first: "1 s", times: 3), about: "b",
                    ),
                    "out": (kind: "audio/wav-sink", on_error: skip, lane: None),
                },
                edges: [
                    (
                        from: "in", to: "out", queue: (capacity: "200 ms", full: drop_oldest, late: "50 ms"),
                        budget: (
                            max: "5 ms", cost: (p99: (limit: "1 ms", level: warn, assumed: true, basis: "seen")),
                            rate: "15 /s", drops: "0.5 %", reference: "< 100 ns",
                        ),
                        wire: false, feedback: false, measure: all, about: "c",
                    ),
                    (from: "out.done", budget: (mean: "1 ms")),
                ],
                paths: [(name: "p", from: "in", to: "out.done", via: ["out"], budget: (max: "5 s"), packets: 15)],
                benches: [(id: "rtp/parse", budget: (mean: "100 ns", reference: "28 ns"))],
                overheads: [(
                    name: "o", path: "p", direct: "q",
                    budget: (p50: "300 us", share: "5 %", share_from: "6 ms", reference: "160 us"),
                )],
            )"#,
        );
        assert_eq!((graph.name.as_str(), graph.class.as_deref()), ("all", Some("ci-2core")));
        assert_eq!(graph.warm_up, WarmUp::Time(Nanos::from_secs(2)));

        let audio = &graph.lanes[0];
        assert_eq!((audio.priority, audio.cpus.as_slice()), (Priority::Fifo(40), &[0, 1][..]));
        assert_eq!(
            (audio.wait, audio.lock_memory, audio.strict),
            (Some(Wait::Spin(Nanos(20_000))), true, true)
        );
        assert_eq!(
            (graph.lanes[1].priority, graph.lanes[1].wait),
            (Priority::RoundRobin(1), Some(Wait::Park))
        );
        assert_eq!((graph.lanes[2].priority, graph.lanes[2].wait), (Priority::Normal, None));

        let source = &graph.nodes[0];
        assert_eq!(source.lane.as_ref().unwrap().value, "audio");
        let restart = Restart { first: Nanos::from_secs(1), max: Nanos::from_secs(10), times: Some(3) };
        assert_eq!(source.on_error, OnError::Restart(restart));
        let with: Vec<_> =
            source.with.fields.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(with, [("path", "\"x.wav\""), ("gain", "2")]);
        assert_eq!((&graph.nodes[1].lane, graph.nodes[1].on_error), (&None, OnError::Skip));

        let edge = &graph.edges[0];
        let queue = QueueSpec {
            capacity: Capacity::Time(Nanos::from_millis(200)),
            full: Full::DropOldest,
            late: Some(Nanos::from_millis(50)),
        };
        assert_eq!((edge.name().as_str(), edge.queue), ("in.out -> out.in", queue));
        assert!(edge.measure_all);
        let bounds: Vec<Bound> = edge.budget.limits.iter().map(|limit| limit.bound).collect();
        let at_most = |measure, stat, nanos| Bound::AtMost { measure, stat, limit: Nanos(nanos) };
        assert_eq!(
            bounds,
            [
                at_most(None, Stat::Max, 5_000_000),
                at_most(Some(Measure::Cost), Stat::P99, 1_000_000),
                Bound::RateAtLeast(15.0),
                Bound::DropsAtMost(0.005),
            ]
        );
        let full = &edge.budget.limits[1];
        assert_eq!((full.level, full.assumed, full.basis.as_deref()), (Level::Warn, true, Some("seen")));
        assert_eq!(edge.budget.reference.as_ref().unwrap().value, Reference::Below(Nanos(100)));
        assert_eq!(graph.edges[1].name(), "out.done");
        assert_eq!(graph.edges[1].queue, QueueSpec::default());

        assert_eq!(graph.paths[0].packets.as_ref().unwrap().value, 15);
        assert_eq!(graph.benches[0].id.value, "rtp/parse");
        let overhead = &graph.overheads[0];
        assert_eq!(overhead.limits[1].bound, OverheadBound::Share(0.05));
        assert_eq!(overhead.share_from, Some(Nanos::from_millis(6)));
    }

    #[test]
    fn every_mistake_of_a_file_is_told_at_once() {
        let told = complaints(
            r#"(
                names: "x",
                warm_up: "2",
                lanes: { "a": (priority: fifo(100), wait: spin(20), cpus: [0, "1"]), "b": (priority: "fifo", wait: nap) },
                nodes: {
                    "n": (kind: 5, with: [1], on_error: restrat(first: "1 s")),
                    "m": (kind: "audio/gain", on_error: restart(after: 1), with: (a: 1, a: 2)),
                    "l": [],
                },
                edges: [
                    (to: "n"),
                    (from: "n.x.y", to: "m"),
                    (from: "n", to: 7, queue: (capacity: 0, full: "block"), budget: 5),
                    (from: "n", to: "m", budget: (max: (level: wran), rate: "0 /s", cost: (p98: "1 ms"))),
                    (from: "n", to: "m", measure: some, wire: 1),
                ],
                paths: [(from: "n", packets: 0), (name: "p", from: "n", to: "m", name: "p")],
                benches: [(id: "b", budget: (max: "1 ms"))],
            )"#,
        );
        assert_eq!(
            told,
            [
                "names a graph has no field `names`",
                "\"2\" \"2\" has no unit; write \"2 ms\"",
                "100 100 is not a priority from 1 to 99",
                "20 a duration is text with a unit, not a bare number",
                "\"1\" expected a CPU number from 0 to 1023, found the text \"1\"",
                "\"fifo\" the text \"fifo\" is no priority",
                "nap `nap` is no way to wait",
                "5 expected text in quotes, found the number 5",
                "[1] expected the parameters of a node in ( ), found the list [1]",
                "restrat(first: \"1 s\") `restrat` is no policy for errors",
                "after `restart` has no field `after`",
                "a the parameter `a` is stated twice",
                "[] expected the fields of a node in ( ), found the list []",
                "(to: \"n\") an edge has no `from`",
                "\"n.x.y\" \"n.x.y\" names no port",
                "7 expected a node, or `node.port`, in quotes, found the number 7",
                "0 0 is not a number of packets from 1 to 1048576",
                "\"block\" the text \"block\" is no way to treat a full queue",
                "5 expected the fields of a budget in ( ), found the number 5",
                "(level: wran) a limit has no `limit`",
                "wran `wran` is no level",
                "\"0 /s\" \"0 /s\" limits nothing; a rate must be above zero",
                "p98 a measure has no field `p98`",
                "(from: \"n\", to: \"m\", measure: some, wire: 1) the edge `n -> m.in` is stated twice",
                "some `some` is no set of measures",
                "1 expected `true` or `false`, found the number 1",
                "(from: \"n\", packets: 0) a path has no `name`",
                "0 0 is not a number of packets from 1 to 4294967295",
                "name the field `name` is stated twice",
                "max the budget of a bench has no field `max`",
            ]
        );
    }

    #[test]
    fn a_near_miss_is_offered_for_a_field_and_for_a_word() {
        let help = |text: &str| load_files([("graph.ron", text)], &[]).1[0].help.clone().unwrap();
        assert_eq!(help("(nods: {})"), "did you mean `nodes`?");
        assert_eq!(
            help(r#"(edges: [(from: "a", to: "b", queue: (full: drop))])"#),
            "did you mean `drop_oldest`?"
        );
        assert_eq!(
            help(r#"(edges: [(from: "a", to: "b", queue: (full: "block"))])"#),
            "write block without quotes"
        );
        assert_eq!(
            help(r#"(edges: [(from: "a", to: "b", budget: (max: 5))])"#),
            "write \"5 ms\", if that is the unit meant"
        );
    }
}
