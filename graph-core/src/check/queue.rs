//! How long a packet may wait in a full queue: as many services of its consumer as the queue holds packets.
//!
//! A packet that is handed over finds at most one in service and the others of the queue before it, so it is taken after as
//! many services as the queue holds. A service is what the consumer spends on one packet, with what the nodes of its lane
//! spend that come next: they are nearer to a sink, so they step before the consumer takes another.

use super::{budget::Bounds, net::Net, plan::QueueBound, wiring::gives_many};
use crate::{
    budget::{Measure, Stat},
    codes,
    diagnostic::{Diagnostic, Diagnostics},
    edge::packets,
    kind::Trigger,
    time::Nanos,
};

/// The bound of each queue, in the order of the edges. A latch has none: it keeps the newest only.
pub(super) fn bounds(net: &Net<'_>, lane: &[usize], diagnostics: &mut Diagnostics) -> Vec<QueueBound> {
    let mut leaving = vec![Vec::new(); net.kinds.len()];
    for (at, (edge, _)) in net.edges.iter().enumerate() {
        leaving[edge.from.node].push(at);
    }
    let own: Vec<Service> = leaving.iter().map(|edges| own(net, edges)).collect();
    let services: Vec<Service> =
        (0..own.len()).map(|node| service(net, node, lane, &leaving, &own)).collect();
    let mut bounds = Vec::new();
    for (at, _, to) in net.links() {
        let edge = &net.edges[at].0;
        let input = edge.to.as_ref().expect("a link has two ends");
        if edge.wire || net.port(input).trigger() == Trigger::Latch {
            continue;
        }
        let Service { time, open } = services[to].clone();
        let packets = packets(edge.queue.capacity).max(net.port(&edge.from).burst);
        let all = time.map(|time| Nanos(time.0.saturating_mul(packets as u64)));
        // What is too old when it is to be taken is dropped, so nothing that is taken waited longer.
        let worst = [all, edge.queue.late].into_iter().flatten().min();
        let bound = QueueBound { edge: at, packets, service: time, open, worst, limit: limit(net, at) };
        judge(net, &bound, diagnostics);
        bounds.push(bound);
    }
    bounds
}

/// What a node spends on one packet, or the edges that would have to limit it.
#[derive(Clone, Default)]
struct Service {
    time: Option<Nanos>,
    open: Vec<usize>,
}

/// The slowest of a node's outputs; of the edges of one output the one with the tightest limit.
fn own(net: &Net<'_>, leaving: &[usize]) -> Service {
    let port = |at: usize| net.edges[at].0.from.port;
    let mut service = Service { time: Some(Nanos::ZERO), open: Vec::new() };
    for (place, &at) in leaving.iter().enumerate() {
        if leaving[..place].iter().any(|before| port(*before) == port(at)) {
            continue;
        }
        let same = leaving.iter().copied().filter(|edge| port(*edge) == port(at));
        match same.filter_map(|edge| Bounds::of(net, edge, Stat::Max).service()).min() {
            Some(time) => service.time = service.time.max(Some(time)),
            None => service.open.push(at),
        }
    }
    service.time = service.time.filter(|_| service.open.is_empty());
    service
}

/// A node's own service, and those of the nodes behind it in its lane.
fn service(net: &Net<'_>, node: usize, lane: &[usize], leaving: &[Vec<usize>], own: &[Service]) -> Service {
    let mut all = Service { time: Some(Nanos::ZERO), open: Vec::new() };
    let mut seen = vec![node];
    // Looking through `seen` would take a second of a lane of some thousand nodes.
    let mut is_seen = vec![false; own.len()];
    is_seen[node] = true;
    let mut next = 0;
    while let Some(&at) = seen.get(next) {
        next += 1;
        all.open.extend(&own[at].open);
        all.time = all.time.zip(own[at].time).map(|(sum, time)| sum + time);
        for edge in leaving[at].iter().map(|edge| &net.edges[*edge].0).filter(|edge| !edge.feedback) {
            let behind = edge.to.as_ref().map(|to| to.node);
            let behind = behind.filter(|behind| lane[*behind] == lane[node]);
            seen.extend(behind.filter(|behind| !std::mem::replace(&mut is_seen[*behind], true)));
        }
    }
    all
}

/// The edge's own limit that a wait alone may break.
fn limit(net: &Net<'_>, at: usize) -> Option<(Measure, Nanos)> {
    let bounds = Bounds::of(net, at, Stat::Max);
    let measures = [Measure::Wait, Measure::Cost, Measure::Latency, Measure::Last];
    let limits = measures.into_iter().filter_map(|measure| Some((measure, bounds.limit(measure)?)));
    let many = gives_many(net, at);
    limits.filter(|(measure, _)| many || *measure != Measure::Last).min_by_key(|(_, limit)| *limit)
}

