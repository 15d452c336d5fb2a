//! Opens a recording. May import: `column`, `error`, `meta`, `tables`.

use crate::FORMAT;
use crate::column::{Table, read_part};
use crate::error::Error;
use crate::meta::Meta;
use crate::tables::*;
use crate::writer::META;
use std::fs;
use std::path::{Path, PathBuf};

/// A recording on disk.
#[derive(Debug)]
pub struct Recording {
    folder: PathBuf,
    meta: Meta,
}

impl Recording {
    /// Reads `meta.json` and checks the format.
    ///
    /// # Errors
    /// When the folder is not a recording or its format is not readable.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Recording, Error> {
        let folder = folder.into();
        let path = folder.join(META);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(Error::NotARecording { path: folder }),
            Err(e) => return Err(Error::io("read", path)(e)),
        };
        check_format(&folder, &path, &text)?;
        let meta = serde_json::from_slice(&text).map_err(|source| Error::Meta { path, source })?;
        Ok(Recording { folder, meta })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its description.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// All rows of a table, in the order of writing. A table without parts is empty.
    ///
    /// # Errors
    /// When a part is damaged or lacks a required column.
    pub fn rows<T: Table>(&self) -> Result<Vec<T>, Error> {
        let table = self.folder.join(T::NAME);
        let entries = match fs::read_dir(&table) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(Error::io("read", table)(e)),
        };
        let mut parts = Vec::new();
        for entry in entries {
            let path = entry.map_err(Error::io("read", &table))?.path();
            if path.extension().is_some_and(|e| e == "parquet") {
                parts.push(path);
            }
        }
        parts.sort();
        let mut rows = Vec::new();
        for part in parts {
            rows.extend(read_part::<T>(&part)?);
        }
        Ok(rows)
    }

    /// Every table.
    ///
    /// # Errors
    /// As [`Recording::rows`].
    pub fn tables(&self) -> Result<Tables, Error> {
        Ok(Tables {
            meta: self.meta.clone(),
            runs: self.rows()?,
            traces: self.rows()?,
            threads: self.rows()?,
            slices: self.rows()?,
            waits: self.rows()?,
            wakes: self.rows()?,
            syscalls: self.rows()?,
            samples: self.rows()?,
            stacks: self.rows()?,
            frames: self.rows()?,
            modules: self.rows()?,
            losses: self.rows()?,
        })
    }
}

/// The format is looked at before the rest, because a newer release may have changed everything else.
fn check_format(folder: &Path, path: &Path, text: &[u8]) -> Result<(), Error> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: crate::meta::FormatVersion,
        knee: String,
    }
    let head: Head = serde_json::from_slice(text).map_err(|source| Error::Meta { path: path.to_owned(), source })?;
    if head.format.major == FORMAT.major {
        return Ok(());
    }
    Err(Error::Format {
        path: folder.to_owned(),
        found: head.format.to_string(),
        readable: FORMAT.major,
        writer: head.knee,
    })
}

/// A whole recording in memory: what the analysis works on.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// `meta.json`.
    pub meta: Meta,
    /// Runs.
    pub runs: Vec<Run>,
    /// Traced runs as a whole.
    pub traces: Vec<Trace>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// Timelines.
    pub slices: Vec<Slice>,
    /// Waits by place.
    pub waits: Vec<Wait>,
    /// Wake-ups by place.
    pub wakes: Vec<Wake>,
    /// System calls by number.
    pub syscalls: Vec<Syscall>,
    /// CPU samples.
    pub samples: Vec<Sample>,
    /// Call stacks.
    pub stacks: Vec<Stack>,
    /// Code addresses with their functions.
    pub frames: Vec<Frame>,
    /// Modules.
    pub modules: Vec<Module>,
    /// What was not recorded.
    pub losses: Vec<Loss>,
}

impl Tables {
    /// A recording without a row.
    pub fn empty(meta: Meta) -> Tables {
        Tables {
            meta,
            runs: Vec::new(),
            traces: Vec::new(),
            threads: Vec::new(),
            slices: Vec::new(),
            waits: Vec::new(),
            wakes: Vec::new(),
            syscalls: Vec::new(),
            samples: Vec::new(),
            stacks: Vec::new(),
            frames: Vec::new(),
            modules: Vec::new(),
            losses: Vec::new(),
        }
    }

    /// Writes all tables into a new recording.
    ///
    /// # Errors
    /// As [`crate::Writer::append`].
    pub fn write(&self, folder: impl Into<PathBuf>) -> Result<(), Error> {
        let mut writer = crate::Writer::create(folder, &self.meta)?;
        writer.append(&self.runs)?;
        writer.append(&self.traces)?;
        writer.append(&self.threads)?;
        writer.append(&self.slices)?;
        writer.append(&self.waits)?;
        writer.append(&self.wakes)?;
        writer.append(&self.syscalls)?;
        writer.append(&self.samples)?;
        writer.append(&self.stacks)?;
        writer.append(&self.frames)?;
        writer.append(&self.modules)?;
        writer.append(&self.losses)
    }
}
