//! Work that each thread repeats in full instead of sharing it: a function that, with what it calls, takes as long in
//! each thread as in a single thread, also with more threads than processors.
//!
//! Shared memory, caches and execution units make code slower with more processors, but not with more threads on the
//! same processors: then each thread's time falls as the count grows.
//!
//! Runs of one program differ in pace, because a virtual machine gets more or less of its host. Work that the threads
//! share takes the same time in sum at every count, so it measures the pace of each run, where there is such work.

use crate::account::criticality::SeenAt;
use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::Culprit;
use crate::causes::shared::blame::{by_weight, running, seconds_a_sample};
use crate::causes::shared::slower_code::{self, LARGEST_WAITING_LOOP, SlowerCode, addresses_of};
use crate::facts::Facts;
use crate::model::code::{Code, Owner};
use crate::runtimes::Theme;
use recording::tables::{Mode, ModuleKind};
use recording::{StackId, ThreadId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The smallest ratio of each thread's time in a function to the time of a single thread, where the pace of runs is known
/// or there are no more threads than processors.
///
/// Decides: whether a function counts as one that every thread executes in full.
/// From: statistics: times come from samples, and a hundred samples leave an error of a tenth; the processors of a
/// virtual machine differ by as much.
/// Shown by: `work_that_each_thread_repeats_is_told_without_counters`,
/// `what_grows_with_the_processors_only_may_be_memory_and_is_not_called_repeated`.
/// Wrong if: each thread repeats half of a function's work and shares the rest, in no function of its own: the cause stays
/// unsure.
pub const LEAST: f64 = 0.8;

/// The largest such ratio.
///
/// Decides: above which ratio a function takes longer in each thread for another reason than repeated work; also within
/// which factor work that the threads share must stay in sum, to measure the pace of runs.
/// From: chosen: processors that are hardware threads of one core slow each other's code down by a factor of up to 1.6.
/// Shown by: `work_that_each_thread_repeats_is_told_without_counters`, at 1.0.
/// Wrong if: each thread repeats work that also waits for memory: both together take more than 1.6 times as long, and
/// the cause stays unsure.
pub const MOST: f64 = 1.6;

/// The largest such ratio of a function that takes as long in each thread with more threads than processors as with one for
/// each.
///
/// Decides: above which ratio work that each thread repeats may be slower for other reasons as well.
/// From: chosen: the factor of `MOST` two times over, once for processors that are hardware threads of one core and once for caches
/// and memory that they share. Work that threads share never takes as long in each thread with more of them.
/// Shown by: `repeated_work_that_memory_slows_down_too_is_repeated`,
/// `what_grows_with_the_processors_only_is_not_repeated_at_any_pace`.
/// Wrong if: memory slows the repeated work down by more: more work stays unsure.
pub const MOST_SLOWED: f64 = MOST * MOST;

/// The smallest ratio of each thread's time with more threads than processors to that with one for each, from which on it is
/// the same.
///
/// Decides: whether a function that takes much longer in each thread than in one alone is repeated and slower, or shared and
/// slower.
/// From: the error of samples, as of `LEAST`: shared work has a ratio of a half with twice the threads.
/// Shown by: `repeated_work_that_memory_slows_down_too_is_repeated`,
/// `what_grows_with_the_processors_only_may_be_memory_and_is_not_called_repeated`.
/// Wrong if: caches are too small for the data of more threads, so that shared work takes twice as long in sum.
const SAME_BEYOND: f64 = LEAST;

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
pub const EXPLAINS: f64 = 0.5;

/// The smallest share of the code's time that work has which measures the pace of runs.
///
/// Decides: whether times are compared at the pace of the work that the threads share; of a function that leaves less to
/// others, less time with more threads than processors counts as the same.
/// From: statistics: of a second, sampled each millisecond, a tenth leaves an error of a tenth.
/// Shown by: `runs_at_another_pace_are_compared_by_the_work_that_threads_share`,
/// `a_faster_run_with_more_threads_than_processors_repeats_nearly_all_work_too`,
/// `runs_at_another_pace_are_compared_by_all_other_work`, `what_grows_with_the_processors_only_is_not_repeated_at_any_pace`.
/// Wrong if: a program repeats more than nine tenths of its work, and with a thread for each processor it runs at less than
/// 0.8 of the pace of the single thread: more work stays unsure. Or runs take much less than a second: then few samples set
/// the pace.
const PACE_SHARE: f64 = 0.1;

/// A function, by name and module. Functions without a name, as of JavaScript, by file and line.
pub type Function<'t> = (Option<&'t str>, &'t str, u32);

/// What is known of the pace of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// It is the same, or times are given at one.
    Known,
    /// It is that of all code outside of the function, which threads then share.
    OfTheRest,
}

