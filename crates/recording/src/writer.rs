//! Writes a recording in parts, so that a killed writer leaves a readable one.
//!
//! A part is written under a temporary name and renamed when complete; a reader never sees half a part.

use crate::column::{Table, write_part};
use crate::error::Error;
use crate::meta::Meta;
use crate::private;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The file that makes a folder a recording.
pub const META: &str = "meta.json";

/// A recording being written.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    parts: BTreeMap<&'static str, u32>,
}

impl Writer {
    /// Creates the folder (readable only by its owner, because a recording shows what a program did) and `meta.json`.
    ///
    /// # Errors
    /// When the folder exists or cannot be created.
    pub fn create(folder: impl Into<PathBuf>, meta: &Meta) -> Result<Writer, Error> {
        let folder = folder.into();
        fs::DirBuilder::new().mode(0o700).create(&folder).map_err(Error::io("create", &folder))?;
        let writer = Writer { folder, parts: BTreeMap::new() };
        writer.set_meta(meta)?;
        Ok(writer)
    }

    /// Where the recording is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Replaces `meta.json` atomically.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_meta(&self, meta: &Meta) -> Result<(), Error> {
        set_meta(&self.folder, meta)
    }

    /// Adds rows to a table as one part. Without rows nothing is written.
    ///
    /// # Errors
    /// When the part cannot be written; the parts before it stay readable.
    pub fn append<T: Table>(&mut self, rows: &[T]) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let table = self.folder.join(T::NAME);
        let number = self.parts.entry(T::NAME).or_insert(0);
        if *number == 0 {
            fs::DirBuilder::new().mode(0o700).create(&table).map_err(Error::io("create", &table))?;
        }
        let part = table.join(format!("part-{number:05}.parquet"));
        let temporary = table.join(format!(".part-{number:05}.unfinished"));
        write_part(&temporary, rows)?;
        fs::rename(&temporary, &part).map_err(Error::io("rename", &temporary))?;
        *number += 1;
        Ok(())
    }
}

/// Replaces the `meta.json` of a recording atomically.
///
/// # Errors
/// When the file cannot be written.
pub fn set_meta(folder: &Path, meta: &Meta) -> Result<(), Error> {
    let path = folder.join(META);
    let text = serde_json::to_vec_pretty(meta).map_err(|source| Error::Meta { path: path.clone(), source })?;
    replace(&path, &text)
}

/// Writes a small file so that its readers see the old or the new contents, never a mixture.
fn replace(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let temporary = path.with_extension("unfinished");
    private::write(&temporary, contents).map_err(Error::io("write", &temporary))?;
    fs::rename(&temporary, path).map_err(Error::io("rename", &temporary))
}
