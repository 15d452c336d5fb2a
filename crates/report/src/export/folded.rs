//! Folded stacks: one line per call path, outermost function first, with its number of samples. Read by flamegraph.pl,
//! inferno, speedscope.

use super::names::{kernel_of, path};
use crate::observed::Observed;
use crate::text;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// Writes the CPU samples of a run.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(observed: &Observed<'_, '_>, out: &mut dyn Write) -> io::Result<()> {
    let mut known = HashMap::new();
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for sample in &observed.traced.samples {
        // Threads with the same name share one root: the threads of a pool differ only in their ids.
        let name = observed.traced.threads.get(&sample.thread).map_or("", |t| t.name.as_str());
        let user = match sample.user_stack {
            Some(stack) => known.entry(stack).or_insert_with(|| {
                let names = path(observed, stack).into_iter().rev().map(|p| field(&p.function));
                names.collect::<Vec<_>>().join(";")
            }),
            None => "",
        };
        let kernel = kernel_of(observed, sample).map(|p| field(&p.function));
        let parts = [field(&text::shorten(&text::harmless(name), 64)), user.to_owned(), kernel.unwrap_or_default()];
        let line: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        if !line.is_empty() {
            *lines.entry(line.join(";")).or_default() += 1;
        }
    }
    for (line, count) in lines {
        writeln!(out, "{line} {count}")?;
    }
    Ok(())
}

/// A name must not contain the separator of frames.
fn field(name: &str) -> String {
    name.replace(';', ":")
}
