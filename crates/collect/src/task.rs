//! One thread as /proc shows it to its own user: what it sleeps in, how long it ran and queued, how often it switched.

use recording::tables::Reason;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// Bytes of a sleeping thread's stack that are read. There is no hurry, so this is what the deepest stacks need.
const STACK: usize = 16384;

/// What a thread was doing when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Activity {
    /// It ran, or was ready to.
    Running,
    /// It slept.
    Sleeping(Sleep),
}

/// Where a thread slept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Sleep {
    /// Number of the system call and its arguments; absent for a page fault.
    pub(crate) call: Option<(u32, [u64; 6])>,
    pub(crate) sp: u64,
    pub(crate) ip: u64,
}

/// Reads what a thread does.
///
/// # Errors
/// When it has ended, or may not be looked at (ptrace(2), PTRACE_MODE_ATTACH).
pub(crate) fn doing(pid: u32, tid: u32) -> io::Result<Activity> {
    let text = read(pid, tid, "syscall")?;
    parse_syscall(&text).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// proc_pid_syscall(5): `running`; `-1 sp pc`; or the number, six arguments, sp and pc.
fn parse_syscall(text: &str) -> Option<Activity> {
    let mut fields = text.split_whitespace();
    let first = fields.next()?;
    if first == "running" {
        return Some(Activity::Running);
    }
    let number: i64 = first.parse().ok()?;
    let mut words = [0_u64; 8];
    let mut count = 0;
    for field in fields {
        *words.get_mut(count)? = u64::from_str_radix(field.strip_prefix("0x")?, 16).ok()?;
        count += 1;
    }
    let sleep = match (u32::try_from(number), count) {
        (Ok(number), 8) => {
            let [a, b, c, d, e, f, sp, ip] = words;
            Sleep { call: Some((number, [a, b, c, d, e, f])), sp, ip }
        }
        (Err(_), 2) => Sleep { call: None, sp: words[0], ip: words[1] },
        _ => return None,
    };
    Some(Activity::Sleeping(sleep))
}

/// The bytes of a process's stack from an address on, as far as they are readable.
pub(crate) fn stack(pid: u32, sp: u64) -> Vec<u8> {
    let Ok(memory) = File::open(format!("/proc/{pid}/mem")) else { return Vec::new() };
    let mut stack = vec![0; STACK];
    let mut read = 0;
    // Page by page: the stack may end before all is read.
    while read < STACK {
        let at = sp.wrapping_add(read as u64);
        let end = (read + 4096 - (at & 4095) as usize).min(STACK);
        match memory.read_at(&mut stack[read..end], at) {
            Ok(bytes) if bytes > 0 => read += bytes,
            _ => break,
        }
    }
    stack.truncate(read);
    stack
}

/// The scheduler's exact times of a thread (Documentation/scheduler/sched-stats.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SchedulerTimes {
    /// Time on a processor.
    pub(crate) running_ns: u64,
    /// Time in the run queue, up to when it last got a processor.
    pub(crate) queued_ns: u64,
    /// How often it got a processor.
    pub(crate) turns: u64,
}

/// Reads a thread's times; `None` when it has ended or the kernel does not keep them.
pub(crate) fn times(pid: u32, tid: u32) -> Option<SchedulerTimes> {
    parse_schedstat(&read(pid, tid, "schedstat").ok()?)
}

fn parse_schedstat(text: &str) -> Option<SchedulerTimes> {
    let mut fields = text.split_whitespace().map(str::parse);
    let (running_ns, queued_ns, turns) = (fields.next()?.ok()?, fields.next()?.ok()?, fields.next()?.ok()?);
    Some(SchedulerTimes { running_ns, queued_ns, turns })
}

/// Context switches of a thread so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Switches {
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

/// Reads a thread's context switches.
pub(crate) fn switches(pid: u32, tid: u32) -> Option<Switches> {
    parse_status(&read(pid, tid, "status").ok()?)
}

