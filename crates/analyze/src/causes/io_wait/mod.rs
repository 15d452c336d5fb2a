//! `io-wait`: threads wait for files, devices, pipes or sockets.
//!
//! Evidence: idle capacity charged to such waits, what was waited for, and where. Whether a device is slow or the cache
//! was cold is only partly visible: if reads needed a device but did not in the timed runs, the cache was cold.
//!
//! May import: `account`, `answer`, `facts`, `model`, `shared`.

use crate::account::lines::Why;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Evidence, Unit};
use crate::causes::shared::blame::{Blamed, by_weight, culprit, sources, waits};
use crate::causes::shared::{self, Meta, by_lines, evidence, found, hidden, not_clear_beside};
use crate::facts::Facts;
use crate::model::code::place;
use crate::model::requests::called;
use std::collections::BTreeMap;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const IO_WAIT: CauseId = CauseId::new("io-wait");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::IO_WAIT,
    colour: "#a8926a",
    title: "Input and output",
    what: "Threads wait for files, devices, pipes or sockets.",
    why: "The device or the other side sets the pace.",
    example: "Reading a cold file.",
    disproved_by: "Serve the data from memory: if the time does not fall, input and output are not the cause.",
    lines: |id| {
        Some(match id {
            LineId::Blocked(Why::Io) => "waiting for files or devices",
            LineId::Blocked(Why::Poll) => "waiting for sockets, events",
            LineId::ReadingPages => "waiting for pages to be read",
            _ => return None,
        })
    },
    hides_in: hidden::WAITS,
    may_be_in: &[],
    standing: shared::Standing::Defect,
    places: shared::NO_PLACES,
    removal: shared::Removal::AtMost,
    samples_needed: shared::UNSEEN,
    judge: |facts, meta| not_clear_beside(facts, Why::Reply, ASKED, by_lines(facts, meta, explain)),
};

/// Why it is not clear where a server waits for other services.
const ASKED: &str = "the server waits for replies of other services, which is told apart";

fn is_io(why: Why) -> bool {
    matches!(why, Why::Io | Why::Poll | Why::Fault)
}

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Result<Vec<Cause>, String> {
    let mut objects: BTreeMap<String, f64> = BTreeMap::new();
    let mut kinds: BTreeMap<Why, f64> = BTreeMap::new();
    for why in [Why::Io, Why::Poll, Why::Fault] {
        for (wait, seconds) in waits(ledger, |w| w == why) {
            *kinds.entry(why).or_default() += seconds;
            let service = ledger.traced.service_waits.get(&wait.wait);
            let of_service = service.map(|s| format!("replies of {}", called(&s.address, s.name.as_deref())));
            if let Some(what) = of_service.or_else(|| wait.what.clone()) {
                *objects.entry(what).or_default() += seconds;
            }
        }
    }
    let who = culprit(&sources(facts, ledger, is_io, |_| false), Blamed::Own);
    let kind = by_weight(kinds).into_iter().next().map_or(Why::Io, |k| k.0);
    let objects = by_weight(objects);
    let what = match (objects.first(), kind) {
        (Some((what, _)), _) => what.clone(),
        (None, Why::Poll) => "pipes, sockets or events".to_owned(),
        (None, Why::Fault) => "mapped files".to_owned(),
        (None, _) => "files or devices".to_owned(),
    };
    let at =
        who.as_ref().and_then(|c| c.callers.first()).map(|s| format!(", called from {}", place(s))).unwrap_or_default();
    let summary = match kind {
        Why::Fault => format!("Threads wait until pages of {what} are read in{at}."),
        _ => format!("Threads wait for {what}{at}."),
    };
    let mut evidence = rows(facts, ledger);
    evidence.extend(objects.into_iter().take(3).map(|(name, s)| {
        shared::evidence(format!("idle time charged to waiting for {name}"), s * ledger.scale, Unit::Seconds, "waits")
    }));
    Ok(vec![Cause { summary, culprit: who, evidence, remedies: remedies(kind), ..found(ledger, meta, lost) }])
}

fn rows<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> Vec<Evidence> {
    let (count, blocked, longest) = waits(ledger, is_io).fold((0_u64, 0.0, 0.0_f64), |(n, b, l), (w, _)| {
        (n.saturating_add(w.count), b + w.blocked_ns as f64 * 1e-9, l.max(w.longest_ns as f64 * 1e-9))
    });
    let mut rows = vec![
        evidence("times a thread waited", count as f64, Unit::Of("waits"), "waits"),
        evidence("time waited, all threads", blocked, Unit::Seconds, "waits"),
    ];
    if count > 0 {
        rows.push(evidence("mean wait", blocked * 1e6 / count as f64, Unit::Microseconds, "waits"));
        rows.push(evidence("longest wait", longest, Unit::Seconds, "waits"));
    }
    let major = ledger.traced.run.major_faults as f64;
    if major > 0.0 {
        rows.push(evidence("page faults that read from a device", major, Unit::Of("faults"), "runs"));
        if let Some(timed) = facts.clean.median(ledger.account.threads, |r| r.major_faults as f64) {
            rows.push(evidence("the same in the timed runs", timed, Unit::Of("faults"), "runs"));
        }
    }
    rows
}

fn remedies(kind: Why) -> Vec<String> {
    let list: &[&str] = match kind {
        Why::Poll => &[
            "look at the other side: the program, the thread or the machine that the data comes from sets the pace",
            "hand over more at a time, and ask for the next piece before the last one is used",
        ],
        Why::Fault => &[
            "read ahead: madvise(MADV_WILLNEED), or a thread that reads what the others need next",
            "if the cache is cold only in the first run, warm it before measuring; if it is cold in use, a faster device or \
             more memory helps",
        ],
        _ => &[
            "keep more requests on their way: read ahead, io_uring, or more threads for input and output alone",
            "read larger pieces, and what is read again and again only once",
            "if the cache is cold only in the first run, warm it before measuring",
        ],
    };
    list.iter().map(|r| (*r).to_owned()).collect()
}

#[cfg(test)]
mod sketches;
