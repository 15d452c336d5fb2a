//! The target's output: read as it comes and passed on, never stored here.

use crate::patience::readable;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Which of the two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Takes the target's output as it comes.
pub trait OutputSink: Send {
    /// The next bytes of a stream, not necessarily whole lines.
    fn bytes(&mut self, stream: Stream, bytes: &[u8]);
}

/// How long to wait for output after the target has ended: a grandchild may keep the pipe open for ever.
const GRACE: Duration = Duration::from_millis(200);

/// How long to wait for output before looking whether the target has ended.
const STEP: Duration = Duration::from_millis(50);

/// Room in a pipe, bytes: what the kernel lets anybody ask for (`fs.pipe-max-size` since Linux 2.6.35). With the usual
/// 64 KiB a program that prints much would wait for its reader at each line.
const ROOM: libc::c_int = 1 << 20;

/// Reads both pipes until they end, or until the target has ended and nothing has come for a while.
pub(crate) fn drain(out: File, err: File, ended: &AtomicBool, sink: &mut dyn OutputSink) {
    for pipe in [&out, &err] {
        // SAFETY: the descriptor is open, and the call touches no memory. When it fails, the room stays as it is.
        unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, ROOM) };
    }
    let mut pipes = [(Stream::Out, Some(out)), (Stream::Err, Some(err))];
    let mut buffer = vec![0; 64 << 10];
    // Since when the target has ended and nothing has come. By the clock: a signal ends the waiting early.
    let mut quiet_since = None;
    while pipes.iter().any(|(_, pipe)| pipe.is_some()) {
        let ready = readable(pipes.each_ref().map(|(_, pipe)| pipe.as_ref().map_or(-1, |pipe| pipe.as_raw_fd())), STEP);
        if ready == [false; 2] {
            if ended.load(Ordering::SeqCst) && quiet_since.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                break;
            }
            continue;
        }
        quiet_since = None;
        for (ready, (stream, pipe)) in ready.into_iter().zip(&mut pipes) {
            if !ready {
                continue;
            }
            let read = pipe.as_mut().map_or(Ok(0), |pipe| pipe.read(&mut buffer));
            match read {
                Ok(0) => *pipe = None,
                Ok(bytes) => sink.bytes(*stream, &buffer[..bytes]),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => *pipe = None,
            }
        }
    }
}