/// proc_pid_status(5).
fn parse_status(text: &str) -> Option<Switches> {
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).and_then(|v| v.trim().parse().ok())
    };
    Some(Switches { voluntary: field("voluntary_ctxt_switches")?, involuntary: field("nonvoluntary_ctxt_switches")? })
}

/// What proc_pid_stat(5) says of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) name: String,
    /// True when it runs or is ready to.
    pub(crate) ready: bool,
    /// True when it has ended.
    pub(crate) ended: bool,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    /// When it was created, clock ticks of 10 ms since boot.
    pub(crate) started_ticks: u64,
    /// The processor that it last ran on.
    pub(crate) processor: u32,
}

/// Reads a thread's stat file.
pub(crate) fn stat(pid: u32, tid: u32) -> Option<Stat> {
    parse_stat(&read(pid, tid, "stat").ok()?)
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name, field 2, is in parentheses and may hold spaces and parentheses itself.
    let (begin, end) = (text.find('(')?, text.rfind(')')?);
    let name = text.get(begin + 1..end)?.to_owned();
    let fields: Vec<&str> = text.get(end + 1..)?.split_whitespace().collect();
    // The first element here is field 3 of the manual page.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let state = *fields.first()?;
    Some(Stat {
        name,
        ready: state == "R",
        ended: matches!(state, "Z" | "X" | "x"),
        minor_faults: number(10)?,
        major_faults: number(12)?,
        started_ticks: number(22)?,
        processor: u32::try_from(number(39)?).ok()?,
    })
}

/// What a sleeping thread waits for according to the kernel function that it sleeps in (proc_pid_wchan(5)), if that
/// says more than its system call: a kernel lock, memory, a page. `None` when it says nothing more or is hidden.
pub(crate) fn reason_in_kernel(pid: u32, tid: u32) -> Option<Reason> {
    reason_of_function(read(pid, tid, "wchan").ok()?.trim())
}

fn reason_of_function(function: &str) -> Option<Reason> {
    let starts = |names: &[&str]| names.iter().any(|name| function.starts_with(name));
    match () {
        // kernel/locking: the slow paths of the kernel's sleeping locks.
        () if starts(&["rwsem_down_", "__mutex_lock", "mutex_lock", "__ww_mutex", "rt_mutex", "percpu_rwsem_wait"]) => {
            Some(Reason::KernelLock)
        }
        // mm/vmscan.c, mm/page-writeback.c: memory must be freed or written first.
        () if starts(&["shrink_", "try_to_free_pages", "balance_dirty_pages", "reclaim_throttle"]) => {
            Some(Reason::Reclaim)
        }
        // mm/filemap.c, block: a page or block is being read or written.
        () if starts(&["folio_wait_", "io_schedule", "wait_on_page", "__folio_lock", "bit_wait_io", "blk_"]) => {
            Some(Reason::Io)
        }
        () => None,
    }
}

/// What a sleeping thread waits for, judging only by its kernel function, for use where system calls are hidden.
pub(crate) fn reason_by_function_alone(pid: u32, tid: u32) -> Reason {
    let Ok(function) = read(pid, tid, "wchan") else { return Reason::None };
    let function = function.trim();
    let starts = |names: &[&str]| names.iter().any(|name| function.starts_with(name));
    match () {
        () if starts(&["futex_"]) => Reason::Futex,
        () if starts(&["hrtimer_nanosleep", "do_nanosleep", "common_nsleep"]) => Reason::Sleep,
        () if starts(&["pipe_", "anon_pipe_", "unix_stream_", "sk_wait_"]) => Reason::Pipe,
        () if starts(&["poll_schedule", "do_poll", "do_select", "ep_poll", "do_epoll", "inet_csk_accept"]) => {
            Reason::Poll
        }
        () if starts(&["do_wait", "kernel_wait"]) => Reason::Child,
        () => reason_of_function(function).unwrap_or(Reason::None),
    }
}

/// Reads a small file of a thread. If the thread has just ended, this fails with ESRCH.
fn read(pid: u32, tid: u32, file: &str) -> io::Result<String> {
    let mut text = String::with_capacity(512);
    File::open(format!("/proc/{pid}/task/{tid}/{file}"))?.read_to_string(&mut text)?;
    Ok(text)
}

