//! What others took from the runs that something is predicted from.

use crate::account::Ledger;
use crate::words::percent;
use recording::meta::Counted;

/// Decides: whether nothing is predicted because other programs or virtual machines took processors: more than this share
/// of the capacity, at one of the counts that it would be predicted from.
/// From: trials against measured repairs: the median error was 23 % on quiet runs and 69 % on disturbed ones.
/// Shown by: `nothing_is_predicted_of_disturbed_runs`, `nothing_is_predicted_from_disturbed_runs`.
/// Wrong if: what others took does not change how the program's threads wait for each other.
const MOST_DISTURBED: f64 = 0.1;

/// Of these accounts, what others took from the worst one, in words; `None` where it is too little to matter.
pub fn disturbed<'a, 't: 'a>(counted: Counted, ledgers: impl Iterator<Item = &'a Ledger<'a, 't>>) -> Option<String> {
    let taken = |l: &Ledger<'_, '_>| (l.to_machine() + l.disturbed + l.stolen) / l.account.capacity;
    let (most, threads) = ledgers.map(|l| (taken(l), l.account.threads)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let told = || {
        let with = counted.many(threads);
        format!("other programs or virtual machines took {} of the processors with {with}", percent(most))
    };
    (most > MOST_DISTURBED).then(told)
}
