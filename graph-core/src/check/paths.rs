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
    for (at, (edge, _)) in net.edges.iter().enumerate().filter(|(_, (edge, _))| !edge.feedback) {
        leaving[edge.from.node].push(at);
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
        let from = place(net, &spec.from, Some(Side::Output), diagnostics);
        let to = place(net, &spec.to, Some(Side::Input), diagnostics);
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
        for end in [Some(&edge.from), edge.to.as_ref()].into_iter().flatten() {
            while self.via.get(passed).is_some_and(|place| place.is(end)) {
                passed += 1;
            }
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
            // What the files state wrongly elsewhere may be all that it lacks, and has been reported.
            0 if !self.net.complete => return None,
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

/// The node or the port that an endpoint of a path names; of any side where none is given. A path may end with a `done`.
fn place(
    net: &Net<'_>,
    end: &Spanned<Endpoint>,
    side: Option<Side>,
    diagnostics: &mut Diagnostics,
) -> Option<Place> {
    let node = net.find(end, diagnostics)?;
    let Some(name) = &end.port else { return Some(Place { node, port: None }) };
    let ports = &net.kinds[node]?.ports;
    let found = ports.iter().position(|port| port.name == name);
    let takes = |port: usize| match side {
        None => true,
        Some(Side::Input) => ports[port].role == PortRole::Done,
        Some(_) => false,
    };
    match found.filter(|port| takes(*port)) {
        Some(port) => Some(Place { node, port: Some(port) }),
        None => {
            let end = net.end(end, node, side.unwrap_or(Side::Input), diagnostics)?;
            Some(Place { node, port: Some(end.port) })
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::{Plan, fixture};

    /// A fork and a join, with these paths.
    fn fork(paths: &str) -> String {
        format!(
            r#"(
                nodes: {{
                    "in": (kind: "audio/wav-source"), "left": (kind: "audio/gain"), "right": (kind: "audio/gain"),
                    "mix": (kind: "audio/mix"), "echo": (kind: "audio/mix"), "out": (kind: "audio/wav-sink"),
                }},
                edges: [
                    (from: "in", to: "left"), (from: "in", to: "right"), (from: "left", to: "mix.a"),
                    (from: "right", to: "mix.b"), (from: "mix", to: "echo.a"),
                    (from: "echo", to: "echo.b", feedback: true), (from: "echo", to: "out"),
                ],
                paths: [{paths}],
            )"#
        )
    }

    fn route(plan: &Plan) -> Vec<String> {
        plan.paths[0].edges.iter().map(|at| plan.edges[*at].name()).collect()
    }

    #[test]
    fn a_route_is_found_by_via_and_ends_with_done() {
        let plan = fixture::plan(&fork(r#"(name: "p", from: "in", to: "out.done", via: ["right", "mix"])"#));
        assert_eq!(
            route(&plan),
            [
                "in.out -> right.in",
                "right.out -> mix.b",
                "mix.out -> echo.a",
                "echo.out -> out.in",
                "out.done"
            ]
        );
    }

    #[test]
    fn a_path_may_end_at_a_node_or_at_one_input_of_it() {
        let plan = fixture::plan(&fork(r#"(name: "p", from: "in", to: "mix.a")"#));
        assert_eq!(route(&plan), ["in.out -> left.in", "left.out -> mix.a"]);
        let plan = fixture::plan(&fork(r#"(name: "p", from: "mix", to: "out")"#));
        assert_eq!(route(&plan), ["mix.out -> echo.a", "echo.out -> out.in"]);
        let plan = fixture::plan(&fork(r#"(name: "p", from: "out", to: "out.done")"#));
        assert_eq!(route(&plan), ["out.done"]);
    }

    #[test]
    fn a_port_in_via_tells_routes_through_the_same_nodes_apart() {
        let text = r#"(
            nodes: { "in": (kind: "audio/wav-source"), "mix": (kind: "audio/mix"), "out": (kind: "audio/wav-sink") },
            edges: [(from: "in", to: "mix.a"), (from: "in", to: "mix.b"), (from: "mix", to: "out")],
            paths: [(name: "p", from: "in", to: "out")],
        )"#;
        let (_, diagnostics) = fixture::check(text);
        assert_eq!(diagnostics[0].help.as_deref(), Some("for the first of these add via: [\"mix.a\"]"));
        let plan = fixture::plan(
            &text.replace("to: \"out\")],\n        )", "to: \"out\", via: [\"mix.b\"])],\n        )"),
        );
        assert_eq!(route(&plan)[0], "in.out -> mix.b");
    }

    #[test]
    fn the_two_routes_are_shown_and_the_fix_names_a_node_of_the_first() {
        let (_, diagnostics) = fixture::check(&fork(r#"(name: "p", from: "in", to: "mix")"#));
        assert_eq!(
            diagnostics[0].message,
            "the path `p` has more than one route: in -> left -> mix, or in -> right -> mix"
        );
        assert_eq!(diagnostics[0].help.as_deref(), Some("for the first of these add via: [\"left\"]"));
    }

    #[test]
    fn a_path_without_a_route_tells_where_its_start_leads() {
        for (path, help) in [
            (
                r#"from: "left", to: "right""#,
                "`left` leads to `mix`, `echo` and `out` only; a path does not follow feedback edges",
            ),
            (r#"from: "out", to: "in""#, "no edge leaves `out`, feedback edges aside"),
            (
                r#"from: "in", to: "out", via: ["mix", "left"]"#,
                "a route without `via`: in -> left -> mix -> echo -> out",
            ),
            (r#"from: "in.out", to: "out", via: ["lft"]"#, "did you mean `left`?"),
            (r#"from: "in", to: "mix.out""#, "name one of `mix.a` or `mix.b`"),
        ] {
            let (plan, diagnostics) = fixture::check(&fork(&format!("(name: \"p\", {path})")));
            assert!(plan.is_none(), "{path}");
            assert_eq!(diagnostics[0].help.as_deref(), Some(help), "{diagnostics}");
        }
    }

    #[test]
    fn forty_forks_in_a_row_do_not_take_for_ever() {
        let nodes: String = (0..40).map(|at| format!("\"m{at}\": (kind: \"audio/mix\"),")).collect();
        let edges: String = (0..40)
            .flat_map(|at| {
                let from = if at == 0 { "in".to_owned() } else { format!("m{}", at - 1) };
                ["a", "b"].map(|port| format!("(from: \"{from}\", to: \"m{at}.{port}\"),"))
            })
            .collect();
        let text = format!(
            r#"(nodes: {{ "in": (kind: "audio/wav-source"), {nodes} "out": (kind: "audio/wav-sink") }},
                edges: [{edges} (from: "m39", to: "out")], paths: [(name: "p", from: "in", to: "out")])"#
        );
        assert_eq!(fixture::codes(&text), ["GR0302"]);
    }
}
