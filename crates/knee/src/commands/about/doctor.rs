//! `knee doctor`: what this machine lets knee see.

use crate::cli::{Doctor, Format};
use crate::ui;
use anyhow::Context;

pub(crate) fn run(options: &Doctor) -> anyhow::Result<ui::Code> {
    let capabilities = collect::probe::probe().capabilities;
    match options.format {
        Format::Text => ui::out(|mut out| report::terminal::render_capabilities(&capabilities, ui::style(), &mut out)),
        Format::Json => ui::out(|mut out| report::json::render(&capabilities, &mut out)),
    }
    .context("failed to print the findings")?;
    Ok(ui::OK)
}
