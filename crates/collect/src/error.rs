//! What can go wrong while a target is run and observed.

use crate::exit::Exit;
use aya::maps::MapError;
use std::path::PathBuf;

/// Failures of knee or of the machine. A target that fails is not an error here but an [`crate::Exit`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program as given.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The command has no program.
    #[error("the command is empty")]
    EmptyCommand,
    /// The target would run with another user's rights, and observing it would reveal that user's secrets.
    #[error("{} is set-user-id or set-group-id; knee does not run such programs", program.display())]
    SetUserId {
        /// The program.
        program: PathBuf,
    },
    /// A system call failed that should not.
    #[error("{call} failed")]
    System {
        /// Which.
        call: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// knee may have no more threads.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoProcess {
        /// The number that was given.
        pid: u32,
    },
    /// A running process cannot be observed.
    #[error("cannot observe process {pid}")]
    Process {
        /// Its process id.
        pid: u32,
        /// Why.
        source: std::io::Error,
    },
    /// Observing a running process that could gain rights which the user lacks: it may still execute a program that has
    /// more.
    #[error("process {pid} may execute programs with more rights than its user has (it lacks no_new_privs)")]
    MayGain {
        /// Its process id.
        pid: u32,
    },
    /// The run was ended because it took too long.
    #[error("the run took longer than {seconds} s")]
    Timeout {
        /// The limit.
        seconds: f64,
    },
    /// The server's port is already in use, so the load would ask another program.
    #[error("something listens at port {port} already, so who answers the load could not be told")]
    PortTaken {
        /// The port.
        port: u16,
    },
    /// A server did not get ready in time.
    #[error("the server was not ready within {seconds} s: knee waited until {until}")]
    NotReady {
        /// The limit.
        seconds: f64,
        /// What was waited for.
        until: String,
    },
    /// A server ended before its load did.
    #[error("the server ended {} ({exit})", if *.was_ready { "while the load ran" } else { "before it was ready" })]
    ServerEnded {
        /// Whether the load had begun.
        was_ready: bool,
        /// How it ended.
        exit: Exit,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// Observing needs rights or kernel features that are missing.
    #[error("cannot {action}")]
    Bpf {
        /// What was tried: "load the BPF programs", ...
        action: String,
        /// The library's answer.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The rows could not be written.
    #[error("cannot write the recording")]
    Recording(#[from] recording::Error),
}

/// The number of the system's error (errno(3)) that is behind an error, if there is one.
pub(crate) fn errno(error: &(dyn std::error::Error + 'static)) -> Option<i32> {
    std::iter::successors(Some(error), |error| error.source()).find_map(|error| {
        // It speaks in the name of the error that it holds, which is therefore not among the causes.
        let held = || match error.downcast_ref::<MapError>()? {
            MapError::IoError(held) => Some(held),
            _ => None,
        };
        error.downcast_ref::<std::io::Error>().or_else(held)?.raw_os_error()
    })
}

/// True when the reason of an error is that this process, or the machine, may have no more files open.
pub(crate) fn lacks_descriptors(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(errno(error), Some(libc::EMFILE | libc::ENFILE))
}

/// What to do where knee may have no more files open.
pub(crate) const MORE_DESCRIPTORS: &str = "`ulimit -n 1024` in the same shell lets knee open more files";

/// What to do when knee lacks something that the system gives to each process or user: then neither the program nor the
/// rights are at fault.
pub fn shortage(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    let starts = |error: &Error| matches!(error, Error::Start { .. } | Error::Thread(_));
    match errno(error)? {
        libc::EMFILE | libc::ENFILE => Some(MORE_DESCRIPTORS),
        libc::EAGAIN if error.downcast_ref().is_some_and(starts) => Some(
            "`ulimit -u` shows how many processes and threads a user may have; a control group may have a limit, too (pids.max)",
        ),
        libc::ENOMEM if error.downcast_ref().is_some_and(starts) => {
            Some("free memory, or raise the limit of the control group")
        }
        _ => None,
    }
}

impl Error {
    /// Why a process cannot be observed. pidfd_open(2) fails with EINVAL or ENOENT when the number is of a thread that
    /// is not the first of its process.
    pub fn process(pid: u32, source: std::io::Error) -> Error {
        match source.raw_os_error() {
            Some(libc::ESRCH | libc::EINVAL | libc::ENOENT) => Error::NoProcess { pid },
            _ => Error::Process { pid, source },
        }
    }

    /// For use in `map_err` behind a system call.
    pub(crate) fn system(call: &'static str) -> impl FnOnce(std::io::Error) -> Error {
        move |source| Error::System { call, source }
    }

    /// For use in `map_err` behind a call of the BPF library.
    pub(crate) fn bpf<E>(action: impl Into<String>) -> impl FnOnce(E) -> Error
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let action = action.into();
        move |source| Error::Bpf { action, source: source.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_error_is_found_behind_a_map_that_cannot_be_made() {
        let map = || MapError::IoError(std::io::Error::from_raw_os_error(libc::EMFILE));
        assert!(lacks_descriptors(&map()));
        assert!(lacks_descriptors(&Error::bpf("load the BPF programs")(aya::EbpfError::MapError(map()))));
        assert!(!lacks_descriptors(&MapError::ElementNotFound));
    }
}
