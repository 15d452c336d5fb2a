//! Tells the programs which tasks to observe: by pidfd, because a process number could be reused.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

/// The inode of the initial pid namespace (include/linux/proc_ns.h, PROC_PID_INIT_INO).
const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Knee's own pid namespace, by its inode number; 0 for the initial one, where the kernel's numbers are knee's.
pub(super) fn own_pid_namespace() -> u32 {
    let inode = std::fs::metadata("/proc/self/ns/pid").map_or(INITIAL_PID_NAMESPACE, |meta| meta.ino());
    if inode == INITIAL_PID_NAMESPACE { 0 } else { u32::try_from(inode).unwrap_or(0) }
}

/// The programs' table of tasks. See [`super::Programs::enrolment`].
pub(crate) struct Enrolment {
    tasks: OwnedFd,
}

impl Enrolment {
    pub(super) fn new(tasks: OwnedFd) -> Enrolment {
        Enrolment { tasks }
    }

    /// Lets the programs know a task, given by its pidfd, before it does anything.
    pub(crate) fn enrol(&self, pidfd: BorrowedFd<'_>, slot: u32) -> io::Result<()> {
        update(self.tasks.as_raw_fd(), &pidfd.as_raw_fd(), &slot)
    }
}

/// Sets one element of a map that was created with keys and values of four bytes.
pub(super) fn update<K: Word, V: Word>(map: i32, key: &K, value: &V) -> io::Result<()> {
    /// `union bpf_attr` for BPF_MAP_UPDATE_ELEM, linux/bpf.h.
    #[repr(C)]
    struct Update {
        map: u32,
        padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
    let (key, value) = (std::ptr::from_ref(key) as u64, std::ptr::from_ref(value) as u64);
    let attribute = Update { map: map as u32, padding: 0, key, value, flags: 0 };
    // SAFETY: key and value live until the call returns and have the sizes that the map was created with; the
    // attribute's size is passed.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, BPF_MAP_UPDATE_ELEM, &raw const attribute, size_of::<Update>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The types of four bytes that [`update`] may point the kernel at.
pub(super) trait Word {}
impl Word for i32 {}
impl Word for u32 {}
