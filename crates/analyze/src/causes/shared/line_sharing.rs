//! What `false-sharing` and `true-sharing` have in common: cache lines that threads really use at the same time, and
//! the time at the instructions that use them beyond that at the baseline.

use super::blame::{Blamed, by_weight, culprit as blame_culprit, named, sources};
use super::shared_memory::{LinePart, Shows, open, places, seconds, source, thread};
use super::{Meta, NOT_TRACED, Outcome, by_lines, evidence, found};
use crate::account::Ledger;
use crate::account::profile::Doing;
use crate::answer::{Cause, Culprit, Evidence, Site, Unit};
use crate::facts::{Facts, in_proportion, large};
use crate::model::code::{Owner, place};
use crate::sharing::{LINE, SharedLine, SharingKind, Unconfirmed, Use, is_near};
use crate::words::listed;
use std::collections::{BTreeMap, BTreeSet};

/// How many lines and call sites are listed one by one.
///
/// Decides: how many cache lines, places in them, threads and call sites an answer lists.
/// From: chosen; no measurement.
/// Wrong if: five cache lines are shared to the same extent, and the fifth is the one that is easy to change.
const TOLD: usize = 4;

/// What differs between the two causes.
pub(crate) struct Words {
    /// How the threads share.
    pub(crate) kind: SharingKind,
    /// The summary: what they use, at which place in the code.
    pub(crate) summary: fn(&str, &str) -> String,
    /// What to try.
    pub(crate) remedies: &'static [&'static str],
}

/// Looks for the cause.
pub(crate) fn judge_kind(facts: &Facts<'_, '_>, meta: &Meta, words: &Words) -> Outcome {
    if facts.ledgers.is_empty() {
        return Outcome::Unsure(NOT_TRACED.to_owned());
    }
    if let Some(ledger) = facts.ledgers.iter().find(|l| l.traced.is_only_run) {
        return in_the_only_run(facts, ledger, words);
    }
    let found = by_lines(facts, meta, |facts, ledger, lost, meta| {
        let lines = confirmed_lines(facts, ledger, words.kind);
        if lines.is_empty() {
            return Err("the instructions of which lines are known from other runs take more time".to_owned());
        }
        Ok(vec![cause(facts, ledger, &lines, lost, meta, words)])
    });
    match found {
        Outcome::Clear(_) => match suspected(facts, words.kind).or_else(|| open(facts, meta, Shows::AtLines)) {
            Some(open) => Outcome::Unsure(open),
            None => found,
        },
        other => other,
    }
}

/// The confirmed lines of a run, most samples first.
fn confirmed_lines<'a, 't>(
    facts: &Facts<'a, 't>,
    ledger: &Ledger<'_, 't>,
    kind: SharingKind,
) -> Vec<&'a SharedLine<'t>> {
    let run = ledger.traced.run.run;
    let lines = facts.model.sharing.lines.iter().filter(|line| line.run == run && line.confirmed.is_ok());
    let mut lines: Vec<&SharedLine> = lines.filter(|line| line.samples(kind) > 0).collect();
    lines.sort_by_key(|line| (std::cmp::Reverse(line.samples(kind)), line.address));
    lines
}

/// A single run shows what is shared, but not what that costs: the same code takes time with one thread too.
fn in_the_only_run<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, words: &Words) -> Outcome {
    let enough = |line: &&&SharedLine| large(ledger, seconds(ledger, line.samples(words.kind) as u64));
    let lines = confirmed_lines(facts, ledger, words.kind);
    match lines.iter().find(enough) {
        Some(line) => Outcome::Unsure(format!(
            "threads share {}, and {} is spent there; how much less it would be unshared shows only in a sweep",
            variables(facts, line, words.kind),
            in_proportion(ledger, seconds(ledger, line.samples(words.kind) as u64))
        )),
        None if facts.model.sharing.observed => {
            Outcome::Clear("no cache line was seen that threads use at the same time and spend time at".to_owned())
        }
        None => Outcome::Unsure("whether code gets slower beside other threads shows only in a sweep".to_owned()),
    }
}

