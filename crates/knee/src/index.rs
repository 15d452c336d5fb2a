//! `sweep.json`: the list of a sweep's cases, from which `knee report` makes their comparison again.

use crate::failure::{Failure, Status};
use crate::trials::output::SameOutput;
use anyhow::Context;
use report::comparison::{Parameter, Picture, Skipped};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Component, Path};

/// Name of the file in the sweep's folder.
pub(crate) const NAME: &str = "sweep.json";
/// Version "major.minor": readers refuse another major version and ignore what a newer minor version added.
const MAJOR: u32 = 1;
const MINOR: u32 = 2;

/// The question that the cases answer together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Question {
    /// How several variants scale.
    #[default]
    Cases,
    /// Which of two commands is faster.
    Compare,
    /// How far the same command differs from itself.
    Noise,
    /// What trials of a program show.
    Try,
}

/// What an experiment is about, and which of its trials have no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Experiment {
    /// The cause that the trials are to confirm or disprove.
    pub(crate) subject: Option<Suspected>,
    /// Which part of the output must stay the same for a trial to count.
    pub(crate) same_output: SameOutput,
    /// Trials that were not made.
    pub(crate) not_tried: Vec<NotTried>,
    /// Trials that could not be run.
    pub(crate) failed: Vec<NotTried>,
}

/// The cause that the trials are about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Suspected {
    /// The recording whose answer named it; none where the user did.
    pub(crate) recording: Option<String>,
    /// Its id.
    pub(crate) cause: String,
    /// The function that it was found in.
    pub(crate) function: Option<String>,
    /// True if that function is the C library's: then the program surely loads one.
    pub(crate) in_c_library: bool,
    /// What the answer predicted that removing it would bring.
    // Experiments that earlier versions kept call it so.
    #[serde(alias = "foretold")]
    pub(crate) predicted: Option<String>,
}

/// A trial without a result, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotTried {
    /// Its name.
    pub(crate) trial: String,
    /// Why.
    pub(crate) why: String,
}

/// The contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Index {
    pub(crate) format: String,
    /// Version of knee that wrote it.
    pub(crate) knee: String,
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) question: Question,
    /// Absent when thread counts were given; false when the program chose its number of threads itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) counts: Option<bool>,
    /// Name of the sweep file, when there was one.
    pub(crate) file: Option<String>,
    /// False while the sweep is being made, and forever if it was stopped.
    pub(crate) complete: bool,
    pub(crate) picture: Picture,
    pub(crate) cases: Vec<Entry>,
    pub(crate) skipped: Vec<Skipped>,
    /// For trials: what they are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) experiment: Option<Experiment>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) variant: String,
    pub(crate) parameters: Vec<Parameter>,
    /// Folder of its recording, beside this file.
    pub(crate) recording: String,
    pub(crate) expect: Vec<String>,
}

/// The version that is written.
pub(crate) fn format() -> String {
    format!("{MAJOR}.{MINOR}")
}

/// True if this is the folder of a sweep over several cases.
pub(crate) fn is_there(folder: &Path) -> bool {
    folder.join(NAME).exists()
}

/// Writes the file and replaces the old one atomically, so that no reader ever sees half of it.
pub(crate) fn write(index: &Index, folder: &Path) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(index)?;
    text.push('\n');
    let new = folder.join(format!("{NAME}.new"));
    recording::private::write(&new, text.as_bytes())
        .and_then(|()| fs::rename(&new, folder.join(NAME)))
        .context("failed to write sweep.json")
}

/// Reads the file.
///
/// # Errors
/// When it cannot be read, has another version, or names a folder outside its own.
pub(crate) fn read(folder: &Path) -> Result<Index, Failure> {
    let path = folder.join(NAME);
    let unreadable = |why: String| Failure::new(Status::Recording, format!("cannot read {}: {why}", path.display()));
    let text = fs::read(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            Failure::new(Status::Permission, format!("cannot read {}: {error}", path.display()))
                .hint("recordings belong to the user who made them")
        }
        _ => unreadable(error.to_string()),
    })?;
    // The version first, because another version may have another structure.
    #[derive(Deserialize)]
    struct Version {
        format: String,
    }
    let version: Version = serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
    let major = version.format.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major != Some(MAJOR) {
        let newer = "another version of knee wrote it; read it with that one";
        return Err(
            unreadable(format!("its format is {}, this version of knee reads {MAJOR}.x", version.format)).hint(newer)
        );
    }
    let index: Index = serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
    match index.cases.iter().find(|case| !is_name(&case.recording)) {
        Some(case) => Err(unreadable(format!("`{}` is not the name of a folder inside it", case.recording))),
        None => Ok(index),
    }
}

/// True for a single path component that is not `..` and the like.
fn is_name(folder: &str) -> bool {
    let mut components = Path::new(folder).components();
    matches!((components.next(), components.next()), (Some(Component::Normal(_)), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(recording: &str) -> Index {
        let entry = Entry {
            variant: "read".into(),
            parameters: vec![Parameter { name: "n".into(), value: "1".into() }],
            recording: recording.into(),
            expect: vec!["none".into()],
        };
        Index {
            format: format(),
            knee: "0.1.0".into(),
            title: "t".into(),
            question: Question::Noise,
            counts: Some(false),
            file: None,
            complete: false,
            picture: Picture::default(),
            cases: vec![entry],
            skipped: Vec::new(),
            experiment: None,
        }
    }

    #[test]
    fn an_index_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_there(folder.path()));
        write(&index("read"), folder.path()).unwrap();
        assert!(is_there(folder.path()));
        assert_eq!(read(folder.path()).unwrap(), index("read"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn fields_of_newer_versions_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let mut value = serde_json::to_value(index("read")).unwrap();
        value["format"] = "1.7".into();
        value["new"] = 1.into();
        fs::write(folder.path().join(NAME), value.to_string()).unwrap();
        assert_eq!(read(folder.path()).unwrap().cases.len(), 1);
    }

    #[test]
    fn hostile_indexes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for outside in ["../elsewhere", "/etc", "..", ".", "", "a/b"] {
            write(&index(outside), folder.path()).unwrap();
            let failure = read(folder.path()).unwrap_err();
            assert!(failure.to_string().contains("not the name of a folder"), "{outside}: {failure}");
        }
        for (text, part) in
            [("{", "EOF"), ("{\"format\": \"2.0\"}", "this version of knee reads 1.x"), ("[]", "invalid")]
        {
            fs::write(folder.path().join(NAME), text).unwrap();
            let failure = read(folder.path()).unwrap_err();
            assert!(failure.to_string().contains(part) && failure.status == Status::Recording, "{failure}");
        }
        fs::remove_file(folder.path().join(NAME)).unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains("No such file"));
    }

    #[test]
    fn the_older_name_of_what_was_predicted_is_read() {
        let json = r#"{"recording":null,"cause":"user-lock","function":null,"in_c_library":false,"foretold":"more"}"#;
        let found: Suspected = serde_json::from_str(json).expect("it is whole");
        assert_eq!(found.predicted.as_deref(), Some("more"));
    }
}
