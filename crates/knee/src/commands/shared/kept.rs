//! The answer of a recording, kept beside it: while neither the recording nor knee changes, it need not be worked out
//! again.

use crate::version;
use analyze::answer::Answer;
use recording::writer::META;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::UNIX_EPOCH;
use std::{fs, io};

/// Hidden, because it is no output: `verdict.json` is the answer for scripts.
const FILE: &str = ".answer.json";

/// The answer, and what it was worked out from and by.
#[derive(Debug, Serialize, Deserialize)]
struct Kept<A> {
    by: Build,
    from: Vec<Part>,
    answer: A,
}

/// The knee that worked it out.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Build {
    version: String,
    /// Two builds of one version may differ.
    file: Part,
}

/// A file as it was: another one has another size or was written at another time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Part {
    path: String,
    bytes: u64,
    modified_ns: u64,
}

/// The answer of a recording, as it was kept; `None` where there is none, or anything has changed since.
pub(super) fn read(folder: &Path) -> Option<Answer> {
    let kept: Kept<Answer> = serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()?;
    let same = kept.by == build().ok()? && kept.from == parts(folder).ok()?;
    same.then_some(kept.answer)
}

/// Keeps the answer. Without it the next one takes longer and says the same, so failures are no errors.
pub(super) fn write(folder: &Path, answer: &Answer) {
    let file = folder.join(FILE);
    let kept = || {
        let kept = Kept { by: build()?, from: parts(folder)?, answer };
        recording::private::write(&file, &serde_json::to_vec(&kept)?)
    };
    if kept().is_err() {
        // Of a full disk's half a file nothing can be read.
        let _ = fs::remove_file(&file);
    }
}

fn build() -> io::Result<Build> {
    let file = std::env::current_exe()?;
    Ok(Build { version: version::long(), file: part(&file, String::new())? })
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
    let modified = data.modified()?.duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    Ok(Part { path, bytes: data.len(), modified_ns: u64::try_from(modified.as_nanos()).map_err(io::Error::other)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::shared::answer;
    use recording::synthetic::{Sketch, ms};

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
        write(folder, &changed);
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
            fs::File::options().write(true).open(folder.join(part)).unwrap().set_modified(UNIX_EPOCH).unwrap();
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
