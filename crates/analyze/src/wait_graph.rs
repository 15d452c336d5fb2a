//! Who waits for whom as a graph, and its knots.
//!
//! A knot is a set of threads each of which waits, directly or through others, for every other one: none can make
//! progress alone (a strongly connected component; Zhou, Gan, Ma & Wang, *wPerf*, OSDI 2018, look for bottlenecks
//! there). Short waits tie nearly all threads together, so a knot has only those that wait long inside it. Waiting in a
//! circle need not cost time: whether it does, the verdict says.

use crate::account::lines::Why;
use crate::account::wakers::ended_by;
use crate::model::Traced;
use crate::model::fixed_threads::pattern;
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet};

/// Decides: from how many waiting threads on those with similar names are one node, and how many nodes are kept.
/// From: chosen: nobody can follow more circles in a picture.
/// Wrong if: threads of one name wait for each other in ways that matter.
const MOST_NODES: usize = 14;
/// Decides: which waits of one thread for another are an edge: those with at least this share of all such waiting.
/// From: arithmetic: removing one could gain no more than that.
/// Wrong if: many such waits add up.
pub const LEAST_SHARE: f64 = 0.01;
/// Decides: which threads are in a knot: each waits for this share of its life for the others in it.
/// From: chosen: a thread that waits less would gain less than a twentieth from not waiting.
/// Shown by: `short_waits_tie_nobody_together`.
/// Wrong if: a knot of many threads costs each a little, and the program much.
pub const LEAST_TIED: f64 = 0.05;

/// A thread, or threads with similar names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitNode {
    /// The name of its threads, with `#` for any number, where threads are grouped by it; otherwise empty.
    pub name: String,
    /// The threads that it stands for.
    pub threads: Vec<ThreadId>,
    /// How long they lived, together, nanoseconds.
    pub lived_ns: u64,
}

/// One waits for another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitEdge {
    /// Index of the one that waits.
    pub waiter: usize,
    /// Index of the one that ends the wait. The same index when threads with similar names wait for each other.
    pub waker: usize,
    /// Blocked time, seconds.
    pub seconds: f64,
    /// The knot that both belong to, an index into [`WaitGraph::knots`].
    pub knot: Option<usize>,
}

/// Nodes that wait for each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Knot {
    /// Their indexes, ascending.
    pub nodes: Vec<usize>,
    /// Blocked time between them, seconds.
    pub seconds: f64,
}

/// A run's graph.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WaitGraph {
    /// The nodes, in the order of their threads' creation.
    pub nodes: Vec<WaitNode>,
    /// The edges, heaviest first.
    pub edges: Vec<WaitEdge>,
    /// The knots, heaviest first.
    pub knots: Vec<Knot>,
    /// Blocked time that threads of the program ended, seconds, including edges that are left out.
    pub seconds: f64,
    /// True when nodes stand for names, not for threads.
    pub grouped: bool,
}

impl WaitGraph {
    /// The graph of a run. `reasons`: what its waits are for.
    pub fn new(traced: &Traced<'_>, reasons: &QuickMap<WaitId, Why>) -> WaitGraph {
        let mut between: BTreeMap<(ThreadId, ThreadId), u64> = BTreeMap::new();
        for wait in traced.waits.values() {
            let why = reasons.get(&wait.wait).copied().unwrap_or(Why::Unknown);
            for wake in traced.wakes.get(&wait.wait).into_iter().flatten() {
                // A thread that wakes itself has set a timer or closed its own file: it waited for no other thread.
                if let Some(waker) = ended_by(traced, why, wait, wake).filter(|waker| *waker != wait.thread) {
                    let ns = between.entry((wait.thread, waker)).or_default();
                    *ns = ns.saturating_add(wake.blocked_ns);
                }
            }
        }
        let mut threads: Vec<ThreadId> = between.keys().flat_map(|(a, b)| [*a, *b]).collect();
        let born = |thread: &ThreadId| traced.threads.get(thread).map_or(0, |t| t.start_ns);
        threads.sort_by_key(|thread| (born(thread), *thread));
        let mut seen = BTreeSet::new();
        threads.retain(|thread| seen.insert(*thread));
        let grouped = threads.len() > MOST_NODES;
        let mut members: Vec<Member> = Vec::new();
        for thread in threads {
            let known = traced.threads.get(&thread);
            let name = known.filter(|_| grouped).map(|t| pattern(&t.name)).unwrap_or_default();
            let lived_ns = known.map_or(0, |t| t.end_ns.saturating_sub(t.start_ns));
            members.push(Member { thread, name, lived_ns });
        }
        made(&members, &between, grouped)
    }
}

