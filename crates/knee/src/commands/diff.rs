//! `knee diff`: two recordings, before and after a change.

use super::shared::answer;
use crate::cli::{AnswerFormat, Diff};
use crate::failure::{Failure, Status};
use crate::ui;

pub(crate) fn run(options: &Diff) -> anyhow::Result<ui::Code> {
    let (before, after) = (answer::tables(&options.before)?, answer::tables(&options.after)?);
    for (folder, tables) in [(&options.before, &before), (&options.after, &after)] {
        if tables.meta.imported.is_some() {
            let what = format!("{} was imported from a profile, which has no timed runs to compare", folder.display());
            let hint = "profiles are compared by thread counts: knee import 1=one.txt 4=four.txt";
            return Err(Failure::new(Status::Usage, what).hint(hint).into());
        }
    }
    let comparison = analyze::compare::compare(&before, &after);
    answer::no_sarif(options.format)?;
    ui::out(|mut out| match options.format {
        AnswerFormat::Text => report::terminal::render_comparison(&comparison, ui::style(), &mut out),
        AnswerFormat::Markdown => report::markdown::render_comparison(&comparison, &mut out),
        AnswerFormat::Json | AnswerFormat::Sarif => report::json::render(&comparison, &mut out),
    })?;
    Ok(ui::OK)
}
