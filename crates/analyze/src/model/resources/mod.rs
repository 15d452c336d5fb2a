//! Limited resources: places where threads wait for one of a few things that other threads hold, whatever the things
//! are and however the waiting is done.
//!
//! Rooms: [`sites`] waits grouped by the place that acquires; [`hand_over`] who handed one to whom and when, from the
//! timelines; [`count`] how many are held at once; [`structure`] whether a place is such a resource; [`pool`] such a
//! resource; [`queue`] threads behind one that holds a lock while it waits; [`usage`] how busy such a thing, or a lock,
//! is. May import: `code`, `futex`, `run`, `similar_threads`, `stacks`, `task_sleeps`, `runtimes`, `recording`.
//!
//! The model. A thread acquires, holds, releases. If none is free, it waits at the place that acquires. A thread that
//! releases wakes one of those that wait there; it had acquired at the same place itself. While any thread waits, all
//! of the things are held. Other structures differ: a queue is fed by threads that do not wait at it; a barrier lets
//! all go at once; stages of a pipeline wake the next stage and never the one before.

mod count;
pub mod hand_over;
mod pool;
mod queue;
mod sites;
mod structure;
#[cfg(test)]
mod tests;
mod usage;

use super::code::Code;
use super::futex::FutexWait;
use super::run::Traced;
use super::stacks::Stacks;
use count::HeldAtOnce;
use hand_over::{Hold, hand_overs};
pub use pool::{AcquireFunction, Pool, function};
use recording::WaitId;
use recording::tables::Wait;
pub use sites::is_hidden;
use sites::{AcquireSite, Said, sites};
use std::collections::{BTreeMap, BTreeSet};
pub use structure::DoubtReason;
use structure::{Finding, finding, receives, takers};
pub use usage::{Usage, usage};

/// A place that looks like a limited resource, and why it is not called one.
#[derive(Debug)]
pub struct Doubt<'t> {
    /// The program's function that acquires.
    pub place: Code<'t>,
    /// The waits there.
    pub waits: BTreeSet<WaitId>,
    /// Why not.
    pub why: DoubtReason,
}

/// The limited resources of a run.
#[derive(Debug, Default)]
pub struct Resources<'t> {
    /// Waits for locks that have a futex for each waiter, so that only the place in the code shows that they are locks.
    pub locks: BTreeSet<WaitId>,
    /// Waits for a turn at a queue, where the one whose turn it is waits for the next item.
    pub turns: BTreeSet<WaitId>,
    /// Limited resources that are certain, by place.
    pub pools: Vec<Pool<'t>>,
    /// Places that are not certain.
    pub doubts: Vec<Doubt<'t>>,
}

/// Functions that certainly acquire, at some thread count.
#[derive(Debug, Default)]
pub struct Places<'t> {
    /// Those that acquire one of a few things.
    pub pools: BTreeSet<AcquireFunction<'t>>,
    /// Those that acquire a lock that has a futex for each waiter.
    pub locks: BTreeSet<AcquireFunction<'t>>,
    /// Those that take a turn at a queue.
    pub turns: BTreeSet<AcquireFunction<'t>>,
}

/// The places of one run at which threads acquire something, as far as that run alone tells what they are.
#[derive(Debug, Default)]
pub struct Sites<'t>(Vec<SeenSite<'t>>);

#[derive(Debug)]
struct SeenSite<'t> {
    at: AcquireSite<'t>,
    waits: BTreeSet<WaitId>,
    holds: Vec<Hold>,
    finding: Finding,
    /// Whoever holds one waits for the next item of a queue.
    receives: bool,
    /// How many of the things there are, where the holds show it.
    size: Option<usize>,
}

