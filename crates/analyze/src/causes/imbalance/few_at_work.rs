//! Few threads have work, or threads wait for others, and what those run also runs elsewhere: their shares may be larger, or
//! it is a part for one thread alone that calls the same functions. Then unequal shares are not excluded.

use crate::account::Ledger;
use crate::account::LineId;
use crate::account::criticality::{Idle, SeenAt};
use crate::account::lines::{Shape, Why};
use crate::account::pieces::Activity;
use crate::causes::shared::line;
use crate::facts::{Facts, in_proportion, large};
use recording::{StackId, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

const TOO_FEW: Shape = Shape::TooFew;

/// Decides: whether unequal shares stay open where few threads have work, or where threads wait: more than this share of what
/// others run meanwhile is code that also runs side by side, or that several threads run.
/// From: the definition of a majority: else most of it is code for one thread alone, which is a cause of its own.
/// Shown by: `the_last_with_work_may_have_a_larger_share`, `a_part_for_one_thread_alone_excludes_unequal_shares`,
/// `a_busy_stage_that_runs_what_those_run_that_wait_may_have_a_larger_share`.
/// Wrong if: one thread alone does two things in turn, of which the larger one calls functions of the parallel part.
const SHARED_CODE: f64 = 0.5;

/// Decides: whether a thread counts as one that runs a function: so many samples of it.
/// From: statistics: a stray sample or two do not make a share of the work; ten have an error of a third.
/// Shown by: `a_busy_stage_that_runs_what_those_run_that_wait_may_have_a_larger_share`.
/// Wrong if: shares are so unequal that all but one take less than ten milliseconds: unequal shares may be excluded.
const FEWEST: u64 = 10;

/// What is missing to exclude unequal shares in this run.
pub(super) fn open(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> Option<String> {
    too_few(ledger).or_else(|| one_busy(facts, ledger))
}

fn too_few(ledger: &Ledger<'_, '_>) -> Option<String> {
    let lost = line(ledger, LineId::Shape(TOO_FEW)).0;
    let side_by_side = |at: &SeenAt| ledger.serial_code.function(at.stack).is_none();
    let fits = |idle| idle == Idle::Shape(TOO_FEW);
    (ledger.serial_code.told() && large(ledger, lost) && mostly(ledger, fits, side_by_side)).then(|| {
        format!(
            "few threads have work, {}, and what they run also runs side by side at other times: whether their shares of the \
             work are larger cannot be told",
            in_proportion(ledger, lost)
        )
    })
}

/// Threads wait for work while another one is busy with what several of them run.
fn one_busy(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> Option<String> {
    let lost = line(ledger, LineId::blocked(Why::Condition)).0;
    if !large(ledger, lost) {
        return None;
    }
    let own = |stack: Option<StackId>| facts.model.stacks.view(stack, false).own.map(|code| code.function());
    let mut samples: BTreeMap<_, BTreeMap<ThreadId, u64>> = BTreeMap::new();
    for sample in &ledger.traced.samples {
        if let Some(function) = own(sample.user_stack) {
            *samples.entry(function).or_default().entry(sample.thread).or_default() += 1;
        }
    }
    let of_several = |threads: &BTreeMap<ThreadId, u64>| threads.values().filter(|n| **n >= FEWEST).count() > 1;
    let several: BTreeSet<_> = samples.iter().filter(|(_, threads)| of_several(threads)).map(|(f, _)| *f).collect();
    let fits =
        |idle| matches!(idle, Idle::Waiting(Activity::Blocked(Why::Condition) | Activity::Woken(Why::Condition)));
    mostly(ledger, fits, |at| own(at.stack).is_some_and(|f| several.contains(&f))).then(|| {
        format!(
            "threads wait for work, {}, and what others run meanwhile they run themselves at other times: whether the others' \
             shares of the work are larger cannot be told",
            in_proportion(ledger, lost)
        )
    })
}

/// True where most of what runs while processors idle for this reason is such code.
fn mostly(ledger: &Ledger<'_, '_>, fits: impl Fn(Idle) -> bool, is: impl Fn(&SeenAt) -> bool) -> bool {
    let ran = ledger.split.criticality.during(fits);
    let all: f64 = ran.iter().map(|(_, weight)| weight).sum();
    ran.iter().filter(|(at, _)| is(at)).map(|(_, weight)| weight).sum::<f64>() > SHARED_CODE * all
}
