//! Which trials are made of a program.

use super::program::{Program, found};
use super::{ALL, Change, EMPTY, Trial, find};
use crate::failure::{Failure, Status};
use analyze::answer::CauseId;
use analyze::compare::experiment::Aim;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The most trials of an experiment that knee chooses, its control among them. Eight blocks are needed to judge six
/// trials together; more trials need more blocks.
///
/// Decides: how many trials an experiment has where the user names none.
/// From: arithmetic (`compare::experiment::blocks_for`), and the time that an experiment takes.
/// Wrong if: the only trial that would show the cause comes later in the list.
const MOST: usize = 6;

/// The most allocators that are tried. A second one shows whether an effect is peculiar to the first.
///
/// Decides: how many other allocators are tried.
/// From: the number of trials that can be judged in eight blocks.
/// Wrong if: the first two help by their own faults.
const MOST_ALLOCATORS: usize = 2;

/// The cause that the trials are to confirm or disprove.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suspect<'a> {
    pub(crate) cause: CauseId,
    /// The function that it was found in.
    pub(crate) function: Option<&'a str>,
}

/// A trial that is made.
#[derive(Debug, Clone)]
pub(crate) struct ChosenTrial {
    pub(crate) trial: &'static Trial,
    /// The library that it loads, if it loads an installed one.
    pub(crate) library: Option<PathBuf>,
}

/// A trial that is not made, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) trial: &'static Trial,
    pub(crate) why: String,
}

impl PartialEq for Trial {
    fn eq(&self, other: &Trial) -> bool {
        self.id == other.id
    }
}

impl Eq for Trial {}

/// Where programs and libraries are found on the machine.
pub(crate) struct Machine<'a> {
    pub(crate) search_path: Option<&'a OsStr>,
    /// An allocator's library that the user names.
    pub(crate) with: Option<&'a Path>,
}

/// The trials for a suspect, or, without one, those that fit the program.
pub(crate) fn choose(
    suspect: Option<Suspect<'_>>,
    program: &Program,
    machine: &Machine<'_>,
) -> (Vec<ChosenTrial>, Vec<LeftOut>) {
    let (mut chosen, mut left_out): (Vec<ChosenTrial>, Vec<LeftOut>) = (Vec::new(), Vec::new());
    for trial in ALL.iter().copied() {
        let control = trial.aims.is_empty();
        let wanted = match suspect {
            Some(suspect) if control => suspect.cause == CauseId::ALLOCATOR,
            Some(suspect) => trial.aim(suspect.cause, suspect.function) != Aim::Misses,
            None => !control,
        };
        if !wanted {
            continue;
        }
        let is_allocator = |trial: &Trial| trial.changes.iter().any(|change| matches!(change, Change::Library(_)));
        let allocators = chosen.iter().filter(|chosen| is_allocator(chosen.trial)).count();
        // Without a suspect, one of each kind.
        let most = if suspect.is_some() { MOST_ALLOCATORS } else { 1 };
        match fits(trial, program, machine) {
            Err(why) => left_out.push(LeftOut { trial, why }),
            Ok(_) if is_allocator(trial) && allocators >= most => {
                let why = format!(
                    "{} tried; --trial {} makes this one",
                    if most == 1 { "another one is" } else { "others are" },
                    trial.id
                );
                left_out.push(LeftOut { trial, why });
            }
            // One place is kept for the control.
            Ok(_) if chosen.len() + 1 >= MOST => {
                let why = format!("more than {MOST} trials need more blocks; --trial {} makes it", trial.id);
                left_out.push(LeftOut { trial, why });
            }
            Ok(library) => chosen.push(ChosenTrial { trial, library }),
        }
    }
    controlled(&mut chosen, program, machine);
    (chosen, left_out)
}

/// The trials of these names.
///
/// # Errors
/// When there is none of a name, or it does not fit.
pub(crate) fn named(names: &[String], program: &Program, machine: &Machine<'_>) -> Result<Vec<ChosenTrial>, Failure> {
    let usage = |what: String| Failure::new(Status::Usage, what);
    let mut chosen = Vec::new();
    for name in names {
        let trial = find(name).ok_or_else(|| {
            let failure = usage(format!("there is no trial {name}"));
            let near = crate::file::nearest(name, ALL.iter().map(|trial| trial.id));
            failure.hint(
                near.map_or_else(|| "knee try --list names all".to_owned(), |near| format!("did you mean {near}?")),
            )
        })?;
        let library = fits(trial, program, machine).map_err(|why| usage(format!("--trial {name}: {why}")))?;
        chosen.push(ChosenTrial { trial, library });
    }
    controlled(&mut chosen, program, machine);
    Ok(chosen)
}

/// Adds the empty library as a control if a trial loads a library.
fn controlled(chosen: &mut Vec<ChosenTrial>, program: &Program, machine: &Machine<'_>) {
    let there = |chosen: &ChosenTrial| chosen.trial == &EMPTY;
    if chosen.iter().any(|chosen| chosen.trial.preloads()) && !chosen.iter().any(there) {
        let library = fits(&EMPTY, program, machine).ok();
        chosen.extend(library.map(|library| ChosenTrial { trial: &EMPTY, library }));
    }
}

