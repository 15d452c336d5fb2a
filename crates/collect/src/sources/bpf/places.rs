//! Places where threads wait or are sampled: what the kernel side reports at the first hit of each, the stacks of call
//! paths, and the names of kernel locks that follow from the stacks.

use super::kernel_stack::{self, KernelSide};
use super::thread_time::thread_id;
use crate::bpf::abi::*;
use crate::events::{BlockedCall, WaitPlace, Within};
use crate::file_kind::FileKind;
use crate::stacks::Stacks;
use crate::syscall_names;
use recording::{StackId, WaitId};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// What the kernel side reports at a place's first hit.
#[derive(Debug, Default)]
pub(super) struct FirstHit {
    /// The thread whose place it is.
    pub(super) thread: u32,
    pub(super) kind: u32,
    pub(super) object: u64,
    pub(super) operation: u64,
    pub(super) expected: u32,
    pub(super) timed: bool,
    /// The number of the call path.
    pub(super) path: u32,
    /// The file behind the descriptor that was given to the call.
    pub(super) file: Option<FileKind>,
}

impl FirstHit {
    pub(super) fn from_event(event: &PlaceEvent) -> FirstHit {
        let file = FileKind::from_mode(
            event.file_mode,
            std::fs::read_link(format!("/proc/{}/fd/{}", event.pid, event.object as u32)).ok().as_deref(),
        );
        FirstHit {
            thread: event.header.thread,
            kind: event.kind,
            object: event.object,
            operation: event.operation,
            expected: event.expected as u32,
            timed: event.timed != 0,
            path: event.stack,
            file: file.filter(|_| event.file_mode != 0),
        }
    }
}

/// The stacks of a call path.
#[derive(Debug, Default)]
pub(super) struct PathStacks {
    pub(super) user: Option<StackId>,
    pub(super) kernel: Option<StackId>,
    /// Code addresses of the kernel's stack, innermost first.
    pub(super) kernel_code: Vec<u64>,
    /// What these addresses show; worked out when first needed.
    pub(super) kernel_side: OnceCell<KernelSide>,
}

/// First hits by place, and stacks by call path.
#[derive(Debug, Default)]
pub(super) struct Places {
    first_hits: HashMap<u32, FirstHit>,
    /// By the number of the call path; the kernel side limits how many there are.
    paths: HashMap<u32, PathStacks>,
    /// Addresses of the locks of memory maps.
    mmap_locks: HashSet<u64>,
    /// Places of forgotten threads that are kept because a living thread's record may refer to them.
    named: HashSet<u32>,
}

impl Places {
    pub(super) fn add(&mut self, place: u32, hit: FirstHit) {
        self.first_hits.insert(place, hit);
    }

    pub(super) fn add_path(&mut self, path: u32, stacks: PathStacks) {
        self.paths.insert(path, stacks);
    }

    pub(super) fn add_mmap_locks(&mut self, addresses: &HashSet<u64>) {
        self.mmap_locks.extend(addresses);
    }

    /// How many places are remembered.
    pub(super) fn count(&self) -> usize {
        self.first_hits.len()
    }

    pub(super) fn first_hit(&self, place: u32) -> Option<&FirstHit> {
        self.first_hits.get(&place)
    }

    /// The user stack of a place, where it is known.
    pub(super) fn stack_of(&self, place: u32) -> Option<StackId> {
        self.stacks_of(place)?.user
    }

    /// Both stacks of a place, where they are known.
    pub(super) fn stacks_of(&self, place: u32) -> Option<&PathStacks> {
        self.paths.get(&self.first_hits.get(&place)?.path)
    }

    /// Forgets all places except those of threads for which `lives` is true.
    pub(super) fn retain(&mut self, lives: impl Fn(u32) -> bool) {
        self.first_hits.retain(|_, hit| lives(hit.thread));
    }

    /// Forgets the places of threads that have ended, except those in `names`, which living threads' records refer to.
    pub(super) fn forget(&mut self, ended: &HashSet<u32>, names: &HashSet<u32>) {
        let before = std::mem::take(&mut self.named);
        let still_named = &mut self.named;
        self.first_hits.retain(|place, hit| {
            let of_ended = ended.contains(&hit.thread) || before.contains(place);
            let named = of_ended && names.contains(place);
            if named {
                still_named.insert(*place);
            }
            !of_ended || named
        });
    }

    /// The place of a wait.
    pub(super) fn wait_place(&self, place: u32, thread: u32, kind: u32, object: u64, stacks: &mut Stacks) -> WaitPlace {
        let hit = self.first_hit(place);
        let number = kind & 0xffff;
        let paths = self.stacks_of(place);
        let kernel_side = self.kernel_side(place, stacks);
        let within = if number == KIND_FAULT {
            Within::Fault
        } else {
            Within::Call(BlockedCall {
                number,
                object,
                operation: hit.map(|hit| hit.operation),
                expected: hit.map(|hit| hit.expected),
                timed: hit.is_some_and(|hit| hit.timed),
            })
        };
        let for_lock = kind & KIND_LOCK != 0;
        let file = hit.and_then(|hit| hit.file.clone());
        WaitPlace {
            wait: WaitId(place),
            thread: thread_id(thread),
            within,
            file: file.filter(|_| syscall_names::takes_descriptor(number)),
            in_kernel: kernel_side.and_then(|side| side.reason),
            kernel_lock: for_lock.then(|| (self.lock_name(place, object, false, stacks), object)),
            user_stack: paths.and_then(|paths| paths.user),
            kernel_stack: paths.and_then(|paths| paths.kernel),
        }
    }

    /// A name for a kernel lock: `mmap_lock`, the kernel variable at its address, or the function that takes it.
    pub(super) fn lock_name(&self, place: u32, address: u64, mmap: bool, stacks: &mut Stacks) -> String {
        if mmap || self.mmap_locks.contains(&address) {
            return "mmap_lock".to_owned();
        }
        if let Some(name) = stacks.kernel_variable(address) {
            return name;
        }
        match self.kernel_side(place, stacks).and_then(|side| side.lock_taker.as_ref()) {
            Some(function) => format!("lock taken in {function}"),
            None => "locks of short waits".to_owned(),
        }
    }

    /// Worked out once for each call path: a program that keeps making threads has millions of places, but few paths.
    fn kernel_side(&self, place: u32, stacks: &mut Stacks) -> Option<&KernelSide> {
        let path = self.stacks_of(place)?;
        Some(path.kernel_side.get_or_init(|| {
            let code = path.kernel_code.iter();
            let functions: Vec<String> = code.map(|address| stacks.kernel_function(*address)).collect();
            kernel_stack::kernel_side(&functions)
        }))
    }
}
