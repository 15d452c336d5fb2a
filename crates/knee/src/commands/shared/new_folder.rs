//! What to do when the folder of a recording cannot be created.

use collect::error::shortage;
use std::io::ErrorKind;
use std::path::Path;

/// What to do when the folder of a recording cannot be created.
pub(crate) fn new_folder(folder: &Path, error: &std::io::Error) -> String {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match error.kind() {
        ErrorKind::NotFound => format!("there is no folder {0}: mkdir -p {0}", parent.display()),
        ErrorKind::NotADirectory => format!("{} is not a folder; -o DIR names a new one", parent.display()),
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
    use crate::failure::{Status, of_io};

    #[test]
    fn the_advice_depends_on_why_the_folder_cannot_be_created() {
        for (kind, part, status) in [
            (ErrorKind::NotFound, "there is no folder a: mkdir -p a", Status::Usage),
            (ErrorKind::NotADirectory, "a is not a folder; -o DIR", Status::Usage),
            (ErrorKind::AlreadyExists, "-o DIR names a new folder", Status::Usage),
            (ErrorKind::PermissionDenied, "you may not write into a;", Status::Permission),
            (ErrorKind::ReadOnlyFilesystem, "nothing can be written into a;", Status::Permission),
            (ErrorKind::StorageFull, "where there is room", Status::Internal),
        ] {
            let (error, folder) = (std::io::Error::from(kind), Path::new("a/b"));
            assert!(new_folder(folder, &error).contains(part), "{}", new_folder(folder, &error));
            assert_eq!(of_io(&error), status, "{part}");
        }
        let none_left = std::io::Error::from_raw_os_error(EMFILE);
        assert!(new_folder(Path::new("b"), &none_left).contains("ulimit -n"));
        assert!(new_folder(Path::new("b"), &ErrorKind::PermissionDenied.into()).contains("into .;"));
    }

    /// "Too many open files" of errno(3).
    const EMFILE: i32 = 24;
}
