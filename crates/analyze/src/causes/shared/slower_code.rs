//! User-space code that takes more time per unit of work than at the baseline: what `extra-work` and
//! `memory-bound` examine, and what neither can decide alone.

use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::Culprit;
use crate::facts::{Facts, in_proportion, large, significant};
use crate::model::code::Code;
use crate::runtimes::function_name::readable;
use crate::words::percent;
use recording::StackId;
use recording::tables::Mode;
use std::collections::BTreeMap;

/// A loop that only waits is small: code whose samples are at more addresses than this does work.
///
/// Decides: whether code that takes more time may be a loop that only waits.
/// From: chosen: no waiting loop of a lock or a queue (a test, a pause and a back-off) has as many as 40 instructions.
/// Shown by: `a_small_loop_that_one_thread_does_not_run_may_only_wait`,
/// `a_large_function_that_one_thread_does_not_run_is_extra_work`.
/// Wrong if: a waiting loop is compiled without optimisation: the comment on `OWN` of `resolve::decode::loops` mentions
/// some with 80 instructions.
pub const LARGEST_WAITING_LOOP: usize = 40;

/// The most frequent addresses of a function are counted until they hold this share of its samples; the rest are
/// strays.
///
/// Decides: how many addresses a function is taken to run at.
/// From: chosen; no measurement.
/// Shown by: `a_small_loop_that_one_thread_does_not_run_may_only_wait`,
/// `a_large_function_that_one_thread_does_not_run_is_extra_work`.
/// Wrong if: a large function spends nine tenths of its time in one short loop that does work: that it does more work
/// stays unsure.
const NEARLY_ALL: f64 = 0.9;

/// The growth of instructions explains the growth of time when it is more than half as large.
///
/// Decides: whether more instructions are reported as the reason for more CPU time.
/// From: chosen; no measurement.
/// Shown by: `more_instructions_in_a_large_function_are_extra_work`, `as_many_instructions_and_more_misses_are_memory`.
/// Wrong if: a few additional instructions are each much more expensive than the others: they are the reason, but are not
/// reported.
const INSTRUCTIONS: f64 = 0.5;

/// Code that grew.
#[derive(Debug, Clone)]
pub struct SlowerCode<'t> {
    /// Seconds per unit of work beyond the baseline, of all functions together, and their standard error.
    pub seconds: (f64, f64),
    /// The function that grew most: name, module, seconds.
    pub function: Option<(Option<&'t str>, &'t str, f64)>,
    /// True when the baseline does not run that function.
    pub new: bool,
    /// Addresses that hold nearly all of its samples.
    pub addresses: usize,
    /// Instructions per unit of work, over those of the baseline.
    pub instructions: Option<f64>,
    /// Cache misses per unit of work, over those of the baseline.
    pub misses: Option<f64>,
    /// CPU time per unit of work, over that of the baseline.
    pub time: f64,
}

/// The growth at a count, when it is significant.
pub fn at<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> Option<SlowerCode<'t>> {
    let base = facts.ledgers.first().filter(|b| b.account.threads < ledger.account.threads)?;
    let seconds = ledger.sum(|id| matches!(id, LineId::SameFunctions | LineId::NewFunctions));
    if !significant(ledger, seconds) {
        return None;
    }
    let grown = ledger.grown.iter().find_map(|(doing, seconds)| match doing {
        Doing::Function(name, module) if *seconds > 0.0 => Some((*name, *module, *seconds)),
        _ => None,
    });
    let doing = grown.map(|(name, module, _)| Doing::Function(name, module));
    let ratio = |of: fn(&recording::tables::Run) -> Option<u64>| {
        let per_unit = |threads: u32| facts.clean.counted_per_unit(threads, of);
        Some(per_unit(ledger.account.threads)? / per_unit(base.account.threads)?).filter(|r| r.is_finite())
    };
    Some(SlowerCode {
        seconds,
        function: grown,
        new: doing.is_some_and(|d| !base.profile.counts.contains_key(&d)),
        addresses: doing.map_or(0, |d| addresses(facts, ledger, d)),
        instructions: ratio(|r| r.instructions),
        misses: ratio(|r| r.cache_misses),
        time: (ledger.account.useful + seconds.0) / ledger.account.useful.max(f64::MIN_POSITIVE),
    })
}

/// How many addresses hold nearly all samples of a function.
fn addresses<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, function: Doing<'t>) -> usize {
    let is = |c: &Code<'_>| Doing::Function(c.name(), c.module) == function;
    addresses_of(facts, ledger, |stack| facts.model.stacks.view(Some(stack), false).leaf.as_ref().is_some_and(is))
}