/// The function that a frame is in.
pub fn function_of<'t>(code: &Code<'t>) -> Function<'t> {
    let file = code.frame.file.as_deref().filter(|_| code.kind == ModuleKind::Anonymous && is_nameless(code.name()));
    match file {
        Some(file) => (code.name(), file, code.frame.line.unwrap_or(0)),
        None => (code.name(), code.module, 0),
    }
}

/// True for a runtime's word in brackets in place of a name.
fn is_nameless(name: Option<&str>) -> bool {
    name.is_some_and(|name| name.starts_with('(') && !name.contains("::"))
}

/// Work that is repeated.
#[derive(Debug, Clone)]
pub struct Repeated<'t> {
    /// The function, with what it calls.
    function: Function<'t>,
    /// Each thread's time in it at the largest count, over that of a single thread.
    pub ratio: f64,
    /// What it calls and the threads share: not in the ratio.
    shared: BTreeSet<Function<'t>>,
    /// True where there is such a call, or where the ratio is not close to 1.
    pub in_part: bool,
}

impl<'t> Repeated<'t> {
    /// All of a function, with what it calls.
    pub fn whole(function: Function<'t>, ratio: f64) -> Repeated<'t> {
        Repeated { function, ratio, shared: BTreeSet::new(), in_part: ratio < LEAST }
    }

    /// The function as a culprit, with the lines that lead to it.
    pub fn culprit(&self, facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> Option<Culprit> {
        let here = |at: &SeenAt| at.stack.and_then(|stack| self.frame(facts, stack));
        let mut seen: BTreeMap<SeenAt, f64> = BTreeMap::new();
        for (at, seen_there) in &ledger.split.criticality.seen {
            if here(at).is_some() {
                *seen.entry(*at).or_default() += seen_there.all as f64;
            }
        }
        running(facts, &by_weight(seen), here).map(|r| r.culprit)
    }

    /// True where it takes longer in each thread than in one alone, for another reason than that each repeats it.
    pub fn is_slower(&self) -> bool {
        self.ratio > MOST
    }

    /// The function's frame in a stack; `None` where the stack is not in it, or in a call that the threads share.
    pub(super) fn frame(&self, facts: &Facts<'_, 't>, stack: StackId) -> Option<Code<'t>> {
        let frames = facts.model.stacks.frames(stack);
        let shared = frames.iter().any(|c| self.shared.contains(&function_of(c)));
        frames.into_iter().find(|c| !shared && function_of(c) == self.function)
    }
}

/// The repeated work that explains the growth of code at a count; `None` where counted instructions or a runtime's compiler
/// do, or may.
pub fn told<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, code: &SlowerCode<'t>) -> Option<Repeated<'t>> {
    // Where instructions are counted, they decide.
    if code.instructions.is_some() && !code.more_instructions() {
        return None;
    }
    let repeated = repeated(facts, ledger, code)?;
    // What each thread repeats at one count, it repeats at each.
    let not_compiling =
        |at: &Ledger<'_, 't>| slower_code::at(facts, at).is_some_and(|code| !while_compiling(facts, at, &code));
    (code.instructions.is_some() || facts.ledgers.iter().any(not_compiling)).then_some(repeated)
}

/// True where a runtime's compiler worked for so long that the growth may be code that it had not reached yet: as long as
/// it works, each processor may run such code, and each thread runs it, however many there are.
///
/// Decides: whether code that takes longer while the runtime compiles may be repeated or new work; else it stays unsure.
/// From: reasoned: until a method is compiled, each thread runs its slower form, so its time in each thread stays the same, as
/// that of repeated work does. On all processors that is at most the compiler's time for each of them. Work that is
/// repeated at a larger count, where it takes longer than that, is repeated at this one.
/// Shown by: `code_that_a_compiler_has_not_reached_yet_may_only_be_slower`,
/// `repeated_work_is_told_beside_a_compiler_too`, `work_that_is_repeated_at_one_count_is_repeated_at_each`.
/// Wrong if: a short program in Java repeats work for less time than its compiler takes: more work stays unsure.
pub fn while_compiling(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, code: &SlowerCode<'_>) -> bool {
    let compiling = ledger.sum(|id| id == LineId::Compiling).0;
    code.seconds.0 <= compiling * f64::from(facts.processors.min(ledger.account.threads))
}

/// The innermost function that each thread runs in full and that explains the growth of code. `None` where the counts
/// do not tell (one within the processors and one above are needed), and where it has, or may have unseen, a loop that
/// waits.
fn repeated<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, code: &SlowerCode<'t>) -> Option<Repeated<'t>> {
    let base = facts.ledgers.first()?;
    let more = facts.ledgers.get(1..).unwrap_or_default();
    let within = more.iter().rfind(|l| l.account.threads <= facts.processors)?;
    let beyond = more.last().filter(|l| l.account.threads > facts.processors)?;
    // Code without a name is all of its module's, and no function.
    let leaf = code
        .function
        .map(|(name, module, _)| (name, module, 0))
        .filter(|(name, ..)| name.is_some() && !is_nameless(*name));
    let all = Times::of_all(facts, leaf, &BTreeSet::new());
    // Halfway between repeated work (1: the time per thread stays) and shared work (the time per thread falls as
    // threads increase).
    let falls = f64::midpoint(1.0, f64::from(within.account.threads) / f64::from(beyond.account.threads));
    let find = |times: &[Times<'t>], grown: f64, pace: Pace| {
        let at = |l: &Ledger<'_, 't>| times.iter().find(|t| t.threads == l.account.threads);
        let sum = |l: &Ledger<'_, 't>, function: &Function<'t>| at(l).map_or(0.0, |times| times.of(function));
        let rest = |l: &Ledger<'_, 't>, f: &Function<'t>| at(l).map_or(0.0, |times| times.code - times.of(f));
        let pace_of = |l: &Ledger<'_, 't>, f: &Function<'t>| match pace {
            Pace::Known => 1.0,
            Pace::OfTheRest => rest(l, f) / rest(base, f),
        };
        let each = |l: &Ledger<'_, 't>, f: &Function<'t>| sum(l, f) / f64::from(l.account.threads) / pace_of(l, f);
        // Work that threads share takes the same time in sum.
        let is_shared = |f: &Function<'t>| {
            let enough = rest(base, f) >= PACE_SHARE * at(base).map_or(0.0, |times| times.code);
            pace == Pace::Known || enough && more.iter().all(|l| (1.0 / MOST..=MOST).contains(&pace_of(l, f)))
        };
        let is_repeated = |function: &Function<'t>| {
            let nearly_all = sum(base, function) > (1.0 - PACE_SHARE) * at(base).map_or(0.0, |times| times.code);
            let step = each(beyond, function) / each(within, function);
            let most = if (SAME_BEYOND..=1.0 / SAME_BEYOND).contains(&step) { MOST_SLOWED } else { MOST };
            let same = |l: &Ledger<'_, 't>| {
                let threads = Some(l.account.threads).filter(|threads| nearly_all && *threads > facts.processors);
                let least = threads.map_or(LEAST, least_at_any_pace);
                (least..=most).contains(&(each(l, function) / each(base, function)))
            };
            more.iter().all(same) && step > falls
        };
        let explains = |function: &Function<'t>| sum(ledger, function) - sum(base, function) >= EXPLAINS * grown;
        // Where waiting loops are not observed, a function small enough to be one may be one.
        let seen = |f: &Function<'t>| facts.model.sharing.observed || size(facts, ledger, f) > LARGEST_WAITING_LOOP;
        let of_base = at(base).map(|times| times.functions.keys().copied()).into_iter().flatten();
        let in_each = |f: &Function<'t>| more.iter().all(|l| in_each_thread(facts, l, f));
        let found = of_base
            .filter(|f| explains(f) && is_shared(f) && is_repeated(f) && seen(f) && in_each(f) && !waits(facts, f));
        // Of two that take the same time, one calls the other.
        let depth = |f: &Function<'t>| at(ledger).and_then(|times| times.functions.get(f)).map(|spent| spent.1);
        let inner = |a: &Function<'t>, b: &Function<'t>| depth(a).cmp(&depth(b)).then(a.cmp(b));
        // Where the program's own code repeats it, users look there and not at a library's inner function.
        let foreign = |f: &Function<'t>| at(ledger).is_some_and(|times| times.foreign == Some(*f));
        let smaller = |a: &Function<'t>, b: &Function<'t>| sum(ledger, a).total_cmp(&sum(ledger, b));
        let function =
            found.min_by(|a, b| foreign(a).cmp(&foreign(b)).then(smaller(a, b)).then_with(|| inner(a, b)))?;
        Some((function, each(beyond, &function) / each(base, &function)))
    };
    let whole = |(function, ratio)| Repeated::whole(function, ratio);
    let apart_from_shared = || {
        let shared = shared(facts, &all);
        let without = (!shared.is_empty()).then(|| Times::of_all(facts, leaf, &shared))?;
        let times = at_one_pace(&all, without)?;
        let of = |l: &Ledger<'_, 't>| times.iter().find(|t| t.threads == l.account.threads).map_or(0.0, |t| t.code);
        let (function, ratio) = find(&times, code.seconds.0.max(of(ledger) - of(base)), Pace::Known)?;
        let in_part = ratio < LEAST || times.first()?.of(&function) < all.first()?.of(&function);
        Some(Repeated { function, ratio, shared, in_part })
    };
    find(&all, code.seconds.0, Pace::Known)
        .map(whole)
        .or_else(apart_from_shared)
        .or_else(|| find(&all, code.seconds.0, Pace::OfTheRest).map(whole))
}

