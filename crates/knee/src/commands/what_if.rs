//! `knee what-if`: how fast the program would be without each cause of its answer.

use super::shared::answer;
use crate::cli::{Format, WhatIf};
use crate::failure::{Failure, Status};
use crate::index;
use crate::ui;

pub(crate) fn run(options: &WhatIf) -> anyhow::Result<ui::Code> {
    let folder = &options.folder;
    if index::is_there(folder) {
        let what = format!("{} holds several recordings; what-if is about one", folder.display());
        return Err(Failure::new(Status::Usage, what).hint("name the folder of one of them").into());
    }
    let found = analyze::answer_for(&answer::tables_with(folder, options.primitives.as_deref())?);
    if found.no_curve().is_some() {
        let what = format!("{} has no timed runs: what a repair would bring needs a sweep", folder.display());
        let hint = "knee sweep -t 1,2,4 -- COMMAND, with {threads} where the count goes";
        return Err(Failure::new(Status::Usage, what).hint(hint).into());
    }
    ui::out(|mut out| match options.format {
        Format::Text => ::report::terminal::render_what_if(&found, ui::style(), &mut out),
        Format::Json => ::report::json::render(&found.what_if, &mut out),
    })?;
    Ok(ui::OK)
}