/// Looks at all waits of a run: where threads acquire, and what they hold from when to when.
pub fn look<'t>(traced: &Traced<'t>, stacks: &Stacks<'t>, futexes: &BTreeMap<WaitId, FutexWait<'t>>) -> Sites<'t> {
    let all: Vec<AcquireSite> = sites(traced, stacks, futexes);
    if all.is_empty() {
        return Sites::default();
    }
    let seen = all.into_iter().map(|at| {
        let waits: BTreeSet<WaitId> = at.waits.iter().map(|w: &&Wait| w.wait).collect();
        let Some(takers) = takers(traced, stacks, &at) else {
            return SeenSite { at, waits, holds: Vec::new(), finding: Finding::Other, receives: false, size: None };
        };
        let events = hand_overs(traced, &waits);
        let held = count::held(&events);
        let receives = receives(traced, stacks, &at, &events);
        let finding = finding(traced, stacks, (&at, &takers), &events, &held, receives);
        let may_be_pool = matches!(finding, Finding::Pool | Finding::Unsteady | Finding::Few);
        let holds = if may_be_pool { events.holds } else { Vec::new() };
        SeenSite { size: size(&at, &held), receives, holds, at, waits, finding }
    });
    Sites(seen.collect())
}

/// Where threads certainly wait for one of a few things, or for such a lock, at any of the thread counts. `runs`: the
/// sites and the futex waits of each.
pub fn places<'s, 't: 's>(
    runs: impl Iterator<Item = (&'s Sites<'t>, &'s BTreeMap<WaitId, FutexWait<'t>>)>,
) -> Places<'t> {
    let mut known = Places::default();
    for (sites, futexes) in runs {
        for site in &sites.0 {
            match site.finding {
                Finding::Pool => {
                    known.pools.insert(function(&site.at.place));
                }
                Finding::Fed => {
                    known.turns.insert(function(&site.at.place));
                }
                Finding::Lock => {
                    let own = site.waits.iter().filter_map(|wait| futexes.get(wait)?.view.own);
                    known.locks.extend(own.map(|code| function(&code)));
                }
                _ => {}
            }
        }
    }
    // More threads overtake each other at a queue, so that several seem to have their turn at once.
    known.pools.retain(|place| !known.turns.contains(place));
    known
}

/// The limited resources among the sites of a run. `known`: where any thread count has shown them.
pub fn resources<'t>(
    traced: &Traced<'t>,
    sites: &Sites<'t>,
    futexes: &BTreeMap<WaitId, FutexWait<'t>>,
    known: &Places<'t>,
) -> Resources<'t> {
    let mut found = Resources::default();
    for site in &sites.0 {
        let place = site.at.place;
        if site.receives && known.turns.contains(&function(&place)) {
            found.turns.extend(&site.waits);
            continue;
        }
        let certain = match site.finding {
            Finding::Pool => Ok(()),
            Finding::Unsteady if known.pools.contains(&function(&place)) => Ok(()),
            Finding::Unsteady => Err(DoubtReason::Unsteady),
            Finding::Few if known.pools.contains(&function(&place)) => Ok(()),
            Finding::FewOrLock if !known.locks.contains(&function(&place)) => continue,
            Finding::Lock | Finding::FewOrLock => {
                found.locks.extend(&site.waits);
                continue;
            }
            Finding::Few => Err(DoubtReason::TwoThreads),
            Finding::Doubt(why) => Err(why),
            Finding::Fed | Finding::Other => continue,
        };
        let waits = site.waits.clone();
        match certain {
            Ok(()) => {
                let (waiters, holds) = (site.at.waiters(), site.holds.clone());
                let mut pool = Pool { place, waiters, size: site.size, holds, waits };
                queue::add(&mut pool, traced, futexes);
                found.pools.push(pool);
            }
            Err(why) => found.doubts.push(Doubt { place, waits, why }),
        }
    }
    found
}

/// How many of the things there are, where the holds show it. If all that wait could have one, none would: then they gave
/// some back unseen.
fn size(site: &AcquireSite<'_>, held: &HeldAtOnce) -> Option<usize> {
    let told = held.is_told() || (site.said == Said::ByUser && held.most > 0);
    // A single thread that waits, waits for another one.
    let takers = site.waiters().len().max(2);
    (told && held.most < takers).then_some(held.most)
}
