//! The answer of a recording, kept beside it: while neither the recording nor knee changes, it need not be worked out
//! again.

use crate::version;
use analyze::answer::Answer;
use recording::writer::META;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

/// Hidden, because it is no output: `verdict.json` is the answer for scripts.
const FILE: &str = ".answer.json";

/// The answer, and what it was worked out from and by.
#[derive(Debug, Serialize, Deserialize)]
struct Kept<A> {
    of: Origin,
    answer: A,
}

/// What an answer is worked out from and by.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// The version of knee.
    version: String,
    /// Its program: two builds of one version may differ.
    program: Part,
    recording: Vec<Part>,
}

/// A file as it was. One with other contents was written at another time. One from an archive, which may come with an answer
/// of its own, is another inode, whose number nobody can choose. (The time of the last change would do for both, but it moves
/// when the recording is handed to the user who called sudo.)
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Part {
    path: String,
    bytes: u64,
    inode: u64,
    written: (i64, i64),
}

impl Origin {
    /// As they are now. To be asked before the recording is read.
    ///
    /// # Errors
    /// When something cannot be looked at.
    pub(super) fn now(folder: &Path) -> io::Result<Origin> {
        let program = part(&std::env::current_exe()?, String::new())?;
        Ok(Origin { version: version::long(), program, recording: parts(folder)? })
    }
}

/// The answer of a recording, as it was kept; `None` where there is none, or anything has changed since.
pub(super) fn read(folder: &Path) -> Option<Answer> {
    let kept: Kept<Answer> = serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()?;
    (kept.of == Origin::now(folder).ok()?).then_some(kept.answer)
}

/// Keeps the answer. Without it the next one takes longer and says the same, so failures are no errors.
pub(super) fn write(folder: &Path, of: io::Result<Origin>, answer: &Answer) {
    let file = folder.join(FILE);
    let kept = || recording::private::write(&file, &serde_json::to_vec(&Kept { of: of?, answer })?);
    if kept().is_err() {
        // Of a full disk's half a file nothing can be read.
        let _ = fs::remove_file(&file);
    }
}

/// The files that an answer is worked out from, in the order of their names: `meta.json`, and the tables in their folders.
fn parts(folder: &Path) -> io::Result<Vec<Part>> {
    let mut parts = vec![part(&folder.join(META), META.to_owned())?];
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(entry.path())? {
            let file = file?;
            let path = Path::new(&entry.file_name()).join(file.file_name());
            if path.extension().is_some_and(|extension| extension == "parquet") {
                parts.push(part(&file.path(), path.to_string_lossy().into_owned())?);
            }
        }
    }
    parts.sort_unstable();
    Ok(parts)
}

fn part(file: &Path, path: String) -> io::Result<Part> {
    let data = fs::metadata(file)?;
    Ok(Part { path, bytes: data.len(), inode: data.ino(), written: (data.mtime(), data.mtime_nsec()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::shared::answer;
    use recording::synthetic::{Sketch, ms};
    use std::time::SystemTime;

    /// A recording of two threads that share a lock.
    fn record(folder: &Path) {
        let lock = "pthread_mutex_lock@libc.so.6 < work@app app.c:9";
        Sketch::new(2)
            .clean(1, &[1.0, 1.01, 0.99, 1.005, 0.995])
            .clean_cpu(2, &[1.0, 1.01, 0.99, 1.005, 0.995], &[1.0, 1.01, 0.99, 1.005, 0.995])
            .traced(1, |run| {
                run.thread("a").runs(ms(1000), "work@app app.c:10");
            })
            .traced(2, |run| {
                run.thread("a").runs(ms(500), "work@app app.c:10").locks(0x40, ms(500), lock, "b");
                run.thread("b").locks(0x40, ms(500), lock, "a").runs(ms(500), "work@app app.c:10");
            })
            .tables()
            .write(folder)
            .unwrap();
    }

    /// Its answer, kept with another summary: an answer with that one was not worked out.
    fn keep(folder: &Path) -> Answer {
        let answer = answer::keep(folder).unwrap();
        let mut changed = answer.clone();
        changed.verdict.summary = KEPT.to_owned();
        write(folder, Origin::now(folder), &changed);
        answer
    }

    const KEPT: &str = "As it was kept.";

    fn summary(folder: &Path) -> String {
        answer::answer_of(folder, None).unwrap().verdict.summary
    }

    #[test]
    fn a_kept_answer_is_not_worked_out_again() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("recording");
        record(&folder);
        let told = keep(&folder);
        let mut read = answer::answer_of(&folder, None).unwrap();
        assert_eq!(read.verdict.summary, KEPT);
        read.verdict.summary.clone_from(&told.verdict.summary);
        read.queues.iter_mut().zip(&told.queues).for_each(|(read, told)| read.waits.clone_from(&told.waits));
        assert_eq!(read, told);
    }

    #[test]
    fn an_answer_is_worked_out_again_where_anything_changed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("recording");
        record(&folder);
        let told = keep(&folder).verdict.summary;
        let table = parts(&folder).unwrap().into_iter().find(|part| part.path.starts_with("slices")).unwrap().path;
        for part in [table.as_str(), META] {
            keep(&folder);
            assert_eq!(summary(&folder), KEPT);
            let file = folder.join(part);
            let written = fs::metadata(&file).unwrap().modified().unwrap();
            let set = |to| fs::File::options().write(true).open(&file).unwrap().set_modified(to).unwrap();
            set(SystemTime::UNIX_EPOCH);
            assert_eq!(summary(&folder), told, "{part}");
            set(written);
            assert_eq!(summary(&folder), KEPT, "{part}");
            // Another file with the same contents and time, as from an archive.
            fs::copy(&file, folder.join("copy")).unwrap();
            fs::rename(folder.join("copy"), &file).unwrap();
            set(written);
            assert_eq!(summary(&folder), told, "{part}");
        }
        keep(&folder);
        let more = folder.join("waits/part-9.parquet");
        fs::write(&more, "").unwrap();
        assert!(read(&folder).is_none(), "another part of a table is a change");
        fs::remove_file(more).unwrap();
        assert_eq!(summary(&folder), KEPT);
        let file = folder.join(FILE);
        let text = fs::read_to_string(&file).unwrap();
        for damaged in [text.replace(version::RELEASE, "another"), text[..text.len() / 2].to_owned(), String::new()] {
            fs::write(&file, damaged).unwrap();
            assert_eq!(summary(&folder), told);
        }
        fs::remove_file(&file).unwrap();
        assert_eq!(summary(&folder), told);
    }
}
