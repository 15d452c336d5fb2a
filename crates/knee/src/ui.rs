//! The only place that writes to standard output and standard error, and looks at whether they are terminals.

use crate::failure::{Failure, Status};
use crate::mistakes;
use crate::target;
use collect::error::shortage;
use report::terminal::Style;
use report::text::harmless;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// Columns, without a terminal and without COLUMNS: every device can show them.
const USUAL_WIDTH: usize = 80;

/// Writes to standard output. A reader that is gone (`knee … | head`) is not an error.
pub(crate) fn out(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    match write(&mut stdout).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Prints a line on standard error. If that fails, there is nowhere to report it.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Standard error as a writer that locks it for each write only.
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Ends the program: prints what went wrong and returns the exit status.
pub(crate) fn done(result: anyhow::Result<Code>) -> ExitCode {
    match result {
        Ok(Code(status)) => ExitCode::from(status),
        Err(error) => {
            let failure = error.chain().find_map(|cause| cause.downcast_ref::<Failure>());
            say(&format!("knee: {}", harmless(&format!("{error:#}"))));
            for line in failure.iter().flat_map(|f| &f.shown) {
                say(&harmless(line));
            }
            let lacks = error.chain().find_map(shortage);
            if let Some(hint) = failure.and_then(|f| f.hint.as_deref()).or(lacks) {
                say(&format!("hint: {}", harmless(hint)));
            }
            ExitCode::from(failure.map_or(Status::Internal, |f| f.status) as u8)
        }
    }
}

/// Ends the program when clap refused the arguments or the user asked for help: prints clap's message and how to
/// correct it. `may_look`: whether nearby folders may be searched for a correction.
pub(crate) fn refused(error: &clap::Error, may_look: bool) -> ExitCode {
    // If that fails, there is nowhere to report it.
    let _ = error.print();
    let status = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Status::Usage as u8));
    if !may_look {
        return status;
    }
    let words: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let search_path = env::var_os("PATH");
    let is_program = |word: &str| target::check(word.as_ref(), None, search_path.as_deref()).is_ok();
    if let Some(hint) = mistakes::instead(error, &words, is_program, || mistakes::newest_recording(Path::new(""))) {
        say(&format!("\nhint: {}", harmless(&hint)));
    }
    status
}

/// The exit status of a command that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u8);

/// Everything went well.
pub(crate) const OK: Code = Code(0);
/// The user stopped it; the results so far have been reported.
pub(crate) const INTERRUPTED: Code = Code(Status::Interrupted as u8);

/// The condition that a script asked about is true.
pub(crate) const BARRED: Code = Code(1);
/// It cannot be told whether the condition is true, and the script asked for this status.
pub(crate) const UNSURE: Code = Code(6);

/// How text for standard output should look.
pub(crate) fn style() -> Style {
    let terminal = io::stdout().is_terminal();
    let size = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    let columns = columns(|name| env::var(name).ok());
    Style {
        colour: colour(terminal, |name| env::var(name).ok()),
        width: size.or(columns).unwrap_or(USUAL_WIDTH),
        // A file or a pipe has no right edge, unless COLUMNS says so.
        whole: size.or(columns).is_none(),
        unicode: unicode(|name| env::var(name).ok()),
    }
}

/// Whether somebody can watch the progress on a terminal.
pub(crate) fn watched() -> bool {
    io::stderr().is_terminal() && env::var("TERM").as_deref() != Ok("dumb")
}

/// COLUMNS (POSIX.1-2017, 8.3): a decimal number of columns; anything else is ignored.
fn columns(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    variable("COLUMNS")?.trim().parse().ok().filter(|columns| *columns > 0)
}

/// NO_COLOR (no-color.org), CLICOLOR and CLICOLOR_FORCE (bixense.com/clicolors), then the terminal.
fn colour(terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name| variable(name).filter(|value: &String| !value.is_empty());
    if set("NO_COLOR").is_some() {
        return false;
    }
    if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    terminal && set("CLICOLOR").as_deref() != Some("0") && set("TERM").as_deref() != Some("dumb")
}

/// Locale variables in the order of setlocale(3). In a bare container none is set, but its terminal is outside, and
/// modern.
fn unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|n| variable(n).filter(|v| !v.is_empty()));
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn colour_follows_the_conventions() {
        assert!(colour(true, given(&[])));
        assert!(!colour(false, given(&[])));
        assert!(!colour(true, given(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")])));
        assert!(colour(true, given(&[("NO_COLOR", "")])));
        assert!(colour(false, given(&[("CLICOLOR_FORCE", "1")])));
        assert!(!colour(true, given(&[("CLICOLOR", "0")])));
        assert!(!colour(true, given(&[("TERM", "dumb")])));
    }

    #[test]
    fn columns_are_a_number() {
        assert_eq!(columns(given(&[("COLUMNS", "120")])), Some(120));
        for none in ["", "0", "wide", "-80"] {
            assert_eq!(columns(given(&[("COLUMNS", none)])), None, "{none}");
        }
        assert_eq!(columns(given(&[])), None);
    }

    #[test]
    fn unicode_follows_the_locale() {
        assert!(unicode(given(&[])));
        assert!(unicode(given(&[("LANG", "C.UTF-8")])));
        assert!(!unicode(given(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")])));
        assert!(!unicode(given(&[("LANG", "POSIX")])));
    }
}
