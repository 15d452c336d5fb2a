//! `knee lab`: the lab's programs, from their sweep files.

use super::sweep;
use crate::cli::{self, LabCommand};
use crate::file::{self, Described, SweepFile};
use crate::gate::Gate;
use crate::job;
use crate::lab::{LabFolder, LabSearch};
use crate::ui;
use report::terminal::sheet::{self, Entry};
use std::path::PathBuf;

pub(crate) fn run(options: &cli::Lab) -> anyhow::Result<ui::Code> {
    let lab = find(options.lab.clone())?;
    match &options.command {
        None => print(&list(&lab)?),
        Some(LabCommand::Show(show)) => print(&shown(&show.name, &file::load(&lab.file(&show.name)?)?)),
        Some(LabCommand::Run(run)) => {
            let job = job::of_file(&file::load(&lab.file(&run.name)?)?, &run.options)?;
            sweep::carry_out(&job, (&run.options.making, &run.options.observing), &Gate::Open, false)
        }
    }
}

/// Names of the lab's programs, for completions; none where no lab is found.
pub(super) fn names() -> Vec<String> {
    let files = find(None).and_then(|lab| lab.files());
    files.map_or(Vec::new(), |files| files.into_iter().map(|(name, _)| name).collect())
}

fn find(given: Option<PathBuf>) -> Result<LabFolder, crate::failure::Failure> {
    LabSearch::of_process(given).find()
}

fn print(entries: &[Entry]) -> anyhow::Result<ui::Code> {
    ui::out(|mut out| sheet::render(entries, ui::style(), &mut out))?;
    Ok(ui::OK)
}

/// One line per program. A file with mistakes is reported and does not hide the others.
fn list(lab: &LabFolder) -> anyhow::Result<Vec<Entry>> {
    let mut entries = vec![
        Entry::Title("Programs, each with a known bottleneck, and their repaired variants".to_owned()),
        Entry::Blank,
    ];
    for (name, path) in lab.files()? {
        entries.push(match file::load(&path) {
            Ok(file) => Entry::Text(name, file.title),
            Err(failure) => Entry::Text(name, format!("{failure}; `knee lab show` says where")),
        });
    }
    entries.extend([
        Entry::Blank,
        Entry::Text(String::new(), "`knee lab show NAME` explains one, `knee lab run NAME` runs it.".to_owned()),
        Entry::Whole(String::new(), format!("The lab is in {}.", lab.folder.display())),
    ]);
    Ok(entries)
}

fn shown(name: &str, file: &SweepFile) -> Vec<Entry> {
    let mut entries = vec![Entry::Title(file.title.clone())];
    if !file.about.is_empty() {
        entries.push(Entry::Text(String::new(), file.about.clone()));
    }
    for described in &file.variants {
        entries.push(Entry::Heading(described.variant.name.clone(), described.about.clone().unwrap_or_default()));
        entries.extend(variant(described));
    }
    if !file.parameters.is_empty() {
        entries.push(Entry::Heading("Parameters".to_owned(), String::new()));
        let values = file.parameters.iter().map(|p| Entry::Text(p.name.clone(), p.values.join(", ")));
        entries.extend(values);
    }
    if let Some(published) = &file.published {
        entries.push(Entry::Heading("Published".to_owned(), String::new()));
        entries.push(Entry::Text("source".to_owned(), published.source.clone()));
        entries.extend(published.machine.iter().map(|machine| Entry::Text("machine".to_owned(), machine.clone())));
        for (i, figure) in published.figures.iter().enumerate() {
            let label = if i == 0 { "figures" } else { "" };
            entries.push(Entry::Text(label.to_owned(), figure.clone()));
        }
    }
    entries.push(Entry::Heading("To see it".to_owned(), String::new()));
    entries.push(Entry::Whole("sweep".to_owned(), format!("knee lab run {name}")));
    if let Some(build) = &file.build {
        let build = build.replace("{folder}", &file.folder.display().to_string());
        entries.push(Entry::Whole("build first".to_owned(), build));
    }
    entries.push(Entry::Whole("file".to_owned(), file.path.display().to_string()));
    entries
}

fn variant(described: &Described) -> Vec<Entry> {
    let variant = &described.variant;
    let own = variant.parameters.iter().fold(variant.template.clone(), |template, parameter| {
        match parameter.values.as_slice() {
            [only] => template.with(&crate::plan::template::placeholder(&parameter.name), only),
            _ => template,
        }
    });
    let env = own.env.iter().map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()));
    let words = own.argv.iter().map(|word| word.to_string_lossy().into_owned());
    let command = env.chain(words).collect::<Vec<_>>().join(" ");
    let mut entries = Vec::new();
    if !variant.expect.is_empty() {
        entries.push(Entry::Text("cause".to_owned(), variant.expect.join(", ")));
    }
    entries.extend(described.place.iter().map(|place| Entry::Text("place".to_owned(), place.clone())));
    entries.extend(described.repair.iter().map(|repair| Entry::Text("repair".to_owned(), repair.clone())));
    if !described.needs.is_empty() {
        entries.push(Entry::Text("needs".to_owned(), described.needs.join(", ")));
    }
    entries.push(Entry::Whole("command".to_owned(), command));
    entries
}
