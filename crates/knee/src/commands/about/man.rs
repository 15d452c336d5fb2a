//! `knee man`: manual pages, from the same source as the help texts.

use crate::cli::{Cli, Man};
use crate::failure::{Failure, Status, of_io};
use crate::ui;
use crate::version;
use clap::{Command, CommandFactory};
use clap_mangen::roff::{Roff, roman};
use std::fs;
use std::io;
use std::path::Path;

pub(crate) fn run(options: &Man) -> anyhow::Result<ui::Code> {
    // Pages for `help` would only repeat `--help`.
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    match &options.all {
        Some(folder) => write_all(&root, folder)?,
        None => {
            let page = page(find(&root, &options.command)?)?;
            ui::out(|out| out.write_all(&page))?;
        }
    }
    Ok(ui::OK)
}

/// The command that these words name.
fn find<'c>(root: &'c Command, words: &[String]) -> Result<&'c Command, Failure> {
    let found = words.iter().try_fold(root, |at, word| at.find_subcommand(word));
    found.ok_or_else(|| {
        let message = format!("there is no command `{}`", words.join(" "));
        Failure::new(Status::Usage, message).hint("`knee` lists them all")
    })
}

fn write_all(root: &Command, folder: &Path) -> anyhow::Result<()> {
    let failure = |path: &Path, error: &io::Error| {
        Failure::new(of_io(error), format!("cannot write {}: {error}", path.display()))
    };
    fs::create_dir_all(folder).map_err(|error| failure(folder, &error))?;
    for command in shown(root) {
        let path = folder.join(format!("{}.1", name(command)));
        fs::write(&path, page(command)?).map_err(|error| failure(&path, &error))?;
    }
    Ok(())
}

/// A command and all commands below it, without hidden ones.
fn shown(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    [command].into_iter().chain(below.flat_map(shown)).collect()
}

/// The name of its page: `knee-lab-run`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    // The generator would reflow the lines of examples into paragraphs.
    let bare = command.clone().after_help(None::<&'static str>);
    let man = clap_mangen::Man::new(bare)
        .date(version::date().unwrap_or_default())
        .source(format!("knee {}", version::RELEASE))
        .manual("knee");
    let mut page = Vec::new();
    man.render(&mut page)?;
    let mut more = sections(&after);
    if name(command) != "knee" {
        more.control("SH", ["SEE ALSO"]);
        more.text([roman("knee(1)")]);
    }
    page.extend(more.to_roff().into_bytes());
    Ok(page)
}

/// The parts of help texts after the options: examples, which are indented, exit statuses, and notes.
fn sections(after: &str) -> Roff {
    let mut roff = Roff::new();
    let mut last = "";
    for paragraph in after.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let (title, body) = match paragraph {
            p if p.starts_with("Examples:") => ("EXAMPLES", p.trim_start_matches("Examples:").trim_matches('\n')),
            p if p.starts_with("Exit status:") => ("EXIT STATUS", p.trim_start_matches("Exit status:").trim()),
            p if p.starts_with("  ") => ("EXAMPLES", p.trim_matches('\n')),
            p => ("NOTES", p),
        };
        match title == last {
            true => roff.control("PP", []),
            false => roff.control("SH", [title]),
        };
        last = title;
        if title == "EXAMPLES" {
            roff.control("nf", []);
            for line in body.lines() {
                roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
            }
            roff.control("fi", []);
        } else {
            roff.text([roman(body.split_whitespace().collect::<Vec<_>>().join(" "))]);
        }
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> Command {
        let mut root = Cli::command().disable_help_subcommand(true);
        root.build();
        root
    }

    #[test]
    fn every_command_has_a_page_with_all_its_options() {
        let root = root();
        let commands = shown(&root);
        let names: Vec<&str> = commands.iter().map(|command| name(command)).collect();
        for expected in ["knee", "knee-sweep", "knee-lab", "knee-lab-run", "knee-completions"] {
            assert!(names.contains(&expected), "{names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("help") || name.contains("man")), "{names:?}");
        for command in commands {
            let page = String::from_utf8(page(command).unwrap()).unwrap();
            assert!(page.contains(".TH") && page.contains(".SH NAME"), "{page}");
            for option in command.get_arguments().filter(|a| !a.is_hide_set()).filter_map(|a| a.get_long()) {
                let escaped = format!("\\-\\-{}", option.replace('-', "\\-"));
                assert!(page.contains(&escaped), "{}: {option} in {page}", name(command));
            }
        }
    }

    #[test]
    fn examples_keep_their_lines() {
        let text = "Examples:\n  knee a   # one\n  knee b\n\n  Another:\n    knee c\n\nA note\nof two lines.\n\nExit status: 0 good,\n2 bad.";
        let roff = sections(text).to_roff();
        let at = |part: &str| roff.find(part).unwrap_or_else(|| panic!("{part} in {roff}"));
        let order =
            [".SH EXAMPLES", ".nf", "knee a   # one\n", ".fi", ".PP", "  knee c\n", ".SH NOTES", "of two lines"];
        assert!(order.iter().map(|part| at(part)).is_sorted(), "{roff}");
        assert!(at("A note of two lines.") < at(".SH \"EXIT STATUS\"") && at("0 good, 2 bad.") > 0, "{roff}");
    }

    #[test]
    fn commands_are_found_by_their_words() {
        let root = root();
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(find(&root, &[]).map(name).unwrap(), "knee");
        assert_eq!(find(&root, &words("lab run")).map(name).unwrap(), "knee-lab-run");
        let failure = find(&root, &words("lab walk")).unwrap_err();
        assert!(failure.to_string().contains("no command `lab walk`"));
    }
}
