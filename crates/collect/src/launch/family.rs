//! A process that knee started, and all processes that belong to it: what they have used so far, and how they are ended.
//! A server and its load have process groups of their own.

use crate::procfs::{self, monotonic_ns};
use crate::task;
use std::collections::HashSet;
use std::fs;
use std::time::Duration;

/// A clock tick of /proc: USER_HZ is 100 on every architecture that knee knows.
const TICK_NS: u64 = 10_000_000;

/// Pause between two checks whether all have ended.
const LOOK: Duration = Duration::from_millis(10);

/// One process of the family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) pid: u32,
    parent: u32,
    group: u32,
    ended: bool,
    /// Time in user space and in the kernel, with waited-for children; clock ticks.
    ticks: (u64, u64),
    /// Time of waited-for children alone, clock ticks.
    children_ticks: u64,
    minor_faults: u64,
    major_faults: u64,
    /// Distinguishes it from a later process with the same number.
    started_ticks: u64,
}

/// What all processes have used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Used {
    /// Processor time, nanoseconds; exact where the kernel reports it exactly.
    pub(crate) cpu_ns: u64,
    /// Time in user space and in the kernel, clock ticks: the ratio in which `cpu_ns` is split.
    ticks: (u64, u64),
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
}

impl Used {
    /// Processor time in user space and in the kernel since then, nanoseconds.
    pub(crate) fn since(&self, before: &Used) -> (u64, u64) {
        let cpu = self.cpu_ns.saturating_sub(before.cpu_ns);
        let ticks = |of: fn(&Used) -> u64| of(self).saturating_sub(of(before));
        let (user, system) = (ticks(|used| used.ticks.0), ticks(|used| used.ticks.1));
        let share = user as f64 / ((user + system) as f64).max(1.0);
        let user_ns = if user + system == 0 { cpu } else { (cpu as f64 * share) as u64 };
        (user_ns.min(cpu), cpu.saturating_sub(user_ns))
    }
}

/// The living processes: those of the group, and all that these started, whatever group they are in.
pub(crate) fn members(leader: u32) -> Vec<Member> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let all: Vec<Member> =
        pids.filter_map(|pid| parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)).collect();
    of_family(leader, all)
}

fn of_family(leader: u32, all: Vec<Member>) -> Vec<Member> {
    let mut inside: HashSet<u32> = all.iter().filter(|m| m.pid == leader || m.group == leader).map(|m| m.pid).collect();
    loop {
        let before = inside.len();
        let more: Vec<u32> = all.iter().filter(|m| inside.contains(&m.parent)).map(|m| m.pid).collect();
        inside.extend(more);
        if inside.len() == before {
            break;
        }
    }
    all.into_iter().filter(|m| inside.contains(&m.pid)).collect()
}

/// proc_pid_stat(5): state (3), ppid (4), pgrp (5), minflt to cmajflt (10 to 13), utime to cstime (14 to 17), starttime
/// (22). The name, field 2, may hold spaces and parentheses.
fn parse(pid: u32, text: &str) -> Option<Member> {
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let small = |index: usize| u32::try_from(number(index)?).ok();
    let (user, system) = (number(11)?.checked_add(number(13)?)?, number(12)?.checked_add(number(14)?)?);
    Some(Member {
        pid,
        parent: small(1)?,
        group: small(2)?,
        ended: matches!(*fields.first()?, "Z" | "X"),
        ticks: (user, system),
        children_ticks: number(13)?.checked_add(number(14)?)?,
        minor_faults: number(7)?.checked_add(number(8)?)?,
        major_faults: number(9)?.checked_add(number(10)?)?,
        started_ticks: number(19)?,
    })
}

/// What the processes have used so far. Switches are those of living threads only.
pub(crate) fn used(members: &[Member]) -> Used {
    let mut sum = Used::default();
    for member in members {
        let whole = (member.ticks.0.saturating_add(member.ticks.1)).saturating_mul(TICK_NS);
        let exact = |own: u64| own.saturating_add(member.children_ticks.saturating_mul(TICK_NS));
        sum.cpu_ns = sum.cpu_ns.saturating_add(process_cpu_ns(member.pid).map_or(whole, exact));
        sum.ticks = (sum.ticks.0.saturating_add(member.ticks.0), sum.ticks.1.saturating_add(member.ticks.1));
        sum.minor_faults = sum.minor_faults.saturating_add(member.minor_faults);
        sum.major_faults = sum.major_faults.saturating_add(member.major_faults);
        for tid in procfs::threads(member.pid) {
            let switches = task::switches(member.pid, tid).unwrap_or_default();
            sum.voluntary_switches += switches.voluntary;
            sum.involuntary_switches += switches.involuntary;
        }
    }
    sum
}