/// The smallest such ratio with more threads than processors, of a function that holds nearly all work: nothing else shows
/// the pace of the runs. It is as far from repeated work (1) as from shared work (1/n). Slower code of two processors does
/// not reach it.
fn least_at_any_pace(threads: u32) -> f64 {
    LEAST.min(f64::midpoint(1.0, 1.0 / f64::from(threads.max(1))))
}

/// Functions that the threads share: in sum they take as long at every count, a part of it in each thread.
fn shared<'t>(facts: &Facts<'_, 't>, all: &[Times<'t>]) -> BTreeSet<Function<'t>> {
    let Some((base, more)) = all.split_first() else { return BTreeSet::new() };
    let divides = |function: &Function<'t>| {
        let before = base.of(function);
        before >= PACE_SHARE * base.code
            && more.iter().all(|times| (1.0 / MOST..=MOST).contains(&(times.of(function) / before)))
            && facts.ledgers.iter().skip(1).all(|l| in_each_thread(facts, l, function))
    };
    base.functions.keys().copied().filter(divides).collect()
}

/// The times without what the threads share, as if each run had the pace of the first. `None` where a run has no sample
/// of what they share.
fn at_one_pace<'t>(all: &[Times<'t>], without: Vec<Times<'t>>) -> Option<Vec<Times<'t>>> {
    let shared = |(all, without): (&Times<'t>, &Times<'t>)| all.code - without.code;
    let base = shared((all.first()?, without.first()?));
    let paces: Vec<f64> = all.iter().zip(&without).map(|pair| shared(pair) / base).collect();
    let known = paces.iter().all(|pace| pace.is_finite() && *pace > 0.0);
    known.then(|| without.into_iter().zip(paces).map(|(times, pace)| times.slower_by(1.0 / pace)).collect())
}

