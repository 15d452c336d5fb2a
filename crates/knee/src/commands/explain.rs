//! `knee explain`: what a cause means. May import: analyze's descriptions, report's text, `ui`.

use crate::cli::{Explain, ExplainFormat};
use crate::failure::{Failure, Status};
use crate::file::nearest;
use crate::ui;
use analyze::causes::{Description, all, none};
use report::text::wrap;
use serde_json::{Value, to_value};
use std::io::{self, Write};

pub(crate) fn run(options: &Explain) -> anyhow::Result<ui::Code> {
    let known: Vec<&Description> = all().chain([&none::DESCRIPTION]).collect();
    let chosen: Vec<&Description> = match &options.id {
        Some(wanted) => known.iter().filter(|d| name(d) == *wanted).copied().collect(),
        None => known,
    };
    if let (Some(wanted), []) = (&options.id, chosen.as_slice()) {
        let message = format!("there is no cause `{wanted}`");
        return Err(Failure::new(Status::Usage, message).hint(meant(wanted)).into());
    }
    let whole = options.all || options.id.is_some();
    ui::out(|out| match (whole, options.format) {
        (true, ExplainFormat::Text) => text(out, &chosen),
        (true, ExplainFormat::Markdown) => markdown(out, &chosen),
        (false, ExplainFormat::Text) => list(out, &chosen),
        (false, ExplainFormat::Markdown) => table(out, &chosen),
    })?;
    Ok(ui::OK)
}

/// The causes that a wrong name may stand for: those that contain it, else the one that looks like it.
fn meant(wanted: &str) -> String {
    let names: Vec<String> = all().chain([&none::DESCRIPTION]).map(name).collect();
    let wanted = wanted.to_lowercase();
    let mut near: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.contains(&wanted)).collect();
    if near.is_empty() {
        near.extend(nearest(&wanted, names.iter().map(String::as_str)));
    }
    match near.as_slice() {
        [] => "`knee explain` lists them all".to_owned(),
        near => format!("did you mean {}? `knee explain` lists them all", near.join(" or ")),
    }
}

/// The parts of an explanation, each with its heading.
fn parts(description: &Description) -> [(&'static str, &'static str); 4] {
    [
        ("What it is", description.what),
        ("What it costs", description.why),
        ("Example", description.example),
        ("What would disprove it", description.disproved_by),
    ]
}

fn text(out: &mut dyn Write, descriptions: &[&Description]) -> io::Result<()> {
    let width = ui::style().width.saturating_sub(2);
    for (i, description) in descriptions.iter().enumerate() {
        let gap = if i == 0 { "" } else { "\n" };
        writeln!(out, "{gap}{}: {}", name(description), description.title)?;
        for (title, text) in parts(description) {
            writeln!(out, "\n{title}")?;
            for line in wrap(text, width) {
                writeln!(out, "  {line}")?;
            }
        }
    }
    Ok(())
}

/// A section for each. The texts are knee's own and hold nothing that Markdown would take for markup.
fn markdown(out: &mut dyn Write, descriptions: &[&Description]) -> io::Result<()> {
    for (i, description) in descriptions.iter().enumerate() {
        let gap = if i == 0 { "" } else { "\n" };
        writeln!(out, "{gap}## {}\n\n**{}.**", name(description), description.title)?;
        for (title, text) in parts(description) {
            writeln!(out, "\n*{title}:* {text}")?;
        }
    }
    Ok(())
}

fn list(out: &mut dyn Write, descriptions: &[&Description]) -> io::Result<()> {
    for description in descriptions {
        writeln!(out, "{:<16} {}", name(description), description.title)?;
    }
    writeln!(out, "\n`knee explain ID` tells more about one.")
}

fn table(out: &mut dyn Write, descriptions: &[&Description]) -> io::Result<()> {
    writeln!(out, "| cause | in short |\n|---|---|")?;
    descriptions.iter().try_for_each(|d| writeln!(out, "| [`{0}`](#{0}) | {1} |", name(d), d.title))
}

/// The name that answers use.
fn name(description: &Description) -> String {
    match to_value(description.id) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}
