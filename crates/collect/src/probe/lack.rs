//! Why something does not work, and what would make it work: for whoever asks, as the kernel's error and knee's rights
//! tell.

use crate::error::{Error, MORE_DESCRIPTORS, errno, lacks_descriptors};
use caps::{CapSet, Capability as Right};
use std::fs;
use std::io;

/// Why something does not work, and what would make it work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Lack {
    pub(super) why: String,
    pub(super) unlock: Option<String>,
    pub(super) descriptors: bool,
}

impl Lack {
    pub(super) fn new(why: impl Into<String>, unlock: Option<&str>) -> Lack {
        Lack { why: why.into(), unlock: unlock.map(str::to_owned), descriptors: false }
    }

    /// Of a call that failed: without descriptors that alone is the reason, and `otherwise` is not asked.
    pub(super) fn from_error(
        call: &str,
        error: &(dyn std::error::Error + 'static),
        otherwise: impl FnOnce() -> Lack,
    ) -> Lack {
        if lacks_descriptors(error) {
            let why = if call.is_empty() { in_full(error) } else { format!("{call}: {}", in_full(error)) };
            return Lack { descriptors: true, ..Lack::new(why, Some(MORE_DESCRIPTORS)) };
        }
        otherwise()
    }
}

/// An error with its causes, each by its first line and without the verifier's log, which is for knee's authors.
fn in_full(error: &(dyn std::error::Error + 'static)) -> String {
    let mut said: Vec<String> = Vec::new();
    for cause in std::iter::successors(Some(error), |error| error.source()) {
        let text = cause.to_string();
        let line = text.lines().next().and_then(|line| line.split(". Verifier output:").next()).unwrap_or_default();
        // Many errors of the library say what their cause says.
        if !said.iter().any(|before| before.contains(line)) {
            said.push(line.to_owned());
        }
    }
    said.join(": ")
}

pub(super) fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() == 0 }
}

/// With which identity knee asks for BPF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// Another user than root.
    User,
    /// Root with the rights that BPF needs: something else went wrong.
    Root,
    /// Root without them, as container engines start it.
    Bare,
    /// Root of a user namespace: its rights are valid there only, and BPF needs rights in the initial namespace
    /// (capabilities(7)).
    Namespace,
}

impl Asking {
    pub(super) fn found() -> Asking {
        if !is_root() {
            return Asking::User;
        }
        // user_namespaces(7): the map of the initial namespace.
        if fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| map.split_whitespace().ne(["0", "0", "4294967295"]))
        {
            return Asking::Namespace;
        }
        let has = |right| caps::has_cap(None, CapSet::Effective, right).unwrap_or(true);
        match has(Right::CAP_SYS_ADMIN) || (has(Right::CAP_BPF) && has(Right::CAP_PERFMON)) {
            true => Asking::Root,
            false => Asking::Bare,
        }
    }

    /// Why BPF does not work for want of rights, and what would allow it. None when whoever asks has the rights.
    fn refusal(self) -> Option<Lack> {
        let both = "CAP_BPF and CAP_PERFMON";
        Some(match self {
            Asking::User => {
                let unlock = format!("run the same command with sudo, or once: {}", setcap());
                Lack::new(format!("needs root, or {both}"), Some(&unlock))
            }
            Asking::Root => return None,
            Asking::Bare => Lack::new(
                format!("this root lacks {both}, as in most containers"),
                Some("start the container with both (--cap-add BPF --cap-add PERFMON), or run knee outside of it"),
            ),
            Asking::Namespace => Lack::new(
                "this root is that of a container (a user namespace), which has neither CAP_BPF nor CAP_PERFMON outside of it",
                Some("run knee outside of the container; `sudo knee record -p PID` looks into it"),
            ),
        })
    }
}

/// Why the programs cannot be loaded or attached.
pub(super) fn bpf_lack(error: &Error, asking: impl FnOnce() -> Asking, filtered: bool) -> Lack {
    let said = in_full(error);
    match errno(error) {
        Some(libc::EMFILE | libc::ENFILE) => Lack::from_error("", error, Lack::default),
        Some(libc::EPERM | libc::EACCES) => asking().refusal().unwrap_or_else(|| match filtered {
            true => Lack::new(
                format!("a seccomp filter keeps this process from it, as in most containers ({said})"),
                Some("allow it the calls bpf and perf_event_open (docker: --security-opt seccomp=FILE), or run knee outside of the container"),
            ),
            false => Lack::new(
                format!("the kernel refuses it to root ({said})"),
                Some("a security module may forbid it: see the end of `dmesg`, and /sys/kernel/security/lockdown"),
            ),
        }),
        Some(libc::ENOSYS) => Lack::new(
            format!("this kernel, or a filter of its calls, has no eBPF ({said})"),
            Some("run knee outside of the container, or boot a kernel with CONFIG_BPF_SYSCALL=y (distribution kernels are)"),
        ),
        Some(libc::EAGAIN | libc::EINTR) => {
            Lack::new(format!("signals kept the kernel from checking the programs ({said})"), Some("try again"))
        }
        Some(libc::ENOMEM) => {
            Lack::new(said, Some("free memory, or raise the limit of the control group that knee runs in"))
        }
        // Other errors of those without rights may come from that lack, too.
        _ => match asking() {
            Asking::Root => Lack::new(said, None),
            other => other.refusal().unwrap_or_default(),
        },
    }
}

