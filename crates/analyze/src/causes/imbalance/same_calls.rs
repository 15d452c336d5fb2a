//! Whether threads that finish apart had the same to do: each made as many system calls as the others.
//!
//! Imports `account`, `recording`.

use crate::account::Ledger;
use crate::statistics::median;
use recording::ThreadId;
use recording::tables::{Mode, Thread};
use std::collections::BTreeMap;

/// Decides: whether two threads made the same number of calls: their counts differ by at most this share.
/// From: arithmetic: equal shares differ by one part of the work at most, which is a hundredth of a hundred parts. Unequal
/// shares that are found by their time differ by more than the smallest loss that counts, 5 %.
/// Shown by: `threads_that_make_the_same_calls_have_equal_shares`.
/// Wrong if: each part of the work takes as many calls, but the parts differ in what a call has to do.
const SAME: f64 = 0.01;

/// Decides: how many calls of a number a thread must have made, so that their number tells how much it had to do.
/// From: arithmetic: a hundredth of a thousand is ten calls, more than a thread makes to start and to end.
/// Shown by: `threads_that_make_the_same_calls_have_equal_shares`.
/// Wrong if: never: of fewer calls nothing is said.
const MANY: u64 = 1000;

/// The system call in which the last thread spent the most time, and how often, if it spent this share of its time in
/// calls that it made as often as the others did. Then it had the same to do, and its calls took longer.
pub(super) fn same_calls(
    ledger: &Ledger<'_, '_>,
    last: ThreadId,
    others: &[&Thread],
    explains: f64,
) -> Option<(u32, u64)> {
    let traced = ledger.traced;
    let mut made: BTreeMap<u32, BTreeMap<ThreadId, u64>> = BTreeMap::new();
    for call in &traced.syscalls {
        *made.entry(call.number).or_default().entry(call.thread).or_default() += call.count;
    }
    let as_often = |number: u32| {
        let by = made.get(&number)?;
        let of = |thread: ThreadId| by.get(&thread).copied().unwrap_or(0);
        let middle = median(&others.iter().map(|other| of(other.thread) as f64).collect::<Vec<_>>())?;
        let own = of(last);
        (own >= MANY && (own as f64 - middle).abs() <= SAME * middle).then_some(own)
    };
    let (mut all, mut within) = (0_u64, BTreeMap::new());
    for sample in traced.samples.iter().filter(|sample| sample.thread == last) {
        all += 1;
        if let Some(number) = sample.syscall.filter(|_| sample.mode == Mode::Kernel) {
            *within.entry(number).or_insert(0_u64) += 1;
        }
    }
    let alike: Vec<(u64, u32, u64)> =
        within.into_iter().filter_map(|(number, samples)| Some((samples, number, as_often(number)?))).collect();
    let share = alike.iter().map(|call| call.0).sum::<u64>() as f64 / all.max(1) as f64;
    let (_, number, count) = alike.into_iter().max().filter(|_| share >= explains)?;
    Some((number, count))
}
