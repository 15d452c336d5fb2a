//! Cache lines that several threads touch.

use super::pick::Pick;
use super::view::{Cell, View, column};
use crate::observed::Observed;
use analyze::sharing::LINE;
use recording::tables::{Access, AccessKind, Variable};
use recording::{FrameId, ThreadId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A piece of a cache line that is accessed.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Distance from the line's start, bytes.
    pub at: u64,
    /// Bytes.
    pub width: u64,
    /// The variable and its member, as far as they are known.
    pub name: String,
    /// Samples that read.
    pub reads: u64,
    /// Samples that wrote.
    pub writes: u64,
    /// The threads that access it.
    pub threads: BTreeSet<ThreadId>,
    /// The code that accesses it most often.
    pub from: String,
}

/// A cache line that several threads access.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// Process and address of its first byte.
    pub line: (u32, u64),
    /// What is accessed in it, by offset.
    pub fields: Vec<Field>,
    /// All threads that touch it.
    pub threads: BTreeSet<ThreadId>,
    /// Samples that show an access to it.
    pub samples: u64,
}

/// Accesses by distance from the line's start and width.
type AccessesByOffset<'t> = BTreeMap<(u64, u64), Vec<&'t Access>>;

/// The lines of a run, ordered by samples, most first.
pub fn shared(observed: &Observed<'_, '_>, pick: Pick) -> Vec<Shared> {
    let run = observed.traced.run.run;
    let (from, to) = pick.range(observed);
    let meant = pick.threads(observed);
    let variables: HashMap<u64, &Variable> =
        observed.model.tables.variables.iter().filter(|v| v.run == run).map(|v| (v.address, v)).collect();
    let mut lines: BTreeMap<(u32, u64), AccessesByOffset<'_>> = BTreeMap::new();
    let inside = |a: &&Access| pick.between.is_none() || (from..to).contains(&a.time_ns);
    let rows = observed.model.tables.accesses.iter().filter(|a| a.run == run && meant.contains(&a.thread));
    for access in rows.filter(inside) {
        let pid = observed.traced.pid(access.thread).unwrap_or(0);
        let line = access.address & !(LINE - 1);
        let place = (access.address - line, u64::from(access.width).clamp(1, LINE));
        lines.entry((pid, line)).or_default().entry(place).or_default().push(access);
    }
    let frames: HashMap<FrameId, &recording::tables::Frame> =
        observed.model.tables.frames.iter().filter(|f| f.depth == 0).map(|f| (f.frame, f)).collect();
    let mut found: Vec<Shared> = Vec::new();
    for (line, places) in lines {
        let mut fields = Vec::new();
        for ((at, width), accesses) in places {
            let variable = variables.get(&(line.1 + at));
            let mut from: BTreeMap<FrameId, u64> = BTreeMap::new();
            accesses.iter().for_each(|a| *from.entry(a.frame).or_default() += 1);
            let most = from.iter().max_by_key(|(_, n)| **n).and_then(|(f, _)| frames.get(f));
            let reads = |a: &&&Access| a.kind == AccessKind::Load;
            fields.push(Field {
                at,
                width: width.min(LINE - at),
                name: variable.map(|v| name(v)).unwrap_or_default(),
                reads: accesses.iter().filter(reads).count() as u64,
                writes: accesses.iter().filter(|a| !reads(a)).count() as u64,
                threads: accesses.iter().map(|a| a.thread).collect(),
                from: most.map(|f| in_words(f)).unwrap_or_default(),
            });
        }
        let threads = fields.iter().flat_map(|f| f.threads.iter().copied()).collect();
        let samples = fields.iter().map(|f| f.reads + f.writes).sum();
        found.push(Shared { line, fields, threads, samples });
    }
    found.sort_by(|a, b| b.samples.cmp(&a.samples).then(a.line.cmp(&b.line)));
    found
}

fn in_words(frame: &recording::tables::Frame) -> String {
    let function = frame.function.clone().unwrap_or_else(|| format!("{:#x}", frame.address));
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{function} ({}:{line})", analyze::model::code::file_name(file)),
        _ => function,
    }
}

fn name(variable: &Variable) -> String {
    use recording::tables::Region;
    let region = match variable.region {
        Region::Global => "global",
        Region::Stack => "stack of a thread",
        Region::Heap => "heap",
        Region::File => "mapped file",
        Region::Unknown => "unknown memory",
    };
    match (variable.name.as_ref().or(variable.type_name.as_ref()), &variable.member) {
        (Some(name), Some(member)) => format!("{name}{member}"),
        (Some(name), None) => name.clone(),
        (None, _) => region.to_owned(),
    }
}

/// One row per field of a line.
pub fn sharing(observed: &Observed<'_, '_>, pick: Pick) -> View {
    let mut view = View::new(
        "sharing",
        &[
            column("line", "cache line", "Address of the line's first byte."),
            column("at", "at", "Distance from the line's start, bytes."),
            column("width", "bytes", "Bytes accessed there.").minor(1),
            column("variable", "variable", "What lies there."),
            column("threads", "threads", "Threads that touch it."),
            column("reads", "reads", "Samples that show a read."),
            column("writes", "writes", "Samples that show a write."),
            column("from", "from", "The code with most of them."),
        ],
    );
    let found = shared(observed, pick);
    for line in &found {
        for field in &line.fields {
            view.rows.push(vec![
                Cell::text(format!("{:#x}", line.line.1)),
                Cell::count(field.at),
                Cell::count(field.width),
                Cell::text(field.name.clone()),
                Cell::count(field.threads.len() as u64),
                Cell::count(field.reads),
                Cell::count(field.writes),
                Cell::text(field.from.clone()),
            ]);
        }
    }
    if found.is_empty() {
        view.notes.push(
            "No access to a line that several threads share was seen. That is evidence only where samples could be \
             decoded; the verdict says which sharing is excluded and which is not."
                .to_owned(),
        );
    }
    view
}
