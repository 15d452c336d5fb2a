//! Tasks of a scheduler (goroutines, say) as samples show them: when each was first and last seen to run.
//!
//! Go takes a goroutine off its thread after ten milliseconds whenever another processor is free. A goroutine that is
//! left alone therefore moves from thread to thread, and sleeping threads show only that it was taken from them. A
//! task counts as ended when it has not run again.

use super::code::{Code, Owner};
use super::stacks::Stacks;
use crate::runtimes::is_first_task;
use recording::StackId;
use recording::tables::Sample;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The function that a task starts with, by module and name.
pub type TaskStart<'t> = (&'t str, Option<&'t str>);

/// The outermost function of the program in a task's stack.
pub fn start<'t>(stacks: &Stacks<'t>, stack: Option<StackId>) -> Option<TaskStart<'t>> {
    let frames = stacks.frames(stack?);
    let own = |c: &&Code<'t>| c.owner == Owner::Own;
    frames.iter().rev().find(own).map(|c| (c.module, c.name()))
}

/// A task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task<'t> {
    /// Its number in samples; a later task may have it too.
    pub number: u64,
    /// What it starts with.
    pub start: TaskStart<'t>,
    /// Time of its first sample, nanoseconds.
    pub first: u64,
    /// Time of its last sample, nanoseconds.
    pub last: u64,
    /// Its samples.
    pub samples: u64,
}

/// Decides: whether a task is one of the last ones: it must be there for more than this share of the time in which few are
/// left.
/// From: reasoned, not measured: a task that is there for less cannot be what most of the waiting was for.
/// Shown by: `tests/goroutines.rs`.
/// Wrong if: the last tasks end one after the other, each after a short time: none counts.
const LEFT: f64 = 0.5;

impl Task<'_> {
    /// Whether it is left for most of the time in which few tasks are left. Stretches are in order and do not overlap.
    pub fn is_left_in(&self, few_left: &[(u64, u64)]) -> bool {
        let left = |(from, to): &(u64, u64)| self.last.min(*to).saturating_sub(self.first.max(*from));
        let all: u64 = few_left.iter().map(|(from, to)| to - from).sum();
        few_left.iter().map(left).sum::<u64>() as f64 > LEFT * all as f64
    }
}

/// The tasks of a run that run the program's code, except the first one. Tasks without a sample are missing. Two tasks
/// of one function that used the same record one after the other count as one.
#[derive(Debug, Clone, Default)]
pub struct Tasks<'t>(Vec<Task<'t>>);

