//! `knee report`: the answer of a recording, worked out again. May import: `answer`.

use super::answer;
use crate::cli::Report;
use crate::ui;

pub(crate) fn run(options: &Report) -> anyhow::Result<ui::Code> {
    if let Some(file) = &options.html {
        let tables = answer::tables(&options.folder)?;
        answer::write_page(&analyze::analyze(&tables), &tables, &options.folder, file)?;
        return Ok(ui::OK);
    }
    let answer = answer::of(&options.folder)?;
    answer::print(&answer, &options.folder, options.format)?;
    Ok(ui::OK)
}
