//! The route of each path.

use super::{
    net::{Net, Side},
    plan::{PlanEdge, PlanEnd, PlanPath},
    wiring::gives_many,
};
use crate::{
    codes,
    diagnostic::{Diagnostic, Diagnostics, Spanned, all_of},
    file::{Endpoint, PathSpec},
    kind::PortRole,
};

/// Finds the one route of each path. A path whose route is not found is left out, with a complaint.
pub(super) fn routes(
    net: &Net<'_>,
    order: &[usize],
    diagnostics: &mut Diagnostics,
) -> Vec<(usize, PlanPath)> {
    let mut rank = vec![0; net.kinds.len()];
    for (at, node) in order.iter().enumerate() {
        rank[*node] = at;
    }
    let mut backwards: Vec<usize> = (0..net.edges.len()).filter(|at| !net.edges[*at].0.feedback).collect();
    backwards.sort_by_key(|at| std::cmp::Reverse(rank[net.edges[*at].0.from.node]));
    let mut leaving = vec![Vec::new(); net.kinds.len()];
    for &at in backwards.iter().rev() {
        leaving[net.edges[at].0.from.node].push(at);
    }
    let paths = net.graph.paths.iter().enumerate();
    paths
        .filter_map(|(at, spec)| {
            let search = Search::new(net, &backwards, &leaving, spec, diagnostics)?;
            Some((at, search.route(diagnostics)?))
        })
        .collect()
}

/// An end of a path, or a place on its way: a node, or one port of it.
#[derive(Clone, Copy)]
struct Place {
    node: usize,
    port: Option<usize>,
}

impl Place {
    fn is(&self, end: &PlanEnd) -> bool {
        end.node == self.node && self.port.is_none_or(|port| port == end.port)
    }
}

/// The search for the routes of one path.
struct Search<'a> {
    net: &'a Net<'a>,
    spec: &'a PathSpec,
    from: Place,
    to: Place,
    via: Vec<Place>,
    backwards: &'a [usize],
    leaving: &'a [Vec<usize>],
}

