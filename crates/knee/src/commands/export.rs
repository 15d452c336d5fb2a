//! `knee export`: one observed run, or a whole recording, in a format of another tool.

use super::shared::answer;
use super::show;
use crate::cli::{Export, Target};
use crate::failure::{Failure, Status, of_io};
use crate::ui;
use ::report::export::{firefox, folded, perfetto, pprof};
use ::report::observed::Observed;
use ::report::show::{Pick, functions, locks, sharing, syscalls, threads, waits};
use analyze::model::Model;
use analyze::{Analysis, analyze};
use anyhow::Context;
use recording::Tables;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

pub(crate) fn run(options: &Export) -> anyhow::Result<ui::Code> {
    let tables = answer::tables(&options.folder)?;
    if options.to == Target::Parquet {
        tables.write(&options.output).map_err(|error| {
            let hint = "-o names a folder that does not exist yet";
            Failure::new(Status::Usage, format!("{:#}", anyhow::Error::from(error))).hint(hint)
        })?;
        return Ok(ui::OK);
    }
    let model = Model::new(&tables);
    let analysis = analyze(&model);
    let observed = show::chosen(&analysis, options.threads, &options.folder)?;
    if options.to == Target::Csv {
        csv(&analysis, &observed, &options.output)?;
        return Ok(ui::OK);
    }
    if options.output.as_os_str() == "-" {
        ui::out(|out| write(options.to, &observed, &tables, out))?;
        return Ok(ui::OK);
    }
    let file = fs::File::create(&options.output).map_err(|error| refused(&options.output, &error))?;
    let mut out = BufWriter::new(file);
    write(options.to, &observed, &tables, &mut out)
        .and_then(|()| out.flush())
        .with_context(|| format!("failed to write {}", options.output.display()))?;
    Ok(ui::OK)
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::new(of_io(error), format!("failed to create {}: {error}", path.display()))
}

fn write(to: Target, observed: &Observed<'_, '_>, tables: &Tables, out: &mut dyn Write) -> io::Result<()> {
    match to {
        Target::Perfetto => perfetto::render(observed, out),
        Target::Firefox => firefox::render(observed, Duration::from_nanos(tables.meta.started_unix_ns), out),
        Target::Pprof => pprof::render(observed, out),
        Target::Folded | Target::Csv | Target::Parquet => folded::render(observed, out),
    }
}

/// A folder with one file per table.
fn csv(analysis: &Analysis<'_, '_>, observed: &Observed<'_, '_>, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir(folder)
        .map_err(|error| refused(folder, &error).hint("-o names a folder that does not exist yet"))?;
    let pick = Pick::default();
    for (name, view) in [
        ("threads", threads::threads(observed, pick)),
        ("locks", locks::locks(observed, pick)),
        ("waits", waits::waits(observed, pick)),
        ("wakers", threads::wakers(observed, pick)),
        ("syscalls", syscalls::syscalls(observed, pick)),
        ("functions", functions::functions(observed, Observed::base(analysis), pick)),
        ("lines", functions::lines(observed, Observed::base(analysis), pick)),
        ("sharing", sharing::sharing(observed, pick)),
    ] {
        let path = folder.join(format!("{name}.csv"));
        let mut out = Vec::new();
        view.csv(&mut out)?;
        fs::write(&path, out).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(())
}
