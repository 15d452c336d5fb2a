//! Where the lab's sweep files are.

use crate::failure::{Failure, Status};
use crate::file::nearest;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the sweep files inside the lab's.
const SWEEPS: &str = "sweeps";

/// The folder of a lab that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LabFolder {
    pub(crate) folder: PathBuf,
}

/// Where to look.
#[derive(Debug, Clone, Default)]
pub(crate) struct LabSearch {
    /// The folder that the user named; then no other place is searched.
    pub(crate) given: Option<PathBuf>,
    pub(crate) current: Option<PathBuf>,
    /// knee's own file.
    pub(crate) executable: Option<PathBuf>,
}

impl LabSearch {
    /// The places for this process.
    pub(crate) fn of_process(given: Option<PathBuf>) -> LabSearch {
        LabSearch { given, current: std::env::current_dir().ok(), executable: std::env::current_exe().ok() }
    }

    /// Finds the lab.
    ///
    /// # Errors
    /// When there is none; the hint says what to do.
    pub(crate) fn find(&self) -> Result<LabFolder, Failure> {
        if let Some(given) = &self.given {
            return lab_in(given).ok_or_else(|| {
                let why = format!("{} is not a lab: it has no folder {SWEEPS}", given.display());
                Failure::new(Status::Usage, why).hint("the lab is the folder `lab` of knee's sources")
            });
        }
        let upwards = |from: &Option<PathBuf>| {
            let folders = from.iter().flat_map(|path| path.ancestors());
            // In the folder itself, in its `lab`, and where packages install data files.
            folders.flat_map(|at| [at.to_owned(), at.join("lab"), at.join("share/knee/lab")]).find_map(|at| lab_in(&at))
        };
        upwards(&self.current).or_else(|| upwards(&self.executable)).ok_or_else(|| {
            Failure::new(Status::Usage, "cannot find the lab from here, nor from where knee is installed")
                .hint("--lab DIR (or KNEE_LAB=DIR) names it; it is the folder `lab` of knee's sources")
        })
    }
}

/// A lab's folder has sweep files and a Makefile: many other folders are called `sweeps`.
fn lab_in(folder: &Path) -> Option<LabFolder> {
    let is_lab = folder.join(SWEEPS).is_dir() && folder.join("Makefile").is_file();
    is_lab.then(|| LabFolder { folder: folder.to_owned() })
}

impl LabFolder {
    /// Names and paths of the sweep files, sorted by name.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(crate) fn files(&self) -> Result<Vec<(String, PathBuf)>, Failure> {
        let folder = self.folder.join(SWEEPS);
        let failure = |error: std::io::Error| {
            Failure::new(crate::failure::of_io(&error), format!("cannot read {}: {error}", folder.display()))
        };
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).map_err(failure)? {
            let path = entry.map_err(failure)?.path();
            if let (Some(name), Some("toml")) = (path.file_stem(), path.extension().and_then(|e| e.to_str())) {
                files.push((name.to_string_lossy().into_owned(), path));
            }
        }
        files.sort();
        Ok(files)
    }

    /// The sweep file of a program.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(crate) fn file(&self, name: &str) -> Result<PathBuf, Failure> {
        let files = self.files()?;
        if let Some((_, path)) = files.iter().find(|(known, _)| known == name) {
            return Ok(path.clone());
        }
        let failure = Failure::new(Status::Usage, format!("the lab has no program {name}"));
        Err(match nearest(name, files.iter().map(|(known, _)| known.as_str())) {
            Some(near) => failure.hint(format!("did you mean {near}? `knee lab` lists all")),
            None => failure.hint("`knee lab` lists all"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab(at: &Path) {
        fs::create_dir_all(at.join(SWEEPS)).unwrap();
        for file in ["Makefile", "sweeps/list.toml", "sweeps/clean.toml", "sweeps/notes.txt"] {
            fs::write(at.join(file), "").unwrap();
        }
    }

    #[test]
    fn the_lab_is_found_from_folders_around_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("src/target/release")).unwrap();
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        fs::create_dir_all(root.join("away")).unwrap();
        lab(&root.join("src/lab"));
        lab(&root.join("usr/share/knee/lab"));
        let found = |current: &str, executable: &str| {
            let places =
                LabSearch { given: None, current: Some(root.join(current)), executable: Some(root.join(executable)) };
            places.find().map(|lab| lab.folder.strip_prefix(root).unwrap().to_string_lossy().into_owned())
        };
        assert_eq!(found("src", "nowhere/knee").unwrap(), "src/lab");
        assert_eq!(found("src/lab/sweeps", "nowhere/knee").unwrap(), "src/lab");
        assert_eq!(found("away", "src/target/release/knee").unwrap(), "src/lab");
        assert_eq!(found("away", "usr/bin/knee").unwrap(), "usr/share/knee/lab");
        let failure = found("away", "nowhere/knee").unwrap_err();
        assert!(failure.hint.unwrap().contains("--lab DIR"));
        let given = LabSearch { given: Some(root.join("away")), current: Some(root.join("src")), executable: None };
        assert!(given.find().unwrap_err().to_string().contains("is not a lab"));
    }

    #[test]
    fn programs_are_found_by_name() {
        let folder = tempfile::tempdir().unwrap();
        lab(folder.path());
        let lab = LabSearch { given: Some(folder.path().to_owned()), ..LabSearch::default() }.find().unwrap();
        let names: Vec<String> = lab.files().unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["clean", "list"]);
        assert_eq!(lab.file("list").unwrap(), folder.path().join("sweeps/list.toml"));
        assert!(lab.file("lits").unwrap_err().hint.unwrap().contains("did you mean list?"));
        assert!(lab.file("../list").is_err());
    }
}
