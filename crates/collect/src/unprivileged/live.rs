//! A live view by /proc alone. May import: `poll`.

use super::Consumer;
use super::poll::Poll;
use crate::live::{Now, View};
use crate::procfs::monotonic_ns;
use crate::trace::intern::Interner;
use recording::{RunId, Tables};
use resolve::ModuleCache;

/// What is seen of a process, and of those that it starts, by reading its files.
pub(crate) struct ProcView<'a>(Poll<'a>);

impl<'a> ProcView<'a> {
    /// `running`: the process was there before; else it waits to execute the target.
    pub(crate) fn new(pid: u32, running: bool, interner: &'a mut Interner, cache: &'a ModuleCache) -> ProcView<'a> {
        let mut poll = Poll::new(RunId(0), pid, interner, cache, None);
        poll.starts();
        if running {
            poll.attached(monotonic_ns());
        }
        ProcView(poll)
    }
}

impl View for ProcView<'_> {
    fn poll(&mut self) {
        self.0.poll();
    }

    fn window(&mut self, from_ns: u64, to_ns: u64, tables: &mut Tables, now: &mut Vec<Now>) {
        self.0.window(from_ns, to_ns, tables, now);
    }

    fn names(&mut self, tables: &mut Tables) {
        let (stacks, frames, modules) = self.0.new_names();
        tables.stacks.extend(stacks);
        tables.frames.extend(frames);
        tables.modules.extend(modules);
    }

    fn sample_period_ns(&self) -> u64 {
        0
    }
}
