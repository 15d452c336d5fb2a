//! What this machine allows, found out by trying, and what each missing thing costs.
//!
//! May import: the BPF side, `counters`, files of /proc and /sys.

use crate::bpf::Programs;
use crate::counters;
use recording::meta::Capability;
use std::fs;
use std::path::Path;

/// Tries everything that knee uses. Takes about half a second where BPF works.
pub fn probe() -> Vec<Capability> {
    let (bpf, locks) = bpf();
    vec![bpf, locks, btf(), hardware_counters(), kernel_symbols(), libc_debug_info()]
}

fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() == 0 }
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
            Err(if is_root() { why } else { "needs root, or CAP_BPF and CAP_PERFMON".to_owned() })
        }
    };
    let unlock = if is_root() { None } else { Some("run the same command with sudo".to_owned()) };
    let costs = "the causes: who waited, for what, woken by whom; only the curve remains";
    let lock_unlock = found.is_ok().then(|| "boot Linux 5.19 or newer".to_owned()).or_else(|| unlock.clone());
    let lock_costs = "the causes inside the kernel: which of its locks threads wait for";
    (
        capability("kernel observation (eBPF)", found, costs, unlock),
        capability("waits for kernel locks", locks, lock_costs, lock_unlock),
    )
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
}
