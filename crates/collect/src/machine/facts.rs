//! The machine that runs the target, as far as it matters for scaling.

use super::cgroup::Groups;
use recording::meta::Machine;
use std::collections::BTreeSet;
use std::fs;
use std::mem::{size_of, zeroed};

/// Describes this machine as this process may use it. What cannot be read stays empty; nothing is guessed.
pub fn machine() -> Machine {
    described(&usable_processors(), &Groups::own())
}

/// Describes this machine as a process that runs already may use it: a container has its own processors and its own
/// quota.
pub fn machine_of(pid: u32) -> Machine {
    described(&usable_by(pid), &Groups::of_process(pid))
}

fn described(usable: &[usize], groups: &Groups) -> Machine {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    Machine {
        processors: online_processors(),
        usable_processors: usable.len().max(1) as u32,
        usable_cores: cores(usable).max(1),
        quota_milliprocessors: groups.quota(),
        model: field(&cpuinfo, "model name").unwrap_or("unknown").to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        hypervisor: hypervisor(&cpuinfo),
        memory_bytes: memory_bytes(),
        distribution: fs::read_to_string("/etc/os-release").ok().as_deref().and_then(distribution),
    }
}

/// The processors that this process, and so the target, may run on (sched_getaffinity(2); a cpuset shows here too).
pub fn usable_processors() -> Vec<usize> {
    usable_by(0)
}

/// The processors that a process may run on, as the kernel has it now; 0 is this process. Where that cannot be read,
/// all that are online.
pub(crate) fn usable_by(pid: u32) -> Vec<usize> {
    // SAFETY: a cpu_set_t is an array of words, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    let process = libc::pid_t::try_from(pid).unwrap_or(-1);
    // SAFETY: the set is valid for writing and its size is passed.
    if unsafe { libc::sched_getaffinity(process, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0 {
        return (0..online_processors() as usize).collect();
    }
    // SAFETY: CPU_ISSET reads inside the set for indexes below CPU_SETSIZE.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

fn online_processors() -> u32 {
    // SAFETY: sysconf takes a number.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(online).unwrap_or(1).max(1)
}

/// The processors that are online, by number (/sys/devices/system/cpu/online: `0-3,8`).
pub(crate) fn online() -> Option<Vec<u32>> {
    processor_list(&fs::read_to_string("/sys/devices/system/cpu/online").ok()?)
}

/// A list of processors as the kernel writes it: numbers and ranges between commas.
pub(crate) fn processor_list(text: &str) -> Option<Vec<u32>> {
    /// As many as [`possible_processors`] takes.
    const MOST: u32 = 8192;
    let mut processors = BTreeSet::new();
    for range in text.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        processors.extend((first..=last).take_while(|processor| *processor < MOST));
    }
    Some(processors.into_iter().collect())
}

/// How many processors the kernel could ever have; records are indexed by processor number.
pub(crate) fn possible_processors() -> u32 {
    // SAFETY: sysconf takes a number.
    let configured = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    let possible = fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = possible.trim().rsplit(['-', ',']).next().and_then(|last| last.parse::<u32>().ok());
    last.map_or(0, |last| last.saturating_add(1)).max(u32::try_from(configured).unwrap_or(1)).clamp(1, 8192)
}

fn cores(processors: &[usize]) -> u32 {
    let core = |cpu: &usize| {
        let read =
            |name| fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}")).unwrap_or_default();
        (read("physical_package_id"), read("thread_siblings_list"))
    };
    processors.iter().map(core).collect::<BTreeSet<_>>().len() as u32
}

fn field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn hypervisor(cpuinfo: &str) -> Option<String> {
    if !field(cpuinfo, "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")) {
        return None;
    }
    let vendor = fs::read_to_string("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    Some(if vendor.trim().is_empty() { "unknown".to_owned() } else { vendor.trim().to_owned() })
}

fn memory_bytes() -> u64 {
    // SAFETY: sysconf takes numbers.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(size).unwrap_or(0))
}

fn distribution(os_release: &str) -> Option<String> {
    let name = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_at_least_one_of_everything() {
        let machine = machine();
        assert!(machine.processors >= 1 && machine.usable_processors >= 1);
        assert!((1..=machine.usable_processors).contains(&machine.usable_cores));
        assert!(machine.memory_bytes > 0 && !machine.kernel.is_empty());
        assert!(possible_processors() >= machine.processors);
    }

    #[test]
    fn lists_of_processors_have_ranges() {
        assert_eq!(processor_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(processor_list("7-7,7"), Some(vec![7]));
        assert_eq!(processor_list("\n"), Some(vec![]));
        assert_eq!(processor_list("0-4294967295").map(|list| list.len()), Some(8192));
        assert_eq!(processor_list("0-x"), None);
    }

    #[test]
    fn distribution_and_model_are_read_without_quotes() {
        assert_eq!(distribution("ID=x\nPRETTY_NAME=\"Some Linux 12\"\n").as_deref(), Some("Some Linux 12"));
        assert_eq!(field("processor\t: 0\nmodel name\t: A B\n", "model name"), Some("A B"));
    }
}
