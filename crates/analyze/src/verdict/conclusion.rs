//! The conclusion in words: causes in order, what is clear, what stays unsure, limitations and warnings.

use crate::account::lines::Why;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, Condition, CounterId, Interval, Limitation, LimitationKind, Point, Unsure, Verdict};
use crate::causes::shared::hidden;
use crate::causes::shared::unexplained::unexplained;
use crate::causes::{Meta, Outcome, Standing, describe, none};
use crate::facts::{Facts, in_proportion, large};
use crate::load;
use crate::verdict::beyond::beyond;
use crate::verdict::{open, outside, power, usual};
use crate::words::{count, is_about_one, percent, runs, two_digits};
use recording::meta::Completion;
use recording::tables::{Loss, RunKind};
use recording::words::LossKind;

/// An observed run that took this many times as long as the timed ones may have changed the verdict: 1.35 was the goal
/// for the overhead of tracing in the worst case, a storm of futex calls.
///
/// Decides: whether the answer warns that the observed run was much slower, or much faster, than the timed ones.
/// From: chosen: the former goal for the overhead of tracing in the worst case. The goals in `docs/costs.md` are smaller
/// now (1.02 to 1.20).
/// Wrong if: observing slows all parts of a program equally: the warning is then needless.
const HEAVY_TRACE: f64 = 1.35;

/// Lost events, samples or frames are reported when they are more than this share.
///
/// Decides: whether the answer warns of events, samples or frames that were lost.
/// From: arithmetic: a fifth of the smallest loss that is called a cause cannot change a verdict.
/// Shown by: `what_all_traced_runs_lost_is_one_warning`.
/// Wrong if: all that was lost is from one short phase, and that phase is the one that matters.
const SMALL_LOSS: f64 = crate::statistics::MIN_SHARE / 5.0;

/// Other programs or virtual machines that took more than this share of the processors' time are worth a warning.
///
/// Decides: whether the answer warns that other programs or virtual machines took processor time during the timed runs.
/// From: the smallest loss that is called a cause.
/// Shown by: `other_programs_are_blamed_when_they_were_there_in_the_timed_runs`.
/// Wrong if: another program takes less, but always from the thread that all others wait for.
const DISTURBED: f64 = crate::statistics::MIN_SHARE;

/// Below this efficiency the answer says what was assumed about the work, because work that grows with the count would
/// explain the loss as well.
///
/// Decides: whether the answer warns that each run is assumed to do the same work.
/// From: chosen; no measurement.
/// Shown by: the snapshots of `birthday_names_the_lock_inside_random` (with) and `the_repaired_birthday_has_no_cause`
/// (without).
/// Wrong if: the work grows by a fifth from one thread to two: that looks like a loss, and the reader is not warned.
const POOR_EFFICIENCY: f64 = 0.7;

