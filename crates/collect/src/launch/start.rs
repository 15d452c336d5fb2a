//! Starting a command as the user who asked for it, and never with more rights than that user.
//!
//! The child waits before it executes the target until `prepare` has seen its process id, so that whatever observes it
//! misses nothing.

use super::affinity;
use super::command::Command;
use super::user::{Caller, sudo_caller};
use crate::error::Error;
use crate::patience::again;
use crate::rights;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

/// Called with the child's process id before it executes the target; an error keeps it from doing so.
pub(crate) type Prepare<'a> = &'a mut (dyn FnMut(i32) -> io::Result<()> + Send);

/// Prepares everything but the start. `interactive`: the target has the user's terminal.
pub(crate) fn ready_to_start(command: &Command, interactive: bool) -> Result<std::process::Command, Error> {
    let program = command.argv.first().ok_or(Error::EmptyCommand)?;
    let caller = sudo_caller();
    let mut process = std::process::Command::new(program);
    process.args(&command.argv[1..]).envs(command.env.iter().map(|(k, v)| (k, v)));
    if !interactive {
        process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    if let Some(folder) = &command.cwd {
        process.current_dir(folder);
    }
    if let Some(caller) = &caller {
        become_caller(&mut process, caller);
    }
    affinity::bind(&mut process, &command.processors);
    if !interactive {
        die_with_knee(&mut process);
    }
    if rights::lent() {
        rights::gain_none(&mut process);
    }
    refuse_set_user_id(command)?;
    Ok(process)
}

/// Starts the command. With `prepare`, the target is executed only after `prepare` has returned.
pub(crate) fn start_child(
    command: &Command,
    process: std::process::Command,
    prepare: Option<Prepare<'_>>,
) -> Result<Child, Error> {
    let program = || command.argv.first().map(PathBuf::from).unwrap_or_default();
    let mut refused = None;
    let prepare = prepare.map(|prepare| Gate { prepare, refused: &mut refused });
    let spawned = spawn(process, prepare);
    match refused {
        Some(error) => Err(error),
        None => spawned.map_err(|source| Error::Start { program: program(), source }),
    }
}

/// What happens before the target is executed, and why that failed: this is no fault of the program's.
struct Gate<'a, 'b> {
    prepare: Prepare<'a>,
    refused: &'b mut Option<Error>,
}

fn become_caller(process: &mut std::process::Command, caller: &Caller) {
    for (name, value) in caller.environment() {
        match value {
            Some(value) => process.env(name, value),
            None => process.env_remove(name),
        };
    }
    let (uid, gid, groups) = (caller.uid, caller.gid, caller.groups.clone());
    let lower = move || {
        // SAFETY: the three calls take plain numbers and a slice that outlives them; the order matters, because
        // without the user id of root the groups could no longer be changed.
        let failed = unsafe {
            libc::setgroups(groups.len(), groups.as_ptr()) != 0 || libc::setgid(gid) != 0 || libc::setuid(uid) != 0
        };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec the closure makes system calls only and allocates nothing.
    unsafe { process.pre_exec(lower) };
}

/// Kills the target when knee is killed: it would go on unobserved and write into a broken pipe.
fn die_with_knee(process: &mut std::process::Command) {
    let knee = std::process::id();
    let ask = move || {
        // SAFETY: prctl and getppid take and return numbers; the signal is kept over exec (PR_SET_PDEATHSIG(2const)).
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // knee was killed before the request was made: no signal will come.
            if libc::getppid() as u32 != knee {
                return Err(io::Error::from_raw_os_error(libc::ECANCELED));
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only and allocates nothing.
    unsafe { process.pre_exec(ask) };
}

/// A program that gains rights when executed would lose them under an observer, or reveal secrets to it.
fn refuse_set_user_id(command: &Command) -> Result<(), Error> {
    let Some(path) = command.program() else { return Ok(()) };
    match std::fs::metadata(&path) {
        Ok(meta) if meta.is_file() && meta.permissions().mode() & 0o6000 != 0 => {
            Err(Error::SetUserId { program: path })
        }
        // A missing or unreadable program is reported when it is started.
        _ => Ok(()),
    }
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both descriptors are new and owned by nobody else.
    Ok(unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}

/// Starts the process. With `prepare`, lets it go on only when `prepare` has returned.
fn spawn(mut process: std::process::Command, gate: Option<Gate<'_, '_>>) -> io::Result<Child> {
    let Some(Gate { prepare, refused }) = gate else { return process.spawn() };
    let (mut ready_read, ready_write) = pipe()?;
    let (go_read, mut go_write) = pipe()?;
    let (ready, go) = (ready_write.as_raw_fd(), go_read.as_raw_fd());
    let wait = move || {
        // SAFETY: getpid has no preconditions.
        let pid = unsafe { libc::getpid() }.to_ne_bytes();
        let mut byte = 0_u8;
        // SAFETY: the buffer lives on this stack with the length passed; the descriptor is open until exec.
        let written = again(|| moved(unsafe { libc::write(ready, pid.as_ptr().cast(), pid.len()) }))?;
        // SAFETY: as above.
        let read = again(|| moved(unsafe { libc::read(go, (&raw mut byte).cast(), 1) }))?;
        let let_go = (written, read, byte) == (pid.len() as isize, 1, 1);
        if let_go { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ECANCELED)) }
    };
    // SAFETY: between fork and exec the closure makes system calls only and allocates nothing.
    unsafe { process.pre_exec(wait) };
    std::thread::scope(|scope| {
        std::thread::Builder::new().spawn_scoped(scope, || {
            let mut pid = [0; 4];
            // The pipe ends without a process id when the fork fails.
            if ready_read.read_exact(&mut pid).is_ok() {
                let pid = i32::from_ne_bytes(pid);
                *refused = prepare(pid).err().map(|source| Error::Process { pid: pid.unsigned_abs(), source });
                // If the child has died meanwhile, spawn reports it.
                let _ = go_write.write_all(&[u8::from(refused.is_none())]);
            }
        })?;
        let spawned = process.spawn();
        drop(ready_write);
        spawned
    })
}

/// The result of a call that moves bytes.
fn moved(bytes: isize) -> io::Result<isize> {
    if bytes < 0 { Err(io::Error::last_os_error()) } else { Ok(bytes) }
}
