//! The lines of the account with their causes and their words: each line belongs to the cause whose [`Meta`] claims it.
//! The words for what no evidence explains come from here.

use super::shared::unexplained::unexplained;
use super::{Meta, all};
use crate::account::{Balance, Booked, Ledger, LineId};
use crate::answer;
use crate::model::Model;
use crate::statistics::{MIN_SHARE, NORMAL_95};
use crate::words::said;

/// The cause that claims a line; `None` for what no evidence explains.
pub fn owner(id: LineId) -> Option<&'static Meta> {
    all().find(|meta| (meta.lines)(id).is_some())
}

/// What a line is called.
pub fn words(model: &Model<'_>, id: LineId) -> String {
    match (id, owner(id)) {
        (LineId::Unexplained(what), _) => said(unexplained(what).to_owned(), || format!("{id:?}")),
        (_, Some(meta)) => meta.words(model, id),
        (_, None) => String::new(),
    }
}

/// The lines with one for all noise: beside the changes within their sampling error, a gain in the functions that the
/// baseline runs too, unless it is as certain and as large as a loss has to be for a cause. The sum stays the same.
fn noise_as_one(account: &Balance) -> Vec<Booked> {
    let scatter = (account.loss_interval.high - account.loss_interval.low) / 2.0;
    let proven =
        |gain: &Booked| -gain.seconds - (NORMAL_95 * gain.sampling_error).hypot(scatter) > MIN_SHARE * account.capacity;
    let is_noise = |line: &Booked| line.id == LineId::Noise || (line.id == LineId::SameFunctionsLess && !proven(line));
    let (noise, mut lines): (Vec<Booked>, Vec<Booked>) = account.lines.iter().copied().partition(is_noise);
    if !noise.is_empty() {
        let seconds = noise.iter().map(|line| line.seconds).sum();
        let sampling_error = noise.iter().map(|line| line.sampling_error.powi(2)).sum::<f64>().sqrt();
        lines.push(Booked { id: LineId::Noise, seconds, sampling_error });
        lines.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.id.cmp(&b.id)));
    }
    lines
}

/// An account in the form of the answer.
pub fn told(model: &Model<'_>, ledger: &Ledger<'_, '_>) -> answer::Account {
    let account = &ledger.account;
    let told = noise_as_one(account);
    let lines = told.iter().filter_map(|line| {
        Some(answer::Line {
            cause: owner(line.id)?.id,
            what: words(model, line.id),
            seconds: line.seconds,
            sampling_error: line.sampling_error,
        })
    });
    answer::Account {
        threads: account.threads,
        working_threads: (!ledger.traced.counted.is_threads()).then(|| ledger.traced.asked()),
        capacity: account.capacity,
        useful: account.useful,
        unexplained: account.unexplained,
        traced_over_clean: account.traced_over_clean,
        loss_interval: account.loss_interval,
        lines: lines.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Unexplained;
    use crate::account::lines::Why;
    use crate::causes::shared::CALL;
    use crate::words::reasons::reason;
    use std::collections::BTreeSet;

    #[test]
    fn each_line_is_one_cause_s_or_unexplained() {
        for id in LineId::all() {
            let claiming: Vec<_> = all().filter(|d| d.claims(id)).map(|d| d.id).collect();
            let expected = usize::from(!matches!(id, LineId::Unexplained(_)));
            assert_eq!(claiming.len(), expected, "{id:?} is claimed by {claiming:?}");
        }
    }

    /// Readers tell lines apart by their words.
    #[test]
    fn no_two_lines_have_the_same_words() {
        let claimed = LineId::all().filter_map(|id| all().find_map(|d| (d.lines)(id)));
        let all: Vec<&str> = claimed.chain(Unexplained::ALL.map(unexplained)).collect();
        assert!(all.iter().all(|words| !words.is_empty()));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:#?}");
    }

    /// A line of the account and the tables of waits say the same thing with the same nouns.
    #[test]
    fn lines_of_waits_use_the_words_of_the_reason() {
        let stems = |words: &str| -> BTreeSet<String> {
            let words = words.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 2);
            let stem = |word: &str| {
                let word = word.strip_suffix("ing").unwrap_or(word);
                word.trim_end_matches('s').trim_end_matches('e').trim_end_matches("ion").to_lowercase()
            };
            words.filter(|word| !GLUE.contains(word)).map(stem).collect()
        };
        for why in Why::ALL {
            let id = LineId::blocked(why);
            let Some(label) = all().find_map(|meta| (meta.lines)(id)) else { continue };
            let (label, name) = (stems(label), stems(reason(why)));
            assert!(!label.is_empty() && label.is_subset(&name), "{why:?}: {label:?} {name:?}");
        }
    }

    /// Words around the nouns.
    const GLUE: [&str; 9] = ["waiting", "for", "the", "too", "few", "left", "other", "another", "one"];

    /// A terminal of 80 columns has room for so many beside three thread counts. The name of a call comes in addition.
    #[test]
    fn words_fit_into_the_first_column() {
        let claimed = LineId::all().filter_map(|id| all().find_map(|d| (d.lines)(id)));
        let long: Vec<&str> = claimed.filter(|words| !words.contains(CALL) && words.chars().count() > 28).collect();
        assert!(long.is_empty(), "{long:#?}");
    }

    #[test]
    fn a_gain_that_noise_explains_is_noise_and_the_sum_stays() {
        let line = |id, seconds, sampling_error| Booked { id, seconds, sampling_error };
        let told = |gain: f64, error: f64, scatter: f64| {
            let account = Balance {
                threads: 2,
                capacity: 100.0,
                useful: 50.0,
                unexplained: 0.0,
                traced_over_clean: 1.0,
                loss_interval: answer::Interval { low: 50.0 - scatter, high: 50.0 + scatter },
                lines: vec![
                    line(LineId::KernelLock, 40.0, 0.0),
                    line(LineId::Noise, 1.0, 3.0),
                    line(LineId::SameFunctionsLess, gain, error),
                ],
            };
            noise_as_one(&account).iter().map(|l| (l.id, l.seconds, l.sampling_error)).collect::<Vec<_>>()
        };
        let lock = (LineId::KernelLock, 40.0, 0.0);
        assert_eq!(told(-7.0, 4.0, 1.0), [lock, (LineId::Noise, -6.0, 5.0)], "within the sampling error");
        assert_eq!(told(-20.0, 4.0, 30.0), [lock, (LineId::Noise, -19.0, 5.0)], "within the scatter of the runs");
        let (noise, gain) = ((LineId::Noise, 1.0, 3.0), (LineId::SameFunctionsLess, -20.0, 4.0));
        assert_eq!(told(-20.0, 4.0, 1.0), [lock, noise, gain], "a gain that is proven keeps its line");
    }

    #[test]
    fn words_of_calls_have_a_place_for_the_call_s_name() {
        let words = |id| all().find_map(|d| (d.lines)(id)).unwrap_or_default();
        assert!(words(LineId::Call(0)).contains(CALL) && words(LineId::FailingCall(0)).contains(CALL));
    }
}
