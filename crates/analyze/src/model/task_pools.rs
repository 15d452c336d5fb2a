//! Limited resources that tasks of a scheduler (goroutines, say) take from a channel and put back, or count with a
//! condition: told by looks at the waiting tasks, and by what samples and wake-ups show of giving back.
//!
//! The model. Tasks that start with one function wait at one place. A task that gives one back has taken it before: only
//! tasks that start with this function do the opposite of what is waited for (send where others wait to receive). While any task
//! waits, all of the things are held, so the number of tasks that are busy elsewhere does not change. Other structures
//! differ: a queue is fed by other tasks, and stages of a pipeline take turns as their work comes.

use super::code::{Code, Owner};
use super::stacks::Stacks;
use super::tasks::{TaskStart, start};
use crate::runtimes::function_name::package;
use crate::runtimes::{self, Exchange, Parked, Primitive, is_first_task};
use recording::{RunId, StackId, Tables};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Decides: in how many looks tasks must wait at a place, before it is judged.
/// From: with ten, the share of steady looks is known to within a third.
/// Shown by: `few_looks_tell_no_pool_of_tasks`.
/// Wrong if: tasks wait at the place only for a short part of the run, which is then left open.
const FEWEST_LOOKS: usize = 10;

/// Decides: how often tasks must be seen to give one back, in samples and wake-ups.
/// From: chosen: once or twice may be the filling of the pool, by a task of the same kind.
/// Shown by: `tasks_that_wait_for_one_of_two_are_told_with_what_holders_do`.
/// Wrong if: giving one back takes so little time that no sample meets it, and no thread sleeps that it could wake.
const FEWEST_GIVEN: u64 = 3;

/// Decides: which share of the giving may be by tasks of another kind.
/// From: chosen: filling the pool at the start is by another task, and so may be an exchange of broken ones.
/// Shown by: `tasks_that_are_fed_by_another_have_a_queue`.
/// Wrong if: a queue's consumers send twenty times as often as its producers.
const BY_OTHERS: f64 = 0.05;

/// Decides: whether the number of tasks that do not wait counts as constant: it, or one less, in this share of the looks
/// in which any waits.
/// From: as for threads: all are held while any thread waits, except during hand-overs.
/// Shown by: `tasks_that_are_busy_in_changing_numbers_have_no_pool`.
/// Wrong if: most tasks do long work without holding one.
const STEADY: f64 = 0.6;

/// Decides: how many are held: the number that is not exceeded in this share of the looks.
/// From: as for threads: a task that has just given one back is counted as holding it.
/// Shown by: `tasks_that_wait_for_one_of_two_are_told_with_what_holders_do`.
/// Wrong if: there are fewer than twenty looks: the largest number seen is then taken.
const NOT_EXCEEDED: f64 = 0.95;

/// So many tasks may merely take turns: each can wake only the other.
///
/// Decides: whether tasks that wait for each other share a pool; with more than a pair they may.
/// From: arithmetic: the order in which two tasks come back never changes, so it says nothing.
/// Shown by: `two_tasks_have_no_pool`.
/// Wrong if: a pool is shared by two tasks at every count, and nothing in its names says so.
const A_PAIR: usize = 2;

/// One of a few things that tasks wait for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskPool {
    /// Where tasks wait for one.
    pub waits: BTreeSet<StackId>,
    /// How many there are, as far as looks show it.
    pub size: usize,
    /// Where tasks of the same kind waited for something else meanwhile: how many, over all looks.
    pub holders: BTreeMap<StackId, u64>,
}

/// What a stack says about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen<'t> {
    start: TaskStart<'t>,
    /// The program's function that waits or gives.
    at: TaskStart<'t>,
    exchange: Option<Exchange>,
    waits: bool,
    /// The package of the library that does it for the program.
    library: Option<&'t str>,
}

/// Tasks that wait at one place: what they start with, where, for what, and the library that waits for them.
type Place<'t> = (TaskStart<'t>, TaskStart<'t>, Exchange, Option<&'t str>);

/// Places where tasks certainly wait for one of a few things.
type KnownPlaces<'t> = BTreeSet<Place<'t>>;

/// Looks at the waiting tasks of a run, by their times: how many were at each stack.
type Looks = BTreeMap<u64, Vec<(StackId, usize)>>;

/// The pools of each run's tasks. What many tasks show to be a pool is one where there are two, too.
pub fn of_runs(tables: &Tables, stacks: &Stacks<'_>) -> BTreeMap<RunId, Vec<TaskPool>> {
    let runs: BTreeSet<RunId> = tables.parked_tasks.iter().map(|row| row.run).collect();
    let none = KnownPlaces::new();
    let alone: BTreeMap<RunId, _> = runs.iter().map(|run| (*run, task_pools(tables, *run, stacks, &none))).collect();
    let known: KnownPlaces<'_> = alone.values().flat_map(BTreeMap::keys).copied().collect();
    let pools = |(run, found): (RunId, BTreeMap<Place<'_>, TaskPool>)| {
        let all = found.len() == known.len();
        let found = if all { found } else { task_pools(tables, run, stacks, &known) };
        (run, found.into_values().collect())
    };
    alone.into_iter().map(pools).collect()
}

