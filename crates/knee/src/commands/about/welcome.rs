//! `knee` alone: what it can do, with examples.

use crate::cli::Cli;
use crate::ui;
use clap::CommandFactory;

pub(crate) fn run() -> anyhow::Result<ui::Code> {
    let help = Cli::command().render_help();
    ui::out(|out| write!(out, "{help}"))?;
    Ok(ui::OK)
}
