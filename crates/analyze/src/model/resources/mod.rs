//! Limited resources: places where threads wait for one of a few things that other threads hold, whatever the things
//! are and however the waiting is done.
//!
//! Rooms: [`sites`] waits grouped by the place that acquires; [`hand_over`] who handed one to whom and when, from the
//! timelines; [`count`] how many are held at once; [`structure`] whether a place is such a resource; [`pool`] such a
//! resource; [`queue`] threads behind one that holds a lock while it waits; [`usage`] how busy such a thing, or a lock,
//! is. May import: `code`, `futex`, `linux`, `run`, `stacks`, `task_sleeps`, `runtimes`, `recording`.
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
use super::futex::{FutexWait, classify};
use super::linux::SyscallNumbers;
use super::run::Traced;
use super::stacks::Stacks;
use count::HeldAtOnce;
use hand_over::{Timelines, hand_overs};
pub use pool::{AcquireFunction, Pool, function};
use recording::WaitId;
use recording::tables::Wait;
pub use sites::is_hidden;
use sites::{AcquireSite, Said, sites};
use std::collections::{BTreeMap, BTreeSet};
use structure::{Finding, finding};
pub use usage::{Usage, usage};

/// A place that looks like a limited resource, and why it is not called one.
#[derive(Debug)]
pub struct Doubt<'t> {
    /// The program's function that acquires.
    pub place: Code<'t>,
    /// The waits there.
    pub waits: BTreeSet<WaitId>,
    /// What is missing, after "because".
    pub why: &'static str,
}

/// The limited resources of a run.
#[derive(Debug, Default)]
pub struct Resources<'t> {
    /// Waits for locks that have a futex for each waiter, so that only the place in the code shows that they are locks.
    pub locks: BTreeSet<WaitId>,
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
}

/// Where threads certainly wait for one of a few things, or for such a lock, at any of the thread counts.
pub fn places<'t>(runs: &[Traced<'t>], stacks: &Stacks<'t>, numbers: SyscallNumbers) -> Places<'t> {
    let mut known = Places::default();
    for run in runs {
        let futexes = classify(run, stacks, numbers);
        let found = resources(run, stacks, &futexes, &Places::default());
        known.pools.extend(found.pools.iter().map(|pool| function(&pool.place)));
        let own = found.locks.iter().filter_map(|wait| futexes.get(wait)?.view.own);
        known.locks.extend(own.map(|code| function(&code)));
    }
    known
}

/// Looks for limited resources among the waits of a run. `known`: where other thread counts have shown them.
pub fn resources<'t>(
    traced: &Traced<'t>,
    stacks: &Stacks<'t>,
    futexes: &BTreeMap<WaitId, FutexWait<'t>>,
    known: &Places<'t>,
) -> Resources<'t> {
    let mut found = Resources::default();
    let sites: Vec<AcquireSite> = sites(traced, stacks, futexes);
    if sites.is_empty() {
        return found;
    }
    let timelines = Timelines::new(traced);
    for site in sites {
        let waits: BTreeSet<WaitId> = site.waits.iter().map(|w: &&Wait| w.wait).collect();
        let events = hand_overs(traced, &timelines, &waits);
        let held = count::held(&events);
        let certain = match finding(traced, stacks, &site, &events, &held) {
            Finding::Pool => Ok(()),
            Finding::Unsteady if known.pools.contains(&function(&site.place)) => Ok(()),
            Finding::Unsteady => Err("how many hold one while others wait changes from moment to moment"),
            Finding::Few if known.pools.contains(&function(&site.place)) => Ok(()),
            Finding::FewOrLock if !known.locks.contains(&function(&site.place)) => continue,
            Finding::Lock | Finding::FewOrLock => {
                found.locks.extend(waits);
                continue;
            }
            Finding::Few => Err("two threads that wake each other may as well take turns; more threads would tell"),
            Finding::Doubt(why) => Err(why),
            Finding::Other => continue,
        };
        match certain {
            Ok(()) => {
                let mut pool = Pool {
                    place: site.place,
                    waiters: site.waiters(),
                    size: size(&site, &held),
                    holds: events.holds,
                    waits,
                };
                queue::add(&mut pool, traced, &timelines, futexes);
                found.pools.push(pool);
            }
            Err(why) => found.doubts.push(Doubt { place: site.place, waits, why }),
        }
    }
    found
}

/// How many of the things there are, where the holds show it.
fn size(site: &AcquireSite<'_>, held: &HeldAtOnce) -> Option<usize> {
    let told = held.is_told() || (site.said == Said::ByUser && held.most > 0);
    told.then_some(held.most)
}
