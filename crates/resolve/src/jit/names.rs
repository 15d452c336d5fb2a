//! The names of a process's run-time code, from all sources that have them.

use std::path::{Path, PathBuf};

use super::code_map::{CodeMap, FunctionAt};
use super::dump::{Change, DumpFile};
use super::hotspot::{HotSpotNames, Tables};
use super::origin::Origin;
use super::perf_map::PerfMapFile;

/// For how long after code ran a new name may still be taken for that code, in nanoseconds. Runtimes report a name when
/// they have made the code, before or just after it first runs; later the address may hold something else.
const LAG_NS: u64 = 1_000_000_000;

/// The shortest time between two looks at the files, in nanoseconds.
const PAUSE_NS: u64 = 10_000_000;

/// How many dumps of one process are followed; runtimes write one.
const DUMPS_LIMIT: usize = 8;

/// Names for the code that one process makes at run time.
#[derive(Debug, Default)]
pub struct RuntimeCode {
    origin: Option<Origin>,
    map: CodeMap,
    perf_map: PerfMapFile,
    dumps: Vec<(PathBuf, DumpFile)>,
    hotspot: Option<HotSpotNames>,
    read_ns: u64,
    /// When the first name was reported.
    first_ns: Option<u64>,
    generation: u64,
}

impl RuntimeCode {
    /// The names that a process reports. It should be alive: afterwards its files cannot be distinguished from those of
    /// others, and no names are found.
    pub fn of_process(pid: u32) -> Self {
        Self { origin: Origin::for_process(pid), ..Self::default() }
    }

    /// Adds a dump that the process has mapped at `start..end`.
    pub fn add_dump(&mut self, start: u64, end: u64, path: &Path) {
        if self.dumps.len() >= DUMPS_LIMIT || self.dumps.iter().any(|(known, _)| known == path) {
            return;
        }
        if let Some(file) = self.origin.as_ref().and_then(|origin| origin.open_mapped(start, end, path)) {
            self.dumps.push((path.to_path_buf(), DumpFile::new(file)));
        }
    }

    /// The process runs the HotSpot virtual machine.
    pub fn set_hotspot(&mut self, tables: Tables) {
        self.hotspot = Some(HotSpotNames::new(tables));
    }

    /// While the process is alive, looks up the code at an address in the virtual machine: its name, if none is known,
    /// and from time to time whether it is still the same code. Times as for [`RuntimeCode::find`].
    pub fn ask(&mut self, address: u64, time_ns: u64) {
        if let Some(hotspot) = &mut self.hotspot
            && hotspot.ask(address, time_ns, &mut self.map)
        {
            self.generation += 1;
        }
    }

    /// The same for a method that the interpreter runs, given by the address of its description and that of its
    /// bytecode (0: not known). Returns the address under which the method is known from now on.
    pub fn ask_interpreted(&mut self, method: u64, bytecode: u64, time_ns: u64) -> u64 {
        let Some(hotspot) = &mut self.hotspot else { return method };
        let (address, changed) = hotspot.ask_interpreted(method, bytecode, time_ns, &mut self.map);
        self.generation += u64::from(changed);
        address
    }

    /// Reads what the files contain by now, unless that was just done. Times are nanoseconds of CLOCK_MONOTONIC, the
    /// clock of jitdump.
    pub fn refresh(&mut self, now_ns: u64) {
        if self.read_ns == 0 || now_ns.saturating_sub(self.read_ns) >= PAUSE_NS {
            self.read(now_ns);
        }
    }

    /// Reads everything that the files contain, at the end of observing.
    pub fn finish(&mut self, now_ns: u64) {
        while self.read(now_ns) {}
        self.advance(u64::MAX);
    }

    fn read(&mut self, now_ns: u64) -> bool {
        self.read_ns = now_ns;
        let mut added = false;
        // A file that cannot be read gives no names; the frames without names then show that it was needed.
        if let Some(file) = self.origin.as_ref().and_then(Origin::open_map)
            && self.perf_map.read(&file, now_ns, &mut self.map).unwrap_or(false)
        {
            added = true;
            self.changed(now_ns);
        }
        for (_, dump) in &mut self.dumps {
            added |= dump.read(now_ns).unwrap_or(false);
        }
        added
    }

    fn changed(&mut self, now_ns: u64) {
        self.generation += 1;
        self.first_ns.get_or_insert(now_ns);
    }

