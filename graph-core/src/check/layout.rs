//! What a plan will run as: threads, the order they serve their nodes in, queues and their memory.

use serde::Serialize;

use super::plan::{Plan, PlanEdge, PlanLane};
use crate::{
    edge::RingKind,
    file::{Priority, Wait},
    kind::Kinds,
};

/// What a plan will run as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// In the order of the plan; each is one thread.
    pub lanes: Vec<LaneLayout>,
    /// In the order of the plan, without the edges to nowhere.
    pub edges: Vec<EdgeLayout>,
    /// Bytes of all queues together.
    pub bytes: usize,
}

/// One lane, which is one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaneLayout {
    /// Its name, and its thread's.
    pub name: String,
    /// Whether the file declares it.
    pub declared: bool,
    /// As the file writes it: `normal`, `fifo(40)`.
    pub priority: String,
    /// The CPUs that it may run on; empty for all.
    pub cpus: Vec<usize>,
    /// As the file writes it: `poll`, `spin(20 us)`, `park`.
    pub wait: String,
    /// Whether the process's memory is locked for it.
    pub lock_memory: bool,
    /// Names of its nodes in the order it serves them: nearest to a sink first.
    pub nodes: Vec<String>,
}

/// The queue of one edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EdgeLayout {
    /// `node.port` that feeds it.
    pub from: String,
    /// `node.port` that it feeds.
    pub to: String,
    /// What it is made of.
    pub ring: RingKind,
    /// How many packets it takes at most.
    pub packets: usize,
    /// Bytes that it takes for each packet: header and payload, without what the payload refers to, and what the ring needs
    /// beside them. A ring inside a lane has two slots a packet, since a step may go over the capacity by its burst.
    pub packet_bytes: usize,
    /// Bytes of the queue.
    pub bytes: usize,
}

impl Layout {
    /// The layout of a plan whose kinds these are.
    pub fn of(plan: &Plan, kinds: &dyn Kinds) -> Layout {
        let edges: Vec<EdgeLayout> =
            plan.edges.iter().filter_map(|edge| edge_of(plan, edge, kinds)).collect();
        Layout {
            lanes: plan.lanes.iter().map(|lane| lane_of(plan, lane)).collect(),
            bytes: edges.iter().map(|edge| edge.bytes).sum(),
            edges,
        }
    }
}

fn lane_of(plan: &Plan, lane: &PlanLane) -> LaneLayout {
    let spec = lane.spec.as_ref();
    let priority = match spec.map(|spec| spec.priority).unwrap_or_default() {
        Priority::Normal => "normal".to_owned(),
        Priority::Fifo(priority) => format!("fifo({priority})"),
        Priority::RoundRobin(priority) => format!("rr({priority})"),
    };
    let wait = match spec.and_then(|spec| spec.wait) {
        Some(Wait::Poll) => "poll".to_owned(),
        Some(Wait::Spin(time)) => format!("spin({time})"),
        Some(Wait::Park) | None => "park".to_owned(),
    };
    LaneLayout {
        name: lane.name.clone(),
        declared: spec.is_some(),
        priority,
        cpus: spec.map(|spec| spec.cpus.clone()).unwrap_or_default(),
        wait,
        lock_memory: spec.is_some_and(|spec| spec.lock_memory),
        nodes: plan.served(lane).into_iter().map(|node| plan.nodes[node].id.clone()).collect(),
    }
}

fn edge_of(plan: &Plan, edge: &PlanEdge, kinds: &dyn Kinds) -> Option<EdgeLayout> {
    let to = edge.to.as_ref()?;
    let port = |node: usize, port: usize| Some(&kinds.get(&plan.nodes[node].kind)?.ports[port]);
    let (output, input) = (port(edge.from.node, edge.from.port)?, port(to.node, to.port)?);
    let queue = edge.queue.before(input);
    let ring = RingKind::of(&queue, edge.crosses, edge.wire);
    let (packets, packet_bytes) = (ring.packets(&queue), ring.packet_bytes(output.packet_bytes));
    Some(EdgeLayout {
        from: edge.from.name.clone(),
        to: to.name.clone(),
        ring,
        packets,
        packet_bytes,
        bytes: packets * packet_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        check::fixture::{self, Audio, TestKinds, Text},
        packet::Packet,
    };

    #[test]
    fn a_layout_tells_threads_the_order_of_nodes_and_what_each_queue_takes() {
        let plan = fixture::plan(
            r#"(
                lanes: { "ears": (priority: fifo(40), cpus: [1], wait: spin("20 us")) },
                nodes: {
                    "back": (kind: "net/udp-audio", lane: "ears"), "gain": (kind: "audio/gain"), "stt": (kind: "speech/stt"),
                    "out": (kind: "text/sink"), "tone": (kind: "audio/wav-source"), "send": (kind: "net/rtp-audio-out"),
                },
                edges: [
                    (from: "back", to: "gain"), (from: "gain", to: "stt", queue: (full: drop_oldest)),
                    (from: "stt", to: "out", queue: (capacity: 3)), (from: "tone", to: "send"),
                    (from: "send", to: "back", wire: true),
                ],
            )"#,
        );
        let layout = Layout::of(&plan, &TestKinds::new());
        let lanes: Vec<_> =
            layout.lanes.iter().map(|lane| (lane.name.as_str(), lane.nodes.join(" "))).collect();
        assert_eq!(
            lanes,
            [
                ("ears", "gain back".to_owned()),
                ("tone", "send tone".to_owned()),
                ("stt", "stt".to_owned()),
                ("out", "out".to_owned())
            ]
        );
        let ears = &layout.lanes[0];
        assert_eq!(
            (ears.priority.as_str(), ears.wait.as_str(), &ears.cpus[..]),
            ("fifo(40)", "spin(20 us)", &[1][..])
        );
        let (audio, text) = (size_of::<Packet<Audio>>(), size_of::<Packet<Text>>());
        let edges: Vec<_> = layout.edges.iter().map(|edge| (edge.ring, edge.packets, edge.bytes)).collect();
        assert_eq!(
            edges,
            [
                (RingKind::Local, 8, 16 * audio),
                (RingKind::Stealing, 8, 8 * (audio + 8)),
                (RingKind::Spsc, 3, 3 * text),
                (RingKind::Local, 8, 16 * audio),
                (RingKind::WireTable, 4096, 4096 * 64),
            ]
        );
        assert_eq!(layout.bytes, edges.iter().map(|(.., bytes)| bytes).sum::<usize>());
    }
}
