//! Which threads do the same work, by the functions in their samples.

use super::code::{Code, Owner};
use super::stacks::Stacks;
use recording::tables::{ModuleKind, Sample};
use recording::{StackId, ThreadId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// Calls (caller, callee) between the program's functions, with their share of a thread's samples. Functions alone are
/// not enough: threads of different stages often start in one common function and compute in another. Functions are
/// numbered for one comparison, so that names are not compared call by call.
pub type Calls = BTreeMap<(Option<usize>, usize), f64>;

/// A function by module and name, or by address where it has none.
type FunctionKey<'t> = (&'t str, Option<&'t str>, u64);

/// The calls of each thread that has samples.
pub fn calls(stacks: &Stacks<'_>, samples: &[&Sample]) -> BTreeMap<ThreadId, Calls> {
    calls_up_to(usize::MAX, stacks, by_thread(samples))
}

/// The calls of each task (a goroutine, say) that has samples, by its number.
pub fn task_calls(stacks: &Stacks<'_>, samples: &[&Sample]) -> BTreeMap<u64, Calls> {
    calls_up_to(usize::MAX, stacks, samples.iter().filter_map(|sample| Some((sample.goroutine?, sample.user_stack))))
}

fn by_thread(samples: &[&Sample]) -> impl Iterator<Item = (ThreadId, Option<StackId>)> {
    samples.iter().map(|sample| (sample.thread, sample.user_stack))
}

/// The innermost call of the program's functions in each sample: threads that came to the same work in different ways
/// have it in common.
pub fn innermost_calls(stacks: &Stacks<'_>, samples: &[&Sample]) -> BTreeMap<ThreadId, Calls> {
    calls_up_to(2, stacks, by_thread(samples))
}

/// The innermost of the program's functions in each sample, whoever called it.
pub fn innermost_functions(stacks: &Stacks<'_>, samples: &[&Sample]) -> BTreeMap<ThreadId, Calls> {
    calls_up_to(1, stacks, by_thread(samples))
}

/// For each of a thread's functions, the shares of its samples that have it as the innermost of the program's own, and that
/// have it as one of the two innermost. What a runtime compiled without telling lines may contain functions of the program,
/// so that a library's function is one of these, too, where it runs itself.
#[derive(Debug, Default)]
pub struct Near(BTreeMap<usize, (f64, f64)>);

/// What each thread's samples have near their inner end.
pub fn near_functions(stacks: &Stacks<'_>, samples: &[&Sample]) -> BTreeMap<ThreadId, Near> {
    let mut numbers: HashMap<FunctionKey<'_>, usize> = HashMap::new();
    let mut counts: HashMap<(ThreadId, Option<StackId>), u64> = HashMap::new();
    for seen in by_thread(samples) {
        *counts.entry(seen).or_default() += 1;
    }
    let mut found: BTreeMap<ThreadId, (Near, f64)> = BTreeMap::new();
    for ((thread, stack), count) in counts {
        let (near, all) = found.entry(thread).or_default();
        *all += count as f64;
        let Some(stack) = stack else { continue };
        let frames = stacks.frames(stack);
        let own = frames.iter().enumerate().filter(|(at, c)| c.owner == Owner::Own || *at == 0 && may_contain_own(c));
        let mut inner: Vec<_> = own.map(|(_, c)| key(c)).take(2).collect();
        inner.dedup();
        for (depth, function) in inner.into_iter().enumerate() {
            let next = numbers.len();
            let (innermost, seen) = near.0.entry(*numbers.entry(function).or_insert(next)).or_default();
            *innermost += if depth == 0 { count as f64 } else { 0.0 };
            *seen += count as f64;
        }
    }
    let shares = |(near, all): (Near, f64)| near.0.into_iter().map(|(f, (a, b))| (f, (a / all, b / all))).collect();
    found.into_iter().map(|(thread, of)| (thread, Near(shares(of)))).collect()
}

/// True for a library's function that a runtime compiled, as .NET's does, without saying what it put into it.
///
/// Decides: whether threads that run such a function do the same work.
/// From: the model: the function that the program gave to a parallel query is then part of the library's loop. A query of .NET
/// over ranges showed the need.
/// Shown by: `a_library_s_function_may_contain_the_program_s`.
/// Wrong if: two stages spend most of their time in the same function of a library, and do different things with it.
fn may_contain_own(code: &Code<'_>) -> bool {
    code.kind == ModuleKind::Anonymous && !code.stub && code.name().is_some() && code.frame.line.is_none()
}

impl Near {
    /// True where one thread spends more than `most` of its samples in a function, and the other in the same one and what it
    /// calls: a compiler may put a called function into its caller in one thread's code and not in the other's.
    pub fn is_like(&self, other: &Near, most: f64) -> bool {
        let of_other = |f: &usize| other.0.get(f).copied().unwrap_or_default();
        self.0.iter().any(|(f, own)| own.1.min(of_other(f).1) > most && own.0.max(of_other(f).0) > most)
    }
}

/// The calls between the innermost `functions` of each sample.
fn calls_up_to<K: Copy + Ord + Hash>(
    functions: usize,
    stacks: &Stacks<'_>,
    seen: impl Iterator<Item = (K, Option<StackId>)>,
) -> BTreeMap<K, Calls> {
    let mut counts: HashMap<(K, Option<StackId>), u64> = HashMap::new();
    for seen in seen {
        *counts.entry(seen).or_default() += 1;
    }
    // Sorted, so that sums of fractions are the same each time.
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable();
    let mut numbers: HashMap<FunctionKey<'_>, usize> = HashMap::new();
    let mut known: HashMap<StackId, BTreeSet<(Option<usize>, usize)>> = HashMap::new();
    let mut found: BTreeMap<K, Calls> = BTreeMap::new();
    for ((who, stack), seen) in counts {
        let calls = found.entry(who).or_default();
        let Some(stack) = stack else { continue };
        let edges = known.entry(stack).or_insert_with(|| edges(functions, stacks, stack, &mut numbers));
        let each = seen as f64 / edges.len().max(1) as f64;
        edges.iter().for_each(|edge| *calls.entry(*edge).or_default() += each);
    }
    for calls in found.values_mut() {
        let all: f64 = calls.values().sum();
        calls.values_mut().for_each(|share| *share /= all.max(f64::MIN_POSITIVE));
    }
    found
}

fn key<'t>(code: &Code<'t>) -> FunctionKey<'t> {
    (code.module, code.name(), if code.name().is_some() { 0 } else { code.frame.address })
}

/// The calls between the innermost `functions` of a stack. `numbers`: the functions that have a number so far.
fn edges<'t>(
    functions: usize,
    stacks: &Stacks<'t>,
    stack: StackId,
    numbers: &mut HashMap<FunctionKey<'t>, usize>,
) -> BTreeSet<(Option<usize>, usize)> {
    let frames = stacks.frames(stack);
    let own = frames.iter().filter(|c| c.owner == Owner::Own).take(functions);
    let own: Vec<usize> = own
        .map(|c| {
            let next = numbers.len();
            *numbers.entry(key(c)).or_insert(next)
        })
        .collect();
    match own.as_slice() {
        [only] => BTreeSet::from([(None, *only)]),
        several => {
            several.iter().zip(several.iter().skip(1)).map(|(callee, caller)| (Some(*caller), *callee)).collect()
        }
    }
}

/// The share of two threads' time that they spend in the same calls, 0 to 1.
pub fn overlap(a: &Calls, b: &Calls) -> f64 {
    a.iter().filter_map(|(call, share)| Some(share.min(*b.get(call)?))).sum()
}
