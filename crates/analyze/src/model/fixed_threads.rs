//! Threads whose number does not depend on the thread count: a runtime's collectors and compilers, timers, loggers.

use recording::ThreadId;
use recording::tables::Thread;
use std::collections::{BTreeMap, HashSet};

/// Decides: whether the number of threads of one name follows the thread count: it must grow by at least this share of
/// the additional threads.
/// From: chosen: a pool may hold back a thread, and a runtime may add one by chance.
/// Shown by: `threads_of_a_runtime_do_not_follow_the_count`.
/// Wrong if: a program divides the count among three pools with names of their own: each grows by a third, and none
/// seems to follow.
const FOLLOWS: f64 = 0.5;

/// The threads of a run.
type Threads<'t> = BTreeMap<ThreadId, &'t Thread>;

/// For each run, the threads whose number does not follow the thread count. `runs` are ascending by thread count.
/// Threads are grouped by name, with any number in a name standing for all: a group that does not grow with the count
/// is fixed.
///
/// No thread is fixed where no group follows the count: the count then changes something other than threads, or names
/// do not tell threads apart. Names for which `tells` is false are not counted: such threads may follow the count but
/// are not the program's.
pub(super) fn fixed_threads(runs: &[(u32, &Threads<'_>)], tells: impl Fn(&str) -> bool) -> Vec<HashSet<ThreadId>> {
    let nobody = || runs.iter().map(|_| HashSet::new()).collect();
    let (Some((few, small)), Some((many, large))) = (runs.first(), runs.last()) else { return nobody() };
    let (small, large) = (numbers(small, &tells), numbers(large, &tells));
    let asked = many.saturating_sub(*few) as usize;
    let follows = |name: &str| {
        let more = large.get(name).copied().unwrap_or(0).saturating_sub(small.get(name).copied().unwrap_or(0));
        more > 0 && more as f64 >= FOLLOWS * asked as f64
    };
    if !large.keys().any(|name| follows(name)) {
        return nobody();
    }
    let stands = |thread: &&&Thread| !follows(&pattern(&thread.name));
    runs.iter().map(|(_, threads)| threads.values().filter(stands).map(|t| t.thread).collect()).collect()
}

/// The same of threads that never run the program's own code, whatever their names are, such as the pool that a
/// numerical library makes when it is loaded: they stand if there are no more of them with more threads. `runs`: the
/// thread count, and those threads.
pub(super) fn library_threads(runs: &[(u32, HashSet<ThreadId>)]) -> Vec<HashSet<ThreadId>> {
    let stand = runs.first().zip(runs.last()).is_some_and(|(few, many)| few.0 < many.0 && many.1.len() <= few.1.len());
    runs.iter().map(|(_, threads)| if stand { threads.clone() } else { HashSet::new() }).collect()
}

/// How many threads have each name.
fn numbers(threads: &Threads<'_>, tells: impl Fn(&str) -> bool) -> BTreeMap<String, usize> {
    let mut numbers = BTreeMap::new();
    for thread in threads.values().filter(|thread| tells(&thread.name)) {
        *numbers.entry(pattern(&thread.name)).or_default() += 1;
    }
    numbers
}

/// A name with each number in it replaced by `#`.
pub(crate) fn pattern(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter.is_ascii_digit() {
            true if pattern.ends_with('#') => {}
            true => pattern.push('#'),
            false => pattern.push(letter),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::RunId;

    fn threads(names: &[&str]) -> Vec<Thread> {
        let thread = |(i, name): (usize, &&str)| Thread {
            name: (*name).to_owned(),
            ..Thread::blank(RunId(0), ThreadId(i as u32))
        };
        names.iter().enumerate().map(thread).collect()
    }

    /// The names of the fixed threads of the last run.
    fn told(runs: &[(u32, &[&str])]) -> Vec<String> {
        let rows: Vec<(u32, Vec<Thread>)> = runs.iter().map(|(count, names)| (*count, threads(names))).collect();
        let maps: Vec<(u32, Threads)> =
            rows.iter().map(|(count, rows)| (*count, rows.iter().map(|t| (t.thread, t)).collect())).collect();
        let told = fixed_threads(&maps.iter().map(|(count, map)| (*count, map)).collect::<Vec<_>>(), |name| {
            !name.starts_with("ZGC")
        });
        let (Some(last), Some((_, rows))) = (told.last(), rows.last()) else { return Vec::new() };
        rows.iter().filter(|t| last.contains(&t.thread)).map(|t| t.name.clone()).collect()
    }

    #[test]
    fn threads_of_a_runtime_do_not_follow_the_count() {
        let one = ["app", "GC Thread#0", "Compiler", "worker-1"];
        let four = ["app", "GC Thread#0", "GC Thread#1", "Compiler", "worker-1", "worker-2", "worker-3", "worker-4"];
        assert_eq!(told(&[(1, &one), (4, &four)]), ["app", "GC Thread#0", "GC Thread#1", "Compiler"]);
    }

    #[test]
    fn names_that_do_not_tell_are_followed_by_nobody() {
        let (one, two) = (["app", "ZGC#0", "pool-1"], ["app", "ZGC#0", "ZGC#1", "pool-1"]);
        assert_eq!(told(&[(1, &one), (2, &two)]), [""; 0]);
    }

    #[test]
    fn threads_without_names_of_their_own_are_nobodys() {
        assert_eq!(told(&[(1, &["app", "app"]), (4, &["app", "app", "app", "app", "app"])]), [""; 0]);
    }

    #[test]
    fn a_library_s_threads_stand_if_they_do_not_grow() {
        let ids = |ids: &[u32]| ids.iter().map(|id| ThreadId(*id)).collect::<HashSet<_>>();
        let runs = [(1, ids(&[1])), (4, ids(&[7]))];
        assert_eq!(library_threads(&runs), [ids(&[1]), ids(&[7])]);
        assert_eq!(library_threads(&[(1, ids(&[1])), (4, ids(&[7, 8]))]), [ids(&[]), ids(&[])]);
        assert_eq!(library_threads(&[(1, ids(&[1]))]), [ids(&[])]);
    }

    #[test]
    fn where_no_name_follows_the_count_nobody_stands() {
        let stages = ["reader", "parser", "writer"];
        assert_eq!(told(&[(1, &stages), (4, &stages)]), [""; 0]);
        assert_eq!(told(&[(4, &stages)]), [""; 0]);
        assert_eq!(told(&[]), [""; 0]);
    }
}