/// The pools of a run's tasks, by where they wait. `known`: places that another thread count has shown to be pools.
fn task_pools<'t>(
    tables: &Tables,
    run: RunId,
    stacks: &Stacks<'t>,
    known_pools: &KnownPlaces<'t>,
) -> BTreeMap<Place<'t>, TaskPool> {
    let mut looks = Looks::new();
    for row in tables.parked_tasks.iter().filter(|row| row.run == run && row.count > 0) {
        let Some(stack) = row.user_stack else { continue };
        looks.entry(row.time_ns).or_default().push((stack, row.count as usize));
    }
    let mut known: HashMap<StackId, Option<Seen>> = HashMap::new();
    for (stack, _) in looks.values().flatten() {
        known.entry(*stack).or_insert_with(|| seen(stacks, *stack));
    }
    let parked = known.values().flatten();
    let places: BTreeSet<Place> =
        parked.filter(|s| s.waits).filter_map(|s| Some((s.start, s.at, s.exchange?, s.library))).collect();
    if places.is_empty() {
        return BTreeMap::new();
    }
    let tasks = tasks(tables, run, stacks);
    let given = given(tables, run, stacks, &looks);
    let processors = tables.meta.machine.usable_processors.max(1) as usize;
    let pool = |place: &Place<'t>| {
        let sampled = tasks.get(&place.0).map_or(0, BTreeSet::len);
        pool(place, (&looks, sampled, processors), &known, &given, known_pools.contains(place))
    };
    places.iter().filter_map(|place| Some((*place, pool(place)?))).collect()
}

/// The tasks that samples saw running, by the function that they start with.
fn tasks<'t>(tables: &Tables, run: RunId, stacks: &Stacks<'t>) -> HashMap<TaskStart<'t>, BTreeSet<u64>> {
    let mut tasks: HashMap<TaskStart<'t>, BTreeSet<u64>> = HashMap::new();
    for sample in tables.samples.iter().filter(|sample| sample.run == run) {
        if let (Some(start), Some(task)) = (start(stacks, sample.user_stack), sample.goroutine) {
            tasks.entry(start).or_default().insert(task);
        }
    }
    tasks
}

fn seen<'t>(stacks: &Stacks<'t>, stack: StackId) -> Option<Seen<'t>> {
    let start = start(stacks, Some(stack)).filter(|(_, name)| !name.is_some_and(is_first_task))?;
    let view = stacks.view(Some(stack), false);
    let at = view.own.map(|code| (code.module, code.name()))?;
    let waits = view.parked == Some(Parked::TaskWaits(Primitive::Condition));
    Some(Seen { start, at, exchange: exchange(stacks, stack), waits, library: library_at_channel(stacks, stack) })
}

/// The package whose function sends or receives, where that is a library's; none where the program itself does. Of several
/// libraries that call each other, the one at the channel: a program may take from a pool through one, and give back through
/// another.
///
/// Decides: which giving is to the channel that tasks wait for: where a library waits for them, its own alone.
/// From: the model: a library's channel is its own, so that what the program sends goes elsewhere. An encoder of zstd for one
/// task at a time, beside a goroutine that gives out work, showed the need.
/// Shown by: `tasks_that_wait_inside_a_library_have_its_pool`.
/// Wrong if: a library waits at a channel that the program has given it, and others feed.
fn library_at_channel<'t>(stacks: &Stacks<'t>, stack: StackId) -> Option<&'t str> {
    let frames = stacks.frames(stack);
    let outside = |code: &Code<'t>| code.owner == Owner::Own || !code.name().is_some_and(is_exchange);
    let at = frames.iter().position(|code| code.name().is_some_and(is_exchange))?;
    let caller = frames.into_iter().skip(at).find(outside)?;
    caller.name().filter(|_| caller.owner != Owner::Own).map(package)
}

fn is_exchange(function: &str) -> bool {
    runtimes::exchange(function).is_some()
}

fn exchange(stacks: &Stacks<'_>, stack: StackId) -> Option<Exchange> {
    let frames = stacks.frames(stack);
    let library = frames.iter().take_while(|code| code.owner != Owner::Own);
    library.filter_map(|code| code.name()).find_map(runtimes::exchange)
}

/// A kind of task that was seen to do something with others: what it starts with, where it did so, what it did, and the
/// library that did it.
type Doer<'t> = (Option<TaskStart<'t>>, Option<TaskStart<'t>>, Exchange, Option<&'t str>);

