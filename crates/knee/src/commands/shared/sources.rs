//! Reads the source around culprits, so that pages can show it.
//!
//! A recording may come from anybody, and the target chooses the paths in it, while a page is made to be passed on. So
//! a file is read only if it is certainly source: a regular file with the name of a source file, text, and not newer
//! than the recording, because after a change its lines would be the wrong ones.

use analyze::answer::Answer;
use recording::Tables;
use report::html::sources::Sources;
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// The largest file that is read, in bytes. Larger ones are generated; nobody reads them.
const LARGEST: u64 = 4 << 20;

/// File name endings of the languages whose compilers write line tables that knee reads.
const ENDINGS: [&str; 22] = [
    "c", "h", "cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "inl", "ipp", "tcc", "rs", "go", "d", "zig", "f", "f90",
    "f95", "s", "S", "swift",
];

/// The source around what an answer blames, as far as it can be read here.
pub(in crate::commands) fn sources_around(answer: &Answer, tables: &Tables) -> Sources {
    Sources::find(answer, tables, |path| read(Path::new(path), tables.meta.started_unix_ns))
}

/// The text of a source file that was not changed after this time.
fn read(path: &Path, before_unix_ns: u64) -> Option<String> {
    if !path.is_absolute() {
        return None;
    }
    // The target of a symbolic link must look like source, too.
    let path = fs::canonicalize(path).ok()?;
    let ending = path.extension()?.to_str()?;
    let about = fs::metadata(&path).ok()?;
    let before = UNIX_EPOCH + Duration::from_nanos(before_unix_ns);
    let fine = ENDINGS.contains(&ending) && about.is_file() && about.len() <= LARGEST;
    if !fine || about.modified().ok()? > before {
        return None;
    }
    fs::read_to_string(&path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_old_enough_source_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let later = u64::MAX / 2;
        for (name, text) in [("a.c", "int a;\n"), ("secret", "x"), ("shadow.conf", "x")] {
            fs::write(at(name), text).unwrap();
        }
        fs::write(at("binary.c"), [0xff, 0xfe, 0x00]).unwrap();
        symlink(at("secret"), at("link.c")).unwrap();
        symlink(at("a.c"), at("good.c")).unwrap();
        fs::create_dir(at("folder.c")).unwrap();
        assert_eq!(read(&at("a.c"), later).as_deref(), Some("int a;\n"));
        assert!(read(&at("good.c"), later).is_some());
        assert_eq!(read(&at("a.c"), 1), None, "changed since the recording");
        for name in ["secret", "shadow.conf", "binary.c", "link.c", "folder.c", "missing.c"] {
            assert_eq!(read(&at(name), later), None, "{name}");
        }
        assert_eq!(read(Path::new("a.c"), later), None, "relative to what?");
    }
}
