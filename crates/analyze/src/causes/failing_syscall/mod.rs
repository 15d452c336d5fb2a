//! `failing-syscall`: a system call that fails is made again and again, which costs time.
//!
//! Evidence: the results of system calls by call site, and the share of kernel time that failing calls take. A call
//! that says "not yet" (EAGAIN, EINTR and the like) does not fail. Many failing calls that cost next to nothing are no
//! cause.
//!
//! May import: `account`, `answer`, `facts`, `model`, `shared`, `recording`.

use crate::account::growth::{is_failure, on_cpu};
use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Unit};
use crate::causes::shared::blame::{Blamed, by_weight, culprit};
use crate::causes::shared::{self, Meta, Outcome, by_lines, evidence, found, hidden, not_significant};
use crate::facts::{Facts, has_loss, large};
use crate::model::code::place;
use crate::model::stack_view::View;
use recording::tables::CallSite;
use std::collections::BTreeMap;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const FAILING_SYSCALL: CauseId = CauseId::new("failing-syscall");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::FAILING_SYSCALL,
    colour: "#5fbcae",
    title: "System calls that fail",
    what: "A path that fails first is tried every time.",
    why: "The failing call is paid for each time and brings nothing.",
    example: "mmap with a flag that cannot be met, followed by one without it.",
    disproved_by: "Skip the failing call: if the time does not fall, it is not the cause.",
    lines: |id| match id {
        LineId::FailingCall(_) => Some("system calls {call} that fail"),
        _ => None,
    },
    hides_in: hidden::RUNS,
    may_be_in: &[],
    standing: shared::Standing::Defect,
    places: shared::NO_PLACES,
    removal: shared::Removal::Code(shared::removal::own_lines),
    samples_needed: shared::UNSEEN,
    judge,
};

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    // Without results of calls nothing is known, even if the account books no time to failing calls.
    let known = facts.ledgers.iter().any(|l| !l.traced.call_sites.is_empty());
    match by_lines(facts, meta, explain) {
        Outcome::Clear(_) if !known && facts.ledgers.iter().any(|l| has_loss(l) && large(l, in_calls(l))) => {
            Outcome::Unsure("the results of system calls are not in this recording".to_owned())
        }
        Outcome::Clear(_) => not_significant(facts, meta),
        other => other,
    }
}

/// CPU seconds per unit of work in system calls that have no cause of their own: no failing call can take more.
fn in_calls(ledger: &Ledger<'_, '_>) -> f64 {
    shared::blame::on_cpu(ledger, |d| matches!(d, Doing::Call(_))) * ledger.on_cpu_scale
}

/// Error numbers (asm-generic/errno-base.h and errno.h) that calls on hot paths return.
const NAMES: &[(u32, &str)] = &[
    (1, "EPERM"),
    (2, "ENOENT"),
    (9, "EBADF"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (20, "ENOTDIR"),
    (22, "EINVAL"),
    (25, "ENOTTY"),
    (32, "EPIPE"),
    (38, "ENOSYS"),
    (95, "EOPNOTSUPP"),
    (110, "ETIMEDOUT"),
];

/// The name of an error number.
pub fn error_name(error: u32) -> String {
    NAMES.iter().find(|(n, _)| *n == error).map_or_else(|| format!("error {error}"), |(_, name)| (*name).to_owned())
}

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Result<Vec<Cause>, String> {
    let failing: Vec<&CallSite> =
        ledger.traced.call_sites.iter().copied().filter(|s| s.error.is_some_and(is_failure)).collect();
    let mut kinds: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for site in &failing {
        *kinds.entry((site.number, site.error.unwrap_or(0))).or_default() += on_cpu(site);
    }
    let Some(((number, error), _)) = by_weight(kinds).into_iter().next() else {
        return Err("which calls failed is not in this recording".to_owned());
    };
    let these = || failing.iter().filter(|s| s.number == number && s.error == Some(error));
    let views: Vec<(View, f64)> = these().map(|s| (facts.model.stacks.view(s.user_stack, true), on_cpu(s))).collect();
    let who = culprit(&views, Blamed::Own);
    let at =
        who.as_ref().and_then(|c| c.callers.first()).map(|s| format!(", called from {}", place(s))).unwrap_or_default();
    let (calls, low, high) =
        these().fold((0.0, 0.0, 0.0), |(c, l, h), s| (c + s.calls, l + s.calls_low, h + s.calls_high));
    let each = these().map(|s| s.total_ns as f64).sum::<f64>() / these().map(|s| s.timed as f64).sum::<f64>().max(1.0);
    let good: f64 =
        ledger.traced.call_sites.iter().filter(|s| s.number == number && s.error.is_none()).map(|s| s.calls).sum();
    let (name, errno) = (facts.model.call_name(number), error_name(error));
    Ok(vec![Cause {
        summary: format!("{name} fails with {errno} {calls:.0} times{at}."),
        culprit: who,
        evidence: vec![
            evidence(format!("{name} calls that failed with {errno}"), calls, Unit::Of("calls"), "call_sites"),
            evidence("at least", low, Unit::Of("calls"), "call_sites"),
            evidence("at most", high, Unit::Of("calls"), "call_sites"),
            evidence("time of one of them", each * 1e-3, Unit::Microseconds, "call_sites"),
            evidence(format!("{name} calls that succeeded"), good, Unit::Of("calls"), "call_sites"),
        ],
        remedies: vec![
            format!(
                "do not try it each time: remember that {name} failed, or drop the flag or argument that it fails for"
            ),
            "ask once at the start what the system can do".to_owned(),
        ],
        ..found(ledger, meta, lost)
    }])
}

#[cfg(test)]
mod sketches;
