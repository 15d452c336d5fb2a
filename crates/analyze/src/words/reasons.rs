//! What waits are for: one name for each reason, in tables, lanes and exports. The labels of the account's lines use the
//! same nouns (a test in `causes::lines` holds them together).

use crate::account::lines::Why;

/// What a thread waits for, in words that follow "waiting for".
pub fn reason(why: Why) -> &'static str {
    match why {
        Why::Lock => "lock",
        Why::Allocator => "the allocator",
        Why::Creation => "thread creation",
        Why::Pool => "one of a few resources",
        Why::Condition => "work",
        Why::Barrier => "barrier",
        Why::Join => "a thread's end",
        Why::Futex => "futex",
        Why::Ended => "other goroutines",
        Why::Task => "a task",
        Why::Sleep => "a sleep's end",
        Why::Io => "file or device",
        Why::Poll => "pipe, socket or event",
        Why::Request => "the next request",
        Why::Reply => "another service",
        Why::Pause => "a sleep's end, in a request",
        Why::Child => "child process",
        Why::Helper => "a call to act",
        Why::Clock => "a time to act",
        Why::Fault => "page",
        Why::KernelLock => "kernel lock",
        Why::Call => "system call",
        Why::Unknown => "unknown",
    }
}
