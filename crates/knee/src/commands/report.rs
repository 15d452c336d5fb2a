//! `knee report`: the answer of a recording, worked out again. May import: `answer`.

use super::answer;
use crate::cli::Report;
use crate::ui;

pub(crate) fn run(options: &Report) -> anyhow::Result<ui::Code> {
    let answer = answer::of(&options.folder)?;
    answer::print(&answer, &options.folder, options.format)?;
    Ok(ui::OK)
}
