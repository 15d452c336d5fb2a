//! What can go wrong with a recording's files.

use std::path::PathBuf;

/// Every variant carries the path, because a recording has many files.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be created, read or renamed.
    #[error("cannot {action} {path}")]
    Io {
        /// What was tried, as a verb: "create", "read", "rename".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The folder has no `meta.json`.
    #[error("{path} is not a recording: it has no meta.json")]
    NotARecording {
        /// The folder.
        path: PathBuf,
    },
    /// `meta.json` does not follow this format.
    #[error("cannot understand {path}")]
    Meta {
        /// The JSON file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// Written by a release with another major format.
    #[error(
        "{path} has recording format {found}, this version of knee reads format {readable}.x; the release that wrote it was {writer}"
    )]
    Format {
        /// The recording's folder.
        path: PathBuf,
        /// Its format, as "major.minor".
        found: String,
        /// Major format that this crate reads.
        readable: u32,
        /// The version of knee that wrote it.
        writer: String,
    },
    /// A Parquet file is truncated or damaged.
    #[error("cannot read the table in {path}")]
    Parquet {
        /// The part file.
        path: PathBuf,
        /// The library's answer.
        source: parquet::errors::ParquetError,
    },
    /// A column that this format version requires is missing.
    #[error("{path} lacks the column `{column}`")]
    MissingColumn {
        /// The part file.
        path: PathBuf,
        /// The column's name.
        column: &'static str,
    },
    /// A column has another type than the format says, or a value that is not allowed there.
    #[error("column `{column}` of {path}: {why}")]
    Column {
        /// The part file.
        path: PathBuf,
        /// The column's name.
        column: &'static str,
        /// What was expected and found.
        why: String,
    },
    /// More rows than any real recording has: the file is damaged or hostile.
    #[error("{path} claims {rows} rows, more than the {limit} that a part may have")]
    TooManyRows {
        /// The part file.
        path: PathBuf,
        /// What its footer claims.
        rows: i64,
        /// The limit.
        limit: usize,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { action, path, source }
    }
}
