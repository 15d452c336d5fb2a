//! What kind of program is tried, and so which trials fit it, judged by its file and by the modules in a recording.

use super::Needs;
use analyze::runtimes::is_launcher;
use recording::Tables;
use resolve::executable::{CLibrary, Executable, executable};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// How many scripts whose interpreter is a script are followed: as many as the kernel follows (`BINPRM_MAX_RECURSION`).
const MOST_SCRIPTS: usize = 5;

/// How the program gets its C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loads {
    Gnu,
    Musl,
    /// None: it is static.
    Nothing,
    /// Not known.
    Unknown,
}

/// What is known about the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    loads: Loads,
    go: bool,
    /// If so, no variable can choose libraries for it.
    set_user_id: bool,
    /// It only starts another program, whose libraries may be in a recording.
    launcher: bool,
    /// File names of the program, its interpreter and of what it loads, as far as known.
    files: Vec<String>,
    /// True in a sweep over processors: the number of threads may follow that of processors.
    follows_processors: bool,
}

impl Program {
    /// Judges by the first word of a command, in the folder where it runs, and by a recording of it.
    pub(crate) fn from_command(
        argv: &[OsString],
        folder: Option<&Path>,
        search_path: Option<&OsStr>,
        recording: Option<&Tables>,
        follows_processors: bool,
    ) -> Program {
        let mut program = Program {
            loads: Loads::Unknown,
            go: false,
            set_user_id: false,
            launcher: false,
            files: Vec::new(),
            follows_processors,
        };
        let mut next = argv.first().and_then(|word| found(word, folder, search_path));
        for _ in 0..MOST_SCRIPTS {
            let Some(path) = next.take() else { break };
            let name = file_name(&path);
            program.launcher |= is_launcher(&name);
            program.files.push(name);
            program.set_user_id |= path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o6000 != 0);
            match executable(&path) {
                Ok(Executable::Script { interpreter }) => {
                    next = found(interpreter.as_os_str(), folder, search_path);
                }
                Ok(Executable::Elf { c_library, libraries, go }) => {
                    program.go = go;
                    program.files.extend(libraries);
                    program.loads = match c_library {
                        Some(CLibrary::Gnu) => Loads::Gnu,
                        Some(CLibrary::Musl) => Loads::Musl,
                        Some(CLibrary::Other) => Loads::Unknown,
                        None => Loads::Nothing,
                    };
                }
                Ok(Executable::Other) | Err(_) => {}
            }
        }
        if let Some(tables) = recording {
            program.files.extend(tables.modules.iter().map(|module| file_name(Path::new(&module.path))));
        }
        program
    }

    /// True if the name of the program, its interpreter or one of its libraries begins with one of these names.
    fn has(&self, names: &[&str]) -> bool {
        self.files.iter().any(|file| names.iter().any(|name| file.starts_with(name)))
    }

    /// Whether a trial fits.
    ///
    /// # Errors
    /// With the reason in words, if it does not.
    pub(crate) fn fits(&self, needs: Needs) -> Result<(), &'static str> {
        let when = |so: bool, why: &'static str| if so { Ok(()) } else { Err(why) };
        let go_without_c = self.go && !self.has(&["libc.so"]);
        match needs {
            Needs::Nothing => Ok(()),
            Needs::Glibc | Needs::DynamicC if self.set_user_id => {
                Err("the program is set-user-id: no variable changes its libraries")
            }
            Needs::Glibc | Needs::DynamicC if go_without_c => Err("Go programs use neither malloc nor mutexes of C"),
            Needs::Glibc | Needs::DynamicC if self.loads == Loads::Nothing && !self.launcher => {
                Err("the program is static: no library can be put before its own")
            }
            Needs::Glibc => when(self.loads != Loads::Musl, "the program uses musl, and this is for glibc"),
            Needs::DynamicC => Ok(()),
            Needs::OpenMp => when(self.has(&["libgomp", "libomp", "libiomp"]), "the program does not use OpenMP"),
            Needs::Blas => when(
                self.has(&["libopenblas", "libmkl", "libblis", "libscipy_openblas"]),
                "the program uses no BLAS with threads",
            ),
            Needs::Go => when(self.go, "it is not a Go program"),
            Needs::Java => when(self.has(&["java", "libjvm.so"]), "it is not a Java program"),
            Needs::Python => when(self.has(&["python", "libpython"]), "it is not a Python program"),
            Needs::ThreadsByCount => {
                when(!self.follows_processors, "with fewer processors the program would start fewer threads")
            }
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Where execvp(3) finds a program.
pub(super) fn found(word: &OsStr, folder: Option<&Path>, search_path: Option<&OsStr>) -> Option<PathBuf> {
    let path = Path::new(word);
    if word.is_empty() {
        return None;
    }
    if path.components().count() > 1 || path.is_absolute() {
        return Some(folder.unwrap_or(Path::new("")).join(path));
    }
    std::env::split_paths(search_path?).map(|folder| folder.join(path)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(word: &str, follows: bool) -> Program {
        Program::from_command(&[word.into()], None, std::env::var_os("PATH").as_deref(), None, follows)
    }

    #[test]
    fn libraries_can_be_loaded_into_a_program_with_glibc() {
        let shell = of("sh", false);
        assert!(shell.launcher && shell.fits(Needs::Nothing).is_ok());
        assert!(shell.fits(Needs::Go).is_err() && shell.fits(Needs::Java).is_err());
        assert!(shell.fits(Needs::ThreadsByCount).is_ok() && of("sh", true).fits(Needs::ThreadsByCount).is_err());
        assert!(of("/nowhere/at/all", false).fits(Needs::Glibc).is_ok(), "what is unknown is tried");
    }

    #[test]
    fn other_programs_are_refused_with_the_reason() {
        let known = |loads, go, set_user_id, launcher| Program {
            loads,
            go,
            set_user_id,
            launcher,
            files: Vec::new(),
            follows_processors: false,
        };
        let why = |program: Program, needs| program.fits(needs).unwrap_err();
        assert!(why(known(Loads::Nothing, false, false, false), Needs::Glibc).contains("static"));
        assert!(why(known(Loads::Nothing, true, false, false), Needs::DynamicC).contains("Go"));
        assert!(why(known(Loads::Gnu, false, true, false), Needs::DynamicC).contains("set-user-id"));
        assert!(why(known(Loads::Musl, false, false, false), Needs::Glibc).contains("musl"));
        assert!(known(Loads::Musl, false, false, false).fits(Needs::DynamicC).is_ok());
        assert!(known(Loads::Nothing, false, false, true).fits(Needs::Glibc).is_ok(), "it starts something else");
    }

    #[test]
    fn scripts_are_followed_to_their_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("job"), "#!/usr/bin/env python3\n").unwrap();
        let program =
            Program::from_command(&["./job".into()], Some(folder.path()), Some(OsStr::new("/usr/bin")), None, false);
        assert!(program.fits(Needs::Python).is_ok() || !Path::new("/usr/bin/python3").exists(), "{program:?}");
    }
}