/// A thread on its way into a node. `name`: what threads of one node have in common; empty where each is a node.
struct Member {
    thread: ThreadId,
    name: String,
    lived_ns: u64,
}

fn made(members: &[Member], between: &BTreeMap<(ThreadId, ThreadId), u64>, grouped: bool) -> WaitGraph {
    let mut nodes: Vec<WaitNode> = Vec::new();
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    let mut place: BTreeMap<ThreadId, usize> = BTreeMap::new();
    for member in members {
        let new = nodes.len();
        let index = if grouped { *named.entry(&member.name).or_insert(new) } else { new };
        if index == nodes.len() {
            nodes.push(WaitNode { name: member.name.clone(), threads: Vec::new(), lived_ns: 0 });
        }
        if let Some(node) = nodes.get_mut(index) {
            node.threads.push(member.thread);
            node.lived_ns = node.lived_ns.saturating_add(member.lived_ns);
        }
        place.insert(member.thread, index);
    }
    let mut weights: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for ((waiter, waker), ns) in between {
        if let (Some(waiter), Some(waker)) = (place.get(waiter), place.get(waker)) {
            *weights.entry((*waiter, *waker)).or_default() += *ns as f64 / 1e9;
        }
    }
    let seconds: f64 = weights.values().sum();
    let mut edges: Vec<WaitEdge> = weights
        .into_iter()
        .filter(|(_, s)| *s > 0.0)
        .map(|((waiter, waker), seconds)| WaitEdge { waiter, waker, seconds, knot: None })
        .collect();
    edges.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let drawn = |e: &WaitEdge| e.seconds >= LEAST_SHARE * seconds;
    // The nodes of the heaviest edges are kept.
    let mut kept: Vec<usize> = Vec::new();
    for index in edges.iter().filter(|e| drawn(e)).flat_map(|e| [e.waiter, e.waker]) {
        if kept.len() < MOST_NODES && !kept.contains(&index) {
            kept.push(index);
        }
    }
    kept.sort_unstable();
    let new = |old: usize| kept.binary_search(&old).ok();
    let edges = edges.into_iter().filter_map(|e| Some(WaitEdge { waiter: new(e.waiter)?, waker: new(e.waker)?, ..e }));
    let mut edges: Vec<WaitEdge> = edges.collect();
    let nodes: Vec<WaitNode> = kept.iter().filter_map(|old| nodes.get(*old).cloned()).collect();
    let knots = knots(&nodes, &edges);
    edges.retain(drawn);
    for edge in &mut edges {
        edge.knot = knots.iter().position(|k| k.nodes.contains(&edge.waiter) && k.nodes.contains(&edge.waker));
    }
    WaitGraph { nodes, edges, knots, seconds, grouped }
}

/// The circles in which every member waits long enough; heaviest first.
fn knots(nodes: &[WaitNode], edges: &[WaitEdge]) -> Vec<Knot> {
    let mut alive = vec![true; nodes.len()];
    loop {
        let found = circles(&alive, edges);
        let mut knots: Vec<Knot> = Vec::new();
        let mut untied = false;
        for nodes_of in found {
            let inside = |e: &&WaitEdge| nodes_of.contains(&e.waiter) && nodes_of.contains(&e.waker);
            for index in &nodes_of {
                let waited: f64 = edges.iter().filter(inside).filter(|e| e.waiter == *index).map(|e| e.seconds).sum();
                let lived = nodes.get(*index).map_or(0, |n| n.lived_ns) as f64 / 1e9;
                if let Some(alive) = alive.get_mut(*index).filter(|_| waited < LEAST_TIED * lived) {
                    *alive = false;
                    untied = true;
                }
            }
            let seconds = edges.iter().filter(inside).map(|e| e.seconds).sum();
            knots.push(Knot { nodes: nodes_of, seconds });
        }
        // Each round removes at least one node, so the loop ends.
        if !untied {
            knots.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
            return knots;
        }
    }
}

