//! One screen of text: the verdict, the curve, the account, the causes, what could not be seen, where the files are.
//!
//! Rooms: `style` how to write; `page` the only way to the output (makes text harmless, keeps to the width, colours);
//! `table` columns; `curve`, `account`, `causes`, `ending` the parts of the answer; `capabilities` the table of
//! `knee doctor`; `compared` the pages of `knee diff`, `knee compare` and `knee try`; `cases` the variants of a sweep side by
//! side, with their curves drawn by `plot`; `what_if` that of `knee what-if`, `prediction` that of `knee predict`; [`sheet`] headings and texts for everything
//! else.
//!
//! May import: `comparison`, `culprit`, `experiment`, `pair`, `prediction`, `requests`, `text`, `words`, `analyze`, `recording`, anstyle.

mod account;
mod capabilities;
mod cases;
mod causes;
mod compared;
mod curve;
mod ending;
mod page;
mod plot;
mod prediction;
pub mod sheet;
mod style;
mod table;
mod what_if;

use analyze::answer::Answer;
pub use capabilities::render as render_capabilities;
pub use cases::render as render_cases;
pub use compared::{render_comparison, render_experiment, render_pair};
pub use ending::SweepFiles;
use page::Page;
pub use prediction::render as render_prediction;
use recording::meta::Machine;
use std::io::{self, Write};
pub use style::Style;
use style::Tone;
pub use what_if::render as render_what_if;

/// Lines that fit one screen of a usual terminal window.
const SCREEN: usize = 40;

/// Writes the answer for people.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(answer: &Answer, files: &SweepFiles<'_>, style: Style, out: &mut impl Write) -> io::Result<()> {
    let mut text = Vec::new();
    page(answer, files, &mut Page::new(&mut text, style, false))?;
    if !style.whole && text.iter().filter(|byte| **byte == b'\n').count() > SCREEN {
        text.clear();
        page(answer, files, &mut Page::new(&mut text, style, true))?;
    }
    out.write_all(&text)
}

fn page(answer: &Answer, files: &SweepFiles<'_>, page: &mut Page<'_>) -> io::Result<()> {
    page.rest = if files.beside.contains(&"report.html") { "report.html" } else { page.rest };
    headline(answer, page)?;
    curve::render(answer, page)?;
    account::render(answer, page)?;
    causes::render(answer, page)?;
    ending::render(answer, files, page)
}

/// The verdict comes first: it is what readers look for.
fn headline(answer: &Answer, page: &mut Page<'_>) -> io::Result<()> {
    let nothing_wrong = answer.verdict.causes.first().is_none_or(|cause| !cause.is_found());
    let tone = if nothing_wrong { Tone::Strong } else { Tone::Alert };
    if !answer.verdict.summary.is_empty() {
        page.paragraph("", tone, &answer.verdict.summary)?;
        page.blank()?;
    }
    page.command("", &answer.command)?;
    if let Some(load) = &answer.load {
        page.command("under the load ", &load.command)?;
    }
    machine(&answer.machine, page)
}

fn machine(machine: &Machine, page: &mut Page<'_>) -> io::Result<()> {
    let mut place = format!("{} of {} processors", machine.usable_processors, machine.processors);
    if machine.usable_processors == machine.processors {
        place = crate::words::plural(machine.processors.into(), "processor");
    }
    if machine.usable_cores < machine.usable_processors && machine.usable_cores > 0 {
        place += &format!(" ({})", crate::words::plural(machine.usable_cores.into(), "core"));
    }
    let virtual_machine = match machine.hypervisor.as_deref() {
        Some("unknown") => ", virtual machine".to_owned(),
        Some(hypervisor) => format!(", virtual machine ({hypervisor})"),
        None => String::new(),
    };
    // Parts of the machine may be unknown in an imported profile.
    let mut words = place;
    if !machine.model.is_empty() {
        words += &format!(", {}", machine.model);
    }
    if !machine.kernel.is_empty() {
        words += &format!(", Linux {}", machine.kernel);
    }
    page.paragraph("", Tone::Faint, &format!("{words}{virtual_machine}"))
}
