//! Opens a recording.

use crate::column::{Table, read_part};
use crate::error::Error;
use crate::memory::row_store::RowStore;
use crate::memory::slices::Slices;
use crate::meta::FORMAT;
use crate::meta::Meta;
use crate::tables::*;
use crate::writer::META;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A table of fewer bytes than this is read in less time than threads need to start.
const WORTH_THREADS: u64 = 256 << 10;

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
        self.stored()
    }

    /// The same, in the container that takes least memory.
    fn stored<T: Table, H: RowStore<T> + Send>(&self) -> Result<H, Error> {
        let table = self.folder.join(T::NAME);
        let entries = match fs::read_dir(&table) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(H::default()),
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
        read_parts(&parts)
    }

    /// Every table.
    ///
    /// # Errors
    /// As [`Recording::rows`].
    pub fn tables(&self) -> Result<Tables, Error> {
        Tables::read(self)
    }
}

/// The rows of a table's parts, in order, read on all processors where that is worth the threads.
fn read_parts<T: Table, H: RowStore<T> + Send>(parts: &[PathBuf]) -> Result<H, Error> {
    let bytes: u64 = parts.iter().filter_map(|part| part.metadata().ok()).map(|file| file.len()).sum();
    let readers = match bytes < WORTH_THREADS {
        true => 1,
        false => std::thread::available_parallelism().map_or(1, |n| n.get()).min(parts.len()),
    };
    let next = AtomicUsize::new(0);
    let joined = Mutex::new(Joined { rows: Ok(H::default()), parts: 0, of: parts.len(), early: BTreeMap::new() });
    let read = || {
        while let Some((at, part)) = parts.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
            let mut rows = H::default();
            let rows = read_part(part, |row: T| rows.add(row)).map(|()| rows);
            joined.lock().unwrap_or_else(PoisonError::into_inner).add::<T>(at, rows);
        }
    };
    // A reader that panicked is a bug: the scope panics, so that it does not look like an empty table.
    std::thread::scope(|scope| {
        (1..readers).for_each(|_| drop(scope.spawn(read)));
        read();
    });
    joined.into_inner().unwrap_or_else(PoisonError::into_inner).rows
}

/// The rows of the parts joined so far. Parts are joined as soon as they are read, so that memory holds few rows twice.
struct Joined<H> {
    rows: Result<H, Error>,
    /// How many parts have been joined, and how many there are.
    parts: usize,
    of: usize,
    /// Parts whose predecessor is still being read.
    early: BTreeMap<usize, Result<H, Error>>,
}

impl<H> Joined<H> {
    fn add<T: Table>(&mut self, at: usize, part: Result<H, Error>)
    where
        H: RowStore<T>,
    {
        self.early.insert(at, part);
        while let Some(part) = self.early.remove(&self.parts) {
            let left = self.of - self.parts;
            self.parts += 1;
            match (&mut self.rows, part) {
                (Ok(rows), Ok(part)) => rows.join(part, left),
                (Ok(_), Err(error)) => self.rows = Err(error),
                (Err(_), _) => {}
            }
        }
    }
}

/// Checks the format before the rest, because a newer release may have changed everything else.
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

/// Runs all jobs on as many threads as there are processors.
fn side_by_side(jobs: Vec<Box<dyn FnOnce() + Send + '_>>) {
    let jobs = Mutex::new(jobs.into_iter());
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || std::iter::from_fn(next).for_each(|job| job());
    std::thread::scope(|scope| {
        (1..std::thread::available_parallelism().map_or(1, |n| n.get())).for_each(|_| drop(scope.spawn(work)));
        work();
    });
}

/// Lists the tables of a recording once; the struct and the code to read and write it are generated from this list.
macro_rules! whole {
    (@store $row:ident) => { Vec<$row> };
    (@store $row:ident $store:ident) => { $store };
    ($($(#[doc = $doc:literal])* $field:ident: $row:ident $(in $store:ident)?,)*) => {
        /// A whole recording in memory: the input of the analysis.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Tables {
            /// `meta.json`.
            pub meta: Meta,
            $($(#[doc = $doc])* pub $field: whole!(@store $row $($store)?),)*
        }

        impl Tables {
            /// A recording without rows.
            pub fn empty(meta: Meta) -> Tables {
                Tables { meta, $($field: Default::default(),)* }
            }

            fn read(recording: &Recording) -> Result<Tables, Error> {
                $(let mut $field = None;)*
                side_by_side(vec![$(Box::new(|| $field = Some(recording.stored::<$row, whole!(@store $row $($store)?)>())),)*]);
                Ok(Tables { meta: recording.meta.clone(), $($field: $field.unwrap_or_else(|| Ok(Default::default()))?,)* })
            }

            /// Writes all tables into a new recording.
            ///
            /// # Errors
            /// As [`crate::Writer::append`].
            pub fn write(&self, folder: impl Into<PathBuf>) -> Result<(), Error> {
                self.writer(folder).map(drop)
            }

            /// The same, and returns the writer for further rows.
            ///
            /// # Errors
            /// As [`crate::Writer::append`].
            pub fn writer(&self, folder: impl Into<PathBuf>) -> Result<crate::Writer, Error> {
                let mut writer = crate::Writer::create(folder, &self.meta)?;
                $(writer.append(&RowStore::<$row>::rows(&self.$field))?;)*
                Ok(writer)
            }
        }

        /// Every table's name and columns, for documentation and for tests.
        pub const TABLES: &[(&str, &[ColumnInfo])] = &[$((<$row as Table>::NAME, <$row as Table>::COLUMNS),)*];
    };
}

whole! {
    /// Runs.
    runs: Run,
    /// Traced runs as a whole.
    traces: Trace,
    /// Threads.
    threads: Thread,
    /// Timelines.
    slices: Slice in Slices,
    /// Waits by place.
    waits: Wait,
    /// Wake-ups by place.
    wakes: Wake,
    /// System calls by number.
    syscalls: Syscall,
    /// System calls by place and error.
    call_sites: CallSite,
    /// System calls on the timeline.
    calls: Call,
    /// Histograms of waits and calls.
    durations: Duration,
    /// Locks inside the kernel that threads waited for.
    kernel_locks: KernelLock,
    /// Futex calls by operation.
    futex_operations: FutexOperation,
    /// Page faults by place.
    fault_sites: FaultSite,
    /// Marks of the program.
    marks: Mark,
    /// Other programs on the same processors.
    foreign: Foreign,
    /// CPU samples.
    samples: Sample,
    /// Where tasks waited.
    parked_tasks: ParkedTasks,
    /// Call stacks.
    stacks: Stack,
    /// Code addresses with their functions.
    frames: Frame,
    /// Modules.
    modules: Module,
    /// Requests and replies over TCP and sockets in the file system.
    peers: Peer,
    /// What was not recorded.
    losses: Loss,
    /// Memory accesses near samples.
    accesses: Access,
    /// Loops that wait.
    spins: Spin,
    /// What breakpoints showed.
    confirmations: Confirmation,
    /// What lies at addresses.
    variables: Variable,
    /// Code that was made at run time.
    runtime_bytes: RuntimeBytes,
}
