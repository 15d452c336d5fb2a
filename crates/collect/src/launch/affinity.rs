//! How a program is kept to some processors (sched_setaffinity(2)).
//!
//! The target inherits the affinity, and the kernel reports it in sched_getaffinity(2) and /proc/self/status, which
//! most runtimes use. `/proc/cpuinfo` and `/sys/devices/system/cpu/online` still show the whole machine.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::unix::process::CommandExt;

/// Keeps a process that is about to be started, and all that it starts, to these processors; an empty list means no
/// limit.
pub(super) fn bind(process: &mut std::process::Command, processors: &[u32]) {
    if processors.is_empty() {
        return;
    }
    let set = set_of(processors);
    let bind = move || {
        // SAFETY: the set is valid for reading and its size is passed; 0 is the calling process.
        match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { process.pre_exec(bind) };
}

fn set_of(processors: &[u32]) -> libc::cpu_set_t {
    // SAFETY: a cpu_set_t is an array of words, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    for processor in processors.iter().filter(|processor| **processor < libc::CPU_SETSIZE as u32) {
        // SAFETY: the index is below CPU_SETSIZE, so it lies in the set.
        unsafe { libc::CPU_SET(*processor as usize, &mut set) };
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{usable_by, usable_processors};

    #[test]
    fn a_started_program_is_kept_to_its_processors() {
        let first = usable_processors()[0];
        let mut process = std::process::Command::new("grep");
        process.args(["Cpus_allowed_list", "/proc/self/status"]);
        bind(&mut process, &[first as u32]);
        let told = String::from_utf8(process.output().unwrap().stdout).unwrap();
        assert_eq!(told.split_whitespace().last(), Some(first.to_string().as_str()), "{told}");
        assert!(first == usable_processors()[0] && usable_by(std::process::id()) == usable_processors());
    }
}