/// Looks for each of the causes and draws the conclusion.
pub fn verdict(facts: &Facts<'_, '_>, causes: &[&Meta]) -> Verdict {
    let mut verdict = Verdict::default();
    for meta in causes {
        match (meta.judge)(facts, meta).said() {
            Outcome::Found(causes) => {
                let uncertain = |cause: &Cause| power::too_disturbed(facts, cause);
                let missing = causes.first().and_then(uncertain);
                let certain = causes.into_iter().filter(|cause| uncertain(cause).is_none());
                let before = verdict.causes.len();
                verdict.causes.extend(certain);
                if let Some(missing) = missing.filter(|_| verdict.causes.len() == before) {
                    verdict.unsure.push(Unsure { id: meta.id, missing });
                    verdict.power.extend(power::power(facts, meta));
                }
            }
            Outcome::Outside(condition) => verdict.machine.push(condition),
            Outcome::Nothing => {}
            Outcome::Clear(_) => {
                let power = power::power(facts, meta);
                let weak = power.as_ref().and_then(|p| power::too_weak(p, facts.counted()));
                match hidden::hiding(facts, meta).or_else(|| hidden::behind_compiler(facts, meta)).or(weak) {
                    Some(missing) => verdict.unsure.push(Unsure { id: meta.id, missing }),
                    None => verdict.clear.push(meta.id),
                }
                verdict.power.extend(power);
            }
            Outcome::Unsure(missing) => {
                verdict.unsure.push(Unsure { id: meta.id, missing });
                verdict.power.extend(power::power(facts, meta));
            }
        }
    }
    open::most_first(facts, &mut verdict.unsure);
    // Seconds at different thread counts cannot be compared: causes at the count that the verdict is about come first.
    let focus = facts.focus().map(|l| l.account.threads);
    let elsewhere = |c: &Cause| focus.is_some_and(|f| f != c.threads);
    let defect = verdict.causes.iter().any(usual::is_defect);
    let small_start = |c: &Cause| defect && usual::is_small_start(facts, c);
    verdict.causes.sort_by(|a, b| {
        let seconds = b.lost_seconds.total_cmp(&a.lost_seconds);
        let place = |c: &Cause| (small_start(c), elsewhere(c));
        place(a).cmp(&place(b)).then(seconds).then(a.id.cmp(&b.id))
    });
    if second_says_more(facts, &verdict.causes) {
        verdict.causes.swap(0, 1);
    }
    let found = verdict.causes.first().map(blame);
    let mut rest = open::sentence(facts, &verdict.causes).unwrap_or_default();
    let mut rival =
        as_large(&verdict.causes).map(|c| format!("As large within the noise: {}", c.summary)).unwrap_or_default();
    let lost = verdict.causes.first().map_or(0.0, |cause| cause.lost_seconds);
    let own = found.is_some() || facts.focus().is_some();
    if verdict.causes.is_empty() {
        verdict.causes.push(none::conclude(facts));
    }
    verdict.beyond = beyond(facts, causes, verdict.causes.first());
    let threads = verdict.causes.first().map(|c| c.threads);
    let mut second = found.or_else(|| verdict.causes.first().map(|c| c.summary.clone())).unwrap_or_default();
    let collapses = verdict.beyond.is_some();
    let scales = open::scales(facts, &verdict.causes).filter(|_| !collapses);
    if let Some(first) = scales.or_else(|| open::mostly_open(facts, &verdict.causes)) {
        (rest, rival) = Default::default();
        second.clone_from(&first.summary);
        verdict.causes.insert(0, first);
    }
    let second = beside(&verdict.machine, threads, (own, lost), second);
    let first = speed(facts, threads);
    let sentences = [first, second, rival, rest];
    verdict.summary = sentences.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" ");
    verdict
}

