//! What `check` shows of a plan: whether its limits add up, how long its queues may keep a packet, and what it runs as.

use graph_core::{
    budget::Stat,
    check::{EdgeLayout, LaneLayout, Layout, Plan, QuantileSum, QueueBound},
    floors::Floors,
};

use super::{
    look::{Look, Tone, plural, whole},
    names::Names,
    table::{Cell, Column, Row, lines},
};

/// The analysis of a plan's budgets; with a layout also what it runs as. As wide as the look.
pub fn plan(plan: &Plan, floors: Option<&Floors>, layout: Option<&Layout>, look: &Look) -> String {
    let ends =
        plan.edges.iter().map(|edge| (edge.from.name.as_str(), edge.to.as_ref().map(|to| to.name.as_str())));
    let names = Names::of_ends(ends, look);
    let mut sections = vec![head(plan), sums(plan, look), queues(plan, &names, look)];
    if let Some(layout) = layout {
        sections.extend([
            lanes(&layout.lanes, look),
            rings(&layout.edges, &names, look),
            total(layout, look),
        ]);
    }
    sections.extend(
        floors.map(|floors| look.wrap("", &format!("This machine's floors: {}.", floors_text(floors)))),
    );
    sections.retain(|lines| !lines.is_empty());
    sections.iter().map(|lines| lines.join("\n") + "\n").collect::<Vec<_>>().join("\n")
}

/// `25 ns inside a lane, ..`, for `check` and `doctor`.
pub(crate) fn floors_text(floors: &Floors) -> String {
    format!(
        "a hop takes {} inside a lane, {} to a lane that spins, {} to one that sleeps on a futex, {} in epoll; a timer is {} late",
        whole(floors.local),
        whole(floors.spin),
        whole(floors.futex),
        whole(floors.epoll),
        whole(floors.timer)
    )
}

fn head(plan: &Plan) -> Vec<String> {
    vec![format!(
        "{}: {} in {}, {}, {}",
        plan.name,
        plural(plan.nodes.len() as u64, "node"),
        plural(plan.lanes.len() as u64, "lane"),
        plural(plan.edges.len() as u64, "edge"),
        plural(plan.paths.len() as u64, "path")
    )]
}

fn column(title: &'static str, left: bool, leave: Option<u8>) -> Column {
    Column { title, left, leave }
}

fn cell(text: impl Into<String>) -> Cell {
    Cell::new(text, Tone::Plain)
}

/// What the limits of edges come to along each path.
fn sums(plan: &Plan, look: &Look) -> Vec<String> {
    if plan.allocations.is_empty() && plan.quantiles.is_empty() {
        return Vec::new();
    }
    let columns =
        [column("path", true, None), column("of", true, None), column("limits of its edges", true, None)];
    let mut rows = vec![Row::Titles("path")];
    for sum in &plan.allocations {
        let over = sum.excess().0 > 0;
        let tone = if over { Tone::Doubtful } else { Tone::Plain };
        let open = match sum.open.len() {
            0 => String::new(),
            open => format!("; {open} open"),
        };
        rows.push(Row::Cells(vec![
            cell(&plan.paths[sum.path].name),
            cell(format!("{} {}", sum.measure.name(), sum.stat.name())),
            Cell::new(format!("{sum}{open}"), tone),
        ]));
    }
    for sum in &plan.quantiles {
        rows.push(Row::Cells(vec![
            cell(&plan.paths[sum.path].name),
            cell(format!("{} quantile", sum.measure.name())),
            cell(quantile(sum)),
        ]));
        rows.extend(sum.guaranteed.as_ref().err().map(|reason| Row::Note(reason.clone())));
    }
    lines(&columns, &rows, look)
}

fn quantile(sum: &QuantileSum) -> String {
    let quantiles = sum.parts.iter().any(|(_, stat, _)| *stat != Stat::Max);
    match &sum.guaranteed {
        Ok(_) => sum.to_string(),
        Err(_) if quantiles => format!("{}, no quantile guaranteed", sum.sum),
        Err(_) => "no quantile guaranteed".to_owned(),
    }
}

/// How long a packet may wait in each queue.
fn queues(plan: &Plan, names: &Names, look: &Look) -> Vec<String> {
    if plan.queues.is_empty() {
        return Vec::new();
    }
    let columns = [
        column("queue", true, None),
        column("holds", false, Some(1)),
        column("service", false, Some(0)),
        column("worst wait", false, None),
        column("limit", true, Some(2)),
        column("", true, None),
    ];
    let mut rows = vec![Row::Titles("queue")];
    for queue in &plan.queues {
        let (word, tone) = match queue.is_over() {
            Some(true) => ("over", Tone::Doubtful),
            Some(false) => ("within", Tone::Plain),
            None => ("", Tone::Plain),
        };
        let limit = queue.limit.map(|(measure, limit)| format!("{} {limit}", measure.name()));
        rows.push(Row::Cells(vec![
            cell(names.short(&plan.edges[queue.edge].name())),
            cell(queue.packets.to_string()),
            cell(queue.service.map_or("open".to_owned(), |time| time.to_string())),
            cell(queue.worst.map_or("open".to_owned(), |time| time.to_string())),
            cell(limit.unwrap_or_default()),
            Cell::new(word, tone),
        ]));
    }
    let mut lines = lines(&columns, &rows, look);
    let mut open: Vec<&str> = plan.queues.iter().flat_map(|queue| open_edges(plan, queue, names)).collect();
    open.sort_unstable();
    open.dedup();
    if !open.is_empty() {
        lines.extend(look.wrap("", &format!("Open for want of a limit on a maximum: {}.", open.join(", "))));
    }
    lines
}

