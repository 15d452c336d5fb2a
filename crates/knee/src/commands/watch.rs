//! `knee watch`: what the threads of a program do now.

use super::record;
use super::sweep::explain;
use crate::cli;
use crate::failure::{Failure, Status};
use crate::observing::{self, Wanted};
use crate::plan::template::variable;
use crate::target;
use crate::watch::screen::{self, Subject};
use crate::{interrupt, ui};
use collect::observe::live::{self, Looking};
use collect::probe::Findings;
use collect::{Collector, Command, End, Error, OutputSink, Stop, Stream};
use std::io::IsTerminal;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(1);

pub(crate) fn run(options: &cli::Watch) -> anyhow::Result<ui::Code> {
    let env = options.env.iter().map(|text| variable(text)).collect::<Result<Vec<_>, _>>();
    let env = env.map_err(|what| Failure::new(Status::Usage, what))?;
    if let Some(program) = options.command.first() {
        target::check(program, None, std::env::var_os("PATH").as_deref())?;
    }
    let (name, command) = match options.pid {
        Some(pid) => (format!("{} ({pid})", title(&record::running_command(pid)?)), None),
        None => {
            let words: Vec<String> = options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            (title(&words), Some(Command { argv: options.command.clone(), env, cwd: None, processors: Vec::new() }))
        }
    };
    let Findings { capabilities, lacked_descriptors } = collect::probe::probe();
    let mut meta = record::describe(vec![name.clone()], &[], options.pid, capabilities);
    let wanted = Wanted::from_option(options.collector);
    let Some(collector) = observing::choose(wanted, lacked_descriptors, &mut meta.capabilities)? else {
        return Err(observing::nothing_works(lacked_descriptors, &meta.capabilities).into());
    };
    // Perf events only work for our own child, and here they would tell no more than /proc does.
    let collector = if collector == Collector::Perf { Collector::Proc } else { collector };
    let with = if collector == Collector::Bpf { "eBPF" } else { "/proc alone" };
    let subject = Subject { title: format!("{name}, by {with}"), sees_code: collector == Collector::Bpf };
    let on_screen = !options.plain && std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let stop = Stop::new();
    interrupt::listen(&stop)?;
    let looking = Looking { collector, every: EVERY, length: options.length, meta: &meta };
    let (sender, looks) = channel();
    let (ended, shown) = std::thread::scope(|scope| {
        let looker = scope.spawn(|| {
            // Sending fails when the view has ended; then the next look ends too.
            let mut show = move |window| drop(sender.send(window));
            let looked = match (&command, options.pid) {
                (Some(command), _) => live::Subject::Command(command),
                (None, pid) => live::Subject::Process(pid.unwrap_or_default()),
            };
            live::watch(looked, looking, &mut Nowhere, &stop, &mut show)
        });
        let shown = match on_screen {
            true => screen::interactive(&subject, &looks, &stop),
            false => screen::plain(&subject, &looks),
        };
        stop_if(shown.is_err(), &stop);
        (looker.join(), shown)
    });
    shown?;
    let ended = ended.map_err(|_| anyhow::anyhow!("the observing thread ended unexpectedly"))?;
    match ended.map_err(of_process)? {
        End::Program => ui::say("knee: the program has ended"),
        End::Stopped if options.length.is_some() && !on_screen => return Ok(ui::INTERRUPTED),
        End::Stopped | End::Time => {}
    }
    Ok(ui::OK)
}

fn stop_if(failed: bool, stop: &Stop) {
    if failed {
        stop.request();
    }
}

fn title(words: &[String]) -> String {
    let program = words.first().map_or("", String::as_str);
    program.rsplit('/').next().unwrap_or(program).to_owned()
}

fn of_process(error: Error) -> anyhow::Error {
    match &error {
        Error::NoProcess { .. } | Error::Process { .. } => record::of_process(error),
        _ => explain(error.into()),
    }
}

/// A sink that drops what a started program prints, because it would spoil the view.
struct Nowhere;

impl OutputSink for Nowhere {
    fn bytes(&mut self, _: Stream, _: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_by_its_name() {
        assert_eq!(title(&["/opt/a b/server".to_owned(), "-x".to_owned()]), "server");
        assert_eq!(title(&[]), "");
    }
}
