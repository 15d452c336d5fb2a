//! Failures that end knee without an answer, and the exit statuses that tell scripts which one it was.

use collect::error::shortage;
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

/// Exit statuses, as documented in `knee sweep --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Something that should not happen.
    Internal = 1,
    /// The arguments are wrong.
    Usage = 2,
    /// The program failed at every thread count.
    Target = 3,
    /// The system forbids it.
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

/// What to do when the folder of a recording cannot be created.
pub(crate) fn new_folder(folder: &Path, error: &std::io::Error) -> String {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match error.kind() {
        ErrorKind::NotFound => format!("there is no folder {0}: mkdir -p {0}", parent.display()),
        ErrorKind::NotADirectory => format!("{} is no folder; -o DIR names a new one", parent.display()),
        ErrorKind::PermissionDenied => {
            format!("you may not write into {}; -o DIR names a new folder elsewhere", parent.display())
        }
        ErrorKind::ReadOnlyFilesystem => {
            format!("nothing can be written into {}; -o DIR names a new folder elsewhere", parent.display())
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "-o DIR names a new folder where there is room".to_owned(),
        ErrorKind::AlreadyExists => "-o DIR names a new folder for the recording".to_owned(),
        _ => match shortage(error) {
            Some(advice) => advice.to_owned(),
            None => "-o DIR names a new folder for the recording".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_about_a_folder_follows_from_why_it_cannot_be() {
        for (kind, said, status) in [
            (ErrorKind::NotFound, "there is no folder a: mkdir -p a", Status::Usage),
            (ErrorKind::NotADirectory, "a is no folder; -o DIR", Status::Usage),
            (ErrorKind::AlreadyExists, "-o DIR names a new folder", Status::Usage),
            (ErrorKind::PermissionDenied, "you may not write into a;", Status::Permission),
            (ErrorKind::ReadOnlyFilesystem, "nothing can be written into a;", Status::Permission),
            (ErrorKind::StorageFull, "where there is room", Status::Internal),
        ] {
            let (error, folder) = (std::io::Error::from(kind), Path::new("a/b"));
            assert!(new_folder(folder, &error).contains(said), "{}", new_folder(folder, &error));
            assert_eq!(of_io(&error), status, "{said}");
        }
        let none_left = std::io::Error::from_raw_os_error(EMFILE);
        assert!(new_folder(Path::new("b"), &none_left).contains("ulimit -n"));
        assert!(new_folder(Path::new("b"), &ErrorKind::PermissionDenied.into()).contains("into .;"));
    }

    /// "Too many open files" of errno(3).
    const EMFILE: i32 = 24;
}
