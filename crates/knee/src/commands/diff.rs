//! `knee diff`: two recordings, before and after a change. May import: `answer`, analyze, report, `ui`.

use super::answer;
use crate::cli::{Diff, Format};
use crate::ui;

pub(crate) fn run(options: &Diff) -> anyhow::Result<ui::Code> {
    let (before, after) = (answer::tables(&options.before)?, answer::tables(&options.after)?);
    let comparison = analyze::compare::compare(&before, &after);
    ui::out(|mut out| match options.format {
        Format::Text => report::terminal::render_comparison(&comparison, ui::style(), &mut out),
        Format::Json => report::json::render(&comparison, &mut out),
    })?;
    Ok(ui::OK)
}