/// Puts what the machine took at that count before `second`, the sentence on the program's own cause. `own`: whether
/// there is such a cause; without one only the machine is told. `lost`: what it costs, processor-seconds per unit of work.
fn beside(machine: &[Condition], threads: Option<u32>, (own, lost): (bool, f64), second: String) -> String {
    let largest = machine.iter().filter(|c| own.then_some(c.threads) == threads || !own);
    let largest = largest.max_by(|a, b| a.share.unwrap_or(0.0).total_cmp(&b.share.unwrap_or(0.0)));
    let Some(condition) = largest.filter(|c| c.share.is_some()) else { return second };
    if !own {
        return format!("{} Nothing of its own was found beside that.", sentence(&condition.summary));
    }
    let meta = describe(condition.id);
    if meta.is_some_and(|meta| matches!(meta.standing, Standing::OutsidePace)) {
        // What costs more than the waiting for requests is the answer. The rest is told below it.
        let smaller = condition.seconds.is_some_and(|waited| waited < lost);
        return if smaller { second } else { format!("{} Beside that: {second}", sentence(&condition.summary)) };
    }
    let title = meta.map_or(condition.id.name(), |meta| meta.title);
    format!(
        "Apart from {}, which took {} of the processors: {second}",
        decapitalised(title),
        percent(condition.share.unwrap_or(0.0))
    )
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

fn decapitalised(title: &str) -> String {
    let mut letters = title.chars();
    let first = letters.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// The second cause, when its size cannot be told from that of the first: each lies in the other's interval.
fn as_large(causes: &[Cause]) -> Option<&Cause> {
    let [first, second, ..] = causes else { return None };
    let inside = |a: &Cause, b: &Cause| (b.interval.low..=b.interval.high).contains(&a.lost_seconds);
    let alike = first.threads == second.threads && inside(first, second) && inside(second, first);
    alike.then_some(second)
}

/// True where the second cause is told before the first, which is as large within the noise: what threads certainly wait
/// for says more than that they wait for each other, and that one thread sets the pace says more than what it, or others
/// beside it, spend their time on.
///
/// Decides: that a lock or a pool comes before a wait for other threads of about the same size, and a thread that sets
/// the pace before anything of about the same size but these.
/// From: all are measured alike, and only a lock or a pool has a place that the reader can change; whatever the busy
/// thread runs, no other thread can do it. A loader in JavaScript, whose main thread parses and collects garbage, showed
/// the need.
/// Shown by: `the_pace_is_told_before_what_is_as_large_beside_it`.
/// Wrong if: the threads wait for each other because one of them computes, and the lock is only where it hands on.
fn second_says_more(facts: &Facts<'_, '_>, causes: &[Cause]) -> bool {
    let (Some(first), Some(second)) = (causes.first(), as_large(causes)) else { return false };
    let claims = |cause: &Cause, id| describe(cause.id).is_some_and(|meta| meta.claims(id));
    let holds = |cause: &Cause| [Why::Lock, Why::Pool].into_iter().any(|why| claims(cause, LineId::Blocked(why)));
    let vague = claims(first, LineId::Blocked(Why::Condition));
    let paced = || facts.ledgers.iter().any(|l| l.account.threads == second.threads && l.pace.is_some());
    match vague {
        true => holds(second),
        false => !holds(first) && claims(second, LineId::Paced) && paced(),
    }
}

/// The first sentence: how fast it is at the thread count that the verdict is about.
fn speed(facts: &Facts<'_, '_>, threads: Option<u32>) -> String {
    if let Some(ledger) = facts.ledgers.first().filter(|l| l.traced.is_only_run) {
        let length = ledger.traced.length_ns() as f64 * 1e-9;
        return format!(
            "The program ran for {} and kept {} of {} busy.",
            duration(length),
            two_digits(ledger.split.on_cpu / length.max(f64::MIN_POSITIVE)),
            count(ledger.traced.processors(), "processor")
        );
    }
    let base = facts.points.first();
    let point = facts.points.iter().find(|p| Some(p.threads) == threads);
    let (Some(base), Some(point)) = (base, point.or(facts.points.last())) else { return String::new() };
    let counted = facts.counted();
    let on = match point.threads > facts.processors {
        true => format!(" on {}", count(facts.processors, "processor")),
        false => String::new(),
    };
    match point.threads == base.threads {
        true => format!("With {} the program takes {}.", counted.many(base.threads), duration(point.seconds.median)),
        false => format!(
            "With {}{on} the program is {} with {}{}.",
            counted.many(point.threads),
            times(point.speedup),
            base.threads,
            uncertain(point)
        ),
    }
}

/// A slow-down is easier to read than a speed-up below 1: `1.7 times slower than`.
fn times(speedup: f64) -> String {
    let slower = two_digits(1.0 / speedup);
    match speedup > 0.0 && speedup < 1.0 {
        true if is_about_one(1.0 / speedup) => "about as fast as".to_owned(),
        true => format!("{slower} times slower than"),
        false => format!("{} times as fast as", two_digits(speedup)),
    }
}

/// The interval of a speed-up, if it includes both faster and slower.
fn uncertain(point: &Point) -> String {
    let Interval { low, high } = point.speedup_interval;
    let (low, high) = (two_digits(low), two_digits(high));
    match point.speedup_interval.low < 1.0 && point.speedup_interval.high > 1.0 && low != high {
        true => format!(" ({low} to {high})"),
        false => String::new(),
    }
}

fn duration(seconds: f64) -> String {
    if seconds < 0.1 { format!("{} ms", two_digits(seconds * 1e3)) } else { format!("{} s", two_digits(seconds)) }
}

/// The second sentence: the cause, and its share.
fn blame(cause: &Cause) -> String {
    let sentence = cause.summary.trim_end_matches('.');
    // Only punctuation: with a second colon it would be unclear what the share refers to.
    let link = if sentence.contains(": ") { ". That is" } else { ":" };
    format!("{sentence}{link} {:.0} % of the lost processor time.", cause.share * 100.0)
}

/// What could not be seen.
pub fn limitations(facts: &Facts<'_, '_>) -> Vec<Limitation> {
    let missing = facts.model.tables.meta.capabilities.iter().filter(|c| !c.available);
    let mut limitations: Vec<Limitation> = missing
        .map(|c| {
            let why = match c.costs.is_empty() {
                true => c.why.clone(),
                false => format!("{} ({})", c.why, c.costs),
            };
            Limitation { what: LimitationKind::Capability(c.what.clone()), why, unlock: c.unlock.clone() }
        })
        .collect();
    if facts.ledgers.iter().any(|l| l.traced.is_only_run) {
        let why =
            "one run was observed: whether the program gets faster with more threads, and whether its code costs \
                   more beside other threads (more work, memory, sharing, spinning), shows only in a sweep"
                .to_owned();
        let unlock = Some("knee sweep -t 1,2,4 -- COMMAND, with {threads} where the count goes".to_owned());
        limitations.push(Limitation { what: LimitationKind::Scaling, why, unlock });
    }
    if facts.ledgers.is_empty() {
        let why = "no run was traced: there is a curve, but no account and no cause".to_owned();
        limitations.push(Limitation { what: LimitationKind::Causes, why, unlock: None });
    }
    limitations
}

/// What the reader should know before believing the numbers.
pub fn warnings(facts: &Facts<'_, '_>) -> Vec<String> {
    let meta = &facts.model.tables.meta;
    let mut warnings = Vec::new();
    match meta.completion {
        Completion::Finished => {}
        Completion::Interrupted => warnings.push("the sweep was interrupted: some runs are missing".to_owned()),
        Completion::Unfinished => warnings.push("the recording is unfinished: some runs are missing".to_owned()),
    }
    warnings.extend(meta.notes.iter().cloned());
    warnings.extend(facts.clean.notes.iter().map(|note| runs::note(*note, facts.counted())));
    let tables = facts.model.tables;
    // A single run is never left out; the notes say how it ended.
    let alone = facts.ledgers.iter().any(|l| l.traced.is_only_run);
    for run in tables.runs.iter().filter(|r| r.kind == RunKind::Traced && !alone) {
        if run.exit_status.is_some_and(|s| s != 0) {
            warnings.push(format!("the traced run with {} failed and was left out", facts.counted().many(run.threads)));
        }
    }
    let poor = facts.points.iter().any(|p| p.efficiency < POOR_EFFICIENCY && p.threads <= facts.processors);
    if poor && !facts.clean.counts_work() {
        warnings.push("the program printed no throughput: each run is taken to do the same work".to_owned());
    }
    warnings.extend(outside::warnings(facts));
    warnings.extend(short(facts));
    warnings.extend(load::warnings(facts.model.tables));
    warnings.extend(runs::disturbed(facts.model.tables));
    warnings.extend(facts.points.iter().filter_map(|p| disturbed(facts, p)));
    warnings.extend(facts.ledgers.iter().flat_map(|l| of_trace(facts, l)));
    warnings.extend(lost(facts));
    warnings
}

/// What was lost in the traced runs: one sentence per kind, with the numbers of all counts.
fn lost(facts: &Facts<'_, '_>) -> Vec<String> {
    // Calls left out of the timeline are still in the sums, and answers use only the sums.
    let thinned = |l: &Loss| l.kind() == LossKind::ThinnedCalls;
    let matters = |l: &&Loss| !thinned(l) && l.count as f64 > SMALL_LOSS * l.of.unwrap_or(0) as f64;
    let mut kinds: Vec<(&Loss, Vec<String>)> = Vec::new();
    for ledger in facts.ledgers {
        let here = facts.model.tables.losses.iter().filter(|loss| loss.run == ledger.traced.run.run);
        for loss in here.filter(matters) {
            let of = loss.of.map(|of| format!(" of {of}")).unwrap_or_default();
            let number = format!("{}{of} with {}", loss.count, facts.counted().many(ledger.account.threads));
            match kinds.iter_mut().find(|(first, _)| first.what == loss.what) {
                Some((_, numbers)) => numbers.push(number),
                None => kinds.push((loss, vec![number])),
            }
        }
    }
    let told = |(loss, numbers): (&Loss, Vec<String>)| {
        let runs = if numbers.len() > 1 { "traced runs" } else { "traced run" };
        match loss.kind() {
            LossKind::CutStacks => format!(
                "some call stacks are cut off, so callers may be missing (in the {runs}: {})",
                numbers.join(", ")
            ),
            LossKind::UnfollowedStreams => format!(
                "{}, so requests that were under way at once on one of them count as one (in the {runs}: {})",
                loss.what,
                numbers.join(", ")
            ),
            LossKind::HiddenProtocols => format!(
                "{}: where they are HTTP/2, requests that were under way at once count as one (in the {runs}: {})",
                loss.what,
                numbers.join(", ")
            ),
            _ => format!("{} were lost in the {runs}: {}", loss.what, numbers.join(", ")),
        }
    };
    kinds.into_iter().map(told).collect()
}

/// Runs shorter than this say little, seconds.
///
/// Decides: whether the answer warns that runs are too short.
/// From: arithmetic: at 1,000 samples a second, a twentieth of such a run rests on fewer than three samples; and
/// starting a process takes a few milliseconds.
/// Shown by: `runs_of_a_few_milliseconds_are_called_too_short`.
/// Wrong if: a runtime needs half a second to start: runs of a second then say as little, but there is no warning.
const SHORT: f64 = 0.05;

fn short(facts: &Facts<'_, '_>) -> Option<String> {
    let shortest = facts.points.iter().min_by(|a, b| a.seconds.median.total_cmp(&b.seconds.median))?;
    (shortest.seconds.median < SHORT).then(|| {
        format!(
            "a run with {} takes {:.1} ms: its start counts in it, and few samples are taken; give it more work",
            facts.counted().many(shortest.threads),
            shortest.seconds.median * 1e3
        )
    })
}

fn disturbed(facts: &Facts<'_, '_>, point: &Point) -> Option<String> {
    let taken = |id| point.counters.get(&id).copied().unwrap_or(0.0);
    let all = point.seconds.median * f64::from(facts.model.tables.meta.usable_at(point.threads));
    let share = (taken(CounterId::ForeignSeconds) + taken(CounterId::StealSeconds)) / all;
    (share > DISTURBED).then(|| {
        format!(
            "other programs or machines took {:.0} % of the processors during the timed runs with {}",
            share * 100.0,
            facts.counted().many(point.threads)
        )
    })
}

fn of_trace(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> Vec<String> {
    let account = &ledger.account;
    let threads = account.threads;
    let with = facts.counted().many(threads);
    let mut warnings = Vec::new();
    if !ledger.traced.is_only_run && !facts.points.iter().any(|p| p.threads == threads) {
        warnings.push(format!("no timed run with {with}: its account is that of the traced run"));
    }
    if large(ledger, ledger.disturbed) {
        warnings.push(format!(
            "other programs took {} of the observed run with {with}, and not of the timed ones: what threads do to each \
             other shows less in it",
            percent(ledger.disturbed / account.capacity)
        ));
    }
    if account.traced_over_clean > HEAVY_TRACE {
        let over = account.traced_over_clean;
        warnings.push(format!(
            "tracing made the run with {with} {over:.2} times as long: where its time went may differ from the timed runs"
        ));
    }
    if account.traced_over_clean < 1.0 / HEAVY_TRACE {
        warnings.push(format!(
            "the traced run with {with} took only {} of the timed runs' time: what slows those down shows less in it",
            percent(account.traced_over_clean)
        ));
    }
    if large(ledger, account.unexplained.abs()) && ledger.loss > 0.0 && large(ledger, ledger.loss) {
        let more = account.unexplained > 0.0;
        let same = ledger.unexplained.iter().filter(|(_, seconds)| (*seconds > 0.0) == more);
        let parts: Vec<&str> = same.map(|u| unexplained(u.0)).take(2).collect();
        let of = |lead: &str| match parts.is_empty() {
            true => String::new(),
            false => format!(" ({lead}{})", parts.join(", ")),
        };
        warnings.push(match more {
            true => format!("{} stays unexplained{}", in_proportion(ledger, account.unexplained), of("among it: ")),
            false => format!(
                "the parts of the account with {with} add up to {} more than there was{}: its shares are estimates",
                percent(-account.unexplained / account.capacity),
                of("")
            ),
        });
    }
    if facts.counted().is_threads() && ledger.split.surplus > crate::statistics::MIN_SHARE * ledger.split.capacity {
        warnings.push(format!(
            "at times more threads ran than the {threads} asked for; the capacity counts {} there",
            count(ledger.traced.processors(), "processor")
        ));
    }
    warnings
}
