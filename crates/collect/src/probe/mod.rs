//! What this machine allows, found out by trying, and what each missing capability costs. Rooms: `lack` why something does
//! not work, and what would make it work.
//!
//! May import: `bpf`, `counters`, `error`, `observe`, `sharing`, `sources`, `recording`, caps, libc.

mod lack;

use crate::bpf::Programs;
use crate::counters;
use crate::observe::Collector;
use crate::sharing::Unavailable;
use crate::sources::perf;
use lack::{ALLOW_PERF_EVENTS, Lack, bpf_lack, is_filtered, is_root, paranoid, perf_lack};
use recording::meta::Capability;
use std::fs;
use std::path::Path;

/// What this machine allows.
pub struct Findings {
    /// Everything that knee uses.
    pub capabilities: Vec<Capability>,
    /// True when something is missing because knee had no descriptors left to try it: the machine may allow it.
    pub lacked_descriptors: bool,
}

/// Tries everything that knee uses. Takes about half a second where BPF works.
pub fn probe() -> Findings {
    let (bpf, locks) = bpf();
    let tried = [
        bpf,
        locks,
        perf_events(),
        proc_files(),
        btf(),
        hardware_counters(),
        shared_memory(),
        kernel_symbols(),
        libc_debug_info(),
    ];
    Findings {
        lacked_descriptors: tried.iter().any(|tried| tried.lacked_descriptors),
        capabilities: tried.into_iter().map(|tried| tried.capability).collect(),
    }
}

/// A capability as it was found.
struct Tried {
    capability: Capability,
    lacked_descriptors: bool,
}

fn capability(what: &str, found: Result<String, Lack>, costs: &str) -> Tried {
    let available = found.is_ok();
    let (why, lack) = found.map_or_else(|lack| (lack.why.clone(), lack), |why| (why, Lack::default()));
    let capability = Capability { what: what.to_owned(), available, why, costs: costs.to_owned(), unlock: lack.unlock };
    Tried { capability, lacked_descriptors: lack.descriptors }
}

fn bpf() -> (Tried, Tried) {
    let loaded = Programs::load().and_then(|mut programs| programs.attach().map(|()| programs));
    let (found, locks) = match loaded {
        Ok(programs) => (
            Ok("programs load and attach".to_owned()),
            programs.no_locks().map_or_else(
                || Ok("told by the kernel".to_owned()),
                |why| Err(Lack::new(why, Some("boot Linux 5.19 or newer"))),
            ),
        ),
        Err(error) => {
            let lack = bpf_lack(&error, lack::Asking::found, is_filtered());
            let unlock = lack.unlock.clone();
            (Err(lack), Err(Lack::new("eBPF is not available", unlock.as_deref())))
        }
    };
    let costs =
        "who wakes whom, who holds a lock, locks of the kernel, system calls; without it causes are often unsure";
    let lock_costs = "the causes inside the kernel: which of its locks threads wait for";
    (capability(Collector::Bpf.capability(), found, costs), capability("waits for kernel locks", locks, lock_costs))
}

fn perf_events() -> Tried {
    let found = perf::allowed().map(|()| "of one's own programs".to_owned());
    let found =
        found.map_err(|error| Lack::from_error("perf_event_open", &error, || perf_lack(&error, paranoid().as_deref())));
    let costs = "exact times on and off processors, and which code runs, where eBPF is not allowed";
    capability(Collector::Perf.capability(), found, costs)
}

fn proc_files() -> Tried {
    const FILE: &str = "/proc/self/schedstat";
    let unlock = "mount /proc, on a kernel built with CONFIG_SCHED_INFO=y (distribution kernels are)";
    let found = fs::read_to_string(FILE)
        .map(|_| "of one's own programs".to_owned())
        .map_err(|error| Lack::from_error(FILE, &error, || Lack::new(format!("{FILE}: {error}"), Some(unlock))));
    let costs = "anything beyond the curve, where neither eBPF nor perf events are allowed";
    capability(Collector::Proc.capability(), found, costs)
}