fn open_edges<'a>(plan: &Plan, queue: &QueueBound, names: &'a Names) -> Vec<&'a str> {
    queue.open.iter().filter_map(|edge| names.get(&plan.edges[*edge].name())).collect()
}

fn lanes(lanes: &[LaneLayout], look: &Look) -> Vec<String> {
    let columns = [
        column("lane", true, None),
        column("priority", true, None),
        column("CPUs", true, Some(1)),
        column("wait", true, None),
        column("memory", true, Some(0)),
    ];
    let mut rows = vec![Row::Titles("lane")];
    for lane in lanes {
        let cpus: Vec<String> = lane.cpus.iter().map(usize::to_string).collect();
        rows.push(Row::Cells(vec![
            cell(&lane.name),
            cell(&lane.priority),
            cell(if cpus.is_empty() { "all".to_owned() } else { cpus.join(" ") }),
            cell(&lane.wait),
            cell(if lane.lock_memory { "locked" } else { "" }),
        ]));
        rows.push(Row::Note(format!("serves {}", lane.nodes.join(", "))));
    }
    lines(&columns, &rows, look)
}

fn rings(edges: &[EdgeLayout], names: &Names, look: &Look) -> Vec<String> {
    if edges.is_empty() {
        return Vec::new();
    }
    let columns = [
        column("edge", true, None),
        column("ring", true, None),
        column("packets", false, None),
        column("of", false, Some(0)),
        column("memory", false, None),
    ];
    let mut rows = vec![Row::Titles("edge")];
    rows.extend(edges.iter().map(|edge| {
        Row::Cells(vec![
            cell(names.short(&format!("{} -> {}", edge.from, edge.to))),
            cell(edge.ring.name()),
            cell(edge.packets.to_string()),
            cell(bytes(edge.packet_bytes)),
            cell(bytes(edge.bytes)),
        ])
    }));
    lines(&columns, &rows, look)
}

fn total(layout: &Layout, look: &Look) -> Vec<String> {
    let text = format!(
        "{}, {} in {}, without what payloads refer to. Which lanes watch descriptors is known when their nodes are made.",
        plural(layout.lanes.len() as u64, "thread"),
        whole(bytes(layout.bytes)),
        plural(layout.edges.len() as u64, "queue"),
    );
    look.wrap("", &text)
}

fn bytes(bytes: usize) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.0} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use graph_core::{Nanos, Registry, check::check_file};
    use unicode_width::UnicodeWidthStr;

    use super::*;

    const GRAPH: &str = r#"(
        name: "clean",
        lanes: { "ears": (priority: fifo(40), cpus: [0, 1], wait: spin("20 us")), "file": (lock_memory: true) },
        nodes: {
            "receive": (kind: "net/udp-audio", lane: "ears"),
            "to16k":   (kind: "audio/resample", lane: "ears"),
            "file":    (kind: "audio/wav-sink", lane: "file", with: (file: "heard.wav")),
            "player":  (kind: "audio/wav-source", with: (files: ["in.wav"])),
            "speaker": (kind: "net/rtp-audio-out"),
        },
        edges: [
            (from: "receive", to: "to16k", budget: (max: "5 ms")),
            (from: "to16k", to: "file", queue: (capacity: 4, full: drop_oldest), budget: (max: "5 ms", p99: "2 ms")),
            (from: "file.done", budget: (max: "20 ms")),
            (from: "player", to: "speaker.audio", budget: (max: "50 ms")),
            (from: "speaker.wire", to: "receive.wire", wire: true),
        ],
        paths: [
            (name: "wire to file", from: "receive", to: "file.done", budget: (max: "29 ms", p99: "25 ms")),
            (name: "sound to file", from: "player", to: "file.done", budget: (max: "1 s")),
        ],
    )"#;

    fn shown(width: usize) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clean.ron");
        std::fs::write(&path, GRAPH).unwrap();
        let registry: Registry = graph_nodes::registry();
        let checked = check_file(&path, &[], &registry);
        let graph = checked.plan.unwrap_or_else(|| panic!("{}", checked.diagnostics));
        let mut layout = Layout::of(&graph, &registry);
        // The size of a header is the runtime's own matter.
        layout.edges.iter_mut().for_each(|edge| (edge.packet_bytes, edge.bytes) = (80, 80 * edge.packets));
        layout.bytes = layout.edges.iter().map(|edge| edge.bytes).sum();
        let [local, spin, futex, epoll, timer] = [25, 130, 2_100, 2_600, 11_000].map(Nanos);
        let floors = Floors { local, spin, futex, epoll, timer };
        plan(&graph, Some(&floors), Some(&layout), &Look { width, colour: false, unicode: true })
    }

    #[test]
    fn the_plan_is_shown_as_wide_as_the_terminal() {
        for (width, wanted) in
            [(80, include_str!("snapshots/plan-80.txt")), (120, include_str!("snapshots/plan-120.txt"))]
        {
            let shown = shown(width);
            assert!(shown.lines().all(|line| line.width() <= width), "{shown}");
            assert!(shown == wanted, "snapshots/plan-{width}.txt is out of date:\n{shown}");
        }
    }

    #[test]
    fn memory_is_told_in_units_that_suit_its_size() {
        assert_eq!([640, 262_144, 20_000_000].map(bytes), ["640 B", "262 kB", "20 MB"]);
    }
}
