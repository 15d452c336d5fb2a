//! `knee completions`: a script that lets a shell complete knee's arguments.

use crate::cli::{Cli, Completions};
use crate::commands::lab;
use crate::ui;
use clap::CommandFactory;
use clap::builder::PossibleValuesParser;

pub(crate) fn run(options: &Completions) -> anyhow::Result<ui::Code> {
    // The script contains the lab's programs as they are now: their sweep files are the only list of them.
    let names = lab::names();
    let with_names = |command: clap::Command| match names.is_empty() {
        true => command,
        false => command.mut_arg("name", |name| name.value_parser(PossibleValuesParser::new(names.clone()))),
    };
    let mut command = Cli::command()
        .mut_subcommand("lab", |lab| lab.mut_subcommand("run", with_names).mut_subcommand("show", with_names));
    // Written to memory first: the generator panics when its output cannot be written.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "knee", &mut script);
    ui::out(|out| out.write_all(&script))?;
    Ok(ui::OK)
}
