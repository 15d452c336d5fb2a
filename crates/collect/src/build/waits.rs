//! What a blocked thread waits for → rows of `waits`.

use crate::events::{BlockedCall, WaitPlace, WaitSums, Within};
use crate::syscall_names;
use recording::RunId;
use recording::tables::{Reason, Wait};

/// The row of a place.
pub(crate) fn wait_row(run: RunId, at: WaitPlace, sums: &WaitSums) -> Wait {
    let reason = reason(&at);
    let what = what(&at);
    let call = called(&at);
    let futex = call.filter(|_| reason == Reason::Futex);
    Wait {
        run,
        wait: at.wait,
        thread: at.thread,
        reason,
        syscall: call.map(|call| call.number),
        object: at.kernel_lock.map(|(_, address)| address).or(call.map(|call| call.object)),
        operation: call.and_then(|call| call.operation),
        what,
        expected: futex.and_then(|call| call.expected),
        timed: futex.is_some_and(|call| call.timed),
        user_stack: at.user_stack,
        kernel_stack: at.kernel_stack,
        count: sums.count,
        blocked_ns: sums.blocked_ns,
        runnable_ns: sums.runnable_ns,
        longest_ns: sums.longest_ns,
    }
}

fn called(at: &WaitPlace) -> Option<BlockedCall> {
    match at.within {
        Within::Call(call) => Some(call),
        Within::Fault | Within::Hidden => None,
    }
}

fn reason(at: &WaitPlace) -> Reason {
    if at.kernel_lock.is_some() {
        return Reason::KernelLock;
    }
    let by_call = match at.within {
        Within::Call(call) if syscall_names::polls_nothing(&call) => Reason::Sleep,
        Within::Call(call) => syscall_names::reason(Some(call.number)),
        Within::Fault => syscall_names::reason(None),
        Within::Hidden => Reason::None,
    };
    // A place that could not be reported, for lack of room, has no file. Whether it was a file or a socket is unknown.
    let unreported = matches!(at.within, Within::Call(call) if call.operation.is_none());
    let by_call = match by_call {
        Reason::Io if unreported && at.file.is_none() => Reason::None,
        known => known,
    };
    let by_file = at.file.as_ref().filter(|_| by_call == Reason::Io).map_or(by_call, |file| file.reason());
    if matches!(by_file, Reason::Pipe | Reason::Poll) {
        return by_file;
    }
    match at.in_kernel {
        // A fault that waits for a page.
        Some(Reason::Io) if at.within == Within::Fault => Reason::Fault,
        Some(reason) => reason,
        None => by_file,
    }
}

/// The name of what it waits for, if there is one.
fn what(at: &WaitPlace) -> Option<String> {
    if let Some((lock, _)) = &at.kernel_lock {
        return Some(lock.clone());
    }
    if at.in_kernel == Some(Reason::KernelLock) {
        return None;
    }
    let reads_page = at.within == Within::Fault && at.in_kernel == Some(Reason::Io);
    at.file.as_ref().map(|file| file.name()).or_else(|| reads_page.then(|| "a page of a file".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_kind::FileKind;
    use recording::{ThreadId, WaitId};

    fn place(within: Within) -> WaitPlace {
        WaitPlace {
            wait: WaitId(1),
            thread: ThreadId(0),
            within,
            file: None,
            in_kernel: None,
            kernel_lock: None,
            user_stack: None,
            kernel_stack: None,
        }
    }

    fn call(number: i64) -> Within {
        Within::Call(BlockedCall::from_call(number as u32, [7, 128, 2, 9, 0, 0]))
    }

    fn row(at: WaitPlace) -> Wait {
        wait_row(RunId(0), at, &WaitSums::default())
    }

    #[test]
    fn a_read_of_something_unknown_is_no_wait_for_a_file() {
        let unreported =
            BlockedCall { operation: None, ..BlockedCall::from_call(libc::SYS_read as u32, [7, 0, 0, 0, 0, 0]) };
        assert_eq!(row(place(Within::Call(unreported))).reason, Reason::None);
        // The kernel's stack tells it all the same.
        let in_kernel = WaitPlace { in_kernel: Some(Reason::Io), ..place(Within::Call(unreported)) };
        assert_eq!(row(in_kernel).reason, Reason::Io);
        // Near miss: reported, and the descriptor was closed before anybody could look.
        assert_eq!(row(place(call(libc::SYS_read))).reason, Reason::Io);
    }

    #[test]
    fn who_polls_nothing_sleeps() {
        let with =
            |number: i64, arguments| row(place(Within::Call(BlockedCall::from_call(number as u32, arguments)))).reason;
        assert_eq!(with(libc::SYS_pselect6, [0, 0, 0, 0, 0x7fff_0000, 0]), Reason::Sleep);
        assert_eq!(with(libc::SYS_ppoll, [0, 0, 0x7fff_0000, 0, 0, 0]), Reason::Sleep);
        assert_eq!(with(libc::SYS_pselect6, [5, 0x7fff_0000, 0, 0, 0, 0]), Reason::Poll);
        assert_eq!(with(libc::SYS_ppoll, [0x7fff_0000, 1, 0, 0, 0, 0]), Reason::Poll);
    }

    #[test]
    fn a_futex_call_tells_its_word() {
        let futex = row(place(call(libc::SYS_futex)));
        assert_eq!((futex.reason, futex.object, futex.operation), (Reason::Futex, Some(7), Some(128)));
        assert_eq!((futex.expected, futex.timed), (Some(2), true));
        let read = row(place(call(libc::SYS_read)));
        assert_eq!((read.reason, read.expected, read.timed), (Reason::Io, None, false));
    }

    #[test]
    fn files_and_kernel_functions_say_more_than_the_call() {
        let pipe = row(WaitPlace { file: Some(FileKind::Pipe), ..place(call(libc::SYS_read)) });
        assert_eq!((pipe.reason, pipe.what.as_deref()), (Reason::Pipe, Some("pipe")));
        let page = row(WaitPlace { in_kernel: Some(Reason::Io), ..place(Within::Fault) });
        assert_eq!((page.reason, page.what.as_deref()), (Reason::Fault, Some("a page of a file")));
        let reclaim = row(WaitPlace { in_kernel: Some(Reason::Reclaim), ..place(Within::Fault) });
        assert_eq!((reclaim.reason, reclaim.what), (Reason::Reclaim, None));
        let hidden = row(WaitPlace { in_kernel: Some(Reason::Io), ..place(Within::Hidden) });
        assert_eq!((hidden.reason, hidden.syscall), (Reason::Io, None));
    }

    #[test]
    fn a_kernel_lock_is_the_object_even_in_a_fault() {
        let lock = Some(("mmap_lock".to_owned(), 0xffff));
        let locked = row(WaitPlace { kernel_lock: lock, ..place(Within::Fault) });
        assert_eq!((locked.reason, locked.object), (Reason::KernelLock, Some(0xffff)));
        assert_eq!((locked.what.as_deref(), locked.syscall), (Some("mmap_lock"), None));
    }
}
