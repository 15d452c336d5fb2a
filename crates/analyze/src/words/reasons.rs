//! What waits are for: one name for each reason, in tables, lanes and exports. The labels of the account's lines use the
//! same nouns (a test in `causes::lines` holds them together).

use crate::account::lines::Why;

/// What a thread waits for, in words that follow "waits for".
pub fn reason(why: Why) -> &'static str {
    match why {
        Why::Lock => "lock",
        Why::Allocator => "allocator",
        Why::Creation => "thread creation",
        Why::Pool => "one of a few resources",
        Why::Condition => "work",
        Why::Barrier => "barrier",
        Why::Join => "a thread's end",
        Why::Futex => "futex",
        Why::Ended => "goroutines left",
        Why::Task => "tasks left",
        Why::Sleep => "sleep",
        Why::Io => "file or device",
        Why::Poll => "pipe, socket or event",
        Why::Request => "next request",
        Why::Reply => "another service",
        Why::Pause => "sleep in a request",
        Why::Child => "child process",
        Why::Helper => "helper thread's call",
        Why::Clock => "helper thread's time",
        Why::Fault => "page",
        Why::KernelLock => "kernel lock",
        Why::Call => "system call",
        Why::Unknown => "unknown",
    }
}