/// How often tasks did something with others, in samples and wake-ups, and how often they waited to do it.
fn given<'t>(tables: &Tables, run: RunId, stacks: &Stacks<'t>, looks: &Looks) -> BTreeMap<Doer<'t>, (u64, u64)> {
    let mut counts: HashMap<StackId, (u64, u64)> = HashMap::new();
    let wakes = tables.wakes.iter().filter(|wake| wake.run == run);
    let woken = wakes.filter_map(|wake| Some((wake.waker_stack?, wake.count)));
    let samples = tables.samples.iter().filter(|sample| sample.run == run);
    let ran = samples.filter_map(|sample| Some((sample.user_stack?, 1)));
    woken.chain(ran).for_each(|(stack, count)| counts.entry(stack).or_default().0 += count);
    looks.values().flatten().for_each(|(stack, count)| counts.entry(*stack).or_default().1 += *count as u64);
    let mut given: BTreeMap<Doer<'t>, (u64, u64)> = BTreeMap::new();
    for (stack, (did, waited)) in counts {
        let Some(exchange) = exchange(stacks, stack) else { continue };
        let at = stacks.view(Some(stack), false).own.map(|code| (code.module, code.name()));
        let library = library_at_channel(stacks, stack);
        let sums = given.entry((start(stacks, Some(stack)), at, exchange, library)).or_default();
        (sums.0, sums.1) = (sums.0 + did, sums.1 + waited);
    }
    given
}

/// `sampled`: how many tasks of this kind samples saw; at most as many as `processors` run at once. `is_known`: another thread count shows that it is a pool.
fn pool<'t>(
    place: &Place<'t>,
    (looks, sampled, processors): (&Looks, usize, usize),
    known: &HashMap<StackId, Option<Seen<'t>>>,
    given: &BTreeMap<Doer<'t>, (u64, u64)>,
    is_known: bool,
) -> Option<TaskPool> {
    let (start, at, waits_for, library) = *place;
    let to_it = |of: &Option<&str>| library.is_none() || *of == library;
    let back = given.iter().filter(|((.., exchange, of), _)| *exchange == waits_for.opposite() && to_it(of));
    let (mut own, mut others, mut apart) = (0, 0, start != at);
    for ((by, from, ..), (did, waited)) in back {
        match *by == Some(start) {
            // A task that waits to send to a channel has not given anything back yet.
            true => {
                own += did;
                apart &= *did == 0 || (*from != Some(start) && *from != Some(at));
            }
            false => others += did + waited,
        }
    }
    if own < FEWEST_GIVEN || others as f64 > BY_OTHERS * own as f64 {
        return None;
    }
    let seen = |stack: &StackId| known.get(stack).copied().flatten().filter(|seen| seen.start == start);
    let is_here = |seen: &Seen| seen.waits && (seen.at, seen.exchange, seen.library) == (at, Some(waits_for), library);
    let mut found = TaskPool::default();
    let (mut most, mut busy) = (0, Vec::new());
    for look in looks.values() {
        let (mut here, mut elsewhere) = (0, BTreeMap::new());
        for (stack, count) in look {
            match seen(stack) {
                Some(seen) if is_here(&seen) => {
                    here += count;
                    found.waits.insert(*stack);
                }
                Some(_) => *elsewhere.entry(*stack).or_default() += *count as u64,
                None => {}
            }
        }
        most = most.max(here + elsewhere.values().sum::<u64>() as usize);
        if here > 0 {
            busy.push((here, elsewhere.values().sum::<u64>() as usize));
            elsewhere.into_iter().for_each(|(stack, count)| *found.holders.entry(stack).or_default() += count);
        }
    }
    // A look does not show tasks that run or are ready: these are the ones that are found nowhere else. A task that holds
    // one at every look shows in samples only. If samples show more tasks than can run at once, some came after others
    // had ended, and their number says nothing.
    let most = if sampled <= most + processors { most.max(sampled) } else { most };
    let not_waiting: Vec<usize> = busy.iter().map(|(here, _)| most.saturating_sub(*here)).collect();
    let elsewhere: Vec<usize> = busy.iter().map(|(_, elsewhere)| *elsewhere).collect();
    found.size = steady(elsewhere).or_else(|| steady(not_waiting))?;
    // Two tasks that wait for each other may take turns, and so may any number that pass a single thing on. But a program
    // takes turns in its own code, never inside a library.
    let certain = most > A_PAIR && (found.size > 1 || apart || library.is_some());
    let certain = (certain || is_known) && found.size < most;
    certain.then_some(found)
}

/// The number of tasks that hold one, from their number in each look; `None` if it changes too much.
fn steady(mut numbers: Vec<usize>) -> Option<usize> {
    numbers.sort_unstable();
    let at = (NOT_EXCEEDED * numbers.len() as f64) as usize;
    let most = numbers.get(at).copied().filter(|most| *most > 0 && numbers.len() >= FEWEST_LOOKS)?;
    let near = numbers.iter().filter(|n| **n == most || (most > 1 && **n == most - 1)).count();
    (near as f64 >= STEADY * numbers.len() as f64).then_some(most)
}
