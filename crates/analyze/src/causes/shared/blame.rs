//! From weighted stacks to a culprit.

use crate::account::Ledger;
use crate::account::criticality::SeenAt;
use crate::account::lines::Why;
use crate::account::profile::Doing;
use crate::answer::{Culprit, Site};
use crate::facts::Facts;
use crate::model::code::{Code, Owner, place};
use crate::model::stack_view::View;
use recording::ThreadId;
use recording::tables::{ModuleKind, Wait};
use std::collections::{BTreeMap, BTreeSet};

/// The most call sites that an answer names; nobody follows up more.
///
/// Decides: how many call sites of a culprit an answer names.
/// From: chosen: more than a reader follows up.
/// Wrong if: nine places take a lock equally often, and the ninth is the one that is easy to change.
const MOST_CALLERS: usize = 8;

/// What is taken as the culprit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blamed {
    /// The library function that the program called, if it is responsible, else the program's line.
    Responsible,
    /// The program's line, whatever library does it.
    Own,
}

/// Who is to blame, from stacks with their weights.
pub fn culprit(views: &[(View<'_>, f64)], blamed: Blamed) -> Option<Culprit> {
    let mut callers: BTreeMap<Site, f64> = BTreeMap::new();
    for (view, weight) in views {
        if let Some(own) = view.own {
            *callers.entry(own.site()).or_default() += weight;
        }
    }
    let (library, site) = heaviest(views, blamed)?;
    // Who calls other functions of a library says nothing about one that the program does not call itself.
    let is_it = |code: Code<'_>| (code.name(), code.module_file) == (site.function.as_deref(), site.module.as_str());
    let called = |view: &View<'_>| view.own.is_some() && view.responsible().or(view.leaf).is_some_and(is_it);
    if library && !views.iter().any(|(view, _)| called(view)) {
        callers.clear();
    }
    Some(Culprit {
        function: site.function,
        module: site.module,
        file: site.file,
        path: site.path,
        relative: None,
        line: site.line,
        object: None,
        object_name: None,
        callers: merged(by_weight(callers)).into_iter().take(MOST_CALLERS).collect(),
    })
}

/// The place that is to blame, and whether it is a library's.
pub fn heaviest(views: &[(View<'_>, f64)], blamed: Blamed) -> Option<(bool, Site)> {
    let mut responsible: BTreeMap<(bool, Site), f64> = BTreeMap::new();
    let mut functions: BTreeMap<(bool, Site), f64> = BTreeMap::new();
    for (view, weight) in views {
        let code = match blamed {
            Blamed::Responsible => view.responsible(),
            Blamed::Own => view.own.or(view.entry),
        };
        if let Some(code) = code.or(view.leaf) {
            let library = code.owner == Owner::Library;
            let mut site = code.site();
            if library {
                // For a library, the function counts, not the place in it.
                (site.file, site.path, site.line, site.address) = (None, None, None, String::new());
            } else if code.kind == ModuleKind::Anonymous && site.function.is_some() {
                // A method may be compiled several times, at different addresses.
                site.address.clear();
            }
            *functions.entry((library, whole(&site))).or_default() += weight;
            *responsible.entry((library, site)).or_default() += weight;
        }
    }
    // First the function, then the place in it, so that a function with many lines has the same chance as one with a
    // single line.
    let (function, _) = by_weight(functions).into_iter().next()?;
    by_weight(responsible)
        .into_iter()
        .map(|(place, _)| place)
        .find(|(library, site)| (*library, whole(site)) == function)
}

/// The function that a site is in; the site itself where it has no name.
fn whole(site: &Site) -> Site {
    match site.function {
        Some(_) => Site { line: None, address: String::new(), ..site.clone() },
        None => site.clone(),
    }
}

/// The named function is the innermost one that accounts for this share of the samples: it explains nearly all of them.
///
/// Decides: which function is reported as the one that runs, and whether the answer says that it runs alone.
/// From: chosen; no measurement.
/// Shown by: `a_serial_part_behind_a_barrier_is_named_with_its_limit`.
/// Wrong if: a phase does two things, one of them for a quarter of the time: the function around both is named, which
/// may be `main`.
const MOST: f64 = 0.8;

/// Who ran, and how sure that is.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The function, with the functions around it as callers.
    pub culprit: Culprit,
    /// The share of what was seen in which it, or a function that it called, ran; 0 to 1.
    pub share: f64,
}

impl Ran {
    /// True when it explains nearly all that was seen.
    pub fn explains_nearly_all(&self) -> bool {
        self.share >= MOST
    }
}

/// Who ran, from what was seen: the function that `known` gives for a stack; else the innermost function of the program
/// that holds [`MOST`] of the weight; else the one that holds the most, and of several the innermost.
pub fn running<'t>(
    facts: &Facts<'_, 't>,
    seen: &[(SeenAt, f64)],
    known: impl Fn(&SeenAt) -> Option<Code<'t>>,
) -> Option<Ran> {
    innermost(facts, seen, MOST, known)
}

/// The same, of a function that holds this share of the weight.
pub fn innermost<'t>(
    facts: &Facts<'_, 't>,
    seen: &[(SeenAt, f64)],
    share: f64,
    known: impl Fn(&SeenAt) -> Option<Code<'t>>,
) -> Option<Ran> {
    let stacks = &facts.model.stacks;
    let own = |at: &SeenAt| -> Vec<Code<'t>> {
        let frames = at.stack.map(|s| stacks.frames(s)).unwrap_or_default();
        frames.into_iter().filter(|c| c.owner == Owner::Own).collect()
    };
    let all: f64 = seen.iter().map(|s| s.1).sum();
    let mut inclusive: BTreeMap<BlamedFunction, f64> = BTreeMap::new();
    let mut chosen: BTreeMap<BlamedFunction, f64> = BTreeMap::new();
    for (at, weight) in seen {
        let functions: BTreeSet<BlamedFunction> = own(at).iter().map(function).collect();
        functions.into_iter().for_each(|f| *inclusive.entry(f).or_default() += weight);
        if let Some(code) = known(at) {
            *chosen.entry(function(&code)).or_default() += weight;
        }
    }
    if chosen.is_empty() {
        let most = inclusive.values().copied().fold(0.0, f64::max).min(share * all);
        let heavy = |f: &BlamedFunction<'_>| inclusive.get(f).is_some_and(|w| *w >= most);
        for (at, weight) in seen {
            let innermost = own(at).iter().map(function).find(heavy);
            innermost.into_iter().for_each(|f| *chosen.entry(f).or_default() += weight);
        }
    }
    let chosen = by_weight(chosen).into_iter().next().map(|c| c.0);
    // The heaviest line of the heaviest stack that shows the function.
    for (at, _) in seen {
        let frames = own(at);
        let found = frames.iter().position(|c| Some(function(c)) == chosen);
        let Some((place, code)) = found.and_then(|i| Some((i, frames.get(i)?))) else { continue };
        let site = code.site();
        let outside = frames.iter().skip(place + 1).filter(|c| function(c) != function(code));
        let culprit = Culprit {
            function: site.function,
            module: site.module,
            file: site.file,
            path: site.path,
            relative: None,
            line: site.line,
            object: None,
            object_name: None,
            callers: outside.map(Code::site).take(MOST_CALLERS).collect(),
        };
        let share = inclusive.get(&function(code)).copied().unwrap_or(0.0) / all.max(f64::MIN_POSITIVE);
        return Some(Ran { culprit, share });
    }
    let views: Vec<(View, f64)> =
        seen.iter().map(|(at, w)| (stacks.view(at.stack, at.syscall.is_some()), *w)).collect();
    culprit(&views, Blamed::Responsible).map(|culprit| Ran { culprit, share: 0.0 })
}

