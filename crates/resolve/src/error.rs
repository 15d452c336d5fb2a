//! What can go wrong with a module (a mapped file) and with symbols.
//!
//! Imports nothing of the crate.

use std::io;
use std::path::PathBuf;

/// Why a module cannot be used for unwinding or symbols.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The system refused to open or read it.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It is a directory, device, pipe or socket.
    #[error("{path} is not a regular file", path = path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// It is not an ELF file, or is one for 32-bit or big-endian machines.
    #[error("{path} is not a 64-bit little-endian ELF file", path = path.display())]
    NotElf {
        /// The file.
        path: PathBuf,
    },
    /// A header points outside the file, or to something else than it claims.
    #[error("{path}: malformed {what} at byte {offset:#x}", path = path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The part of the file.
        what: String,
        /// Where it should be, in bytes from the start of the file.
        offset: u64,
    },
    /// A header claims more bytes than any real program has.
    #[error("{path}: {what} claims {size} bytes, more than the limit", path = path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The part of the file.
        what: String,
        /// The claimed size in bytes.
        size: u64,
    },
    /// The path leads to a different file than the one that the process has mapped.
    #[error("{path} is not the file that was mapped (inode {found}, mapped {mapped})", path = path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
        /// Inode that the process has mapped.
        mapped: u64,
        /// Inode found under the path.
        found: u64,
    },
    /// None of its loadable segments covers the mapped part.
    #[error("{path} has no executable segment at byte {offset:#x}", path = path.display())]
    NoSegment {
        /// The file.
        path: PathBuf,
        /// The mapped part's start in the file, in bytes.
        offset: u64,
    },
    /// This process has no vdso to take the image from.
    #[error("this process has no vdso")]
    NoVdso,
}

/// A module that could not be loaded, or only in part; everything else continues without it.
#[derive(Debug)]
pub struct ModuleProblem {
    /// The path as the process sees it.
    pub path: PathBuf,
    /// Where its code starts in the process.
    pub start: u64,
    /// What went wrong.
    pub error: ModuleError,
}

/// Why names or lines are missing.
#[derive(Debug, thiserror::Error)]
pub enum SymbolProblem {
    /// A module's symbol table or debug information could not be read; its functions may be unnamed.
    #[error("symbols of {path}: {source}", path = path.display())]
    Module {
        /// The module.
        path: PathBuf,
        /// The reason.
        source: ModuleError,
    },
    /// A module's debug information is malformed; its functions have names but no lines.
    #[error("debug information of {path}: {reason}", path = path.display())]
    DebugInformation {
        /// The module.
        path: PathBuf,
        /// What the reader found.
        reason: String,
    },
    /// `/proc/kallsyms` could not be read.
    #[error("kernel functions stay unnamed: cannot read {path}: {source}", path = path.display())]
    KernelUnreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The kernel hides its addresses from this user.
    #[error(
        "kernel functions stay unnamed: the kernel hides its addresses (kernel.kptr_restrict, kernel.perf_event_paranoid, or no privileges)"
    )]
    KernelHidden,
}
