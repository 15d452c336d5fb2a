//! Names of system calls, and what a thread blocked in one waits for.

use crate::events::BlockedCall;
use recording::tables::Reason;
use syscalls::Sysno;

/// The name of a system call of this architecture, or its number as text.
pub(crate) fn name(number: u32) -> String {
    Sysno::new(number as usize).map_or_else(|| number.to_string(), |call| call.name().to_owned())
}

/// What a thread waits for when it blocks in this system call; `None` stands for a page fault.
pub(crate) fn reason(number: Option<u32>) -> Reason {
    let Some(number) = number else { return Reason::Fault };
    let Some(call) = Sysno::new(number as usize) else { return Reason::Other };
    match call.name() {
        "futex" | "futex_wait" | "futex_waitv" | "futex_requeue" => Reason::Futex,
        "nanosleep" | "clock_nanosleep" => Reason::Sleep,
        "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "accept"
        | "accept4" | "recvfrom" | "recvmsg" | "recvmmsg" | "sendto" | "sendmsg" | "sendmmsg" | "connect" => {
            Reason::Poll
        }
        "read" | "write" | "pread64" | "pwrite64" | "readv" | "writev" | "preadv" | "pwritev" | "preadv2"
        | "pwritev2" | "fsync" | "fdatasync" | "sync" | "syncfs" | "sync_file_range" | "openat" | "open" | "close"
        | "getdents64" | "sendfile" | "splice" | "copy_file_range" | "fallocate" | "io_uring_enter"
        | "io_getevents" | "msync" | "readahead" => Reason::Io,
        "wait4" | "waitid" => Reason::Child,
        _ => Reason::Other,
    }
}

/// True for a call that waits for no descriptor: select(2) or poll(2) used as a timer, as Python up to 3.10 sleeps.
pub(crate) fn polls_nothing(call: &BlockedCall) -> bool {
    match Sysno::new(call.number as usize).map(|known| known.name()) {
        Some("select" | "pselect6") => call.object as u32 == 0,
        Some("poll" | "ppoll") => call.operation.is_some_and(|count| count as u32 == 0),
        _ => false,
    }
}

/// Whether the first argument of a system call is a descriptor that the call reads, writes or waits for.
pub(crate) fn takes_descriptor(number: u32) -> bool {
    let Some(call) = Sysno::new(number as usize) else { return false };
    matches!(
        call.name(),
        "read"
            | "write"
            | "pread64"
            | "pwrite64"
            | "readv"
            | "writev"
            | "preadv"
            | "pwritev"
            | "preadv2"
            | "pwritev2"
            | "fsync"
            | "fdatasync"
            | "syncfs"
            | "sync_file_range"
            | "getdents64"
            | "sendfile"
            | "splice"
            | "copy_file_range"
            | "fallocate"
            | "ftruncate"
            | "readahead"
            | "accept"
            | "accept4"
            | "recvfrom"
            | "recvmsg"
            | "recvmmsg"
            | "sendto"
            | "sendmsg"
            | "sendmmsg"
            | "connect"
            | "epoll_wait"
            | "epoll_pwait"
            | "epoll_pwait2"
            | "flock"
            | "ioctl"
            | "io_uring_enter"
    )
}

/// The error number of a failed call. A call that a signal interrupts returns a number that user space never sees
/// (ERESTARTSYS and similar, include/linux/errno.h); it is reported as interrupted.
pub(crate) fn error(number: u16) -> Option<u32> {
    match u32::from(number) {
        0 => None,
        512..=516 => Some(libc::EINTR as u32),
        number => Some(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn futex_is_futex_on_every_architecture() {
        let futex = Sysno::futex.id() as u32;
        assert_eq!(name(futex), "futex");
        assert_eq!(reason(Some(futex)), Reason::Futex);
        assert_eq!(reason(None), Reason::Fault);
        assert_eq!(reason(Some(99_999)), Reason::Other);
        assert_eq!(name(99_999), "99999");
    }
}
