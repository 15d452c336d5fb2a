//! What is said of a stage that the other threads wait for.

use crate::account::Ledger;
use recording::ThreadId;
use std::collections::BTreeSet;

/// A stage sets the pace when more than half of the waiting falls into its running time: no other stage can have as
/// much.
///
/// Decides: which stage is named, which function where threads wait for each other, which threads form one stage (those
/// that share more than half of their calls), whether most of the waiting is of one kind: nothing runs, tasks sleep, or a
/// scheduler finds no task, and whether most of the loss is no waiting but the code that hands work over.
/// From: the definition of a majority.
/// Shown by: `the_stage_that_sets_the_pace_is_named_with_its_utilisation`,
/// `a_pool_without_work_is_no_problem_of_the_program`,
/// `threads_that_wait_for_each_other_are_told_at_the_innermost_function_that_runs_most_of_the_time`.
/// Wrong if: two equally busy stages share the waiting: neither is named as the one that sets the pace.
pub(super) const MOST: f64 = 0.5;

/// The only thread of a stage, by its name if the program gave it one: by default threads have the name of the first.
pub(super) fn one_thread(ledger: &Ledger<'_, '_>, threads: &BTreeSet<ThreadId>) -> String {
    let name = |thread: &ThreadId| ledger.traced.threads.get(thread).map(|t| t.name.as_str());
    let first = ledger.traced.threads.keys().next().and_then(name);
    match threads.first().and_then(name).filter(|name| !name.is_empty() && Some(*name) != first) {
        Some(name) => format!("one thread ({name})"),
        None => "one thread".to_owned(),
    }
}

/// What to do about a stage: one that is busy in a pipeline, or threads that wait for each other.
pub(super) fn remedies(pipeline: bool, threads: usize) -> Vec<String> {
    let list: &[&str] = match (pipeline, threads) {
        (true, 1) => &[
            "divide the busy stage's work: more threads for it, or move a part of it into the stages that wait",
            "make the busy stage cheaper: it sets the pace of all others",
            "fewer threads in the stages that wait give the same speed",
        ],
        (true, _) => &[
            "give the busy stage more threads, or make it cheaper",
            "fewer threads in the stages that wait give the same speed",
        ],
        (false, _) => &[
            "let a thread do more between two waits: hand over more at a time, or go on with other work meanwhile",
            "where all wait for the slowest, divide the work more evenly; where they wait for a turn, hold it for less time",
        ],
    };
    list.iter().map(|r| (*r).to_owned()).collect()
}
