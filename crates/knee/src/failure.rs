//! Failures that end knee without an answer, and the exit statuses that tell scripts which one it was.

use std::fmt;
use std::io::ErrorKind;

/// Exit statuses, as documented in `knee sweep --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Something that should not happen.
    Internal = 1,
    /// The arguments are wrong.
    Usage = 2,
    /// The program failed at every thread count.
    Target = 3,
    /// The system does not allow it.
    Permission = 4,
    /// The recording cannot be read.
    Recording = 5,
    /// The user stopped it.
    Interrupted = 130,
}

/// A failure in words for the user.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit status.
    pub(crate) status: Status,
    what: String,
    /// What to try.
    pub(crate) hint: Option<String>,
    /// Lines that show the place of the mistake, already laid out; printed unchanged below the failure.
    pub(crate) shown: Vec<String>,
}

impl Failure {
    pub(crate) fn new(status: Status, what: impl Into<String>) -> Failure {
        Failure { status, what: what.into(), hint: None, shown: Vec::new() }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn shown(mut self, lines: Vec<String>) -> Failure {
        self.shown = lines;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}

/// The status when a file or folder that the user named cannot be created.
pub(crate) fn of_io(error: &std::io::Error) -> Status {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Status::Permission,
        ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => Status::Usage,
        _ => Status::Internal,
    }
}
