//! What the first hits of places told: their stories and stacks, and names of kernel locks that follow from them.
//!
//! May import: the BPF records, `intern`, `story`.

use super::intern::Interner;
use super::story::{self, KernelSide, PathStacks, Story};
use recording::StackId;
use recording::tables::Reason;
use std::collections::{HashMap, HashSet};

/// Stories by place, and stacks by call path.
#[derive(Debug, Default)]
pub(super) struct Told {
    stories: HashMap<u32, Story>,
    /// By the number of the call path. The kernel side bounds them.
    paths: HashMap<u32, PathStacks>,
    /// Addresses of the locks of memory maps.
    pub(super) mmap_locks: HashSet<u64>,
    /// Places whose threads have ended and been forgotten, which a thread that lives on may still name.
    lingering: HashSet<u32>,
}

impl Told {
    pub(super) fn add_story(&mut self, place: u32, story: Story) {
        self.stories.insert(place, story);
    }

    pub(super) fn add_path(&mut self, path: u32, stacks: PathStacks) {
        self.paths.insert(path, stacks);
    }

    /// Call paths whose stacks were told.
    pub(super) fn paths(&self) -> u64 {
        self.paths.len() as u64
    }

    /// Places whose stories are remembered.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.stories.len()
    }

    /// A place's story, once it was told.
    pub(super) fn story(&self, place: u32) -> Option<&Story> {
        self.stories.get(&place)
    }

    /// The stack of a place, once it was told.
    pub(super) fn stack_of(&self, place: u32) -> Option<StackId> {
        self.stacks_of(place)?.user
    }

    /// Both stacks of a place, once they were told.
    pub(super) fn stacks_of(&self, place: u32) -> Option<&PathStacks> {
        self.paths.get(&self.stories.get(&place)?.path)
    }

    /// Forgets all places but these.
    pub(super) fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        self.stories.retain(|place, _| keep(*place));
    }

    /// Forgets the places of threads that have ended, all but those that somebody who lives on `names`.
    pub(super) fn forget(&mut self, ended: &HashSet<u32>, names: &HashSet<u32>) {
        let before = std::mem::take(&mut self.lingering);
        let lingering = &mut self.lingering;
        self.stories.retain(|place, story| {
            let of_ended = ended.contains(&story.thread) || before.contains(place);
            let named = of_ended && names.contains(place);
            if named {
                lingering.insert(*place);
            }
            !of_ended || named
        });
    }

    /// What a thread at a place waits for in the kernel, where its functions there tell more than the system call.
    pub(super) fn reason_in_kernel(&self, place: u32, interner: &mut Interner) -> Option<Reason> {
        self.kernel_side(place, interner)?.reason
    }

    /// A kernel lock in words: `mmap_lock`, the kernel variable that it is, or the function that takes it.
    pub(super) fn lock_name(&self, place: u32, address: u64, mmap: bool, interner: &mut Interner) -> String {
        if mmap || self.mmap_locks.contains(&address) {
            return "mmap_lock".to_owned();
        }
        if let Some(name) = interner.kernel_variable(address) {
            return name;
        }
        match self.kernel_side(place, interner).and_then(|side| side.lock_taker.as_ref()) {
            Some(function) => format!("lock taken in {function}"),
            None => "locks of short waits".to_owned(),
        }
    }

    /// Looked up once for a call path: a program that makes threads all the time has millions of places, and few paths.
    fn kernel_side(&self, place: u32, interner: &mut Interner) -> Option<&KernelSide> {
        let stacks = self.stacks_of(place)?;
        Some(stacks.kernel_side.get_or_init(|| {
            let code = stacks.kernel_code.iter();
            let functions: Vec<String> = code.map(|address| interner.kernel_function(*address)).collect();
            KernelSide {
                reason: story::reason_in_kernel(&functions),
                lock_taker: story::lock_taker(&functions).map(str::to_owned),
            }
        }))
    }
}
