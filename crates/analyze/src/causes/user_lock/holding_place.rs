//! At which of the places that take a lock it is held longest, by where the waits for it end.
//! Imports `groups`, `account`, `answer`, `blame`, `facts`, `model`.

use super::groups::Group;
use crate::account::Ledger;
use crate::answer::{Culprit, Evidence, Unit};
use crate::causes::shared::blame::{self, Blamed, by_weight};
use crate::causes::shared::evidence;
use crate::facts::Facts;
use crate::model::code::place;
use crate::model::stack_view::View;
use std::collections::BTreeMap;

/// Decides: which of the places that take a lock is named first: the function whose releases end more than this share of the
/// waiting, and whose part is larger than that of the function where threads wait longest by one over this.
/// From: the definition of a majority; and twice as much cannot be told as the same. A library whose pool of random numbers
/// is locked for a moment whenever a digest is opened, and for long when numbers are drawn, showed the need.
/// Shown by: `the_place_that_holds_a_lock_for_long_is_named`, `places_that_hold_a_lock_alike_are_named_by_their_waits`,
/// `the_call_that_holds_a_library_s_lock_for_long_is_named`.
/// Wrong if: threads that get a lock for a moment always come while the same long holder has it, and that one ends none of the
/// waits, since somebody between does.
const HELD_LONGEST: f64 = 0.5;

/// Who is to blame for a lock, and whether it is a library's.
pub(super) fn culprit<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    group: &Group<'_, 't>,
) -> (Option<Culprit>, bool) {
    let Some(views) = of_holder(facts, ledger, group) else { return (group.culprit(), group.in_library()) };
    let first = blame::culprit(&views, Blamed::Responsible);
    let in_library = blame::heaviest(&views, Blamed::Responsible).is_some_and(|(library, _)| library);
    let all = group.culprit();
    let object = all.as_ref().and_then(|culprit| culprit.object.clone());
    let named = first.map(|mut first| {
        // Where threads wait longest is worth a look, too.
        let others = all.into_iter().flat_map(|culprit| culprit.callers);
        let more: Vec<_> = others.filter(|site| !first.callers.contains(site)).collect();
        first.callers.extend(more);
        Culprit { object, ..first }
    });
    (named, in_library)
}

/// A function of the program that takes a lock, and the library's function that it calls for that.
type PlaceOfLock<'t> = ((&'t str, Option<&'t str>), Option<&'t str>);

/// The stacks of a lock's waits in the function that holds it longest, if that is not where threads wait longest. Where one
/// function of the program takes it in several calls of a library, those in that call.
fn of_holder<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    group: &Group<'_, 't>,
) -> Option<Vec<(View<'t>, f64)>> {
    if group.awake || group.is_interpreter_s() || group.object().is_none() {
        return None;
    }
    let by_function = |view: &View<'t>| Some((view.own?.function(), None));
    let by_call = |view: &View<'t>| Some((view.own?.function(), Some(view.library()?.name()?)));
    longest_holder(facts, ledger, group, by_function).or_else(|| longest_holder(facts, ledger, group, by_call))
}

fn longest_holder<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    group: &Group<'_, 't>,
    taker: impl Fn(&View<'t>) -> Option<PlaceOfLock<'t>>,
) -> Option<Vec<(View<'t>, f64)>> {
    let mut waited: BTreeMap<PlaceOfLock<'t>, f64> = BTreeMap::new();
    for (view, weight) in &group.views {
        *waited.entry(taker(view)?).or_default() += weight;
    }
    let (mut ended, mut all): (BTreeMap<PlaceOfLock<'t>, f64>, f64) = (BTreeMap::new(), 0.0);
    for wake in group.waits.iter().filter_map(|w| ledger.traced.wakes.get(&w.wait.wait)).flatten() {
        all += wake.blocked_ns as f64;
        let releases = taker(&facts.model.stacks.view(wake.waker_stack, true));
        if let Some(releases) = releases.filter(|_| wake.same_object) {
            *ended.entry(releases).or_default() += wake.blocked_ns as f64;
        }
    }
    let (longest, _) = by_weight(waited).into_iter().next()?;
    let of_longest = ended.get(&longest).copied().unwrap_or(0.0);
    let (holder, by_holder) = by_weight(ended).into_iter().next()?;
    if holder == longest || by_holder <= HELD_LONGEST * all || of_longest > HELD_LONGEST * by_holder {
        return None;
    }
    let views = group.views.iter().filter(|(view, _)| taker(view) == Some(holder));
    Some(views.copied().collect::<Vec<_>>()).filter(|views| !views.is_empty())
}

/// Where holders released the lock, by the blocked time that ended there.
pub(super) fn releaser(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, group: &Group<'_, '_>) -> Option<Evidence> {
    let mut releases = BTreeMap::new();
    for wake in group.waits.iter().filter_map(|w| ledger.traced.wakes.get(&w.wait.wait)).flatten() {
        let own = facts.model.stacks.view(wake.waker_stack, true).own;
        if let (Some(own), Some(_)) = (own, wake.waker) {
            *releases.entry(place(&own.site())).or_insert(0.0) += wake.blocked_ns as f64;
        }
    }
    let (site, blocked) = by_weight(releases).into_iter().next()?;
    Some(evidence(format!("blocked time ended by a release in {site}"), blocked * 1e-9, Unit::Seconds, "wakes"))
}
