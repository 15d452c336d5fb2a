//! The answer for a sketch, and the proof that no sentence decided anything in it: with all words of the account and of
//! the causes replaced, the verdict stays the same, and so does what is predicted from it.

use analyze::answer::Answer;
use analyze::reworded;
use recording::Tables;

pub(super) fn answer_for(tables: &Tables) -> Answer {
    same_in_other_words(|| analyze::answer_for(tables))
}

/// The answer; fails if it would be another one in other words.
pub(crate) fn same_in_other_words(answer: impl Fn() -> Answer) -> Answer {
    let (told, instead) = (answer(), reworded(&answer));
    let words = |a: &Answer| a.account.iter().flat_map(|a| a.lines.iter().map(|l| l.what.clone())).collect::<Vec<_>>();
    let (before, after) = (words(&told), words(&instead));
    assert!(before.iter().zip(&after).all(|(a, b)| a != b), "{before:?} is not reworded");
    reads_back(&told);
    compare(told, &instead, verdict)
}

/// Fails if an answer that is kept would be another one when it is read.
fn reads_back(told: &Answer) {
    let text = serde_json::to_string(told).expect("an answer as text");
    let mut read: Answer = match serde_json::from_str(&text) {
        Ok(read) => read,
        // Impossible recordings give numbers that text has no form for: those answers are worked out again.
        Err(error) if error.to_string().starts_with("invalid type: null, expected f64") => return,
        Err(error) => panic!("{error} in {text}"),
    };
    // Which waits a queue is about is for pages, which are made with the recording.
    read.queues.iter_mut().zip(&told.queues).for_each(|(read, told)| read.waits.clone_from(&told.waits));
    assert_eq!(read, *told, "a kept answer is another one");
}

/// What `conclude` gives; fails if the parts that `wordless` shows would differ in other words.
pub(crate) fn same_but_for_words<T>(conclude: impl Fn() -> T, wordless: impl Fn(&T) -> String) -> T {
    compare(conclude(), &reworded(&conclude), wordless)
}

fn compare<T>(told: T, instead: &T, wordless: impl Fn(&T) -> String) -> T {
    assert_eq!(wordless(&told), wordless(instead), "decided by words");
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
    let machine = answer.verdict.machine.iter().map(|told| (told.id, told.threads, told.seconds, told.share));
    let beyond = answer.verdict.beyond.iter().map(|told| {
        let causes: Vec<_> = told.causes.iter().map(|cause| (cause.id, cause.lost_seconds)).collect();
        (told.threads, told.slower, told.same, causes)
    });
    let removals = answer.what_if.removals.iter().map(|told| {
        let points: Vec<_> = told.points.iter().map(|point| (point.threads, point.speedup, point.interval)).collect();
        (&told.causes, told.part, told.at_most, points)
    });
    format!(
        "{:#?}\n{:?}\n{:?}\n{:?}\n{:#?}\n{:#?}\n{:?}\n{:#?}\n{} warnings, {} grow",
        causes.collect::<Vec<_>>(),
        answer.verdict.clear,
        unsure.collect::<Vec<_>>(),
        answer.verdict.power,
        machine.collect::<Vec<_>>(),
        beyond.collect::<Vec<_>>(),
        removals.collect::<Vec<_>>(),
        accounts.collect::<Vec<_>>(),
        answer.warnings.len(),
        answer.growth.len()
    )
}
