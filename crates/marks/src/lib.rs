//! Marks that tell a profiler what a Rust program is doing: the measured part, named tasks, units of work done.
//!
//! ```
//! knee_marks::measured_begin();
//! for chunk in [0..500_u32, 500..1000] {
//!     let _task = knee_marks::task!("sum");
//!     let count = chunk.len();
//!     std::hint::black_box(chunk.sum::<u32>());
//!     knee_marks::work(count as u64);
//! }
//! knee_marks::measured_end();
//! ```
//!
//! A mark is a single no-op instruction, and a note in the program's file says where it is (a static user-space probe,
//! "SDT" version 3, provider `knee`). While no profiler listens, nothing is called, stored or tested, so marks can stay in
//! released programs. The functions do nothing under Miri, and on any system but 64-bit Linux on x86-64 or little-endian
//! AArch64.
//!
//! The crate depends on nothing and needs no standard library. Its only `unsafe` is the assembly of the marks.
//! May import: nothing.
#![no_std]

use core::ffi::CStr;
use core::marker::PhantomData;

/// One mark: a no-op, and the note about it.
///
/// The note is three words (length of the owner's name, length of the contents, type), the owner's name and the
/// contents. The contents are the no-op's address, the address of `.stapsdt.base` before anything moves the file's
/// addresses, the address of a semaphore (none), and three strings: provider, name, arguments. `"?"` puts the note into
/// the section group of the surrounding code, so that a linker that drops the code drops the note too.
///
/// `.stapsdt.base` is a global name, not a local number, because the format requires one such symbol for a whole
/// program. It is defined where it is not yet defined, and linked once.
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]
macro_rules! mark {
    ($name:literal, $arguments:expr, $($operand:tt)*) => {
        #[allow(named_asm_labels, reason = "defined once, see above")]
        // SAFETY: the code is one no-op. It reads and writes no memory, no register, no flags and no stack; the other
        // directives describe it in sections that the program never loads, or loads and never reads.
        unsafe {
            core::arch::asm!(
                "990: nop",
                ".pushsection .note.stapsdt,\"?\",\"note\"",
                ".balign 4",
                ".4byte 992f-991f,994f-993f,3",
                "991: .asciz \"stapsdt\"",
                "992: .balign 4",
                "993: .8byte 990b",
                ".8byte _.stapsdt.base",
                ".8byte 0",
                ".asciz \"knee\"",
                concat!(".asciz \"", $name, "\""),
                concat!(".asciz \"", $arguments, "\""),
                "994: .balign 4",
                ".popsection",
                ".ifndef _.stapsdt.base",
                ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat",
                ".weak _.stapsdt.base",
                ".hidden _.stapsdt.base",
                "_.stapsdt.base:",
                ".space 1",
                ".size _.stapsdt.base,1",
                ".popsection",
                ".endif",
                $($operand)*
            );
        }
    };
}

/// One mark on other platforms: its operand is used, so that the compiler checks the same things.
#[cfg(not(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
)))]
macro_rules! mark {
    ($name:literal, $arguments:expr, in(reg) $value:expr, $($option:tt)*) => {
        let _ = ($arguments, $value);
    };
    ($name:literal, $arguments:expr, $($option:tt)*) => {};
}

/// The note's text for an operand of 8 bytes in a register. Notes name registers as AT&T assembly does; Rust's assembly
/// for x86-64 omits the `%`.
#[cfg(target_arch = "x86_64")]
macro_rules! in_register {
    () => {
        "8@%{0}"
    };
}

/// The note's text for an operand of 8 bytes in a register.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! in_register {
    () => {
        "8@{0}"
    };
}

/// Marks the beginning of the measured part.
///
/// It may be marked by one thread for the whole program, or by each worker for its own share: it lasts as long as any
/// thread has begun it and not yet ended it. The compiler moves no memory access across the mark.
#[inline(always)]
pub fn measured_begin() {
    mark!("begin", "", options(nostack, preserves_flags));
}

/// Marks the end of the measured part for the calling thread.
#[inline(always)]
pub fn measured_end() {
    mark!("end", "", options(nostack, preserves_flags));
}

/// Counts finished units of work: rows, requests, bytes, or whatever the program's throughput is counted in.
///
/// The counts are summed over all threads and the whole run. The mark is not a compiler fence, but it keeps a loop
/// around it from being vectorised: count once for each chunk rather than for each element.
#[inline(always)]
pub fn work(units: u64) {
    mark!("work", in_register!(), in(reg) units, options(nomem, nostack, preserves_flags));
}

/// A task of the calling thread, which ends when this is dropped. Usually made by [`task!`].
#[derive(Debug)]
#[must_use = "the task ends when this is dropped: bind it to a name, `let _task = ...`"]
pub struct Task<'name> {
    name: &'name CStr,
    /// Makes it not `Send`: the thread that began a task must end it.
    of_thread: PhantomData<*const ()>,
}

impl<'name> Task<'name> {
    /// Begins a task of the calling thread. Tasks may be nested.
    #[inline(always)]
    pub fn begin(name: &'name CStr) -> Self {
        mark!("task_begin", in_register!(), in(reg) name.as_ptr(), options(readonly, nostack, preserves_flags));
        Self { name, of_thread: PhantomData }
    }
}

impl Drop for Task<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        mark!("task_end", in_register!(), in(reg) self.name.as_ptr(), options(readonly, nostack, preserves_flags));
    }
}

/// Begins a task of the calling thread, named by a string literal. It ends when the value is dropped:
///
/// ```
/// let _task = knee_marks::task!("parse");
/// ```
///
/// A name with a zero byte in it does not compile, since the profiler would read only the part before it:
///
/// ```compile_fail
/// let _task = knee_marks::task!("par\0se");
/// ```
#[macro_export]
macro_rules! task {
    ($name:literal) => {
        $crate::Task::begin(
            const {
                match ::core::ffi::CStr::from_bytes_with_nul(::core::concat!($name, "\0").as_bytes()) {
                    ::core::result::Result::Ok(name) => name,
                    ::core::result::Result::Err(_) => ::core::panic!("a task's name cannot contain a zero byte"),
                }
            },
        )
    };
}
