//! Stacks of programs that wait.

/// On a processor.
pub(crate) const WORK: &str = "work@app app.c:5";

/// Where a thread of a Java virtual machine parks, below the methods.
pub(crate) const PARK: &str =
    "?@libc.so.6 < pthread_cond_wait@libc.so.6 < Parker::park(bool, long)@libjvm.so < Unsafe_Park@libjvm.so";