/// Whether a filter judges the system calls of this process (proc_pid_status(5), Seccomp).
pub(super) fn is_filtered() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter_map(|line| line.strip_prefix("Seccomp:")).any(|mode| mode.trim() == "2")
}

/// The command that lets all users observe their own programs with this binary. It needs CAP_BPF (BPF itself, Linux
/// 5.8) and CAP_PERFMON (programs that trace, CPU samples); CAP_SYSLOG shows the names of kernel functions where
/// `kernel.kptr_restrict` hides them. `rights` gives up any other capability that a file has.
fn setcap() -> String {
    let binary = std::env::current_exe().unwrap_or_else(|_| "knee".into());
    format!("sudo setcap cap_bpf,cap_perfmon,cap_syslog+ep {}", binary.display())
}

/// The level of kernel.perf_event_paranoid, as text.
pub(super) fn paranoid() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().to_owned())
}

pub(super) fn perf_lack(error: &io::Error, paranoid: Option<&str>) -> Lack {
    let why = format!("perf_event_open: {error}; kernel.perf_event_paranoid is {}", paranoid.unwrap_or("unknown"));
    // Events are allowed up to level 2. Then it was a container's seccomp filter, which can only be changed outside of it.
    let forbidden = paranoid.and_then(|level| level.parse::<i32>().ok()).is_none_or(|level| level > 2);
    Lack::new(why, Some(if forbidden { "sudo sysctl kernel.perf_event_paranoid=2" } else { ALLOW_PERF_EVENTS }))
}

pub(super) const ALLOW_PERF_EVENTS: &str = "in a container, allow it to call perf_event_open";

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(number: i32) -> Error {
        Error::bpf("load the BPF programs")(io::Error::from_raw_os_error(number))
    }

    #[test]
    fn a_refusal_says_what_to_do_for_whoever_asks() {
        for number in [libc::EPERM, libc::EACCES, libc::EINVAL] {
            for (asking, why, unlock) in [
                (Asking::User, "needs root", "setcap"),
                (Asking::Bare, "lacks CAP_BPF", "--cap-add BPF"),
                (Asking::Namespace, "user namespace", "outside of the container"),
            ] {
                let Lack { why: reason, unlock: remedy, .. } = bpf_lack(&failed(number), || asking, false);
                assert!(
                    reason.contains(why) && remedy.is_some_and(|remedy| remedy.contains(unlock)),
                    "{asking:?}: {reason}"
                );
            }
        }
        let as_root = |number, filtered| bpf_lack(&failed(number), || Asking::Root, filtered);
        assert!(as_root(libc::EPERM, true).why.contains("seccomp"));
        assert!(as_root(libc::EPERM, false).why.contains("refuses it to root"));
        assert_eq!(as_root(libc::EINVAL, true).why, "cannot load the BPF programs: Invalid argument (os error 22)");
    }

    /// Whoever asks: what is lacking then is not a right.
    #[test]
    fn without_descriptors_memory_or_time_no_right_is_blamed() {
        for (number, why, unlock) in [
            (libc::EMFILE, "Too many open files", "ulimit -n"),
            (libc::ENFILE, "Too many open files in system", "ulimit -n"),
            (libc::EAGAIN, "signals", "try again"),
            (libc::ENOMEM, "Cannot allocate memory", "free memory"),
            (libc::ENOSYS, "has no eBPF", "outside of the container"),
        ] {
            for asking in [Asking::User, Asking::Root, Asking::Bare, Asking::Namespace] {
                let lack = bpf_lack(&failed(number), || asking, true);
                assert!(
                    lack.why.contains(why) && lack.unlock.is_some_and(|said| said.contains(unlock)),
                    "{}",
                    lack.why
                );
                assert_eq!(lack.descriptors, matches!(number, libc::EMFILE | libc::ENFILE));
            }
        }
    }

    #[test]
    fn perf_events_are_unlocked_where_they_are_locked() {
        let unlock = |paranoid| perf_lack(&io::Error::from_raw_os_error(libc::EACCES), paranoid).unlock.unwrap();
        assert!(unlock(Some("3")).contains("sysctl") && unlock(None).contains("sysctl"));
        assert!(unlock(Some("2")).contains("container") && unlock(Some("-1")).contains("container"));
    }
}
