//! `knee show`: one table, or the lanes, of one observed run.

use super::shared::answer;
use crate::cli::{Show, ShowFormat, Table};
use crate::failure::{Failure, Status};
use crate::ui;
use ::report::observed::Observed;
use ::report::show::lanes::Lanes;
use ::report::show::{NOT_IN_PROFILES, Pick, View, functions, locks, sharing, syscalls, threads, waits};
use analyze::model::Model;
use analyze::{Analysis, analyze};
use std::path::Path;

/// Rows in a text for people; scripts get all rows.
const FEW: usize = 20;
/// Lanes in a text for people: one screenful.
const LANES: usize = 40;

pub(crate) fn run(options: &Show) -> anyhow::Result<ui::Code> {
    let tables = answer::tables_with(&options.folder, options.primitives.as_deref())?;
    let model = Model::new(&tables);
    let analysis = analyze(&model);
    let observed = chosen(&analysis, options.threads, &options.folder)?;
    let pick = Pick { tid: options.thread, between: stretch(options) };
    if pick.threads(&observed).is_empty() && options.thread.is_some() {
        let hint = format!("knee show threads {} lists them", options.folder.display());
        return Err(Failure::new(Status::Usage, "no thread of the run has this id").hint(hint).into());
    }
    let style = ui::style();
    if options.table == Table::Timeline {
        let few = options.limit.unwrap_or(LANES);
        let most = if options.format == ShowFormat::Text { few } else { usize::MAX };
        let lanes = Lanes::new(&observed, pick, most);
        let limit = options.limit.unwrap_or(usize::MAX);
        ui::out(|out| match options.format {
            ShowFormat::Text => lanes.text(style.width, style.unicode, style.colour, out),
            ShowFormat::Json => writeln!(out, "{}", lanes.value(limit)),
            ShowFormat::Csv => lanes.csv(limit, out),
        })?;
        return Ok(ui::OK);
    }
    let few = if options.format == ShowFormat::Text { FEW } else { usize::MAX };
    let mut views = vec![view(options.table, &analysis, &observed, pick)];
    let in_profiles = matches!(options.table, Table::Threads | Table::Functions | Table::Lines);
    if tables.meta.imported.is_some() && !in_profiles {
        views.iter_mut().for_each(|view| view.notes.push(NOT_IN_PROFILES.to_owned()));
    }
    // Scripts get one table. People who look at waits also want to know who ends them.
    if options.format == ShowFormat::Text && matches!(options.table, Table::Waits) {
        views.push(threads::wakers(&observed, pick));
    }
    for (i, view) in views.into_iter().enumerate() {
        let sort = options.sort.as_deref().filter(|_| i == 0);
        let view = view
            .arrange(sort, options.limit.unwrap_or(few))
            .map_err(|e| Failure::new(Status::Usage, format!("no such column; there are: {}", e.known.join(", "))))?;
        ui::out(|out| match options.format {
            ShowFormat::Text => {
                if i > 0 {
                    writeln!(out, "\n{}", view.title)?;
                }
                view.text(style.table(), style.unicode, out)
            }
            ShowFormat::Json => writeln!(out, "{}", view.value()),
            ShowFormat::Csv => view.csv(out),
        })?;
    }
    Ok(ui::OK)
}

/// The observed run at a thread count.
///
/// # Errors
/// When there is none.
pub(super) fn chosen<'a, 't>(
    analysis: &'a Analysis<'_, 't>,
    threads: Option<u32>,
    folder: &Path,
) -> anyhow::Result<Observed<'a, 't>> {
    let found = Observed::at(analysis, threads);
    Ok(found.ok_or_else(|| {
        let known: Vec<String> = Observed::all(analysis).map(|o| o.traced.shown_count().to_string()).collect();
        if known.is_empty() {
            let what = format!("{} holds no observed run", folder.display());
            return Failure::new(Status::Recording, what).hint("observing needs rights: see knee doctor");
        }
        let what = format!("no observed run has this thread count; there are: {}", known.join(", "));
        Failure::new(Status::Usage, what)
    })?)
}

fn stretch(options: &Show) -> Option<(f64, f64)> {
    match options.between.as_deref() {
        Some([from, to]) => Some((*from, *to)),
        _ => None,
    }
}

fn view(table: Table, analysis: &Analysis<'_, '_>, observed: &Observed<'_, '_>, pick: Pick) -> View {
    match table {
        Table::Threads => threads::threads(observed, pick),
        Table::Locks => locks::locks(observed, pick),
        Table::Waits => waits::waits(observed, pick),
        Table::Wakers => threads::wakers(observed, pick),
        Table::Syscalls => syscalls::syscalls(observed, pick),
        Table::Functions => functions::functions(observed, Observed::base(analysis), pick),
        Table::Lines => functions::lines(observed, Observed::base(analysis), pick),
        Table::Sharing | Table::Timeline => sharing::sharing(observed, pick),
    }
}