/// A limit on the wait says how long the queue may be; one on the latency of which the wait is a part does not, so that it
/// is only shown.
fn judge(net: &Net<'_>, bound: &QueueBound, diagnostics: &mut Diagnostics) {
    let (edge, Some(spec)) = &net.edges[bound.edge] else { return };
    let limits = spec.budget.limits.iter();
    let tightest = limits.filter_map(|limit| Some((limit.value.at_most(Measure::Wait)?, limit)));
    let Some((limit, place)) = tightest.filter(|(_, limit)| is_max(limit)).min_by_key(|(limit, _)| *limit)
    else {
        return;
    };
    let (Some(worst), Some(service)) = (bound.worst, bound.service) else { return };
    if worst <= limit {
        return;
    }
    let fits = limit.0.checked_div(service.0).unwrap_or_default();
    let help = match fits {
        0 => "make its consumer faster, or raise the limit".to_owned(),
        fits => format!("a queue of {fits} keeps it: queue: (capacity: {fits})"),
    };
    diagnostics.push(
        Diagnostic::new(
            &codes::QUEUE_TOO_LONG,
            format!("a packet may wait longer in the full queue of `{}` than its limit allows", edge.name()),
        )
        .at(&place.span)
        .node(&spec.from.node)
        .expected(format!("at most {limit}"))
        .found(format!("{} packets of {service} each: {worst}", bound.packets))
        .help(help),
    );
}

fn is_max(limit: &crate::budget::Limit) -> bool {
    matches!(limit.bound, crate::budget::Bound::AtMost { stat: Stat::Max, .. })
}

#[cfg(test)]
mod tests {
    use crate::{
        budget::Measure,
        check::{Plan, fixture},
        time::Nanos,
    };

    /// Speech into text in a lane of its own, then an answer to a sink in a third one.
    fn voice(into: &str, text: &str, done: &str) -> String {
        format!(
            r#"(
                nodes: {{
                    "in": (kind: "audio/wav-source"), "stt": (kind: "speech/stt"), "answer": (kind: "text/answer"),
                    "out": (kind: "text/sink"),
                }},
                edges: [
                    (from: "in", to: "stt", {into}), (from: "stt", to: "answer", budget: ({text})),
                    (from: "answer", to: "out", budget: (max: "2 ms")), (from: "out.done", budget: ({done})),
                ],
            )"#
        )
    }

    fn worst(plan: &Plan) -> Vec<Option<Nanos>> {
        plan.queues.iter().map(|queue| queue.worst).collect()
    }

    #[test]
    fn a_full_queue_waits_for_as_many_services_as_it_holds() {
        let plan = fixture::plan(&voice("queue: (capacity: 3)", "max: \"100 ms\"", "max: \"1 ms\""));
        // The answer and the sink share a lane: the sink steps before the next answer.
        assert_eq!(worst(&plan), [300, 8 * 3, 8].map(|ms| Some(Nanos::from_millis(ms))));
        assert_eq!(plan.queues[1].limit, Some((Measure::Latency, Nanos::from_millis(100))));
        assert_eq!(plan.queues[1].to_string(), "8 x 3 ms = 24 ms at worst, within its latency of 100 ms");
        assert_eq!(plan.queues[2].to_string(), "8 x 1 ms = 8 ms at worst, over its latency of 2 ms");
    }

    #[test]
    fn a_consumer_without_a_limit_leaves_the_wait_open_and_its_edge_is_named() {
        let plan = fixture::plan(&voice("", "p99: \"1 ms\"", ""));
        assert_eq!(worst(&plan), [None; 3]);
        assert_eq!(plan.queues[0].open, [1]);
        assert_eq!(plan.queues[1].open, [3], "the sink's own stage");
    }

    #[test]
    fn nothing_is_taken_that_waited_longer_than_is_late() {
        let plan = fixture::plan(&voice("queue: (late: \"50 ms\")", "max: \"100 ms\"", ""));
        assert_eq!(worst(&plan)[0], Some(Nanos::from_millis(50)));
        let plan = fixture::plan(&voice("queue: (late: \"50 ms\")", "", ""));
        assert_eq!(worst(&plan)[0], Some(Nanos::from_millis(50)));
    }

    #[test]
    fn a_limit_on_the_wait_that_a_full_queue_breaks_is_told_with_the_capacity_that_keeps_it() {
        let into = "queue: (capacity: 8), budget: (wait: (max: \"250 ms\"))";
        let (plan, diagnostics) = fixture::check(&voice(into, "max: \"100 ms\"", ""));
        assert!(plan.is_some());
        assert_eq!(diagnostics[0].code.id, "GR0405");
        assert_eq!(diagnostics[0].found.as_deref(), Some("8 packets of 100 ms each: 800 ms"));
        assert_eq!(diagnostics[0].help.as_deref(), Some("a queue of 2 keeps it: queue: (capacity: 2)"));
        assert!(!diagnostics.refuse(true));
        let into = into.replace("capacity: 8", "capacity: 2");
        assert!(fixture::check(&voice(&into, "max: \"100 ms\"", "")).1.is_empty());
    }
}
