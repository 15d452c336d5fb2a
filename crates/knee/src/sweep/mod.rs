//! The sweep's loop: makes the planned runs, keeps what they measured, and goes on when a thread count fails.
//!
//! A sweep has one case or several (variants of a program, values of parameters). Each case has its own recording; all
//! runs share one order. Rooms: `case` the state of one case; `output` what the target printed; `record` a finished run
//! as a row; `stray` which observed runs are made again (`analyze` judges which timed runs were disturbed); `progress`
//! what the user sees meanwhile. The loop itself is here.
//!
//! May import: `executor`, `plan`, `serving`, `throughput`, `analyze`, `collect`, `recording`, `report`.

mod case;
pub(crate) mod output;
mod progress;
pub(crate) mod record;
mod stray;
#[cfg(test)]
mod tests;

pub(crate) use case::{Broken, Case, Outcome, with_throughput};
pub(crate) use progress::{Mode as ProgressMode, Progress};

use crate::executor::{Executor, Outputs, RunRequest};
use crate::plan::Planned;
use crate::plan::template::Template;
use crate::serving::{self, nothing_done};
use crate::throughput::{Forms, Found, Scanner, tools};
use case::{Choice, OpenCase};
use collect::{Error, Exit, Finished, Stop};
use output::{Capture, Output};
use recording::meta::Counted;
use recording::tables::RunKind;
use std::path::Path;

/// The program's last lines that an error shows.
const LAST_LINES: usize = 10;
/// A sweep that has at least this many seconds left after its first block gives a first answer then. Reading and
/// analysing takes about a second, and what is recorded of a shorter sweep is soon there as a whole.
const LONG: f64 = 30.0;

/// Answers in a sentence from an unfinished recording, if it can.
pub(crate) type FirstAnswer<'s> = dyn Fn(&Path) -> Option<String> + 's;

/// What to sweep.
pub(crate) struct SweepRuns<'s> {
    pub(crate) plan: &'s [Planned],
    /// Further blocks of timed runs, made when the planned ones leave open whether the program loses time.
    pub(crate) more: &'s [Planned],
    pub(crate) forms: &'s Forms,
    pub(crate) stop: &'s Stop,
    /// Show the target's output after each run.
    pub(crate) show_output: bool,
    /// Blocks of timed runs that may be made again because something disturbed them.
    pub(crate) repeats: u32,
    /// Processors that the target may use.
    pub(crate) processors: u32,
    /// Whether the counts are of threads or of processors.
    pub(crate) counted: Counted,
    /// Called in the pause between two runs of a long sweep. None where nobody reads what it tells.
    pub(crate) first_answer: Option<&'s FirstAnswer<'s>>,
}

/// The result of a sweep.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// One per case, in the order of the cases.
    pub(crate) cases: Vec<Outcome>,
    pub(crate) interrupted: bool,
}

/// The number of runs before the second block of timed runs, or before the observed ones.
fn end_of_the_first_block(plan: &[Planned]) -> usize {
    let blocks = plan.chunk_by(|a, b| (a.kind, a.block) == (b.kind, b.block));
    let mut runs = 0;
    for block in blocks {
        match block.first().map(|planned| planned.kind) {
            Some(RunKind::Traced) => break,
            Some(RunKind::Clean) => return runs + block.len(),
            _ => runs += block.len(),
        }
    }
    runs
}

/// Counters over all blocks.
struct Numbers {
    /// Disturbed blocks that may still be made again.
    repeats: u32,
    /// The number of the next unplanned block.
    next: u32,
}

/// The state between two runs.
struct Loop<'s, 'c, 'p> {
    sweep: &'s SweepRuns<'s>,
    progress: &'p mut Progress<'p>,
    cases: Vec<OpenCase<'c>>,
    interrupted: bool,
}

