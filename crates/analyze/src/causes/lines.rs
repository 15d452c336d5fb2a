//! The lines of the account with their causes and their words: each line belongs to the cause whose [`Meta`] claims it.
//! The words for what no evidence explains come from here.

use super::shared::unexplained::unexplained;
use super::{Meta, all};
use crate::account::{Ledger, LineId};
use crate::answer;
use crate::model::Model;
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

/// An account in the form of the answer.
pub fn told(model: &Model<'_>, ledger: &Ledger<'_, '_>) -> answer::Account {
    let account = &ledger.account;
    let lines = account.lines.iter().filter_map(|line| {
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
    use crate::causes::shared::CALL;
    use std::collections::BTreeSet;

    #[test]
    fn each_line_is_one_cause_s_or_unexplained() {
        for id in LineId::all() {
            let claiming: Vec<_> = all().filter(|d| d.claims(id)).map(|d| d.id).collect();
            let expected = usize::from(!matches!(id, LineId::Unexplained(_)));
            assert_eq!(claiming.len(), expected, "{id:?} is claimed by {claiming:?}");
        }
    }

    /// Recordings and thread counts are compared line by line, by the lines' words.
    #[test]
    fn no_two_lines_have_the_same_words() {
        let claimed = LineId::all().filter_map(|id| all().find_map(|d| (d.lines)(id)));
        let all: Vec<&str> = claimed.chain(Unexplained::ALL.map(unexplained)).collect();
        assert!(all.iter().all(|words| !words.is_empty()));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:#?}");
    }

    #[test]
    fn words_of_calls_have_a_place_for_the_call_s_name() {
        let words = |id| all().find_map(|d| (d.lines)(id)).unwrap_or_default();
        assert!(words(LineId::Call(0)).contains(CALL) && words(LineId::FailingCall(0)).contains(CALL));
    }
}
