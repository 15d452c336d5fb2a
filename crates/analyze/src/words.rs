//! Small phrases that several sentences need. May import: nothing.

/// "1 thread", "4 threads".
pub(crate) fn count_threads(threads: u32) -> String {
    format!("{threads} {}", if threads == 1 { "thread" } else { "threads" })
}
