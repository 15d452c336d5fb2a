//! Listens to the marks that a program makes with `knee.h`: a uprobe at each.

use super::abi::*;
use crate::patience::patiently;
use aya::Ebpf;
use aya::maps::{Array, MapData};
use aya::programs::UProbe;
use aya::programs::uprobe::{UProbeAttachLocation, UProbeAttachPoint, UProbeScope};
use resolve::probes::{Argument, ArgumentLocation, Probe, probes_in_file};
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The programs that may listen, the better one first. It also reads names that are not in memory yet, and
/// Linux 6.1 refuses to load it.
const PROGRAMS: [&str; 2] = ["on_mark_sleepable", "on_mark"];

fn uprobe<'e>(ebpf: &'e mut Ebpf, name: &str) -> Option<&'e mut UProbe> {
    ebpf.program_mut(name)?.try_into().ok()
}

fn load(ebpf: &mut Ebpf, name: &str) -> bool {
    uprobe(ebpf, name).is_some_and(|program| patiently(|| program.load()).is_ok())
}

/// Marks that are listened to.
pub(super) struct Marks {
    probes: Array<MapData, ProbeRecord>,
    next: u32,
    /// Files that were looked through, by device and inode.
    seen: HashSet<(u64, u64)>,
    /// The program that listens, once it is loaded.
    program: Option<&'static str>,
    /// Marks that could not be listened to.
    failed: u64,
}

impl Marks {
    pub(super) fn new(probes: Array<MapData, ProbeRecord>) -> Marks {
        Marks { probes, next: 0, seen: HashSet::new(), program: None, failed: 0 }
    }

    pub(super) fn failed(&self) -> u64 {
        self.failed
    }

    /// Listens to the marks of a file, once.
    pub(super) fn listen(&mut self, ebpf: &mut Ebpf, path: &Path) {
        // Most files have no marks, some cannot be read, and some are no programs: none of that is an error.
        let Ok(file) = File::open(path) else { return };
        let Ok(meta) = file.metadata() else { return };
        if !meta.is_file() || !self.seen.insert((meta.dev(), meta.ino())) {
            return;
        }
        let Ok(probes) = probes_in_file(&file) else { return };
        for probe in &probes {
            let Some(record) = record(probe) else { continue };
            if !self.attach(ebpf, path, probe.file_offset, record) {
                self.failed += 1;
            }
        }
    }

    fn attach(&mut self, ebpf: &mut Ebpf, path: &Path, offset: u64, record: ProbeRecord) -> bool {
        if self.next >= MAX_PROBES || self.probes.set(self.next, record, 0).is_err() {
            return false;
        }
        self.program = self.program.or_else(|| PROGRAMS.into_iter().find(|name| load(ebpf, name)));
        let Some(program) = self.program.and_then(|name| uprobe(ebpf, name)) else { return false };
        let location = UProbeAttachLocation::AbsoluteOffset(offset);
        let point = UProbeAttachPoint { location, cookie: Some(u64::from(self.next)) };
        // The uprobe is for all processes, because those of the target do not exist yet; the BPF program ignores the
        // others.
        let attached = program.attach(point, path, UProbeScope::AllProcesses).is_ok();
        self.next += u32::from(attached);
        attached
    }
}

/// How the program finds a mark's argument; `None` for marks that this release does not know.
fn record(probe: &Probe) -> Option<ProbeRecord> {
    let kind = match probe.name.as_str() {
        "begin" => MARK_BEGIN,
        "end" => MARK_END,
        "task_begin" => MARK_TASK_BEGIN,
        "task_end" => MARK_TASK_END,
        "work" => MARK_WORK,
        _ => return None,
    };
    let record = ProbeRecord { kind, place: PLACE_NONE, ..ProbeRecord::default() };
    let Some(Ok(argument)) = probe.arguments.first() else {
        // A task without a name is still a task; work without an amount is meaningless.
        return (kind != MARK_WORK).then_some(record);
    };
    let Argument { size, signed, place } = *argument;
    let record = ProbeRecord { size, is_signed: u8::from(signed), ..record };
    Some(match place {
        ArgumentLocation::Constant(number) => ProbeRecord { place: PLACE_CONSTANT, number: number as u64, ..record },
        ArgumentLocation::Register(register) => ProbeRecord {
            place: PLACE_REGISTER,
            word: register.word,
            shift: register.shift,
            size: size.min(register.size),
            ..record
        },
        ArgumentLocation::Memory { base, index, displacement } => ProbeRecord {
            place: PLACE_MEMORY,
            has_base: u8::from(base.is_some()),
            word: base.map_or(0, |register| register.word),
            index: index.map_or(0, |index| index.register.word),
            scale: index.map_or(0, |index| index.scale),
            number: displacement as u64,
            ..record
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use resolve::probes::RegisterPart;

    fn probe(name: &str, place: Option<ArgumentLocation>) -> Probe {
        let argument = place.map(|place| Ok(Argument { size: 8, signed: false, place }));
        Probe { name: name.to_owned(), file_offset: 0, semaphore: None, arguments: argument.into_iter().collect() }
    }

    #[test]
    fn arguments_become_records() {
        let register = RegisterPart { word: 14, shift: 0, size: 4 };
        let work = record(&probe("work", Some(ArgumentLocation::Register(register)))).unwrap();
        assert_eq!((work.kind, work.place, work.word, work.size), (MARK_WORK, PLACE_REGISTER, 14, 4));
        let seven = record(&probe("work", Some(ArgumentLocation::Constant(7)))).unwrap();
        assert_eq!((seven.place, seven.number), (PLACE_CONSTANT, 7));
        let place = ArgumentLocation::Memory { base: Some(register), index: None, displacement: -16 };
        let memory = record(&probe("task_begin", Some(place))).unwrap();
        assert_eq!((memory.has_base, memory.scale, memory.number as i64), (1, 0, -16));
    }

    #[test]
    fn marks_without_a_meaning_are_left_out() {
        assert_eq!(record(&probe("work", None)), None);
        assert_eq!(record(&probe("newer", None)), None);
        assert_eq!(record(&probe("begin", None)).map(|record| record.place), Some(PLACE_NONE));
    }
}
