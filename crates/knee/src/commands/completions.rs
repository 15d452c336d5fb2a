//! `knee completions`: a script that lets a shell complete knee's arguments. May import: clap, `cli`, `ui`.

use crate::cli::{Cli, Completions};
use crate::ui;
use clap::CommandFactory;

pub(crate) fn run(options: &Completions) -> anyhow::Result<ui::Code> {
    // Written to memory first: the generator panics when its output cannot be written.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "knee", &mut script);
    ui::out(|out| out.write_all(&script))?;
    Ok(ui::OK)
}