/// The library that a trial loads, if it loads an installed one.
fn fits(trial: &Trial, program: &Program, machine: &Machine<'_>) -> Result<Option<PathBuf>, String> {
    program.fits(trial.needs)?;
    let mut library = None;
    for change in trial.changes {
        match change {
            Change::Preload(source) if !source.is_there() => {
                return Err("this knee was built without a C compiler".to_owned());
            }
            Change::Library(names) => {
                let given = machine.with.filter(|path| is_named(path, names));
                library = given.map(Path::to_owned).or_else(|| installed(names));
                if library.is_none() {
                    return Err(format!("{} is not installed; --with FILE names one", names[0]));
                }
            }
            Change::Wrapper(words) => {
                let program = words.first().copied().unwrap_or_default();
                if found(OsStr::new(program), None, machine.search_path).is_none() {
                    return Err(format!("{program} is not installed (package util-linux)"));
                }
            }
            Change::Preload(_) | Change::Variable { .. } => {}
        }
    }
    Ok(library)
}

/// True if a file is another version of one of these.
fn is_named(path: &Path, names: &[&str]) -> bool {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = |name: &str| name.split(".so").next().unwrap_or_default().to_owned();
    names.iter().any(|name| stem(&file) == stem(name))
}

/// Where the loader would find a library: its usual folders (ld.so(8)), and those of multiarch systems.
pub(crate) fn installed(names: &[&str]) -> Option<PathBuf> {
    let triplet = format!("{}-linux-gnu", std::env::consts::ARCH);
    let folders = ["/usr/local/lib", "/usr/lib", "/lib", "/usr/lib64", "/lib64"].map(PathBuf::from);
    let multiarch = ["/usr/lib", "/lib"].map(|folder| Path::new(folder).join(&triplet));
    let all = || multiarch.iter().chain(&folders);
    names.iter().find_map(|name| all().map(|folder| folder.join(name)).find(|path| path.exists()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Machine<'static> = Machine { search_path: None, with: None };

    fn program() -> Program {
        Program::from_command(&["/nowhere".into()], None, None, None, false)
    }

    fn ids(chosen: &[ChosenTrial]) -> Vec<&str> {
        chosen.iter().map(|chosen| chosen.trial.id).collect()
    }

    #[test]
    fn a_lock_in_random_gets_a_state_for_each_thread() {
        let chosen = |function| {
            let suspect = Suspect { cause: CauseId::USER_LOCK, function: Some(function) };
            choose(Some(suspect), &program(), &HERE)
        };
        let (inside, left_out) = chosen("random");
        assert_eq!(ids(&inside), ["random-per-thread", "adaptive-mutex", "empty-preload"]);
        // Without a search path, taskset cannot be found.
        assert!(left_out.iter().any(|left| left.trial.id == "one-processor" && left.why.contains("util-linux")));
        let (other, _) = chosen("Store::get");
        assert_eq!(ids(&other), ["adaptive-mutex", "empty-preload"]);
    }

    #[test]
    fn every_experiment_can_be_judged_in_eight_blocks() {
        let path = std::env::var_os("PATH");
        let machine = Machine { search_path: path.as_deref(), with: None };
        for meta in analyze::causes::all() {
            let suspect = Suspect { cause: meta.id, function: None };
            let (chosen, left_out) = choose(Some(suspect), &program(), &machine);
            assert!(chosen.len() <= MOST && analyze::compare::experiment::blocks_for(chosen.len()) <= 8, "{}", meta.id);
            assert!(left_out.iter().all(|left| !left.why.is_empty()));
            let controls = chosen.iter().filter(|chosen| chosen.trial == &EMPTY).count();
            assert_eq!(controls, usize::from(chosen.iter().any(|c| c.trial.preloads())), "{}", meta.id);
        }
        assert!(choose(None, &program(), &machine).0.len() <= MOST);
    }

    #[test]
    fn a_library_of_the_user_s_is_taken() {
        let with = Path::new("/opt/libjemalloc.so.9");
        let machine = Machine { search_path: None, with: Some(with) };
        let suspect = Suspect { cause: CauseId::ALLOCATOR, function: None };
        let (chosen, _) = choose(Some(suspect), &program(), &machine);
        let jemalloc = chosen.iter().find(|chosen| chosen.trial.id == "jemalloc").unwrap();
        assert_eq!(jemalloc.library.as_deref(), Some(with));
    }

    #[test]
    fn a_mistyped_name_gets_a_suggestion() {
        let wrong = named(&["one-procesor".to_owned()], &program(), &HERE).unwrap_err();
        assert_eq!(wrong.hint.as_deref(), Some("did you mean one-processor?"));
        assert!(named(&["one-arena".to_owned()], &program(), &HERE).is_ok());
    }
}