/// How many addresses hold nearly all user-space samples whose stack fits.
pub fn addresses_of(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, fits: impl Fn(StackId) -> bool) -> usize {
    let mut stacks: BTreeMap<StackId, u64> = BTreeMap::new();
    for stack in ledger.traced.samples.iter().filter(|s| s.mode == Mode::User).filter_map(|s| s.user_stack) {
        *stacks.entry(stack).or_default() += 1;
    }
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for (stack, count) in stacks.into_iter().filter(|(stack, _)| fits(*stack)) {
        if let Some(leaf) = facts.model.stacks.view(Some(stack), false).leaf {
            *counts.entry(leaf.frame.address).or_default() += count;
        }
    }
    let all: u64 = counts.values().sum();
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let (mut held, mut needed) = (0, 0);
    for count in counts {
        if held as f64 >= NEARLY_ALL * all as f64 {
            break;
        }
        held += count;
        needed += 1;
    }
    needed
}

impl SlowerCode<'_> {
    /// What grew, in words.
    pub fn words(&self, ledger: &Ledger<'_, '_>) -> String {
        let share = |seconds: f64| percent(seconds / ledger.account.capacity.max(f64::MIN_POSITIVE));
        let most = match self.function {
            Some((Some(name), _, seconds)) => format!(", most in {} ({})", readable(name), share(seconds)),
            Some((None, module, seconds)) => {
                format!(
                    ", most in a function without a name in {} ({})",
                    crate::model::code::file_name(module),
                    share(seconds)
                )
            }
            None => String::new(),
        };
        format!("user-space code takes more time, {}{most}", in_proportion(ledger, self.seconds.0))
    }

    /// True where counted instructions explain the growth.
    pub fn more_instructions(&self) -> bool {
        self.instructions.is_some_and(|ratio| ratio - 1.0 > INSTRUCTIONS * (self.time - 1.0))
    }

    /// True when the code that grew may be a loop that only waits.
    pub fn may_wait(&self) -> bool {
        self.addresses <= LARGEST_WAITING_LOOP
    }
}

/// The function that grew most as a culprit, with the lines of the program that lead to it.
pub fn culprit<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, code: &SlowerCode<'t>) -> Option<Culprit> {
    let (name, module, _) = code.function?;
    let seen: Vec<_> = {
        let mut counts: BTreeMap<crate::account::criticality::SeenAt, f64> = BTreeMap::new();
        for (at, seen) in &ledger.split.criticality.seen {
            let leaf = facts.model.stacks.view(at.stack, false).leaf;
            if at.syscall.is_none() && leaf.is_some_and(|c| (c.name(), c.module) == (name, module)) {
                *counts.entry(*at).or_default() += seen.all as f64;
            }
        }
        crate::causes::shared::blame::by_weight(counts)
    };
    crate::causes::shared::blame::running(facts, &seen, |_| None).map(|r| r.culprit)
}

/// What growth of user-space code means for causes that it cannot prove.
pub fn open(facts: &Facts<'_, '_>) -> Option<String> {
    let ledger = facts.in_order().into_iter().find(|l| at(facts, l).is_some())?;
    let code = at(facts, ledger)?;
    let cores = facts.model.tables.meta.machine.usable_cores;
    let siblings = match cores < facts.processors {
        true => "; the processors are hardware threads that share cores, which alone may explain it",
        false => "",
    };
    let counted = match code.instructions {
        Some(ratio) => format!("; {ratio:.2} times as many instructions"),
        None => String::new(),
    };
    Some(format!("{}{counted}{}{siblings}", code.words(ledger), beyond(facts).unwrap_or_default()))
}

/// What a count above the processors adds: sharing of memory and caches does not grow beyond the number of processors;
/// extra work for each thread does.
fn beyond(facts: &Facts<'_, '_>) -> Option<String> {
    let within = facts.ledgers.iter().rfind(|l| l.account.threads <= facts.processors)?;
    let beyond = facts.ledgers.iter().find(|l| l.account.threads > facts.processors)?;
    let (a, b) = (at(facts, within)?, at(facts, beyond)?);
    let grows = large(beyond, b.seconds.0 - a.seconds.0);
    Some(match grows {
        true => format!(
            "; it goes on growing beyond the processors ({}), which shared memory or caches do not explain",
            in_proportion(beyond, b.seconds.0)
        ),
        false => "; it does not grow beyond the processors, as sharing of memory or caches would have it".to_owned(),
    })
}
