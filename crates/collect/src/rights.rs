//! The rights that knee keeps: only those that it needs for what it is about to do.
//!
//! A user may have knee's rights without being trusted with them: with file capabilities (`setcap`), everybody who may
//! run knee has them. They are meant for observing one's own programs, so they must not allow anything else:
//!
//! - Rights to look into other users' processes and files (CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, ...), should the file
//!   have them, are given up at once: then the kernel checks every access with the user's own rights.
//! - What knee starts cannot gain rights by executing something (`no_new_privs`): otherwise the programs in the kernel
//!   would go on copying the stacks of a set-user-id program. A running program is observed only when it has
//!   `no_new_privs`.

use crate::error::Error;
use caps::{CapSet, Capability, CapsHashSet};
use std::io;
use std::os::unix::process::CommandExt;

/// What is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Programs are started, measured and observed.
    Observing,
    /// Recordings are read, analysed and shown; files are handed to the caller behind sudo.
    Reading,
}

/// What loading and attaching programs in the kernel needs: BPF itself; tracing and CPU samples; names of kernel
/// functions where `kernel.kptr_restrict` hides them (capabilities(7), Linux 5.8).
const OBSERVING: [Capability; 3] = [Capability::CAP_BPF, Capability::CAP_PERFMON, Capability::CAP_SYSLOG];

/// What root needs as well: to listen to marks (uprobes need CAP_SYS_ADMIN), to start the target as the user behind
/// sudo, to look into and end other users' programs, and to lock memory where a limit is set.
const OBSERVING_AS_ROOT: [Capability; 6] = [
    Capability::CAP_SYS_ADMIN,
    Capability::CAP_SETUID,
    Capability::CAP_SETGID,
    Capability::CAP_SYS_PTRACE,
    Capability::CAP_KILL,
    Capability::CAP_SYS_RESOURCE,
];

/// What root needs for other users' files: to read programs and recordings, and to write into and hand over folders.
const FILES_AS_ROOT: [Capability; 4] =
    [Capability::CAP_DAC_OVERRIDE, Capability::CAP_DAC_READ_SEARCH, Capability::CAP_CHOWN, Capability::CAP_FOWNER];

fn needed(task: Task, root: bool) -> CapsHashSet {
    let mut needed = CapsHashSet::new();
    if task == Task::Observing {
        needed.extend(OBSERVING);
        needed.extend(OBSERVING_AS_ROOT.iter().filter(|_| root));
    }
    needed.extend(FILES_AS_ROOT.iter().filter(|_| root));
    needed
}

fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() == 0 }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::System { call: "capset", source: io::Error::other(error.to_string()) }
}

/// Gives up what the task does not need, for good. Exception: while root observes, it only drops the unneeded rights
/// from its effective set. A program that root executes gets all rights of root again. If those were more than its
/// parent's, the kernel would regard that as a gain, hide the process from observers and end its perf events
/// (`commit_creds`, `begin_new_exec`).
///
/// This changes the calling thread and those that it starts later, so call it before there are others, or in each of
/// them.
///
/// # Errors
/// When the kernel refuses; then knee should not go on.
pub fn keep_for(task: Task) -> Result<(), Error> {
    let has = caps::read(None, CapSet::Permitted).map_err(failed)?;
    let needed = needed(task, is_root());
    let kept: CapsHashSet = has.intersection(&needed).copied().collect();
    // The effective set first: it must be a subset of the permitted one.
    let effective = caps::read(None, CapSet::Effective).map_err(failed)?;
    let effective: CapsHashSet = effective.intersection(&kept).copied().collect();
    caps::set(None, CapSet::Effective, &effective).map_err(failed)?;
    if is_root() && task == Task::Observing {
        return Ok(());
    }
    caps::set(None, CapSet::Permitted, &kept).map_err(failed)
}

/// Whether knee has rights that its user need not have: its user is not root, and yet it has capabilities.
pub(crate) fn lent() -> bool {
    // If that cannot be read, the careful answer is yes.
    !is_root() && caps::read(None, CapSet::Permitted).map_or(true, |has| !has.is_empty())
}

/// Does something in this thread with only the user's own rights, and then restores knee's.
///
/// # Errors
/// Those of the action, and when the rights cannot be changed.
pub(crate) fn as_user<T>(action: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    if !lent() {
        return action();
    }
    let other = |error: caps::errors::CapsError| io::Error::other(error.to_string());
    let effective = caps::read(None, CapSet::Effective).map_err(other)?;
    caps::set(None, CapSet::Effective, &CapsHashSet::new()).map_err(other)?;
    let done = action();
    caps::set(None, CapSet::Effective, &effective).map_err(other)?;
    done
}

/// Keeps a program and all that it starts from gaining rights at exec (PR_SET_NO_NEW_PRIVS(2const)).
pub(crate) fn gain_none(process: &mut std::process::Command) {
    let mark = || {
        // SAFETY: prctl with PR_SET_NO_NEW_PRIVS takes numbers only.
        let failed = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { process.pre_exec(mark) };
}

/// Whether [`gain_none`] is in effect for a running process (proc_pid_status(5), NoNewPrivs).
pub(crate) fn gains_none(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().filter_map(|line| line.strip_prefix("NoNewPrivs:")).any(|value| value.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_keeps_no_right_over_foreign_processes_or_files() {
        let all = caps::all();
        let kept = |task, root| -> Vec<String> {
            let mut kept: Vec<String> = all.intersection(&needed(task, root)).map(ToString::to_string).collect();
            kept.sort();
            kept
        };
        assert_eq!(kept(Task::Observing, false), ["CAP_BPF", "CAP_PERFMON", "CAP_SYSLOG"]);
        assert!(kept(Task::Reading, false).is_empty());
        assert_eq!(kept(Task::Reading, true), ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER"]);
    }

    /// In a separate thread, because rights cannot be taken back.
    #[test]
    fn what_is_given_up_is_gone() {
        let thread = std::thread::spawn(|| {
            keep_for(Task::Reading).unwrap();
            let allowed = needed(Task::Reading, is_root());
            for set in [CapSet::Permitted, CapSet::Effective] {
                assert!(caps::read(None, set).unwrap().is_subset(&allowed));
            }
            assert!(caps::set(None, CapSet::Permitted, &CapsHashSet::from(OBSERVING)).is_err());
        });
        thread.join().unwrap();
    }

    /// What root starts has root's rights, and the kernel must not regard them as a gain.
    #[test]
    fn what_root_lays_aside_its_programs_have() {
        let thread = std::thread::spawn(|| {
            let before = caps::read(None, CapSet::Permitted).unwrap();
            keep_for(Task::Observing).unwrap();
            let after = caps::read(None, CapSet::Permitted).unwrap();
            let allowed = needed(Task::Observing, is_root());
            assert_eq!(after, if is_root() { before } else { before.intersection(&allowed).copied().collect() });
            assert!(caps::read(None, CapSet::Effective).unwrap().is_subset(&allowed));
        });
        thread.join().unwrap();
    }

    #[test]
    fn a_child_that_may_gain_nothing_says_so() {
        let mut process = std::process::Command::new("grep");
        process.args(["-c", "^NoNewPrivs:.*1$", "/proc/self/status"]).stdout(std::process::Stdio::piped());
        gain_none(&mut process);
        assert_eq!(process.output().unwrap().stdout, b"1\n");
        assert!(!gains_none(u32::MAX));
    }
}
