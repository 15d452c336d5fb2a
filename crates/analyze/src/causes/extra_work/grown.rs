//! Work of which more is done with more threads, but not once in each: what is made anew for each part that the work is cut
//! into, say, or in each of many caches.
//!
//! A function then takes many times as long for a unit of work, and all other code as long as before. So does a function
//! whose threads compete for a cache line, but that slows down one place in it, and no more beyond the processors.
//! Imports `account`, `facts`, `shared`.

use crate::account::Ledger;
use crate::causes::shared::repeated::{
    EXPLAINS, Function, LEAST, MOST, MOST_SLOWED, Repeated, Times, function_of, waits, while_compiling,
};
use crate::causes::shared::slower_code::SlowerCode;
use crate::facts::Facts;
use recording::StackId;
use recording::tables::Mode;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How much of a function's time must be in the same inner functions as with the fewest threads, and how much one of these may
/// have there.
///
/// Decides: whether a function that takes longer does more, or is slowed down at one place.
/// From: the model: one inner function that has half of the time and alone makes the whole take 2.56 times as long (see
/// [`MOST_SLOWED`]) has four fifths of it then, so that just under 0.7 of the time stay where they were. In the one program in
/// view, 0.8 did.
/// Shown by: `work_that_is_done_anew_for_each_part_is_told`, `a_function_that_is_slowed_down_at_one_place_does_no_more`.
/// Wrong if: threads compete for lines in several inner functions, which had half of the time before.
const ALIKE: (f64, f64) = (0.7, 0.5);

/// Decides: from how many samples with the fewest threads on the parts of a function's time are known.
/// From: statistics: a hundred samples over ten inner functions leave a tenth of them in the wrong one.
/// Shown by: `work_that_is_done_anew_for_each_part_is_told`, with 150.
/// Wrong if: the work takes less than a tenth of a second with one thread: more work stays unsure.
const FEWEST: u64 = 100;

/// The least growth from one thread for each processor to more threads than processors.
///
/// Decides: whether more of a function is done, or processors slow each other down, which more threads on them do not.
/// From: the error of samples: that of a thousand is a thirtieth.
/// Shown by: `work_that_is_done_anew_for_each_part_is_told`, `what_no_longer_grows_beyond_the_processors_may_be_slower`.
/// Wrong if: the work is cut into as many parts at both counts: more work stays unsure.
const BEYOND: f64 = 1.1;

/// A function of which more is done, and its time for a unit of work over that with the fewest threads, at the pace of all
/// other code.
#[derive(Debug)]
pub(super) struct Grown<'t> {
    pub(super) work: Repeated<'t>,
    pub(super) times: f64,
}

/// The innermost function of which more is done, if that explains the growth of code at a count.
pub(super) fn told<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, code: &SlowerCode<'t>) -> Option<Grown<'t>> {
    if code.instructions.is_some() && !code.more_instructions() || while_compiling(facts, ledger, code) {
        return None;
    }
    let base = facts.ledgers.first()?;
    let more = facts.ledgers.get(1..).unwrap_or_default();
    let within = more.iter().rfind(|l| l.account.threads <= facts.processors)?;
    let beyond = more.last().filter(|l| l.account.threads > facts.processors)?;
    let all = Times::of_all(facts, None, &BTreeSet::new());
    let at = |l: &Ledger<'_, 't>| all.iter().find(|times| times.threads == l.account.threads);
    let sum = |l: &Ledger<'_, 't>, f: &Function<'t>| at(l).map_or(0.0, |times| times.of(f));
    let pace = |l: &Ledger<'_, 't>, f: &Function<'t>| {
        let rest = |l: &Ledger<'_, 't>| at(l).map_or(0.0, |times| times.code - times.of(f));
        rest(l) / rest(base)
    };
    let times = |l: &Ledger<'_, 't>, f: &Function<'t>| sum(l, f) / sum(base, f) / pace(l, f);
    let grows = |f: &Function<'t>| {
        let as_before = more.iter().all(|l| (LEAST..=MOST).contains(&pace(l, f)));
        let explains = sum(ledger, f) - sum(base, f) >= EXPLAINS * code.seconds.0;
        let grown = times(ledger, f) > MOST_SLOWED && times(beyond, f) >= BEYOND * times(within, f);
        as_before && explains && grown
    };
    let functions = all.first()?.functions.keys().copied();
    let found = functions.filter(|f| grows(f) && is_the_same(facts, base, ledger, f) && !waits(facts, f));
    let function = found.min_by(|a, b| sum(ledger, a).total_cmp(&sum(ledger, b)).then(a.cmp(b)))?;
    Some(Grown { times: times(ledger, &function), work: Repeated::whole(function, times(ledger, &function)) })
}

/// True where most of a function's time is in the same inner functions at both counts.
fn is_the_same<'t>(
    facts: &Facts<'_, 't>,
    base: &Ledger<'_, 't>,
    ledger: &Ledger<'_, 't>,
    function: &Function<'t>,
) -> bool {
    let inner = |l: &Ledger<'_, 't>| {
        let mut stacks: HashMap<StackId, u64> = HashMap::new();
        for stack in l.traced.samples.iter().filter(|s| s.mode == Mode::User).filter_map(|s| s.user_stack) {
            *stacks.entry(stack).or_default() += 1;
        }
        let (mut parts, mut all): (BTreeMap<Function<'t>, f64>, u64) = Default::default();
        for (stack, count) in stacks {
            let frames = facts.model.stacks.frames(stack);
            if let Some(leaf) = frames.first().filter(|_| frames.iter().any(|c| function_of(c) == *function)) {
                *parts.entry(function_of(leaf)).or_default() += count as f64;
                all += count;
            }
        }
        parts.values_mut().for_each(|part| *part /= all.max(1) as f64);
        (parts, all)
    };
    let ((before, samples), (now, _)) = (inner(base), inner(ledger));
    let same: f64 = before.iter().filter_map(|(leaf, part)| Some(part.min(*now.get(leaf)?))).sum();
    samples >= FEWEST && same >= ALIKE.0 && before.values().all(|part| *part <= ALIKE.1)
}
