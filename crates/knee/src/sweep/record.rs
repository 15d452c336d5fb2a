//! A finished run as a row of the recording.

use crate::plan::Planned;
use collect::{Exit, Finished};
use recording::RunId;
use recording::tables::Run;

/// The row, without a throughput.
pub(crate) fn row(run: RunId, planned: Planned, finished: &Finished) -> Run {
    let (exit_status, signal) = match finished.exit {
        Exit::Status(status) => (Some(status), None),
        Exit::Signal(signal) => (None, Some(signal)),
    };
    Run {
        run,
        kind: planned.kind,
        threads: planned.threads,
        block: planned.block,
        started_unix_ns: finished.started_unix_ns,
        wall_ns: finished.wall_ns,
        user_ns: finished.user_ns,
        system_ns: finished.system_ns,
        voluntary_switches: finished.voluntary_switches,
        involuntary_switches: finished.involuntary_switches,
        minor_faults: finished.minor_faults,
        major_faults: finished.major_faults,
        max_rss_bytes: finished.max_rss_bytes,
        migrations: finished.counters.migrations,
        cycles: finished.counters.cycles,
        instructions: finished.counters.instructions,
        cache_misses: finished.counters.cache_misses,
        throughput: None,
        foreign_ns: finished.foreign_ns,
        steal_ns: finished.steal_ns,
        throttled_ns: finished.throttled_ns,
        throttled_periods: finished.throttled_periods,
        thermal_throttles: finished.thermal_throttles,
        clock_khz: finished.clock_khz,
        exit_status,
        signal,
        load_ns: finished.load.as_ref().map(|load| load.cpu_ns),
        load_threads: finished.load.as_ref().map(|load| load.threads),
        load_errors: None,
        latency_median_ns: None,
        latency_99_ns: None,
    }
}

/// Signals that end programs, numbered as on x86-64 and aarch64 (signal(7)).
pub(super) fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL, an illegal instruction",
        6 => "SIGABRT, it gave up itself",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL; when memory ran out, the kernel's log says so",
        11 => "SIGSEGV, an invalid memory access",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU, its limit of processor time",
        25 => "SIGXFSZ, its limit of file size",
        31 => "SIGSYS, a forbidden system call",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal}, {name}")
}
