//! Files that only their owner may read: a recording shows what a program did, which must stay private even when its
//! folder is copied to a place that others can read.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Creates or empties a file. A new one has the mode 0600, whatever the umask allows.
///
/// # Errors
/// As [`File::create`].
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Writes a file as a whole, created as by [`create`].
///
/// # Errors
/// As [`std::fs::write`].
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    create(path)?.write_all(contents)
}
