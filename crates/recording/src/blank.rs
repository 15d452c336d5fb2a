//! Rows with nothing but their handles, for collectors and importers to fill in. A new column needs its empty value only
//! here.

use crate::ids::{RunId, ThreadId};
use crate::tables::{Run, RunKind, Thread};

impl Run {
    /// A run without measurements: counts and times are 0, optional values are absent.
    pub fn blank(run: RunId, kind: RunKind, threads: u32) -> Run {
        Run {
            run,
            kind,
            threads,
            block: 0,
            started_unix_ns: 0,
            wall_ns: 0,
            user_ns: 0,
            system_ns: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            minor_faults: 0,
            major_faults: 0,
            max_rss_bytes: 0,
            migrations: None,
            cycles: None,
            instructions: None,
            cache_misses: None,
            throughput: None,
            foreign_ns: None,
            steal_ns: None,
            throttled_ns: None,
            throttled_periods: None,
            thermal_throttles: None,
            clock_khz: None,
            exit_status: None,
            signal: None,
            load_ns: None,
            load_threads: None,
            load_errors: None,
            latency_median_ns: None,
            latency_99_ns: None,
        }
    }
}

impl Thread {
    /// A thread without a name: counts and times are 0, optional values are absent.
    pub fn blank(run: RunId, thread: ThreadId) -> Thread {
        Thread {
            run,
            thread,
            pid: 0,
            tid: 0,
            name: String::new(),
            parent: None,
            start_ns: 0,
            end_ns: 0,
            running_ns: 0,
            runnable_ns: 0,
            preempted_ns: 0,
            blocked_ns: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            migrations: 0,
            created_stack: None,
            minor_faults: None,
            major_faults: None,
            cycles: None,
            instructions: None,
            cache_misses: None,
            stalled_cycles: None,
        }
    }
}
