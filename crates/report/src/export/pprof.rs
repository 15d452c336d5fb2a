//! A profile for `go tool pprof` and all other tools that read its format: samples, processor time, and blocked time by
//! call path (<https://github.com/google/pprof/blob/main/proto/profile.proto>, compressed with gzip).

use super::names::{CallSite, clean, kernel, kernel_of, path};
use super::wire::Message;
use crate::observed::Observed;
use recording::tables::ModuleKind;
use recording::{StackId, ThreadId};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// The string table: each text and its index. The first is empty, as the format demands.
struct Texts(HashMap<String, u64>, Vec<String>);

impl Texts {
    fn index(&mut self, text: &str) -> u64 {
        if let Some(known) = self.0.get(text) {
            return *known;
        }
        let index = self.1.len() as u64;
        self.0.insert(text.to_owned(), index);
        self.1.push(text.to_owned());
        index
    }
}

/// The values of a call path: samples, processor nanoseconds, number of blocks, blocked nanoseconds.
type Values = [u64; 4];

/// Writes a run.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(observed: &Observed<'_, '_>, out: &mut dyn Write) -> io::Result<()> {
    let mut known: HashMap<StackId, Vec<CallSite>> = HashMap::new();
    let mut paths: BTreeMap<(ThreadId, Vec<CallSite>), Values> = BTreeMap::new();
    let mut user = |stack: Option<StackId>| match stack {
        Some(stack) => known.entry(stack).or_insert_with(|| path(observed, stack)).clone(),
        None => Vec::new(),
    };
    // A sample stands for the thread's running time divided by the number of its samples.
    let mut counted: HashMap<ThreadId, u64> = HashMap::new();
    for sample in &observed.traced.samples {
        *counted.entry(sample.thread).or_default() += 1;
    }
    let each = |thread: ThreadId| {
        let running = observed.traced.threads.get(&thread).map_or(0, |t| t.running_ns);
        running / counted.get(&thread).copied().unwrap_or(1).max(1)
    };
    for sample in &observed.traced.samples {
        let mut places: Vec<CallSite> = kernel_of(observed, sample).into_iter().collect();
        places.extend(user(sample.user_stack));
        let values = paths.entry((sample.thread, places)).or_default();
        values[0] += 1;
        values[1] = values[1].saturating_add(each(sample.thread));
    }
    for wait in observed.traced.waits.values() {
        let mut places = vec![kernel(format!("[waits: {}]", analyze::words::reasons::reason(observed.why(wait))))];
        places.extend(user(wait.user_stack));
        let values = paths.entry((wait.thread, places)).or_default();
        values[2] = values[2].saturating_add(wait.count);
        values[3] = values[3].saturating_add(wait.blocked_ns);
    }
    let profile = encode(observed, &paths);
    let mut packed = flate2::write::GzEncoder::new(out, flate2::Compression::default());
    packed.write_all(profile.bytes())?;
    packed.finish().map(drop)
}

fn encode(observed: &Observed<'_, '_>, paths: &BTreeMap<(ThreadId, Vec<CallSite>), Values>) -> Message {
    let mut texts = Texts(HashMap::from([(String::new(), 0)]), vec![String::new()]);
    let mut profile = Message::default();
    let kinds = [("samples", "count"), ("cpu", "nanoseconds"), ("waits", "count"), ("blocked", "nanoseconds")];
    for (kind, unit) in kinds {
        profile = profile.inside(1, &Message::default().number(1, texts.index(kind)).number(2, texts.index(unit)));
    }
    let (thread_key, tid_key) = (texts.index("thread"), texts.index("tid"));
    let mut locations: HashMap<&CallSite, u64> = HashMap::new();
    for ((thread, places), values) in paths {
        let mut ids = Vec::with_capacity(places.len());
        for place in places {
            let next = locations.len() as u64 + 1;
            ids.push(*locations.entry(place).or_insert(next));
        }
        let mut sample = Message::default().packed(1, &ids).packed(2, values);
        if let Some(t) = observed.traced.threads.get(thread) {
            let name = texts.index(&clean(&t.name));
            sample = sample.inside(3, &Message::default().number(1, thread_key).number(2, name));
            sample = sample.inside(3, &Message::default().number(1, tid_key).number(3, t.tid.into()));
        }
        profile = profile.inside(2, &sample);
    }
    let mut mappings: BTreeMap<&str, u64> = BTreeMap::new();
    let mut functions: HashMap<(&str, &str), u64> = HashMap::new();
    let mut places: Vec<(&CallSite, u64)> = locations.into_iter().collect();
    places.sort_by_key(|(_, id)| *id);
    for (place, id) in places {
        let next = mappings.len() as u64 + 1;
        let mapping = *mappings.entry(&place.module).or_insert(next);
        let next = functions.len() as u64 + 1;
        let function = *functions.entry((&place.function, &place.file)).or_insert(next);
        let line = Message::default().number(1, function).number(2, place.line.into());
        let location = Message::default().number(1, id).number(2, mapping).number(3, place.address);
        profile = profile.inside(4, &location.inside(4, &line));
    }
    // Readers take the first mapping for the program.
    let modules = &observed.model.tables.modules;
    let programs: Vec<String> =
        modules.iter().filter(|m| m.kind == ModuleKind::Program).map(|m| clean(&m.path)).collect();
    // Also where none of its own code was seen: a start program such as `java` has hardly any.
    if let Some(program) = programs.first().filter(|_| !programs.iter().any(|p| mappings.contains_key(p.as_str()))) {
        let next = mappings.len() as u64 + 1;
        mappings.insert(program, next);
    }
    let mut mappings: Vec<(&str, u64)> = mappings.into_iter().collect();
    mappings.sort_by_key(|(module, _)| (!programs.iter().any(|p| p == module), module.is_empty()));
    for (module, id) in mappings {
        let name = texts.index(if module.is_empty() { "[kernel]" } else { module });
        // Everything is symbolised already: fields 7 to 10 say so, which stops readers from looking for the files.
        let mapping = Message::default().number(1, id).number(5, name);
        profile = profile.inside(3, &mapping.number(7, 1).number(8, 1).number(9, 1).number(10, 1));
    }
    for ((name, file), id) in functions {
        let (name, file) = (texts.index(name), texts.index(file));
        profile = profile.inside(5, &Message::default().number(1, id).number(2, name).number(3, name).number(4, file));
    }
    let period = Message::default().number(1, texts.index("cpu")).number(2, texts.index("nanoseconds"));
    let default = texts.index("cpu");
    for text in &texts.1 {
        profile = profile.text(6, text);
    }
    profile
        .number(10, observed.traced.length_ns())
        .inside(11, &period)
        .number(12, observed.traced.trace.sample_period_ns)
        .number(14, default)
}