/// Lines at which much time is spent, but for which no breakpoint proved that threads use them at the same time.
fn suspected(facts: &Facts<'_, '_>, kind: SharingKind) -> Option<String> {
    for ledger in facts.in_order() {
        let run = ledger.traced.run.run;
        // At one thread it is not known to cost anything.
        if ledger.account.threads < 2 || !crate::facts::has_loss(ledger) {
            continue;
        }
        let lines = facts.model.sharing.lines.iter().filter(|line| line.run == run);
        let heaviest = lines.filter(|line| line.confirmed.is_err()).max_by_key(|line| line.samples(kind));
        if let Some(line) = heaviest.filter(|line| large(ledger, seconds(ledger, line.samples(kind) as u64)))
            && let Err(missing) = line.confirmed
        {
            return Some(format!(
                "{} is spent at {}, which threads share; but {}",
                in_proportion(ledger, seconds(ledger, line.samples(kind) as u64)),
                variables(facts, line, kind),
                unconfirmed(missing)
            ));
        }
    }
    None
}

fn unconfirmed(why: Unconfirmed) -> String {
    match why {
        Unconfirmed::NotTried => "no breakpoint was set on it".to_owned(),
        Unconfirmed::NotTogether { trials } => {
            format!("in {trials} trials no two threads were seen there at the same time often enough")
        }
        Unconfirmed::WrittenRarely => "breakpoints saw it written rarely".to_owned(),
        Unconfirmed::HandedOn => "breakpoints saw one thread hand it on to the other".to_owned(),
    }
}

/// Which uses of a line are named. For true sharing, only bytes that several threads use, not other bytes of the line.
fn is_named(used: &Use<'_>, kind: SharingKind) -> bool {
    used.kind == kind && (used.overlaps || kind == SharingKind::False)
}

/// What threads use in a line, in words.
fn variables(facts: &Facts<'_, '_>, line: &SharedLine<'_>, kind: SharingKind) -> String {
    // An address used with several widths is one place; the same member of several objects is named once.
    let mut named: Vec<(String, bool, BTreeSet<u64>)> = Vec::new();
    for place in places(facts, line.run, line.address, line.uses.iter().filter(|used| is_named(used, kind))) {
        match named.iter_mut().find(|(name, ..)| *name == place.plain) {
            Some((.., offsets)) => {
                offsets.insert(place.offset);
            }
            None => named.push((place.plain, place.named, BTreeSet::from([place.offset]))),
        }
    }
    let more = named.len().saturating_sub(TOLD);
    let in_words = |(name, named, offsets): (String, bool, BTreeSet<u64>)| match (offsets.len(), named) {
        (1, _) => name,
        (objects, true) => format!("{name} of {objects} objects"),
        (places, false) => format!("{name} ({places} places)"),
    };
    let mut names: Vec<String> = named.into_iter().take(TOLD).map(in_words).collect();
    if more > 0 {
        names.push(if more == 1 { "one more place".to_owned() } else { format!("{more} more places") });
    }
    listed(&names)
}

fn cause<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lines: &[&SharedLine<'_>],
    lost: (f64, f64),
    meta: &Meta,
    words: &Words,
) -> Cause {
    let who = culprit(facts, ledger, lines, words.kind);
    let at = who.as_ref().map_or_else(
        || "code without a name".to_owned(),
        |who| match (&who.line, who.callers.first()) {
            // A library function, with the program's line that calls it.
            (None, Some(_)) => named(who),
            (_, first) => {
                place(&Site { address: first.map(|site| site.address.clone()).unwrap_or_default(), ..who.site() })
            }
        },
    );
    let what = lines.first().map(|line| variables(facts, line, words.kind)).unwrap_or_default();
    let what = if lines.len() > TOLD { format!("{what} across {} cache lines", lines.len()) } else { what };
    Cause {
        summary: (words.summary)(&what, &at),
        evidence: rows(facts, ledger, lines, lost.0, words.kind),
        remedies: words.remedies.iter().map(|text| (*text).to_owned()).collect(),
        culprit: who,
        ..found(ledger, meta, lost)
    }
}

