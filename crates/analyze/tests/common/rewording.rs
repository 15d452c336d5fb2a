//! The answer for a sketch, and the proof that no sentence decided anything in it: with all words of the account and of
//! the causes replaced, the verdict stays the same.

use analyze::answer::Answer;
use analyze::reworded;
use recording::Tables;

pub(super) fn answer_for(tables: &Tables) -> Answer {
    let (told, instead) = (analyze::answer_for(tables), reworded(|| analyze::answer_for(tables)));
    let words = |a: &Answer| a.account.iter().flat_map(|a| a.lines.iter().map(|l| l.what.clone())).collect::<Vec<_>>();
    let (before, after) = (words(&told), words(&instead));
    assert!(before.iter().zip(&after).all(|(a, b)| a != b), "{before:?} is not reworded");
    assert_eq!(verdict(&told), verdict(&instead), "decided by words");
    told
}

/// A verdict without its words.
fn verdict(answer: &Answer) -> String {
    let causes = answer.verdict.causes.iter().map(|cause| {
        let rows: Vec<_> = cause.evidence.iter().map(|row| (row.value, row.unit, row.source)).collect();
        let numbers = (cause.share, cause.lost_seconds, cause.interval, cause.threads);
        format!("{:?} {numbers:?} {:?} {rows:?} {}", cause.id, cause.culprit, cause.remedies.len())
    });
    let unsure = answer.verdict.unsure.iter().map(|unsure| unsure.id);
    let accounts = answer.account.iter().map(|account| {
        let lines: Vec<_> = account.lines.iter().map(|l| (l.cause, l.seconds, l.sampling_error)).collect();
        (account.threads, account.unexplained, lines)
    });
    format!(
        "{:#?}\n{:?}\n{:?}\n{:#?}\n{} warnings, {} grow",
        causes.collect::<Vec<_>>(),
        answer.verdict.clear,
        unsure.collect::<Vec<_>>(),
        accounts.collect::<Vec<_>>(),
        answer.warnings.len(),
        answer.growth.len()
    )
}
