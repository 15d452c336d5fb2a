//! Tests that no sentence decides anything: with all words of the account and of the causes replaced, verdicts stay the
//! same.

use crate::answer::Answer;
use crate::answer_for;
use crate::common::{RANDOM, STRIPPED, birthday, crowded, queue, repaired, uneven};
use crate::words::reworded::reworded;
use recording::{Recording, Tables};
use std::path::{Path, PathBuf};

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

fn assert_same(what: &str, tables: &Tables) {
    let (told, instead) = (answer_for(tables), reworded(|| answer_for(tables)));
    let words = |a: &Answer| a.account.iter().flat_map(|a| a.lines.iter().map(|l| l.what.clone())).collect::<Vec<_>>();
    let (before, after) = (words(&told), words(&instead));
    assert!(before.iter().zip(&after).all(|(a, b)| a != b), "{what}: {before:?} is not reworded");
    assert_eq!(verdict(&told), verdict(&instead), "{what}");
}

fn recordings(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (ends, folders): (Vec<_>, Vec<_>) =
        entries.filter(|path| path.is_dir()).partition(|path| path.join("meta.json").exists());
    ends.into_iter().chain(folders.iter().flat_map(|folder| recordings(folder))).collect()
}

#[test]
fn sketches_have_the_same_verdict_in_other_words() {
    let sketches = [birthday(&RANDOM), birthday(&STRIPPED), repaired(), queue(), uneven(), crowded()];
    for (nth, tables) in sketches.iter().enumerate() {
        assert_same(&format!("sketch {nth}"), tables);
    }
}

#[test]
fn kept_recordings_have_the_same_verdict_in_other_words() {
    let kept = recordings(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures"));
    assert!(kept.len() > 8, "{kept:?}");
    for folder in kept {
        let tables = Recording::open(&folder).and_then(|recording| recording.tables()).expect("a recording");
        assert_same(&folder.display().to_string(), &tables);
    }
}