/// The living processes that a process has started (proc_pid_task_children(5)).
pub(crate) fn children(pid: u32, tid: u32) -> Vec<u32> {
    read(pid, tid, "children").map_or_else(|_| Vec::new(), |text| numbers(&text))
}

fn numbers(text: &str) -> Vec<u32> {
    text.split_whitespace().map_while(|number| number.parse().ok()).collect()
}

/// The mode of the file behind a descriptor of a process, and the link that names it.
pub(crate) fn descriptor(pid: u32, number: u32) -> Option<(u32, Option<std::path::PathBuf>)> {
    use std::os::unix::fs::MetadataExt;
    let path = format!("/proc/{pid}/fd/{number}");
    let mode = fs::metadata(&path).ok()?.mode();
    Some((mode, fs::read_link(&path).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sleeping_thread_tells_its_call() {
        let text = "202 0x7f00 0x80 0x2 0x0 0x0 0x0 0x7ffd10 0x7f1234\n";
        let call = Some((202, [0x7f00, 0x80, 2, 0, 0, 0]));
        assert_eq!(parse_syscall(text), Some(Activity::Sleeping(Sleep { call, sp: 0x7ffd10, ip: 0x7f1234 })));
        let fault = Sleep { call: None, sp: 0x7ffd10, ip: 0x401000 };
        assert_eq!(parse_syscall("-1 0x7ffd10 0x401000"), Some(Activity::Sleeping(fault)));
        assert_eq!(parse_syscall("running\n"), Some(Activity::Running));
        for text in ["", "202", "202 0x1 0x2", "202 1 2 3 4 5 6 7 8", "x 0x1 0x2", "-1 0xzz 0x1", "-1 0x1 0x2 0x3"] {
            assert_eq!(parse_syscall(text), None, "{text}");
        }
    }

    #[test]
    fn times_switches_and_faults_are_read() {
        assert_eq!(
            parse_schedstat("896063 17 1\n"),
            Some(SchedulerTimes { running_ns: 896_063, queued_ns: 17, turns: 1 })
        );
        assert_eq!(parse_schedstat("0"), None);
        let status =
            "Name:\tnonvoluntary_ctxt_switches: 9\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(parse_status(status), Some(Switches { voluntary: 12, involuntary: 3 }));
        let line = "12 (a) b (c) S 1 12 12 0 -1 4194304 101 0 7 0 3 2 0 0 20 0 1 0 555 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 17 1 0 0";
        let stat = parse_stat(line).unwrap();
        assert_eq!((stat.name.as_str(), stat.ready, stat.ended), ("a) b (c", false, false));
        assert_eq!((stat.minor_faults, stat.major_faults, stat.started_ticks, stat.processor), (101, 7, 555, 1));
        assert_eq!(parse_stat("12 (x"), None);
    }

    #[test]
    fn kernel_functions_tell_locks_from_pages() {
        assert_eq!(reason_of_function("rwsem_down_write_slowpath"), Some(Reason::KernelLock));
        assert_eq!(reason_of_function("folio_wait_bit_common"), Some(Reason::Io));
        assert_eq!(reason_of_function("futex_wait_queue"), None);
        assert_eq!(reason_of_function("0"), None);
    }

    #[test]
    fn this_process_can_be_looked_at() {
        let pid = std::process::id();
        assert!(times(pid, pid).is_some_and(|times| times.running_ns > 0));
        assert!(switches(pid, pid).is_some() && stat(pid, pid).is_some());
        let here = [0_u64; 4];
        assert!(stack(pid, here.as_ptr() as u64).len() >= 32);
        assert!(stack(pid, 8).is_empty());
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[-0-9a-fx ()\n:A-Za-z]{0,200}") {
            let _ = (parse_syscall(&text), parse_schedstat(&text), parse_status(&text), parse_stat(&text), numbers(&text));
        }
    }
}
