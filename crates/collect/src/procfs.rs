//! Small readings of /proc that several rooms need.

use std::fs;

/// A clock tick of /proc: USER_HZ is 100 on every architecture that knee knows.
const TICK_NS: u64 = 10_000_000;

/// Processor time of the whole machine, nanoseconds, since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MachineTime {
    /// All time that was not idle, without steal time.
    pub(crate) busy_ns: u64,
    /// Time that the hypervisor gave to others.
    pub(crate) steal_ns: u64,
}

impl MachineTime {
    pub(crate) fn now() -> Option<MachineTime> {
        MachineTime::read(&[])
    }

    /// The time of these processors; of the whole machine when none are given.
    pub(crate) fn read(processors: &[u32]) -> Option<MachineTime> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        if processors.is_empty() {
            return parse_stat(&text, "cpu");
        }
        processors.iter().try_fold(MachineTime::default(), |sum, processor| {
            let time = parse_stat(&text, &format!("cpu{processor}"))?;
            Some(MachineTime {
                busy_ns: sum.busy_ns.saturating_add(time.busy_ns),
                steal_ns: sum.steal_ns.saturating_add(time.steal_ns),
            })
        })
    }
}

/// proc_stat(5): the line `cpu`, and one for each processor, holds user, nice, system, idle, iowait, irq, softirq,
/// steal in clock ticks of 10 ms.
fn parse_stat(text: &str, of: &str) -> Option<MachineTime> {
    let line = text.lines().find_map(|line| line.strip_prefix(of)?.strip_prefix(' '))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let at = |index: usize| ticks.get(index).copied();
    let busy = [at(0)?, at(1)?, at(2)?, at(5).unwrap_or(0), at(6).unwrap_or(0)];
    let busy = busy.iter().try_fold(0_u64, |sum, ticks| sum.checked_add(*ticks))?;
    Some(MachineTime { busy_ns: busy.checked_mul(TICK_NS)?, steal_ns: at(7).unwrap_or(0).checked_mul(TICK_NS)? })
}

/// CLOCK_MONOTONIC, the clock of all kernel records, nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// The processor time that the calling thread has used, nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to; both clocks exist on every Linux (clock_gettime(2), since Linux 2.6.12).
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds of the Unix epoch.
pub(crate) fn unix_ns() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// CPU time of a process, including threads that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessTime {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
}

/// CPU time of a process so far (proc_pid_stat(5), fields 14 and 15, in clock ticks of 10 ms).
pub(crate) fn process_time(pid: u32) -> Option<ProcessTime> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok()?.checked_mul(TICK_NS);
    Some(ProcessTime { user_ns: ticks(11)?, system_ns: ticks(12)? })
}

/// A process with what it has used so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// The name that the kernel keeps, at most 15 bytes.
    pub(crate) name: String,
    /// CPU time of all its threads, nanoseconds.
    pub(crate) busy_ns: u64,
    /// When it started, in clock ticks since boot; distinguishes it from a later process with the same number.
    pub(crate) started_ticks: u64,
}

/// All visible processes. One that ends meanwhile is left out.
pub(crate) fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| parse_process(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)).collect()
}

/// proc_pid_stat(5): name (2), utime (14), stime (15), starttime (22). The name may hold spaces and parentheses.
fn parse_process(pid: u32, text: &str) -> Option<Process> {
    let (open, close) = (text.find('(')?, text.rfind(')')?);
    let name = text.get(open + 1..close)?.to_owned();
    let fields: Vec<&str> = text.get(close + 1..)?.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let busy_ns = number(11)?.checked_add(number(12)?)?.checked_mul(TICK_NS)?;
    Some(Process { pid, name, busy_ns, started_ticks: number(19)? })
}

/// The threads of a process.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut threads: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    threads.sort_unstable();
    threads
}

/// The largest resident set so far, bytes (proc_pid_status(5), VmHWM, in KiB).
pub(crate) fn peak_rss_bytes(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Whether the user may look into a process: the right that is needed for its memory map (ptrace(2), PTRACE_MODE_READ).
/// Checked without the rights that only knee has: since Linux 6.15, CAP_PERFMON can read the map of any process.
pub(crate) fn may_observe(pid: u32) -> std::io::Result<()> {
    use std::io::Read;
    let mut first = [0];
    crate::rights::as_user(|| fs::File::open(format!("/proc/{pid}/maps"))?.read(&mut first).map(drop))
}

/// The name of a thread; `None` when it has ended.
pub(crate) fn command_name(pid: u32, tid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    Some(text.trim_end().to_owned())
}

/// Minor and major page faults of a thread so far (proc_pid_stat(5), fields 10 and 12).
pub(crate) fn faults(pid: u32, tid: u32) -> Option<(u64, u64)> {
    parse_faults(&fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?)
}

fn parse_faults(text: &str) -> Option<(u64, u64)> {
    // The name, field 2, is in parentheses and may hold spaces and parentheses itself.
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
    Some((fields.get(7)?.parse().ok()?, fields.get(9)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let text = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 1900 20";
        let process = Process { pid: 7, name: "a) b (c".to_owned(), busy_ns: 230_000_000, started_ticks: 1900 };
        assert_eq!(parse_process(7, text), Some(process));
        assert_eq!(parse_process(7, "7 (a) S 1"), None);
        assert_eq!(parse_process(7, ""), None);
    }

    #[test]
    fn busy_is_everything_but_idle_waiting_and_steal() {
        let text = "cpu  10 1 5 900 7 2 3 4 0 0\ncpu1 1 2 3 9 9\ncpu10 1 1 1 1\n";
        let time = parse_stat(text, "cpu").unwrap();
        assert_eq!(time, MachineTime { busy_ns: 210_000_000, steal_ns: 40_000_000 });
        assert_eq!(parse_stat(text, "cpu1").unwrap().busy_ns, 60_000_000);
        assert_eq!(parse_stat(text, "cpu2"), None);
    }

    #[test]
    fn faults_are_found_behind_any_name() {
        let text = "12 (a) b (c) S 1 12 12 0 -1 4194304 101 0 7 0 3 2 0 0 20 0 1 0 5 6 7";
        assert_eq!(parse_faults(text), Some((101, 7)));
        assert_eq!(parse_faults("12 (x"), None);
    }

    #[test]
    fn a_stat_file_of_another_form_is_no_reading() {
        for text in ["", "cpu", "cpu  1", "intr 5", "cpu  18446744073709551615 1 1 1 1 1 1 1"] {
            assert_eq!(parse_stat(text, "cpu"), None, "{text:?}");
        }
    }
}
