//! The answer for a recording imported from another tool's profile: where processor time went, and nothing else.
//!
//! Samples do not tell which threads waited, for what, or how long an unobserved run takes. So there is no curve and no
//! account, and every cause stays unsure.

use crate::amounts::{Amount, Amounts, Item};
use crate::answer::{
    Answer, Cause, CauseId, Growth, Interval, Kind, Knee, Limitation, LimitationKind, Unit, Unsure, Verdict, WhatIf,
};
use crate::causes::all;
use crate::causes::shared::{duration, evidence};
use crate::growth;
use crate::model::{Model, Traced};
use crate::words::count;
use recording::StackId;
use recording::meta::Imported;
use recording::tables::Mode;
use std::collections::BTreeMap;

/// The answer.
pub(crate) fn answer(model: &Model<'_>, from: &Imported) -> Answer {
    let meta = &model.tables.meta;
    let counts: Vec<(u32, Amounts)> = model.traced.iter().map(|t| (t.run.threads, amounts(model, t))).collect();
    let growth = if counts.len() > 1 { growth::rows(&counts) } else { Vec::new() };
    let missing =
        format!("a profile imported from {} has samples only: no waits, no wake-ups, no timed runs", from.tool);
    let unsure =
        all().filter(|d| !d.standing.is_outside()).map(|d| Unsure { id: d.id, missing: missing.clone() }).collect();
    let mut warnings = Vec::new();
    if counts.len() > 1 {
        warnings.push("growth compares whole profiles: it says something when each run did the same work".to_owned());
    }
    warnings.extend(meta.notes.iter().cloned());
    Answer {
        knee: Knee { version: env!("CARGO_PKG_VERSION").to_owned(), format: meta.format.to_string() },
        command: meta.command.clone(),
        environment: Vec::new(),
        load: None,
        machine: meta.machine.clone(),
        counted: meta.counted,
        throughput: None,
        curve: Vec::new(),
        knee_at: None,
        account: Vec::new(),
        verdict: Verdict {
            summary: summary(model, &counts, &growth),
            causes: vec![nothing(model)],
            unsure,
            ..Verdict::default()
        },
        what_if: WhatIf::default(),
        tried: Vec::new(),
        growth,
        queues: Vec::new(),
        requests: Vec::new(),
        limitations: limitations(from),
        warnings,
    }
}

/// Functions, with their processor time in seconds.
fn amounts(model: &Model<'_>, traced: &Traced<'_>) -> Amounts {
    let each = seconds(traced) / traced.samples.len().max(1) as f64;
    let mut counts: BTreeMap<(Option<StackId>, Option<StackId>), u64> = BTreeMap::new();
    for sample in &traced.samples {
        let kernel = sample.kernel_stack.filter(|_| sample.mode == Mode::Kernel);
        *counts.entry((kernel, sample.user_stack)).or_default() += 1;
    }
    let mut found: Amounts = BTreeMap::new();
    for ((kernel, user), count) in counts {
        let leaf = |stack: Option<StackId>| stack.and_then(|s| model.stacks.frames(s).first().copied());
        let name = match leaf(kernel).or_else(|| leaf(user)) {
            Some(code) => {
                let module = code.module_file;
                let name = code.name().map(|name| format!("{name} ({module})"));
                name.unwrap_or_else(|| format!("code without a name in {module}"))
            }
            None => "code that the samples do not tell".to_owned(),
        };
        let amount: &mut Amount = found.entry(Item::named(Kind::Function, name)).or_default();
        amount.value += count as f64 * each;
        amount.variance += count as f64 * each * each;
    }
    found
}

/// Processor time of a run's threads, estimated from its samples.
fn seconds(traced: &Traced<'_>) -> f64 {
    traced.threads.values().fold(0_u64, |sum, t| sum.saturating_add(t.running_ns)) as f64 * 1e-9
}

fn summary(model: &Model<'_>, counts: &[(u32, Amounts)], growth: &[Growth]) -> String {
    let (Some(first), Some(last)) = (model.traced.first(), model.traced.last()) else {
        return "The profile holds no samples.".to_owned();
    };
    let limit = "Samples alone do not tell why a program does not get faster.";
    let spent = |traced: &Traced<'_>| duration(seconds(traced));
    if counts.len() > 1 {
        let (few, many) = (first.run.threads, last.run.threads);
        let grown = growth.iter().find(|row| row.kind == Kind::Function);
        let most = grown.map(|row| format!(", and {} grew most, by {}", row.name, duration(row.growth)));
        return format!(
            "From {} to {many} the profiled processor time went from {} to {}{}. {limit}",
            count(few, "thread"),
            spent(first),
            spent(last),
            most.unwrap_or_default()
        );
    }
    let functions = counts.first().map(|(_, found)| found);
    let top = functions.and_then(|found| found.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value)));
    let all = seconds(last);
    let most = top
        .filter(|_| all > 0.0)
        .map(|(item, amount)| format!(", {:.0} % of it in {}", 100.0 * amount.value / all, item.name));
    format!("The profile shows about {} of processor time{}. {limit}", spent(last), most.unwrap_or_default())
}

fn nothing(model: &Model<'_>) -> Cause {
    let rows = model.traced.iter().map(|t| {
        evidence(
            format!("samples with {}", count(t.run.threads, "thread")),
            t.samples.len() as f64,
            Unit::Of("samples"),
            "samples",
        )
    });
    Cause {
        id: CauseId::NONE,
        share: 0.0,
        lost_seconds: 0.0,
        interval: Interval { low: 0.0, high: 0.0 },
        threads: model.traced.last().map_or(1, |t| t.run.threads),
        summary: "A profile tells no cause: it has no waits and no times to compare.".to_owned(),
        culprit: None,
        evidence: rows.collect(),
        remedies: Vec::new(),
        // Nothing is claimed.
        disproved_by: String::new(),
    }
}

fn limitations(from: &Imported) -> Vec<Limitation> {
    let sweep = || Some("knee sweep -t 1,2,4 -- COMMAND, with {threads} where the count goes".to_owned());
    let missing = [
        (
            LimitationKind::Waiting,
            "what threads waited for, who woke them, locks, system calls and page faults are not in a profile, and the \
             times between samples are unknown",
        ),
        (
            LimitationKind::Scaling,
            "a profile has no timed runs: how fast the program is at any thread count is not known",
        ),
        (
            LimitationKind::SharedMemory,
            "accesses, waiting loops and shared cache lines are worked out from registers, which perf script does not \
             print",
        ),
    ];
    let mut rows: Vec<Limitation> = missing
        .map(|(what, why)| Limitation { what, why: format!("imported from {}: {why}", from.tool), unlock: None })
        .to_vec();
    if let Some(last) = rows.last_mut() {
        last.unlock = sweep();
    }
    rows
}
