//! What this machine allows, found out by trying, and what each missing capability costs.

use crate::bpf::Programs;
use crate::counters;
use crate::observe::Collector;
use crate::sources::perf;
use caps::{CapSet, Capability as Right};
use recording::meta::Capability;
use std::fs;
use std::path::Path;

/// Tries everything that knee uses. Takes about half a second where BPF works.
pub fn probe() -> Vec<Capability> {
    let (bpf, locks) = bpf();
    vec![
        bpf,
        locks,
        perf_events(),
        proc_files(),
        btf(),
        hardware_counters(),
        shared_memory(),
        kernel_symbols(),
        libc_debug_info(),
    ]
}

fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() == 0 }
}

/// With which identity knee asks for BPF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asking {
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
    fn found() -> Asking {
        if !is_root() {
            return Asking::User;
        }
        // user_namespaces(7): the map of the initial namespace.
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        if map.split_whitespace().ne(["0", "0", "4294967295"]) {
            return Asking::Namespace;
        }
        let has = |right| caps::has_cap(None, CapSet::Effective, right).unwrap_or(true);
        match has(Right::CAP_SYS_ADMIN) || (has(Right::CAP_BPF) && has(Right::CAP_PERFMON)) {
            true => Asking::Root,
            false => Asking::Bare,
        }
    }

    /// Why BPF does not work, given the kernel's `error`, and what would allow it.
    fn refusal(self, error: String) -> (String, Option<String>) {
        let both = "CAP_BPF and CAP_PERFMON";
        match self {
            Asking::User => {
                let unlock = format!("run the same command with sudo, or once: {}", setcap());
                (format!("needs root, or {both}"), Some(unlock))
            }
            Asking::Root => (error, None),
            Asking::Bare => (
                format!("this root lacks {both}, as in most containers"),
                Some(
                    "start the container with both (--cap-add BPF --cap-add PERFMON), or run knee outside of it".into(),
                ),
            ),
            Asking::Namespace => (
                "this root is that of a container (a user namespace), which has neither CAP_BPF nor CAP_PERFMON outside of it".into(),
                Some("run knee outside of the container; `sudo knee record -p PID` looks into it".into()),
            ),
        }
    }
}

fn capability(what: &str, found: Result<String, String>, costs: &str, unlock: Option<String>) -> Capability {
    let available = found.is_ok();
    let why = found.unwrap_or_else(|why| why);
    let unlock = if available { None } else { unlock };
    Capability { what: what.to_owned(), available, why, costs: costs.to_owned(), unlock }
}

fn bpf() -> (Capability, Capability) {
    let mut locks = Err("eBPF is not available".to_owned());
    let loaded = Programs::load().and_then(|mut programs| programs.attach().map(|()| programs));
    let found = match loaded {
        Ok(programs) => {
            locks = programs.no_locks().map_or_else(|| Ok("told by the kernel".to_owned()), |why| Err(why.to_owned()));
            Ok("programs load and attach".to_owned())
        }
        Err(error) => {
            let mut why = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                // The verifier's log is for knee's authors; the first line says what happened.
                let line = cause.to_string().lines().next().unwrap_or_default().to_owned();
                why = format!("{why}: {line}");
                source = cause.source();
            }
            Err(Asking::found().refusal(why))
        }
    };
    let (found, unlock) = match found {
        Ok(found) => (Ok(found), None),
        Err((why, unlock)) => (Err(why), unlock),
    };
    let costs =
        "who wakes whom, who holds a lock, locks of the kernel, system calls; without it causes are often unsure";
    let lock_unlock = found.is_ok().then(|| "boot Linux 5.19 or newer".to_owned()).or_else(|| unlock.clone());
    let lock_costs = "the causes inside the kernel: which of its locks threads wait for";
    (
        capability(Collector::Bpf.capability(), found, costs, unlock),
        capability("waits for kernel locks", locks, lock_costs, lock_unlock),
    )
}

/// The command that lets all users observe their own programs with this binary. It needs CAP_BPF (BPF itself, Linux
/// 5.8) and CAP_PERFMON (programs that trace, CPU samples); CAP_SYSLOG shows the names of kernel functions where
/// `kernel.kptr_restrict` hides them. `rights` gives up any other capability that a file has.
fn setcap() -> String {
    let binary = std::env::current_exe().unwrap_or_else(|_| "knee".into());
    format!("sudo setcap cap_bpf,cap_perfmon,cap_syslog+ep {}", binary.display())
}

