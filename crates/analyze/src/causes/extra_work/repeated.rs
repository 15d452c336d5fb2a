//! Work that each thread repeats in full instead of sharing it: a function that, with what it calls, takes as long in
//! each thread as in a single thread, also with more threads than processors.
//!
//! Shared memory, caches and execution units make code slower with more processors, but not with more threads on the
//! same processors: then each thread's time falls as the count grows.

use crate::account::Ledger;
use crate::account::criticality::SeenAt;
use crate::account::profile::Doing;
use crate::answer::Culprit;
use crate::causes::shared::blame::{by_weight, running, seconds_a_sample};
use crate::causes::shared::slower_code::{LARGEST_WAITING_LOOP, SlowerCode, addresses_of};
use crate::facts::Facts;
use crate::model::code::{Code, Owner};
use crate::runtimes::Theme;
use recording::tables::Mode;
use recording::{StackId, ThreadId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The smallest ratio of each thread's time in a function to the time of a single thread.
///
/// Decides: whether a function counts as one that every thread executes in full.
/// From: statistics: times come from samples, and a hundred samples leave an error of a tenth; the processors of a
/// virtual machine differ by as much.
/// Shown by: `work_that_each_thread_repeats_is_told_without_counters`,
/// `what_grows_with_the_processors_only_may_be_memory_and_is_not_called_repeated`.
/// Wrong if: each thread repeats half of a function's work and shares the rest: that is more work, but the cause stays
/// unsure.
const LEAST: f64 = 0.8;

/// The largest such ratio.
///
/// Decides: above which ratio a function takes longer in each thread for another reason than repeated work.
/// From: chosen: processors that are hardware threads of one core slow each other's code down by a factor of up to 1.6.
/// Shown by: `work_that_each_thread_repeats_is_told_without_counters`, at 1.0.
/// Wrong if: each thread repeats work that also waits for memory: both together take more than 1.6 times as long, and
/// the cause stays unsure.
const MOST: f64 = 1.6;

/// A thread's part of a function's time, over an equal part of it, from which on the thread executes it in full.
///
/// Decides: whether a function counts as one that every thread executes in full.
/// From: chosen: processors of a virtual machine differ by less than a factor of two.
/// Shown by: `what_one_thread_has_nearly_all_of_is_not_repeated`.
/// Wrong if: one thread repeats the work in less than half the time of the others: more work then stays unsure.
const EQUAL: f64 = 0.5;

/// A repeated function explains the growth of all code when its own growth is at least half of it.
///
/// Decides: whether a repeated function is reported as the reason.
/// From: chosen; no measurement.
/// Shown by: `repeated_work_is_told_by_the_function_that_holds_it_all`.
/// Wrong if: each thread repeats three functions of similar cost, and no function of the program calls all three.
const EXPLAINS: f64 = 0.5;

/// A function, by name and module.
type Function<'t> = (Option<&'t str>, &'t str);

/// Work that is repeated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repeated<'t> {
    /// The function, with what it calls.
    function: Function<'t>,
    /// Each thread's time in it at the largest count, over that of a single thread.
    pub ratio: f64,
}

impl<'t> Repeated<'t> {
    /// The function as a culprit, with the lines that lead to it.
    pub(super) fn culprit(&self, facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> Option<Culprit> {
        let stacks = &facts.model.stacks;
        let here = |at: &SeenAt| {
            let frames = at.stack.map(|s| stacks.frames(s)).unwrap_or_default();
            frames.into_iter().find(|c| (c.name(), c.module) == self.function)
        };
        let mut seen: BTreeMap<SeenAt, f64> = BTreeMap::new();
        for (at, seen_there) in &ledger.split.criticality.seen {
            if here(at).is_some() {
                *seen.entry(*at).or_default() += seen_there.all as f64;
            }
        }
        running(facts, &by_weight(seen), here).map(|r| r.culprit)
    }
}

/// The innermost function that each thread runs in full and that explains the growth of code. `None` where the counts
/// do not tell (one within the processors and one above are needed), and where it has, or may have unseen, a loop that
/// waits.
pub(super) fn repeated<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    code: &SlowerCode<'t>,
) -> Option<Repeated<'t>> {
    let base = facts.ledgers.first()?;
    let more = facts.ledgers.get(1..).unwrap_or_default();
    let within = more.iter().rfind(|l| l.account.threads <= facts.processors)?;
    let beyond = more.last().filter(|l| l.account.threads > facts.processors)?;
    // Code without a name is all of its module's, and no function.
    let leaf = code.function.map(|(name, module, _)| (name, module)).filter(|(name, _)| name.is_some());
    let times: Vec<(u32, BTreeMap<Function, f64>)> =
        facts.ledgers.iter().map(|l| (l.account.threads, times(facts, l, leaf))).collect();
    let each = |l: &Ledger<'_, 't>, function: &Function<'t>| {
        let of = times.iter().find(|(threads, _)| *threads == l.account.threads);
        of.and_then(|(threads, times)| Some(times.get(function)? / f64::from(*threads))).unwrap_or(0.0)
    };
    let all = |l: &Ledger<'_, 't>, function: &Function<'t>| each(l, function) * f64::from(l.account.threads);
    // Halfway between repeated work (1: the time per thread stays) and shared work (the time per thread falls as
    // threads increase).
    let falls = f64::midpoint(1.0, f64::from(within.account.threads) / f64::from(beyond.account.threads));
    let is_repeated = |function: &Function<'t>| {
        let same = |l: &Ledger<'_, 't>| (LEAST..=MOST).contains(&(each(l, function) / each(base, function)));
        more.iter().all(same) && each(beyond, function) > falls * each(within, function)
    };
    let explains = |function: &Function<'t>| all(ledger, function) - all(base, function) >= EXPLAINS * code.seconds.0;
    // Where waiting loops are not observed, a function small enough to be one may be one.
    let seen = |f: &Function<'t>| facts.model.sharing.observed || size(facts, ledger, f) > LARGEST_WAITING_LOOP;
    let of_base = times.first().map(|(_, times)| times.keys().copied()).into_iter().flatten();
    let in_each = |f: &Function<'t>| more.iter().all(|l| in_each_thread(facts, l, f));
    let mut found: Vec<Function> =
        of_base.filter(|f| explains(f) && is_repeated(f) && seen(f) && in_each(f) && !waits(facts, f)).collect();
    found.sort_by(|a, b| all(ledger, a).total_cmp(&all(ledger, b)).then(a.cmp(b)));
    let function = *found.first()?;
    Some(Repeated { function, ratio: each(beyond, &function) / each(base, &function) })
}