/// CPU seconds per unit of work at a count, scaled to the timed runs.
pub struct Times<'t> {
    /// Threads of the count.
    pub threads: u32,
    /// In each of the program's functions with what it calls, and how far it is from the innermost function: the sum of
    /// frames over all samples. Also in the function `leaf` itself, whoever owns it.
    pub functions: BTreeMap<Function<'t>, (f64, u64)>,
    /// In all code that does work.
    pub code: f64,
    /// The function `leaf`, where no code of the program has its name: a library's or a runtime's.
    foreign: Option<Function<'t>>,
}

impl<'t> Times<'t> {
    /// At every count, without the functions `except` and what they call.
    pub fn of_all(
        facts: &Facts<'_, 't>,
        leaf: Option<Function<'t>>,
        except: &BTreeSet<Function<'t>>,
    ) -> Vec<Times<'t>> {
        facts.ledgers.iter().map(|ledger| Times::at(facts, ledger, leaf, except)).collect()
    }

    fn at(
        facts: &Facts<'_, 't>,
        ledger: &Ledger<'_, 't>,
        leaf: Option<Function<'t>>,
        except: &BTreeSet<Function<'t>>,
    ) -> Times<'t> {
        let mut stacks: HashMap<StackId, u64> = HashMap::new();
        for stack in ledger.traced.samples.iter().filter(|s| s.mode == Mode::User).filter_map(|s| s.user_stack) {
            *stacks.entry(stack).or_default() += 1;
        }
        let (mut samples, mut code): (BTreeMap<Function, (u64, u64)>, u64) = Default::default();
        for (stack, count) in stacks.into_iter().filter(|(stack, _)| works(facts, ledger, *stack)) {
            let frames = facts.model.stacks.frames(stack);
            let own = frames.iter().enumerate().filter(|(_, c)| c.owner == Owner::Own && c.name().is_some());
            // From the outermost to the innermost frame, so that a function that calls itself counts at its innermost.
            let functions: BTreeMap<Function, u64> =
                own.rev().map(|(depth, c): (usize, &Code<'t>)| (function_of(c), depth as u64)).collect();
            if !functions.keys().any(|f| except.contains(f)) {
                for (function, depth) in functions {
                    let spent = samples.entry(function).or_default();
                    *spent = (spent.0 + count, spent.1 + count * depth);
                }
                code += count;
            }
        }
        let foreign = leaf.filter(|leaf| !samples.contains_key(leaf));
        if let Some(leaf) = foreign {
            let alone = ledger.profile.counts.get(&Doing::Function(leaf.0, leaf.1)).copied().unwrap_or(0);
            samples.insert(leaf, (alone, 0));
        }
        let each = seconds_a_sample(ledger) * ledger.code_scale;
        Times {
            threads: ledger.account.threads,
            functions: samples.into_iter().map(|(f, (count, depth))| (f, (count as f64 * each, depth))).collect(),
            code: code as f64 * each,
            foreign,
        }
    }

    /// Seconds in a function with what it calls.
    pub fn of(&self, function: &Function<'t>) -> f64 {
        self.functions.get(function).map_or(0.0, |spent| spent.0)
    }

    fn slower_by(mut self, factor: f64) -> Times<'t> {
        self.functions.values_mut().for_each(|spent| spent.0 *= factor);
        self.code *= factor;
        self
    }
}