fn perf_events() -> Capability {
    let found = perf::allowed().map(|()| "of one's own programs".to_owned());
    let found = found.map_err(|error| {
        let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
        format!("perf_event_open: {error}; kernel.perf_event_paranoid is {}", paranoid.trim())
    });
    // A container's seccomp filter also refuses the call with EPERM; that can only be changed outside of the container.
    let unlock = "sudo sysctl kernel.perf_event_paranoid=2; in a container, allow it to call perf_event_open";
    let costs = "exact times on and off processors, and which code runs, where eBPF is not allowed";
    capability(Collector::Perf.capability(), found, costs, Some(unlock.to_owned()))
}

fn proc_files() -> Capability {
    let found = fs::read_to_string("/proc/self/schedstat")
        .map(|_| "of one's own programs".to_owned())
        .map_err(|error| format!("/proc/self/schedstat: {error}"));
    let unlock = "mount /proc, on a kernel built with CONFIG_SCHED_INFO=y (distribution kernels are)";
    let costs = "anything beyond the curve, where neither eBPF nor perf events are allowed";
    capability(Collector::Proc.capability(), found, costs, Some(unlock.to_owned()))
}

fn btf() -> Capability {
    let found = fs::metadata("/sys/kernel/btf/vmlinux")
        .map(|meta| format!("{} KiB", meta.len() / 1024))
        .map_err(|e| format!("/sys/kernel/btf/vmlinux: {e}"));
    let unlock = Some("boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (distribution kernels are)".to_owned());
    capability(
        "kernel type information (BTF)",
        found,
        "the causes: eBPF programs cannot be fitted to the kernel",
        unlock,
    )
}

fn hardware_counters() -> Capability {
    let found = if counters::hardware_available() {
        Ok("cycles and instructions are counted".to_owned())
    } else {
        let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
        let level = paranoid.trim().parse::<i32>().unwrap_or(2);
        Err(if level > 2 && !is_root() {
            format!("forbidden by kernel.perf_event_paranoid={level}")
        } else {
            "this (virtual) machine has none".to_owned()
        })
    };
    let forbidden = found.as_ref().is_err_and(|why| why.starts_with("forbidden"));
    let unlock = forbidden.then(|| "sudo sysctl kernel.perf_event_paranoid=1".to_owned());
    let costs = "instructions and cache misses as evidence; slower memory stays unsure";
    capability("hardware counters", found, costs, unlock)
}

fn shared_memory() -> Capability {
    let found = crate::sharing::available().map(|()| "code is decoded, breakpoints can be set".to_owned());
    let costs = "false sharing, true sharing and waiting loops stay unsure";
    let unlock = (!is_root()).then(|| "run the same command with sudo".to_owned());
    capability(recording::words::SHARED_MEMORY, found, costs, unlock)
}

fn kernel_symbols() -> Capability {
    let text = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let shown = text.lines().take(64).any(|line| !line.starts_with("0000000000000000 "));
    let found = if shown { Ok("readable".to_owned()) } else { Err("addresses are hidden".to_owned()) };
    let unlock = Some("sudo sysctl kernel.kptr_restrict=1, and run with sudo".to_owned());
    capability("kernel symbols", found, "the names of kernel functions in evidence", unlock)
}

fn libc_debug_info() -> Capability {
    let found = if Path::new("/usr/lib/debug/.build-id").is_dir() {
        Ok("separate debug files are installed".to_owned())
    } else {
        Err("none in /usr/lib/debug".to_owned())
    };
    let unlock = Some("sudo apt-get install libc6-dbg (Debian, Ubuntu)".to_owned());
    capability("debug information of libraries", found, "lines and local functions inside libraries", unlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_says_how_to_unlock_it_and_what_is_there_does_not() {
        let here = capability("x", Ok("fine".into()), "nothing", Some("do it".into()));
        assert_eq!((here.available, here.unlock.as_deref(), here.why.as_str()), (true, None, "fine"));
        let gone = capability("x", Err("no".into()), "answers", Some("do it".into()));
        assert_eq!((gone.available, gone.unlock.as_deref(), gone.why.as_str()), (false, Some("do it"), "no"));
    }

    #[test]
    fn a_refusal_says_what_to_do_for_whoever_asks() {
        let said = |asking: Asking| asking.refusal("verifier".to_owned());
        assert_eq!(said(Asking::Root), ("verifier".to_owned(), None));
        for (asking, why, unlock) in [
            (Asking::User, "needs root", "setcap"),
            (Asking::Bare, "lacks CAP_BPF", "--cap-add BPF"),
            (Asking::Namespace, "user namespace", "outside of the container"),
        ] {
            let (reason, remedy) = said(asking);
            assert!(
                reason.contains(why) && remedy.is_some_and(|remedy| remedy.contains(unlock)),
                "{asking:?}: {reason}"
            );
        }
    }
}
