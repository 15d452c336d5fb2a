//! `knee report`: the answer of a recording, or the comparison of a sweep's, worked out again.
//! May import: `answer`, `compare`, `index`.

use super::{answer, compare};
use crate::cli::Report;
use crate::{index, ui};

pub(crate) fn run(options: &Report) -> anyhow::Result<ui::Code> {
    if index::is_there(&options.folder) {
        let comparison = compare::of(&options.folder)?;
        match &options.html {
            Some(file) => compare::write_page(&comparison, &options.folder, file)?,
            None => compare::print(&comparison, &options.folder, options.format)?,
        }
        return Ok(ui::OK);
    }
    if let Some(file) = &options.html {
        let tables = answer::tables(&options.folder)?;
        answer::write_page(&analyze::analyze(&tables), &tables, &options.folder, file)?;
        return Ok(ui::OK);
    }
    let answer = answer::of(&options.folder)?;
    answer::print(&answer, &options.folder, options.format)?;
    Ok(ui::OK)
}
