//! `knee explain`: what a cause means.

use crate::cli::{Explain, ExplainFormat};
use crate::failure::{Failure, Status};
use crate::file::nearest;
use crate::ui;
use analyze::causes::{Meta, with_none};
use report::text::wrap;
use std::io::{self, Write};

pub(crate) fn run(options: &Explain) -> anyhow::Result<ui::Code> {
    let known: Vec<&Meta> = with_none().collect();
    let chosen: Vec<&Meta> = match &options.id {
        Some(wanted) => known.iter().filter(|d| name(d) == *wanted).copied().collect(),
        None => known,
    };
    if let (Some(wanted), []) = (&options.id, chosen.as_slice()) {
        let message = format!("there is no cause `{wanted}`");
        return Err(Failure::new(Status::Usage, message).hint(suggestion(wanted)).into());
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

/// A hint about a name that no cause has: the causes whose names contain it, else the most similar one.
fn suggestion(wanted: &str) -> String {
    let names: Vec<&str> = with_none().map(name).collect();
    let wanted = wanted.to_lowercase();
    let mut near: Vec<&str> = names.iter().copied().filter(|name| name.contains(&wanted)).collect();
    if near.is_empty() {
        near.extend(nearest(&wanted, names.iter().copied()));
    }
    match near.as_slice() {
        [] => "`knee explain` lists them all".to_owned(),
        near => format!("did you mean {}? `knee explain` lists them all", near.join(" or ")),
    }
}

/// The parts of an explanation, each with its heading.
fn parts(meta: &Meta) -> [(&'static str, &'static str); 4] {
    [
        ("What it is", meta.what),
        ("What it costs", meta.why),
        ("Example", meta.example),
        ("What would disprove it", meta.disproved_by),
    ]
}

fn text(out: &mut dyn Write, metas: &[&Meta]) -> io::Result<()> {
    let width = ui::style().prose().saturating_sub(2);
    for (i, meta) in metas.iter().enumerate() {
        let gap = if i == 0 { "" } else { "\n" };
        writeln!(out, "{gap}{}: {}", name(meta), meta.title)?;
        for (title, text) in parts(meta) {
            writeln!(out, "\n{title}")?;
            for line in wrap(text, width) {
                writeln!(out, "  {line}")?;
            }
        }
    }
    Ok(())
}

/// One section per cause. The texts are knee's own and contain nothing that Markdown would take for markup.
fn markdown(out: &mut dyn Write, metas: &[&Meta]) -> io::Result<()> {
    for (i, meta) in metas.iter().enumerate() {
        let gap = if i == 0 { "" } else { "\n" };
        writeln!(out, "{gap}## {}\n\n**{}.**", name(meta), meta.title)?;
        for (title, text) in parts(meta) {
            writeln!(out, "\n*{title}:* {text}")?;
        }
    }
    Ok(())
}

fn list(out: &mut dyn Write, metas: &[&Meta]) -> io::Result<()> {
    for meta in metas {
        writeln!(out, "{:<16} {}", name(meta), meta.title)?;
    }
    writeln!(out, "\n`knee explain ID` tells more about one.")
}

fn table(out: &mut dyn Write, metas: &[&Meta]) -> io::Result<()> {
    writeln!(out, "| cause | in short |\n|---|---|")?;
    metas.iter().try_for_each(|d| writeln!(out, "| [`{0}`](#{0}) | {1} |", name(d), d.title))
}

/// The name that answers use.
fn name(meta: &Meta) -> &'static str {
    meta.id.name()
}