fn btf() -> Tried {
    const FILE: &str = "/sys/kernel/btf/vmlinux";
    let unlock = "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (distribution kernels are)";
    let found = fs::metadata(FILE)
        .map(|meta| format!("{} KiB", meta.len() / 1024))
        .map_err(|error| Lack::new(format!("{FILE}: {error}"), Some(unlock)));
    capability("kernel type information (BTF)", found, "the causes: eBPF programs cannot be fitted to the kernel")
}

fn hardware_counters() -> Tried {
    let found = counters::hardware_available().map(|()| "cycles and instructions are counted".to_owned());
    let found = found.map_err(|error| {
        Lack::from_error("perf_event_open", &error, || {
            let level = paranoid().and_then(|level| level.parse::<i32>().ok()).unwrap_or(2);
            if level > 2 && !is_root() {
                let why = format!("forbidden by kernel.perf_event_paranoid={level}");
                return Lack::new(why, Some("sudo sysctl kernel.perf_event_paranoid=1"));
            }
            match error.raw_os_error() {
                Some(libc::EPERM | libc::EACCES | libc::ENOSYS) => {
                    Lack::new(format!("perf_event_open: {error}"), Some(ALLOW_PERF_EVENTS))
                }
                _ => Lack::new("this (virtual) machine has none", None),
            }
        })
    });
    let costs = "instructions and cache misses as evidence; slower memory stays unsure";
    capability("hardware counters", found, costs)
}

fn shared_memory() -> Tried {
    let found = match crate::sharing::available() {
        Ok(()) => Ok("code is decoded, breakpoints can be set".to_owned()),
        Err(Unavailable::Architecture) => {
            let why = format!("knee reads the code of x86-64 and AArch64, not of {}", std::env::consts::ARCH);
            Err(Lack::new(why, None))
        }
        Err(Unavailable::Breakpoints(error)) => {
            const WHAT: &str = "hardware breakpoints cannot be set";
            let unlock = (!is_root()).then_some("run the same command with sudo");
            Err(Lack::from_error(WHAT, &error, || Lack::new(format!("{WHAT}: {error}"), unlock)))
        }
    };
    let costs = "false sharing, true sharing and waiting loops stay unsure";
    capability(recording::words::SHARED_MEMORY, found, costs)
}

fn kernel_symbols() -> Tried {
    const FILE: &str = "/proc/kallsyms";
    let unlock = "sudo sysctl kernel.kptr_restrict=1, and run with sudo";
    let found = match fs::read_to_string(FILE) {
        Ok(text) if text.lines().take(64).any(|line| !line.starts_with("0000000000000000 ")) => {
            Ok("readable".to_owned())
        }
        Ok(_) => Err(Lack::new("addresses are hidden", Some(unlock))),
        Err(error) => Err(Lack::from_error(FILE, &error, || Lack::new(format!("{FILE}: {error}"), Some(unlock)))),
    };
    capability("kernel symbols", found, "the names of kernel functions in evidence")
}

fn libc_debug_info() -> Tried {
    let found = if Path::new("/usr/lib/debug/.build-id").is_dir() {
        Ok("separate debug files are installed".to_owned())
    } else {
        Err(Lack::new("none in /usr/lib/debug", Some("sudo apt-get install libc6-dbg (Debian, Ubuntu)")))
    };
    capability("debug information of libraries", found, "lines and local functions inside libraries")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_says_how_to_unlock_it_and_what_is_there_does_not() {
        let here = capability("x", Ok("fine".into()), "nothing").capability;
        assert_eq!((here.available, here.unlock.as_deref(), here.why.as_str()), (true, None, "fine"));
        let gone = capability("x", Err(Lack::new("no", Some("do it"))), "answers").capability;
        assert_eq!((gone.available, gone.unlock.as_deref(), gone.why.as_str()), (false, Some("do it"), "no"));
    }
}