/// The source line with most samples at accesses to these lines, and its callers. Where only library code uses them,
/// the library function that the program calls.
fn culprit<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lines: &[&SharedLine<'_>],
    kind: SharingKind,
) -> Option<Culprit> {
    let mut sites: BTreeMap<Site, f64> = BTreeMap::new();
    let (mut of_program, mut of_library) = (0.0, 0.0);
    let uses = lines.iter().flat_map(|line| line.uses.iter().filter(|used| is_named(used, kind)));
    for row in uses.flat_map(|used| used.rows.iter().filter(|row| is_near(row.distance))) {
        if let Some(mut site) = source(facts, row.frame) {
            if site.line.is_some() {
                // Several instructions of a line are one place.
                site.address.clear();
            }
            *sites.entry(site).or_default() += 1.0;
            let own = facts.model.stacks.code(row.frame).iter().any(|code| code.owner == Owner::Own);
            *(if own { &mut of_program } else { &mut of_library }) += 1.0;
        }
    }
    let sites = by_weight(sites);
    let (site, _) = sites.first().cloned()?;
    let object = lines.first().map(|line| match () {
        () if lines.len() > 1 => format!("{} cache lines, most time at {:#x}", lines.len(), line.address),
        () => format!("{:#x}", line.address),
    });
    let callers = sources(facts, ledger, |_| false, |doing| doing == Doing::Sharing(kind));
    let object_name = lines.first().map(|line| variables(facts, line, kind));
    let through = (of_library > of_program).then(|| blame_culprit(&callers, Blamed::Responsible)).flatten();
    // The program's own line, or a library's function that the program calls.
    if let Some(through) = through.filter(|through| through.line.is_some() || !through.callers.is_empty()) {
        return Some(Culprit { object, object_name, ..through });
    }
    let mut around: BTreeMap<Site, f64> = BTreeMap::new();
    for (view, weight) in callers {
        if let Some(own) = view.own {
            *around.entry(own.site()).or_default() += weight;
        }
    }
    Some(Culprit {
        function: site.function,
        module: site.module,
        file: site.file,
        path: site.path,
        relative: None,
        line: site.line,
        object,
        object_name,
        callers: by_weight(around).into_iter().map(|(site, _)| site).take(TOLD).collect(),
    })
}

fn rows<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lines: &[&SharedLine<'_>],
    lost: f64,
    kind: SharingKind,
) -> Vec<Evidence> {
    let mut rows = vec![evidence(
        "CPU time over that without the sharing, estimated from the samples there",
        (ledger.account.useful + lost) / ledger.account.useful.max(f64::MIN_POSITIVE),
        Unit::Ratio,
        "samples",
    )];
    for line in lines.iter().take(TOLD) {
        let uses = || line.uses.iter().filter(|used| is_named(used, kind));
        for LinePart { name, threads, samples, .. } in
            places(facts, line.run, line.address, uses()).into_iter().take(TOLD)
        {
            let who: Vec<String> = threads.iter().take(TOLD).map(|id| thread(ledger, *id)).collect();
            let writes = uses().any(|used| used.writes && threads.contains(&used.thread));
            let (who, s) = (listed(&who), if who.len() == 1 { "s" } else { "" });
            let what = match writes {
                true => format!("samples at {name}, which {who} write{s}"),
                false => format!("samples at {name}, which {who} read{s}"),
            };
            rows.push(evidence(what, samples as f64, Unit::Of("samples"), "accesses"));
        }
        let shared = line.trials.iter().map(|row| row.shared_trials).max().unwrap_or(0);
        // A line that is like one that was proven has no trials of its own.
        if let Some(of) = line.trials.iter().map(|row| row.trials).max() {
            let what = format!("of {of} trials of 600 µs, those in which several threads hit line {:#x}", line.address);
            rows.push(evidence(what, f64::from(shared), Unit::Of("trials"), "confirmations"));
        }
        if kind == SharingKind::False
            && let Some(distance) = apart(uses())
        {
            rows.push(evidence(
                "bytes between what different threads use",
                distance as f64,
                Unit::Of("bytes"),
                "accesses",
            ));
            rows.push(evidence(
                "bytes that would keep them apart",
                LINE as f64,
                Unit::Of("bytes"),
                "the cache line's size",
            ));
        }
    }
    if lines.len() > TOLD {
        rows.push(evidence("cache lines shared in this way", lines.len() as f64, Unit::Of("lines"), "accesses"));
    }
    rows
}

/// The smallest distance between the starts of what different threads use.
fn apart<'u>(uses: impl Iterator<Item = &'u Use<'u>>) -> Option<u64> {
    let mut places: Vec<(u64, recording::ThreadId)> = uses.map(|used| (used.offset, used.thread)).collect();
    places.sort_unstable();
    places.windows(2).filter(|pair| pair[0].1 != pair[1].1).map(|pair| pair[1].0 - pair[0].0).min()
}
