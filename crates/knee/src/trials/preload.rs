//! knee's own libraries, which a trial loads before the program's. Their sources are in the crate's folder `preload`; the
//! build compiles them into knee. They link to nothing, so one file works with every C library that has the functions
//! that it replaces.

use std::path::{Path, PathBuf};

/// The folder of an experiment that holds them.
pub(crate) const FOLDER: &str = "preload";

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// Changes nothing.
    Nothing,
    /// Random numbers from one state per thread.
    Random,
    /// Adaptive mutexes.
    Mutex,
    /// A cache line behind every allocation.
    Lines,
}

impl Source {
    /// Its file name.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Source::Nothing => "nothing.so",
            Source::Random => "random.so",
            Source::Mutex => "mutex.so",
            Source::Lines => "lines.so",
        }
    }

    /// Its contents; empty if knee was built where there was no C compiler for the target.
    fn contents(self) -> &'static [u8] {
        match self {
            Source::Nothing => include_bytes!(concat!(env!("OUT_DIR"), "/nothing.so")),
            Source::Random => include_bytes!(concat!(env!("OUT_DIR"), "/random.so")),
            Source::Mutex => include_bytes!(concat!(env!("OUT_DIR"), "/mutex.so")),
            Source::Lines => include_bytes!(concat!(env!("OUT_DIR"), "/lines.so")),
        }
    }

    /// False if knee was built without it.
    pub(crate) fn is_there(self) -> bool {
        !self.contents().is_empty()
    }

    /// Where it is in an experiment's folder.
    pub(crate) fn within(self, folder: &Path) -> PathBuf {
        folder.join(FOLDER).join(self.file())
    }

    /// Writes it into an experiment's folder, for its owner alone.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(self, folder: &Path) -> std::io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join(FOLDER))?;
        recording::private::write(&self.within(folder), self.contents())
    }
}
