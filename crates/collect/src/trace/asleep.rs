//! Threads that already wait when observing begins: what for, read from /proc, because no switch tells it any more.
//!
//! May import: /proc, the BPF side's records.

use crate::bpf::abi::Registers;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Bytes of the stack that are read, as for a place.
const STACK: usize = 16384;

/// Number of a system call and its arguments.
pub(super) type Call = (u32, [u64; 6]);

/// What a sleeping thread is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sleeper {
    /// Number of the system call and its arguments; absent when it waits in a fault.
    pub(super) call: Option<Call>,
    pub(super) registers: Registers,
    pub(super) stack: Vec<u8>,
}

impl Sleeper {
    /// Reads a thread that sleeps; `None` when it runs, or may not be read.
    pub(super) fn read(pid: u32, tid: u32) -> Option<Sleeper> {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
        let (call, ip, sp) = parse(&text)?;
        let mut stack = vec![0; STACK];
        let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
        let mut read = 0;
        // Page by page: the stack may end before all is read.
        while read < STACK {
            let page = 4096 - ((sp as usize + read) & 4095);
            let end = (read + page).min(STACK);
            match memory.read_at(&mut stack[read..end], sp + read as u64) {
                Ok(bytes) if bytes > 0 => read += bytes,
                _ => break,
            }
        }
        stack.truncate(read);
        Some(Sleeper { call, registers: Registers { ip, sp, fp: 0, lr: 0 }, stack })
    }
}

/// The call, the code address and the stack pointer of a thread that sleeps; proc_pid_syscall(5): `running`, `-1 sp pc`,
/// or the number, six arguments, sp and pc.
fn parse(text: &str) -> Option<(Option<Call>, u64, u64)> {
    let mut fields = text.split_whitespace();
    let number: i64 = fields.next()?.parse().ok()?;
    let words: Vec<u64> =
        fields.map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16)).collect::<Result<_, _>>().ok()?;
    match (u32::try_from(number), words.as_slice()) {
        (Ok(number), [arguments @ .., sp, ip]) => Some((Some((number, arguments.try_into().ok()?)), *ip, *sp)),
        (Err(_), [sp, ip]) => Some((None, *ip, *sp)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeping_thread_tells_its_call() {
        let text = "202 0x7f00 0x80 0x2 0x0 0x0 0x0 0x7ffd10 0x7f1234\n";
        assert_eq!(parse(text), Some((Some((202, [0x7f00, 0x80, 2, 0, 0, 0])), 0x7f1234, 0x7ffd10)));
        assert_eq!(parse("-1 0x7ffd10 0x401000"), Some((None, 0x401000, 0x7ffd10)));
    }

    #[test]
    fn other_texts_are_no_sleeper() {
        for text in ["running", "", "202", "202 0x1 0x2", "202 1 2 3 4 5 6 7 8 9 10", "x 1 2", "-1 zz 1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn this_process_has_a_sleeper_when_a_thread_sleeps() {
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let link = fs::read_link("/proc/thread-self").unwrap();
            tell.send(link.file_name().unwrap().to_string_lossy().parse::<u32>().unwrap()).unwrap();
            let _ = receive.recv();
        });
        let tid = told.recv().unwrap();
        let sleeper = (0..200).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            Sleeper::read(std::process::id(), tid)
                .filter(|s| s.call.is_some_and(|(number, _)| i64::from(number) == libc::SYS_futex))
        });
        // Containers may forbid reading even one's own threads; then there is nothing to check.
        if fs::read_to_string(format!("/proc/self/task/{tid}/syscall")).is_ok() {
            let sleeper = sleeper.expect("a thread that waits for a channel is in futex(2)");
            assert!(sleeper.stack.len() >= 64);
        }
        drop(send);
        thread.join().unwrap();
    }
}