/// True when as many threads (or tasks of a scheduler) as were asked for each have about an equal part of the time in a function. One that has
/// nearly all of it repeats nothing.
fn in_each_thread<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, function: &Function<'t>) -> bool {
    let mut within: HashMap<StackId, bool> = HashMap::new();
    let mut inside = |stack: StackId| {
        let frames = || facts.model.stacks.frames(stack);
        *within.entry(stack).or_insert_with(|| frames().iter().any(|c| function_of(c) == *function))
    };
    // A task of a scheduler moves between threads.
    let mut threads: BTreeMap<(Option<u64>, Option<ThreadId>), u64> = BTreeMap::new();
    for sample in ledger.traced.samples.iter().filter(|s| s.mode == Mode::User) {
        if sample.user_stack.is_some_and(&mut inside) {
            let thread = sample.goroutine.is_none().then_some(sample.thread);
            *threads.entry((sample.goroutine, thread)).or_default() += 1;
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
    let is = |c: &Code<'_>| function_of(c) == *function;
    addresses_of(facts, ledger, |stack| facts.model.stacks.frames(stack).iter().any(is))
}

/// True when a loop that waits for another thread was found in a function or in what it calls.
pub fn waits<'t>(facts: &Facts<'_, 't>, function: &Function<'t>) -> bool {
    let stacks = &facts.model.stacks;
    let is = |c: &Code<'_>| function_of(c) == *function;
    let below = |stack: Option<StackId>| stack.is_some_and(|s| stacks.frames(s).iter().any(is));
    let mut loops = facts.model.sharing.loops.iter();
    loops.any(|one| stacks.code(one.frame).iter().any(is) || one.rows.iter().any(|row| below(row.user_stack)))
}