/// Sets of nodes that reach each other (Warshall 1962), among those that are alive.
fn circles(alive: &[bool], edges: &[WaitEdge]) -> Vec<Vec<usize>> {
    let count = alive.len();
    let mut reaches = vec![vec![false; count]; count];
    let set = |reaches: &mut Vec<Vec<bool>>, from: usize, to: usize| {
        if let Some(cell) = reaches.get_mut(from).and_then(|row| row.get_mut(to)) {
            *cell = true;
        }
    };
    let get = |reaches: &[Vec<bool>], from: usize, to: usize| reaches.get(from).and_then(|r| r.get(to)) == Some(&true);
    let is_alive = |index: usize| alive.get(index) == Some(&true);
    for edge in edges.iter().filter(|e| is_alive(e.waiter) && is_alive(e.waker)) {
        set(&mut reaches, edge.waiter, edge.waker);
    }
    for over in 0..count {
        for from in (0..count).filter(|from| get(&reaches, *from, over)).collect::<Vec<_>>() {
            for to in 0..count {
                if get(&reaches, over, to) {
                    set(&mut reaches, from, to);
                }
            }
        }
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    for first in 0..count {
        // A node that does not reach itself is in no circle.
        if get(&reaches, first, first) && !found.iter().any(|nodes| nodes.contains(&first)) {
            let both = |other: &usize| get(&reaches, first, *other) && get(&reaches, *other, first);
            found.push((0..count).filter(both).collect());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads that live for a second each.
    fn graph(names: &[&str], edges: &[(u32, u32, u64)], grouped: bool) -> WaitGraph {
        let member = |(i, name): (usize, &&str)| Member {
            thread: ThreadId(i as u32),
            name: (*name).to_owned(),
            lived_ns: 1_000_000_000,
        };
        let members: Vec<Member> = names.iter().enumerate().map(member).collect();
        let between = edges.iter().map(|(a, b, ms)| ((ThreadId(*a), ThreadId(*b)), ms * 1_000_000)).collect();
        made(&members, &between, grouped)
    }

    #[test]
    fn threads_that_wait_in_a_circle_are_a_knot() {
        // main joins a; a, b and c wait in a circle; d waits for c and nobody for d.
        let edges = [(0, 1, 900), (1, 2, 100), (2, 3, 200), (3, 1, 300), (4, 3, 500)];
        let graph = graph(&["main", "a", "b", "c", "d"], &edges, false);
        assert_eq!(graph.knots.len(), 1);
        assert_eq!(graph.knots[0].nodes, [1, 2, 3]);
        assert!((graph.knots[0].seconds - 0.6).abs() < 1e-9 && (graph.seconds - 2.0).abs() < 1e-9);
        assert_eq!(graph.edges.iter().filter(|e| e.knot == Some(0)).count(), 3);
    }

    #[test]
    fn short_waits_tie_nobody_together() {
        // A pipeline whose first stage hardly ever waits for the others.
        let edges = [(1, 0, 400), (2, 0, 380), (3, 1, 250), (3, 2, 240), (0, 1, 16), (0, 2, 12)];
        assert!(graph(&["reader", "a", "b", "writer"], &edges, false).knots.is_empty());
        // Several short waits add up to a long one.
        let edges = [(1, 0, 400), (2, 0, 380), (0, 1, 30), (0, 2, 30)];
        let graph = graph(&["reader", "a", "b"], &edges, false);
        assert_eq!(graph.knots.iter().map(|k| k.nodes.clone()).collect::<Vec<_>>(), [[0, 1, 2]]);
    }

    #[test]
    fn like_names_stand_together_and_may_wait_for_each_other() {
        let graph = graph(&["worker #", "worker #", "main"], &[(0, 1, 50), (1, 0, 60), (2, 0, 10)], true);
        assert_eq!((graph.nodes.len(), graph.nodes[0].threads.len()), (2, 2));
        assert_eq!(graph.knots, [Knot { nodes: vec![0], seconds: 0.11 }]);
    }

    #[test]
    fn heavy_ones_are_kept_and_nothing_breaks_without_any() {
        assert_eq!(graph(&[], &[], false), WaitGraph::default());
        let names: Vec<String> = (0..40).map(|i| format!("t{}", char::from(b'A' + i))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let edges: Vec<(u32, u32, u64)> = (0..39).map(|i| (i, i + 1, 1000 + u64::from(i))).collect();
        let graph = graph(&names, &edges, true);
        assert!(graph.nodes.len() <= MOST_NODES && graph.nodes.iter().any(|n| n.name == names[39]));
        assert!(graph.edges.iter().all(|e| e.waiter < graph.nodes.len() && e.waker < graph.nodes.len()));
    }
}