impl<'t> Tasks<'t> {
    /// Finds them. Empty where samples do not tell tasks.
    pub fn new(samples: &[&Sample], stacks: &Stacks<'t>) -> Tasks<'t> {
        let mut starts: HashMap<Option<StackId>, Option<TaskStart>> = HashMap::new();
        let mut tasks: BTreeMap<(u64, TaskStart), Task> = BTreeMap::new();
        for sample in samples {
            let Some(goroutine) = sample.goroutine else { continue };
            let start = *starts.entry(sample.user_stack).or_insert_with(|| start(stacks, sample.user_stack));
            let Some(start) = start.filter(|(_, name)| !name.is_some_and(is_first_task)) else { continue };
            let time = sample.time_ns;
            let task = tasks.entry((goroutine, start)).or_insert(Task {
                number: goroutine,
                start,
                first: time,
                last: time,
                samples: 0,
            });
            (task.first, task.last) = (task.first.min(time), task.last.max(time));
            task.samples += 1;
        }
        Tasks(tasks.into_values().collect())
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Task<'t>> {
        self.0.iter()
    }

    /// Those that start with a function, the one that ran longest first.
    pub fn started_with(&self, function: TaskStart<'_>) -> Vec<Task<'t>> {
        let mut tasks: Vec<Task> = self.0.iter().filter(|task| task.start == function).copied().collect();
        tasks.sort_by_key(|task| (std::cmp::Reverse(task.samples), task.first));
        tasks
    }

    /// Times at which fewer tasks than processors were left to run, and each of them had run beside another task of its
    /// function that has ended: start and end, in order.
    pub fn fewer_than(&self, processors: u32) -> Vec<(u64, u64)> {
        let ends = self.0.iter().enumerate().map(|(at, task)| (task.last, false, at));
        let begins = self.0.iter().enumerate().map(|(at, task)| (task.first, true, at));
        let mut changes: Vec<(u64, bool, usize)> = ends.chain(begins).collect();
        // At the same time, ends sort before begins. A task with a single sample is never among those left.
        changes.sort_unstable();
        let mut left: BTreeSet<usize> = BTreeSet::new();
        let mut ended: HashMap<TaskStart, u64> = HashMap::new();
        let mut few: Vec<(u64, u64)> = Vec::new();
        let mut since = 0;
        for (time, begins, at) in changes {
            let Some(task) = self.0.get(at) else { continue };
            let outlived = |at: &usize| {
                let task = self.0.get(*at);
                task.is_some_and(|task| ended.get(&task.start).is_some_and(|last| *last > task.first))
            };
            if time > since && (1..processors as usize).contains(&left.len()) && left.iter().all(outlived) {
                match few.last_mut().filter(|(_, end)| *end == since) {
                    Some(stretch) => stretch.1 = time,
                    None => few.push((since, time)),
                }
            }
            since = time;
            match begins {
                true if task.last > task.first => drop(left.insert(at)),
                true => {}
                false => {
                    left.remove(&at);
                    ended.insert(task.start, time);
                }
            }
        }
        few
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: TaskStart<'static> = ("app", Some("main.price"));
    const LOG: TaskStart<'static> = ("app", Some("main.log"));

    fn few(tasks: &[(TaskStart<'static>, u64, u64)], processors: u32) -> Vec<(u64, u64)> {
        let task = |&(start, first, last)| Task { number: 0, start, first, last, samples: 1 };
        Tasks(tasks.iter().map(task).collect()).fewer_than(processors)
    }

    #[test]
    fn what_is_left_when_others_of_its_function_have_ended() {
        assert_eq!(few(&[(PRICE, 0, 100), (PRICE, 1, 20)], 2), [(20, 100)]);
        // With four processors, three, two or one task are fewer.
        let four = [(PRICE, 0, 100), (PRICE, 0, 80), (PRICE, 0, 60), (PRICE, 0, 20)];
        assert_eq!(few(&four, 4), [(20, 100)]);
        assert_eq!(few(&four, 2), [(80, 100)]);
        // A task with a single sample.
        assert_eq!(few(&[(PRICE, 0, 100), (PRICE, 5, 5)], 2), [(5, 100)]);
    }

    #[test]
    fn one_is_left_when_it_lives_for_most_of_that_time() {
        let task = |first, last| Task { number: 0, start: PRICE, first, last, samples: 1 };
        assert!(task(0, 100).is_left_in(&[(20, 100)]));
        assert!(task(50, 100).is_left_in(&[(20, 30), (60, 100)]));
        assert!(!task(0, 40).is_left_in(&[(20, 100)]));
        assert!(!task(0, 100).is_left_in(&[]));
    }

    #[test]
    fn what_may_wait_for_something_has_not_ended() {
        // It runs again in the end.
        assert_eq!(few(&[(PRICE, 0, 100), (PRICE, 1, 100)], 2), []);
        assert_eq!(few(&[(PRICE, 0, 100), (PRICE, 1, 20), (LOG, 2, 99)], 2), [(99, 100)]);
        // There was no other task of its function, or none at the same time.
        assert_eq!(few(&[(PRICE, 0, 100)], 2), []);
        assert_eq!(few(&[(PRICE, 0, 100), (LOG, 1, 20)], 2), []);
        assert_eq!(few(&[(PRICE, 0, 10), (PRICE, 20, 30), (PRICE, 40, 50)], 2), []);
        assert_eq!(few(&[(PRICE, 0, 100), (PRICE, 1, 20)], 1), []);
        assert_eq!(few(&[], 2), []);
    }
}