/// The exact processor time of a process, including threads that have ended (clock_getcpuclockid(3)).
pub(crate) fn process_cpu_ns(pid: u32) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both out-parameters are valid for writing; a process that has ended makes the calls fail.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid.cast_signed(), &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut time) != 0
    };
    (!failed).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Sends a signal to the whole group. An empty group is no error.
fn signal_group(leader: u32, signal: libc::c_int) {
    // SAFETY: kill takes numbers. The leader has not been waited for, so the number is still its group's.
    unsafe { libc::kill(-leader.cast_signed(), signal) };
}

/// Asks all to end, and kills those that have not ended within `patience`; true when any had to be killed. The caller
/// must wait for the leader afterwards.
pub(crate) fn end(leader: u32, patience: Duration) -> bool {
    let known = members(leader);
    let begin_ns = monotonic_ns();
    if !patience.is_zero() {
        signal_group(leader, libc::SIGTERM);
    }
    // Members in other process groups got no SIGTERM: ending them is their parents' task. Survivors are killed below.
    while u128::from(monotonic_ns() - begin_ns) < patience.as_nanos() {
        if members(leader).iter().all(|member| member.ended) {
            break;
        }
        std::thread::sleep(LOOK);
    }
    let killed = members(leader).iter().any(|member| !member.ended);
    signal_group(leader, libc::SIGKILL);
    for member in known {
        let now = fs::read_to_string(format!("/proc/{}/stat", member.pid)).ok();
        let same = now.and_then(|text| parse(member.pid, &text));
        if same.is_some_and(|now| now.started_ticks == member.started_ticks && !now.ended) {
            // SAFETY: as above; it was this very process a moment ago.
            unsafe { libc::kill(member.pid.cast_signed(), libc::SIGKILL) };
        }
    }
    killed
}

/// Rounds in which processes that were just started are killed, too: each round can only miss what a process started that
/// was not stopped.
const ROUNDS: usize = 16;

/// Kills a process and all that it started. It is stopped first, so that it starts no more. The caller must wait for it
/// afterwards.
pub(crate) fn kill_all(leader: u32) {
    // SAFETY: kill takes numbers. The leader has not been waited for, so the number is still its own; the others were
    // alive a moment ago.
    let signal = |pid: u32, signal: libc::c_int| unsafe { libc::kill(pid.cast_signed(), signal) };
    signal(leader, libc::SIGSTOP);
    for _ in 0..ROUNDS {
        let others: Vec<u32> =
            members(leader).iter().filter(|m| m.pid != leader && !m.ended).map(|member| member.pid).collect();
        if others.is_empty() {
            break;
        }
        for pid in others {
            signal(pid, libc::SIGKILL);
        }
    }
    signal(leader, libc::SIGKILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(pid: u32, parent: u32, group: u32) -> Member {
        let text = format!("{pid} (a b) c) S {parent} {group} 1 0 -1 4194304 5 6 7 8 10 20 30 40 20 0 3 0 99 0");
        parse(pid, &text).unwrap()
    }

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let read = member(7, 1, 7);
        assert_eq!((read.parent, read.group, read.started_ticks), (1, 7, 99));
        assert_eq!((read.ticks, read.children_ticks), ((40, 60), 70));
        assert_eq!((read.minor_faults, read.major_faults), (11, 15));
        for text in ["", "7 (a)", "7 (a) S x", "7 (a) S 1 7 1 0 -1 0 5 6 7 8 18446744073709551615 1 1 1 20 0 3 0 99"] {
            assert_eq!(parse(7, text), None, "{text}");
        }
    }

    #[test]
    fn those_that_left_the_group_belong_to_it() {
        let all = vec![member(7, 1, 7), member(8, 7, 8), member(9, 8, 9), member(10, 1, 7), member(11, 1, 11)];
        let pids: Vec<u32> = of_family(7, all).into_iter().map(|m| m.pid).collect();
        assert_eq!(pids, [7, 8, 9, 10]);
    }

    #[test]
    fn time_divides_as_the_ticks_do() {
        let used = |cpu_ns, ticks| Used { cpu_ns, ticks, ..Used::default() };
        assert_eq!(used(1_000, (30, 10)).since(&used(200, (0, 0))), (600, 200));
        assert_eq!(used(1_000, (0, 0)).since(&used(200, (0, 0))), (800, 0));
        assert_eq!(used(1, (1, 1)).since(&used(2, (2, 2))), (0, 0));
        assert!(process_cpu_ns(std::process::id()).is_some_and(|ns| ns > 0));
    }
}