impl<'s> SweepRuns<'s> {
    /// Makes the runs. Notes for the user are added to each case's `meta.notes`; `meta.throughput` is set.
    ///
    /// # Errors
    /// When knee itself fails: the target cannot be started, a recording cannot be written. The failure of a target is
    /// reported in [`Outcome::broken`].
    pub(crate) fn run(
        &'s self,
        cases: Vec<Case<'_>>,
        executor: &mut dyn Executor,
        progress: &'s mut Progress<'s>,
    ) -> anyhow::Result<Outcomes> {
        let cases = cases.into_iter().map(|case| OpenCase::new(case, self.processors)).collect();
        let mut going = Loop { sweep: self, progress, cases, interrupted: false };
        let made = going.all(executor);
        going.progress.clear();
        // An interrupted block is kept as far as it went.
        let made = made.and(going.settle(RunKind::Clean));
        // The earlier runs are worth keeping even after a failure.
        let kept = going.choose();
        for case in &mut going.cases {
            case.case.meta.notes.extend(executor.notes(case.case.writer.folder()));
        }
        made.and(kept)?;
        Ok(Outcomes {
            cases: going.cases.into_iter().map(|case| case.outcome).collect(),
            interrupted: going.interrupted,
        })
    }
}

impl Loop<'_, '_, '_> {
    fn all(&mut self, executor: &mut dyn Executor) -> anyhow::Result<()> {
        let plan = self.sweep.plan;
        let mut numbers = Numbers {
            repeats: self.sweep.repeats,
            // The first number that no planned block has.
            next: plan.iter().map(|planned| planned.block).max().map_or(0, |last| last + 1),
        };
        let opening = end_of_the_first_block(plan);
        let (first, rest) = plan.split_at(opening);
        let mut done = self.blocks(first, |progress, at| progress.starts(plan, at), &mut numbers, executor)?;
        let (observed, timed): (Vec<Planned>, Vec<Planned>) = rest.iter().partition(|p| p.kind == RunKind::Traced);
        // The order decides nothing in the answer. Without a first answer, what is timed comes first: if the user stops
        // the sweep, the curve is there.
        let early = done && !timed.is_empty() && self.wants_a_first_answer(rest);
        let order = if early { [first, &observed, &timed].concat() } else { [first, &timed, &observed].concat() };
        if early {
            done =
                self.blocks(&observed, |progress, at| progress.starts(&order, opening + at), &mut numbers, executor)?;
            self.first_answer();
        }
        let before = opening + if early { observed.len() } else { 0 };
        done =
            done && self.blocks(&timed, |progress, at| progress.starts(&order, before + at), &mut numbers, executor)?;
        if done {
            let more = self.more(&mut numbers);
            done = self.blocks(&more, |progress, at| progress.starts_more(&more, at), &mut numbers, executor)?;
        }
        if done && !early {
            let before = opening + timed.len();
            done =
                self.blocks(&observed, |progress, at| progress.starts(&order, before + at), &mut numbers, executor)?;
        }
        if done {
            self.observe_again(executor)?;
        }
        // The user's signal may have ended the last run, too.
        self.interrupted |= self.sweep.stop.requested();
        Ok(())
    }

    /// True when what is left takes so long that the user should read a first answer meanwhile.
    fn wants_a_first_answer(&self, left: &[Planned]) -> bool {
        let observes = left.iter().any(|planned| planned.kind == RunKind::Traced);
        observes && self.sweep.first_answer.is_some() && self.progress.left(left).is_some_and(|left| left >= LONG)
    }

    /// Shows the answer so far.
    fn first_answer(&mut self) {
        let (Some(answer), [only]) = (self.sweep.first_answer, self.cases.as_slice()) else { return };
        if let Some(sentence) = answer(only.case.writer.folder()) {
            self.progress.so_far(&sentence);
        }
    }

    /// The further blocks for those cases whose timed runs leave something open.
    fn more(&self, numbers: &mut Numbers) -> Vec<Planned> {
        let open: Vec<bool> = self.cases.iter().map(OpenCase::undecided).collect();
        let wanted = self.sweep.more.iter().filter(|planned| open.get(planned.case) == Some(&true));
        let first = numbers.next;
        let more: Vec<Planned> = wanted.map(|p| Planned { block: first + p.block, ..*p }).collect();
        numbers.next = more.iter().map(|planned| planned.block + 1).max().unwrap_or(first);
        more
    }

    /// Makes runs block by block; false when the user wants to stop. `starts` is called with the position of each run.
    fn blocks(
        &mut self,
        plan: &[Planned],
        starts: impl Fn(&mut Progress<'_>, usize),
        numbers: &mut Numbers,
        executor: &mut dyn Executor,
    ) -> anyhow::Result<bool> {
        let mut number = 0;
        for block in plan.chunk_by(|a, b| (a.kind, a.block) == (b.kind, b.block)) {
            for planned in block {
                if !self.may_go_on() {
                    return Ok(false);
                }
                if !self.skips(*planned) {
                    starts(self.progress, number);
                    self.one(*planned, executor)?;
                }
                number += 1;
            }
            while numbers.repeats > 0 && self.disturbed() {
                self.settle(RunKind::Disturbed)?;
                numbers.repeats -= 1;
                for planned in block.iter().map(|planned| Planned { block: numbers.next, ..*planned }) {
                    if !self.may_go_on() {
                        return Ok(false);
                    }
                    if !self.skips(planned) {
                        self.progress.repeats(planned, "something else disturbed the block");
                        self.one(planned, executor)?;
                    }
                }
                numbers.next += 1;
            }
            self.settle(RunKind::Clean)?;
            self.choose()?;
            // Several cases would need a line each.
            if let [only] = self.cases.as_slice() {
                self.progress.shows(only.so_far());
            }
        }
        Ok(true)
    }

    /// False when the user wants to stop.
    fn may_go_on(&mut self) -> bool {
        self.interrupted |= self.sweep.stop.requested();
        !self.interrupted
    }

    fn skips(&self, planned: Planned) -> bool {
        self.cases.get(planned.case).is_none_or(|case| case.skips(planned))
    }

    /// True when something disturbed a run of the block that was just made. A disturbed run cannot be compared with the
    /// others of its block, so a block is kept or made again as a whole.
    fn disturbed(&self) -> bool {
        self.cases.iter().any(|case| case.disturbed())
    }

    /// Ends the block that was just made and writes its timed runs as `kind`.
    fn settle(&mut self, kind: RunKind) -> anyhow::Result<()> {
        self.cases.iter_mut().try_for_each(|going| going.settle(kind))
    }

    /// Repeats observed runs that differ from the timed ones.
    fn observe_again(&mut self, executor: &mut dyn Executor) -> anyhow::Result<()> {
        for case in 0..self.cases.len() {
            // Each pass adds a run for each count it names, and the number of tries is limited, so the loop ends.
            loop {
                let strays = self.cases[case].strays();
                if strays.is_empty() {
                    break;
                }
                for threads in strays {
                    if self.sweep.stop.requested() {
                        return Ok(());
                    }
                    let planned = Planned { case, kind: RunKind::Traced, threads, block: 0 };
                    self.progress.repeats(planned, "the last one was not like the timed runs, or was disturbed");
                    self.one(planned, executor)?;
                }
            }
        }
        Ok(())
    }

    fn one(&mut self, planned: Planned, executor: &mut dyn Executor) -> anyhow::Result<()> {
        let Some(going) = self.cases.get_mut(planned.case) else { return Ok(()) };
        let run = going.next_run();
        let Template { argv, env, folder, load } = going.case.template.at(planned.threads, self.sweep.counted);
        let served = load.is_some();
        let request = RunRequest { run, kind: planned.kind, threads: planned.threads, argv, env, folder, load };
        // For a server, the load's output tells how much work was done.
        let scanner = || Some(Scanner::new(self.sweep.forms));
        let (mut capture, mut of_load) = match served {
            false => (Capture::new(scanner()), Capture::new(None)),
            true => (Capture::new(None), Capture::new(scanner())),
        };
        let to = Outputs { program: &mut capture, load: &mut of_load };
        let result = executor.run(&request, to, going.case.writer);
        let ((mut output, mut found), (load_output, of_load)) = (capture.finish(), of_load.finish());
        output.write(&going.case.output, run.0, "")?;
        load_output.write(&going.case.output, run.0, ".load")?;
        if self.sweep.show_output {
            self.progress.output(planned, &output.lines());
            self.progress.output(planned, &load_output.lines());
        }
        if served {
            found = Found { load: tools::read(&load_output.text()), ..of_load };
        }
        match result {
            Ok(finished) => {
                // The load's messages are in its own output.
                output = if served { load_output } else { output };
                self.finished(planned, run, &finished, &output, found)
            }
            Err(Error::Interrupted) => {
                self.interrupted = true;
                Ok(())
            }
            Err(error) => match serving::of_error(&error) {
                Some(why) => {
                    self.breaks(planned, &why, &output);
                    Ok(())
                }
                // Without observed runs there are no causes, but the curve remains.
                None if planned.kind == RunKind::Traced => {
                    going.cannot_trace(error);
                    Ok(())
                }
                None => Err(error.into()),
            },
        }
    }

    fn finished(
        &mut self,
        planned: Planned,
        run: recording::RunId,
        finished: &Finished,
        output: &Output,
        found: Found,
    ) -> anyhow::Result<()> {
        // A target ended by the user's Ctrl-C has not failed.
        if finished.exit != Exit::Status(0) && self.sweep.stop.requested() {
            self.interrupted = true;
            return Ok(());
        }
        let served = finished.load.is_some();
        let who = if served { "the load: " } else { "" };
        if finished.load.as_ref().is_some_and(|load| load.server_killed)
            && let Some(going) = self.cases.get_mut(planned.case)
        {
            going.server_was_killed();
        }
        let useless = Some(&found).filter(|_| served && finished.exit == Exit::Status(0));
        if let Some(why) = useless.and_then(|found| nothing_done(found, self.sweep.forms.given)) {
            self.breaks(planned, &why, output);
            return Ok(());
        }
        match finished.exit {
            // Its row is left out: one run without a throughput would make the whole sweep use wall times.
            Exit::Status(0) if self.sweep.forms.given && !found.any() => {
                self.breaks(planned, "the throughput pattern matched no number in its output", output);
                return Ok(());
            }
            Exit::Status(0) => self.progress.ended(planned, finished.wall_ns),
            Exit::Status(status) => self.breaks(planned, &format!("{who}exit status {status}"), output),
            Exit::Signal(signal) => self.breaks(planned, &format!("{who}{}", record::signal_name(signal)), output),
        }
        match self.cases.get_mut(planned.case) {
            Some(going) => going.add(record::row(run, planned, finished), found),
            None => Ok(()),
        }
    }

    /// Gives this count up; the others go on.
    fn breaks(&mut self, planned: Planned, why: &str, output: &Output) {
        let broken = Broken { why: why.to_owned(), output: output.last_lines(LAST_LINES) };
        self.progress.breaks(planned, &broken);
        if let Some(going) = self.cases.get_mut(planned.case) {
            going.breaks(planned, broken);
        }
    }

    fn choose(&mut self) -> anyhow::Result<()> {
        let mut choices: Vec<Option<Choice>> = self.cases.iter().map(|going| going.choice(self.sweep.forms)).collect();
        // Cases are compared with each other: by the time that they print only if all print one.
        if !choices.iter().flatten().all(Choice::allows_times) {
            let times = choices.iter_mut().flatten().filter(|choice| choice.is_time());
            times.for_each(|choice| *choice = Choice::default());
        }
        for (going, choice) in self.cases.iter_mut().zip(choices) {
            choice.map_or(Ok(()), |choice| going.choose(choice))?;
        }
        Ok(())
    }
}