/// A function by module and name, or by its address where it has none.
type BlamedFunction<'t> = (&'t str, Option<&'t str>, u64);

fn function<'t>(code: &Code<'t>) -> BlamedFunction<'t> {
    (code.module, code.name(), if code.name().is_some() { 0 } else { code.frame.address })
}

/// A culprit in words: `serial_part (app.c:10), called from work (app.c:28)`.
pub fn named(culprit: &Culprit) -> String {
    let address = culprit.callers.first().map(|c| c.address.clone()).unwrap_or_default();
    let site = Site { address, ..culprit.site() };
    let itself = culprit.callers.first().is_some_and(|c| c.function == culprit.function);
    match culprit.callers.first() {
        Some(caller) if !itself => format!("{}, called from {}", place(&site), place(caller)),
        _ => place(&site),
    }
}

/// All samples of a thread in a run, by what they show, the most frequent first: for [`running`].
pub fn samples_of(ledger: &Ledger<'_, '_>, thread: ThreadId) -> Vec<(SeenAt, f64)> {
    let mut counts: BTreeMap<SeenAt, f64> = BTreeMap::new();
    for sample in ledger.traced.samples.iter().filter(|sample| sample.thread == thread) {
        let at = SeenAt { thread: sample.thread, stack: sample.user_stack, syscall: sample.syscall };
        *counts.entry(at).or_default() += 1.0;
    }
    by_weight(counts)
}