/// CPU seconds per unit of work in each of the program's functions with what it calls, scaled to the timed runs; also
/// in the function `leaf` itself, whoever owns it.
fn times<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    leaf: Option<Function<'t>>,
) -> BTreeMap<Function<'t>, f64> {
    let mut stacks: HashMap<StackId, u64> = HashMap::new();
    for stack in ledger.traced.samples.iter().filter(|s| s.mode == Mode::User).filter_map(|s| s.user_stack) {
        *stacks.entry(stack).or_default() += 1;
    }
    let mut samples: BTreeMap<Function, u64> = BTreeMap::new();
    for (stack, count) in stacks.into_iter().filter(|(stack, _)| works(facts, ledger, *stack)) {
        let frames = facts.model.stacks.frames(stack);
        let own = frames.iter().filter(|c| c.owner == Owner::Own && c.name().is_some());
        let functions: BTreeSet<Function> = own.map(|c: &Code<'t>| (c.name(), c.module)).collect();
        functions.into_iter().for_each(|f| *samples.entry(f).or_default() += count);
    }
    if let Some(leaf) = leaf {
        let alone = ledger.profile.counts.get(&Doing::Function(leaf.0, leaf.1)).copied().unwrap_or(0);
        samples.entry(leaf).or_insert(alone);
    }
    let each = seconds_a_sample(ledger) * ledger.on_cpu_scale;
    samples.into_iter().map(|(function, count)| (function, count as f64 * each)).collect()
}

/// True when as many threads as were asked for each have about an equal part of the time in a function. One that has
/// nearly all of it repeats nothing.
fn in_each_thread<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, function: &Function<'t>) -> bool {
    let mut within: HashMap<StackId, bool> = HashMap::new();
    let mut inside = |stack: StackId| {
        let frames = || facts.model.stacks.frames(stack);
        *within.entry(stack).or_insert_with(|| frames().iter().any(|c| (c.name(), c.module) == *function))
    };
    let mut threads: BTreeMap<ThreadId, u64> = BTreeMap::new();
    for sample in ledger.traced.samples.iter().filter(|s| s.mode == Mode::User) {
        if sample.user_stack.is_some_and(&mut inside) {
            *threads.entry(sample.thread).or_default() += 1;
        }
    }
    let asked = f64::from(ledger.account.threads.max(1));
    let fair = threads.values().sum::<u64>() as f64 / asked;
    threads.values().filter(|samples| **samples as f64 >= EQUAL * fair).count() as f64 >= LEAST * asked
}

/// True for a user-space sample of code that does work: not in a lock, not waiting, not delayed by other threads.
fn works<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, stack: StackId) -> bool {
    let view = facts.model.stacks.view(Some(stack), false);
    if view.primitive.is_some() || facts.model.sharing.held(&facts.model.stacks, Some(stack)).is_some() {
        return false;
    }
    // Code that the account counts as a function, or as the allocator's, is not lock code.
    let counted = |leaf: Code<'t>| ledger.profile.counts.contains_key(&Doing::Function(leaf.name(), leaf.module));
    view.theme == Some(Theme::Allocator) || view.leaf.is_some_and(counted)
}

/// How many addresses hold nearly all samples in a function and in what it calls.
fn size<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, function: &Function<'t>) -> usize {
    let is = |c: &Code<'_>| (c.name(), c.module) == *function;
    addresses_of(facts, ledger, |stack| facts.model.stacks.frames(stack).iter().any(is))
}

/// True when a loop that waits for another thread was found in a function or in what it calls.
fn waits<'t>(facts: &Facts<'_, 't>, function: &Function<'t>) -> bool {
    let stacks = &facts.model.stacks;
    let is = |c: &Code<'_>| (c.name(), c.module) == *function;
    let below = |stack: Option<StackId>| stack.is_some_and(|s| stacks.frames(s).iter().any(is));
    let mut loops = facts.model.sharing.loops.iter();
    loops.any(|one| stacks.code(one.frame).iter().any(is) || one.rows.iter().any(|row| below(row.user_stack)))
}