    /// Applies what dumps contain up to a time.
    fn advance(&mut self, time_ns: u64) {
        let mut first_ns = None;
        for (_, dump) in &mut self.dumps {
            while dump.pending.front().is_some_and(|(since_ns, _)| *since_ns <= time_ns)
                && let Some((since_ns, change)) = dump.pending.pop_front()
            {
                change.apply(since_ns, &mut self.map);
                first_ns.get_or_insert(since_ns);
            }
        }
        if let Some(first_ns) = first_ns {
            self.changed(first_ns);
        }
    }

    /// A number that changes whenever an address may have another name. Times as for [`RuntimeCode::find`].
    pub fn generation_at(&mut self, time_ns: u64) -> u64 {
        self.advance(time_ns);
        self.generation
    }

    /// The function at an address at a time. Times should increase from call to call; small steps back do no harm.
    pub fn find(&mut self, address: u64, time_ns: u64) -> Option<FunctionAt> {
        self.advance(time_ns);
        self.map.find(address).or_else(|| self.soon(address, time_ns.saturating_add(LAG_NS)))
    }

    /// The first function that is placed at an address before `until_ns`.
    fn soon(&self, address: u64, until_ns: u64) -> Option<FunctionAt> {
        let pending = self.dumps.iter().flat_map(|(_, dump)| &dump.pending);
        pending.take_while(|(since_ns, _)| *since_ns <= until_ns).find_map(|(since_ns, change)| match change {
            Change::Load { start, end, code } if (*start..*end).contains(&address) => {
                Some(FunctionAt { code: code.clone(), start: *start, since_ns: *since_ns })
            }
            _ => None,
        })
    }

    /// For an address that had no name when it was met: the function there, judging by everything known at the end. If
    /// names are reported when code is made, a later name belongs to other code; if they are reported all at once, a
    /// later name is the best guess.
    pub fn find_late(&self, address: u64, met_ns: u64) -> Option<FunctionAt> {
        let found = self.map.find(address)?;
        let at_once = self.perf_map.beginnings > 1 || self.first_ns.is_none_or(|first_ns| first_ns > met_ns);
        (at_once || found.since_ns <= met_ns.saturating_add(LAG_NS)).then_some(found)
    }

    /// Lines of the map file that could not be understood, and functions for which there was no room.
    pub fn left_out(&self) -> u64 {
        self.perf_map.broken_lines + self.map.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::super::code_map::JitFunction;
    use super::*;
    use std::sync::Arc;

    fn load(start: u64, name: &str) -> Change {
        Change::Load { start, end: start + 16, code: Arc::new(JitFunction::named(name.to_owned())) }
    }

    fn with_dump(changes: Vec<(u64, Change)>) -> RuntimeCode {
        let mut dump = DumpFile::new(tempfile::tempfile().unwrap());
        dump.pending = changes.into();
        RuntimeCode { dumps: vec![(PathBuf::new(), dump)], ..RuntimeCode::default() }
    }

    fn name(found: Option<FunctionAt>) -> Option<String> {
        found.map(|found| found.code.name.clone())
    }

    #[test]
    fn an_address_that_is_used_again_has_the_name_of_its_time() {
        let second = 1_000_000_000;
        let mut code = with_dump(vec![(second, load(0x100, "old")), (9 * second, load(0x108, "new"))]);
        assert_eq!(name(code.find(0x108, 0)).as_deref(), Some("old"), "reported just after it ran");
        assert_eq!(name(code.find(0x108, 5 * second)).as_deref(), Some("old"));
        let before = code.generation_at(5 * second);
        assert_eq!(name(code.find(0x108, 9 * second)).as_deref(), Some("new"));
        assert!(code.generation_at(9 * second) > before);
        assert_eq!(name(code.find(0x100, 9 * second)).as_deref(), Some("old"));
        assert_eq!(name(code.find(0x200, 9 * second)), None);
    }

    #[test]
    fn a_name_that_comes_much_later_is_that_of_other_code() {
        let second = 1_000_000_000;
        let mut code = with_dump(vec![(second, load(0x100, "f")), (20 * second, load(0x200, "late"))]);
        assert_eq!(name(code.find(0x200, 5 * second)), None);
        code.finish(30 * second);
        assert_eq!(name(code.find_late(0x200, 5 * second)), None);
        assert_eq!(name(code.find_late(0x200, 19 * second + second / 2)).as_deref(), Some("late"));
    }

    #[test]
    fn names_that_are_reported_all_at_once_hold_for_all_times() {
        let mut code = RuntimeCode::default();
        code.map.insert(0x100, 0x110, 50, Arc::new(JitFunction::named("f".into())));
        code.changed(50);
        assert_eq!(name(code.find_late(0x100, 1)).as_deref(), Some("f"));
    }
}
