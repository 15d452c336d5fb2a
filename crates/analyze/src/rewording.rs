//! Tests that no sentence decides anything: with all words of the account and of the causes replaced, verdicts stay the
//! same. Sketches are tested where they are: `common::answer_for` gives each of them both answers.

use crate::common::answer_for;
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