/// Heaviest first; equal weights in the order of the keys.
pub(crate) fn by_weight<K: Ord>(weights: BTreeMap<K, f64>) -> Vec<(K, f64)> {
    let mut list: Vec<(K, f64)> = weights.into_iter().collect();
    list.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    list
}

/// Merges sites that differ only in their address, as one line of source: the address of the heaviest is kept.
fn merged(sites: Vec<(Site, f64)>) -> Vec<Site> {
    let mut weights: BTreeMap<Site, (f64, Site)> = BTreeMap::new();
    for (site, weight) in sites {
        let mut key = site.clone();
        if key.line.is_some() {
            key.address.clear();
        }
        weights.entry(key).or_insert((0.0, site)).0 += weight;
    }
    let mut list: Vec<(f64, Site)> = weights.into_values().collect();
    list.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    list.into_iter().map(|(_, site)| site).collect()
}

/// The waits of an account for which `fits` holds, with the idle processor-seconds of the traced run charged to each.
pub fn waits<'l, 't>(
    ledger: &'l Ledger<'_, 't>,
    fits: impl Fn(Why) -> bool + 'l,
) -> impl Iterator<Item = (&'t Wait, f64)> + 'l {
    let is = move |w: &Wait| ledger.reasons.get(&w.wait).is_some_and(|why| fits(*why));
    let waits = ledger.traced.waits.values().filter(move |w| is(w));
    waits.map(|w| (*w, ledger.split.by_wait.get(&w.wait).copied().unwrap_or(0.0)))
}

/// The stacks behind a cause: where threads waited because of it and where they ran because of it, weighted by
/// processor-seconds of the traced run.
pub fn sources<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    waited: impl Fn(Why) -> bool,
    ran: impl Fn(Doing<'t>) -> bool,
) -> Vec<(View<'t>, f64)> {
    let stacks = &facts.model.stacks;
    let mut views: Vec<(View, f64)> =
        waits(ledger, waited).map(|(w, s)| (stacks.view(w.user_stack, w.syscall.is_some()), s)).collect();
    let each = seconds_a_sample(ledger);
    views.extend(ledger.profile.sites_of(ran).map(|(view, n)| (view, n as f64 * each)));
    views
}

/// On-CPU seconds of the traced run that one sample stands for.
pub fn seconds_a_sample(ledger: &Ledger<'_, '_>) -> f64 {
    ledger.split.on_cpu / ledger.profile.total.max(1) as f64
}

/// On-CPU seconds of the traced run for which `fits` holds.
pub fn on_cpu<'t>(ledger: &Ledger<'_, 't>, fits: impl Fn(Doing<'t>) -> bool) -> f64 {
    let samples: u64 = ledger.profile.counts.iter().filter(|(d, _)| fits(**d)).map(|(_, n)| n).sum();
    samples as f64 * seconds_a_sample(ledger)
}
