//! Calls that wait, and calls that a signal ends before they have done anything: those are made again.

use crate::error::errno;
use crate::procfs::monotonic_ns;
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// How long a call that signals end is tried. Each signal that stops a process and lets it go on ends a check of a BPF
/// program, which takes some hundredths of a second: no storm of them that leaves knee any time lasts that long.
const LONGEST: Duration = Duration::from_secs(10);

/// Pauses between two tries: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(64)];

/// Repeats a call that was interrupted by a signal (EINTR). Allocates nothing.
pub(crate) fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Repeats loading a BPF program while signals end it: the kernel gives up checking a program when one is pending
/// (EAGAIN, `do_check` in kernel/bpf/verifier.c). A stop and a continuation cannot be blocked, so that it is tried again
/// with growing pauses. Returns the last error when no try was left alone for long.
pub(crate) fn patiently<T, E: std::error::Error + 'static>(load: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    patiently_for(LONGEST, load)
}

fn patiently_for<T, E: std::error::Error + 'static>(
    longest: Duration,
    mut load: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let (begin_ns, [mut pause, longest_pause]) = (monotonic_ns(), PAUSES);
    loop {
        match load() {
            Err(error)
                if matches!(errno(&error), Some(libc::EAGAIN | libc::EINTR))
                    && u128::from(monotonic_ns() - begin_ns) < longest.as_nanos() =>
            {
                std::thread::sleep(pause);
                pause = longest_pause.min(2 * pause);
            }
            done => return done,
        }
    }
}

/// Waits until one of these descriptors can be read or has come to its end (a process, a pipe), or for `longest`; which
/// of them. Negative ones are left out. A signal may end the waiting early.
pub(crate) fn readable<const N: usize>(fds: [RawFd; N], longest: Duration) -> [bool; N] {
    if let Ok(ready) = poll(fds, longest) {
        return ready;
    }
    // poll(2) refuses more descriptors than the process may have open (EINVAL); that limit can be lowered at any moment.
    fds.map(|fd| {
        poll([fd], longest / N as u32).map_or_else(
            |_| {
                std::thread::sleep(longest / N as u32);
                false
            },
            |[ready]| ready,
        )
    })
}

fn poll<const N: usize>(fds: [RawFd; N], longest: Duration) -> io::Result<[bool; N]> {
    let mut polls = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    let milliseconds = libc::c_int::try_from(longest.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: `polls` is an array of initialised pollfd and its length is passed.
    match unsafe { libc::poll(polls.as_mut_ptr(), N as libc::nfds_t, milliseconds) } {
        0.. => Ok(polls.map(|poll| poll.revents != 0)),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok([false; N]),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    /// Answers with these error numbers, then with 7.
    fn after(errors: &[i32]) -> impl FnMut() -> io::Result<u8> {
        let mut left = errors.iter().copied();
        move || left.next().map_or(Ok(7), |number| Err(io::Error::from_raw_os_error(number)))
    }

    #[test]
    fn an_interrupted_call_is_made_again_and_another_error_is_its_answer() {
        assert_eq!(again(after(&[libc::EINTR; 5])).unwrap(), 7);
        assert_eq!(again(after(&[libc::EINTR, libc::EPERM])).unwrap_err().raw_os_error(), Some(libc::EPERM));
    }

    #[test]
    fn loading_goes_on_when_signals_have_ended_it() {
        assert_eq!(patiently(after(&[libc::EAGAIN, libc::EINTR, libc::EAGAIN])).unwrap(), 7);
        assert_eq!(patiently(after(&[libc::EAGAIN, libc::EPERM])).unwrap_err().raw_os_error(), Some(libc::EPERM));
        let never = patiently_for(Duration::from_millis(20), || after(&[libc::EAGAIN])());
        assert_eq!(never.unwrap_err().raw_os_error(), Some(libc::EAGAIN));
    }

    /// The library's errors hold the number deep inside.
    #[test]
    fn the_number_is_found_inside_of_other_errors() {
        let mut tries = 0;
        let load = || {
            tries += 1;
            let refused = crate::Error::bpf("load")(io::Error::from_raw_os_error(libc::EAGAIN));
            if tries < 3 { Err(refused) } else { Ok(()) }
        };
        assert!(patiently(load).is_ok());
        assert_eq!(tries, 3);
    }

    #[test]
    fn a_pipe_that_ended_is_readable_and_one_without_data_is_not() {
        let ((full, written), (empty, _open)) = (io::pipe().unwrap(), io::pipe().unwrap());
        drop(written);
        let fds = [full.as_raw_fd(), empty.as_raw_fd(), -1];
        assert_eq!(readable(fds, Duration::from_millis(1)), [true, false, false]);
    }
}
