//! Tests that no sentence decides anything: with all words of the account and of the causes replaced, verdicts stay the
//! same. Sketches are tested where they are: `common::answer_for` gives each of them both answers.

use crate::account::Ledger;
use crate::answer::CauseId;
use crate::causes::{ALL, Meta, Outcome};
use crate::common::rewording::same_in_other_words;
use crate::common::{RANDOM, answer_for, birthday};
use crate::facts::Facts;
use crate::model::Model;
use recording::Recording;
use std::path::{Path, PathBuf};

fn recordings(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (ends, folders): (Vec<_>, Vec<_>) =
        entries.filter(|path| path.is_dir()).partition(|path| path.join("meta.json").exists());
    ends.into_iter().chain(folders.iter().flat_map(|folder| recordings(folder))).collect()
}

#[test]
fn kept_recordings_have_the_same_verdict_in_other_words() {
    let kept = recordings(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures"));
    assert!(kept.len() > 8, "{kept:?}");
    for folder in kept {
        let tables = Recording::open(&folder).and_then(|recording| recording.tables()).expect("a recording");
        answer_for(&tables);
    }
}

/// A cause that is decided by what a line of the account is called.
fn reads_words(facts: &Facts<'_, '_>, _: &Meta) -> Outcome {
    let lines = |ledger: &Ledger<'_, '_>| ledger.account.lines.iter().map(|line| line.id).collect::<Vec<_>>();
    let mut names = facts.ledgers.iter().flat_map(lines).map(|id| (facts.named)(facts.model, id));
    match names.any(|name| name.contains("locks")) {
        true => Outcome::Unsure("a line is about locks".to_owned()),
        false => Outcome::Nothing,
    }
}

#[test]
#[should_panic(expected = "decided by words")]
fn a_cause_that_is_decided_by_words_fails() {
    let tables = birthday(&RANDOM);
    let meta = Meta { id: CauseId::new("reads-words"), judge: reads_words, ..*ALL[0] };
    same_in_other_words(|| crate::analyze_for(&Model::new(&tables), &[&meta]).answer);
}
