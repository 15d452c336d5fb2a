//! Keeps a recording for tests: `keep RECORDING FOLDER [PATH ...]` rewrites its tables, one part each, and leaves out
//! what knee can make again (pages, answers, the program's output). Where a path of the target's files begins with one
//! of the PATHs, that beginning becomes `.`, because it would reveal where somebody built the program. A sweep over
//! several cases is kept case by case.

use recording::{FORMAT, Recording};
use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, prefixes @ ..] = arguments.as_slice() else {
        return Err("usage: keep RECORDING FOLDER [PATH ...]".into());
    };
    let (from, to) = (Path::new(from), Path::new(to));
    let sweep = from.join("sweep.json");
    if !sweep.exists() {
        return keep(from, to, prefixes);
    }
    fs::create_dir(to)?;
    fs::copy(sweep, to.join("sweep.json"))?;
    for case in fs::read_dir(from)? {
        let case = case?.path();
        if let Some(name) = case.file_name().filter(|_| case.join("meta.json").exists()) {
            keep(&case, &to.join(name), prefixes)?;
        }
    }
    Ok(())
}

fn keep(from: &Path, to: &Path, prefixes: &[String]) -> Result<(), Box<dyn Error>> {
    let recording = Recording::open(from)?;
    let format = recording.meta().format;
    if format != FORMAT {
        // Rewriting it would add columns that its format does not have.
        return Err(format!("{} has format {format}, not {FORMAT}: copy it as it is", from.display()).into());
    }
    let mut tables = recording.tables()?;
    let shorten = |path: &mut String| {
        if let Some(rest) = prefixes.iter().find_map(|prefix| path.strip_prefix(prefix.as_str())) {
            *path = format!(".{rest}");
        }
    };
    tables.meta.command.iter_mut().for_each(shorten);
    tables.modules.iter_mut().for_each(|module| shorten(&mut module.path));
    tables.variables.iter_mut().filter_map(|variable| variable.module.as_mut()).for_each(shorten);
    tables.frames.iter_mut().filter_map(|frame| frame.file.as_mut()).for_each(shorten);
    tables.write(to)?;
    Ok(())
}