impl<'a> Search<'a> {
    fn new(
        net: &'a Net<'a>,
        backwards: &'a [usize],
        leaving: &'a [Vec<usize>],
        spec: &'a PathSpec,
        diagnostics: &mut Diagnostics,
    ) -> Option<Search<'a>> {
        let from = place(net, &spec.from, Some(Side::From), diagnostics);
        let to = place(net, &spec.to, Some(Side::To), diagnostics);
        let via: Vec<Option<Place>> = spec.via.iter().map(|via| place(net, via, None, diagnostics)).collect();
        let via = via.into_iter().collect::<Option<Vec<Place>>>();
        Some(Search { net, spec, from: from?, to: to?, via: via?, backwards, leaving })
    }

    fn edge(&self, at: usize) -> &PlanEdge {
        &self.net.edges[at].0
    }

    /// How many places of `via` are passed once the edge is, when `passed` are before it.
    fn passed(&self, at: usize, mut passed: usize) -> usize {
        let edge = self.edge(at);
        let touches = |place: &Place| place.is(&edge.from) || edge.to.as_ref().is_some_and(|to| place.is(to));
        while self.via.get(passed).is_some_and(touches) {
            passed += 1;
        }
        passed
    }

    /// Whether the path may end with the edge.
    fn ends(&self, at: usize) -> bool {
        match &self.edge(at).to {
            Some(to) => self.to.is(to),
            None => self.to.port.is_some() && self.to.is(&self.edge(at).from),
        }
    }

    fn starts(&self) -> impl Iterator<Item = usize> {
        self.leaving[self.from.node].iter().copied().filter(|at| self.from.is(&self.edge(*at).from))
    }

    fn next(&self, at: usize) -> &'a [usize] {
        self.edge(at).to.as_ref().map_or(&[], |to| &self.leaving[to.node])
    }

    /// For each edge and each number of places passed before it, whether a route goes on from there to the end.
    fn open_ways(&self) -> Vec<Vec<bool>> {
        let all = self.via.len();
        let mut open = vec![vec![false; all + 1]; self.net.edges.len()];
        for &at in self.backwards {
            for before in 0..=all {
                let passed = self.passed(at, before);
                open[at][before] = if self.ends(at) {
                    passed == all
                } else {
                    self.next(at).iter().any(|next| open[*next][passed])
                };
            }
        }
        open
    }

    /// At most two routes: every way that is begun leads to the end, since closed ones are known before.
    fn find(&self) -> Vec<Vec<usize>> {
        let open = self.open_ways();
        let mut found = Vec::new();
        let mut begun: Vec<(Vec<usize>, usize)> =
            self.starts().filter(|at| open[*at][0]).map(|at| (vec![at], self.passed(at, 0))).collect();
        begun.reverse();
        while let Some((way, passed)) = begun.pop() {
            let last = *way.last().expect("a way has an edge");
            if self.ends(last) {
                found.push(way);
                if found.len() == 2 {
                    break;
                }
                continue;
            }
            for &next in self.next(last).iter().rev().filter(|next| open[**next][passed]) {
                begun.push(([way.as_slice(), &[next]].concat(), self.passed(next, passed)));
            }
        }
        found
    }

    fn route(self, diagnostics: &mut Diagnostics) -> Option<PlanPath> {
        let mut found = self.find();
        let diagnostic = match found.len() {
            0 => self.no_route(),
            1 => {
                let edges = found.remove(0);
                let many = edges.iter().any(|at| gives_many(self.net, *at));
                if let (Some(packets), false) = (&self.spec.packets, many) {
                    diagnostics.push(
                        Diagnostic::new(
                            &codes::NO_PACKETS,
                            format!(
                                "the path `{}` counts packets, and no output on it gives many",
                                self.spec.name.value
                            ),
                        )
                        .at(&packets.span)
                        .help("take `packets` out: each packet here is its own cause"),
                    );
                }
                return Some(PlanPath {
                    name: self.spec.name.value.clone(),
                    edges,
                    budget: self.spec.budget.to_budget(),
                    many,
                    packets: self.spec.packets.as_ref().map(|packets| packets.value),
                });
            }
            _ => self.several_routes(&found),
        };
        diagnostics.push(diagnostic);
        None
    }

    fn no_route(&self) -> Diagnostic {
        let (from, to) = (&self.spec.from.value, &self.spec.to.value);
        let name = &self.spec.name.value;
        let without_via = Search { via: Vec::new(), ..*self };
        if !self.via.is_empty() && !without_via.find().is_empty() {
            let via = all_of(self.spec.via.iter().map(|via| via.to_string()));
            return Diagnostic::new(
                &codes::NO_ROUTE,
                format!("no route of the path `{name}` from `{from}` to `{to}` passes {via} in this order"),
            )
            .at(&self.spec.via[0].span)
            .help(format!("a route without `via`: {}", self.names(&without_via.find()[0])));
        }
        let mut reached: Vec<&str> = Vec::new();
        let mut todo: Vec<usize> = self.starts().collect();
        let mut seen = vec![false; self.net.edges.len()];
        while let Some(at) = todo.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                let node = self.edge(at).to.as_ref().map(|to| self.net.node(to.node).id.as_str());
                reached.extend(node.filter(|node| !reached.contains(node)));
                todo.extend(self.next(at));
            }
        }
        let help = match reached.len() {
            0 => format!("no edge leaves `{from}`, feedback edges aside"),
            1..=12 => {
                format!("`{from}` leads to {} only; a path does not follow feedback edges", all_of(&reached))
            }
            _ => "a path follows the edges in their direction, feedback edges excepted".to_owned(),
        };
        Diagnostic::new(&codes::NO_ROUTE, format!("the path `{name}` has no route from `{from}` to `{to}`"))
            .at(&self.spec.to.span)
            .help(help)
    }

    fn several_routes(&self, routes: &[Vec<usize>]) -> Diagnostic {
        let ends = |route: &[usize]| -> Vec<PlanEnd> {
            route
                .iter()
                .flat_map(|at| [Some(self.edge(*at).from.clone()), self.edge(*at).to.clone()])
                .flatten()
                .collect()
        };
        let (first, second) = (ends(&routes[0]), ends(&routes[1]));
        let other_node = first.iter().find(|end| second.iter().all(|other| other.node != end.node));
        let other_port = first.iter().find(|end| !second.contains(end));
        let via = match (other_node, other_port) {
            (Some(end), _) => self.net.node(end.node).id.clone(),
            (None, Some(end)) => end.name.clone(),
            // The routes pass the same ports in the same order, so they are one route.
            (None, None) => self.spec.to.to_string(),
        };
        Diagnostic::new(
            &codes::SEVERAL_ROUTES,
            format!(
                "the path `{}` has more than one route: {}, or {}",
                self.spec.name.value,
                self.names(&routes[0]),
                self.names(&routes[1])
            ),
        )
        .at(&self.spec.span)
        .expected("`via` with a node or a port that only one route passes")
        .help(format!("for the first of these add via: [{via:?}]"))
    }

    /// `receive -> denoise -> vad`.
    fn names(&self, route: &[usize]) -> String {
        let first = route.first().map(|at| self.edge(*at).from.node);
        let rest = route.iter().map(|at| self.edge(*at).to.as_ref().map(|to| to.node));
        let nodes = [first].into_iter().chain(rest).flatten();
        let names: Vec<&str> = nodes.map(|node| self.net.node(node).id.as_str()).collect();
        names.join(" -> ")
    }
}

/// The node or the port that an endpoint of a path names; a `done` may be the end of one.
fn place(
    net: &Net<'_>,
    end: &Spanned<Endpoint>,
    side: Option<Side>,
    diagnostics: &mut Diagnostics,
) -> Option<Place> {
    let node = net.find(end, diagnostics)?;
    let kind = net.kinds[node]?;
    let Some(name) = &end.port else { return Some(Place { node, port: None }) };
    let found = kind.ports.iter().position(|port| port.name == name);
    let side = match (side, found) {
        (Some(Side::To), Some(at)) if kind.ports[at].role == PortRole::Done => {
            return Some(Place { node, port: Some(at) });
        }
        (None, Some(at)) => return Some(Place { node, port: Some(at) }),
        (side, _) => side.unwrap_or(Side::To),
    };
    net.end(end, node, side, diagnostics).map(|end| Place { node, port: Some(end.port) })
}
