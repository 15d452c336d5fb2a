//! `knee explain`: what a cause means. May import: analyze's descriptions, report's text, `ui`.

use crate::cli::Explain;
use crate::failure::{Failure, Status};
use crate::ui;
use analyze::causes::{Description, all, describe, none};
use report::text::wrap;
use serde_json::{Value, to_value};

pub(crate) fn run(options: &Explain) -> anyhow::Result<ui::Code> {
    let Some(wanted) = &options.id else {
        return list();
    };
    let known = all().chain([&none::DESCRIPTION]).find(|d| name(d) == *wanted);
    let Some(description) = known.and_then(|d| describe(d.id)) else {
        let message = format!("there is no cause `{wanted}`");
        return Err(Failure::new(Status::Usage, message).hint("`knee explain` lists them all").into());
    };
    let width = ui::style().width;
    ui::out(|out| {
        writeln!(out, "{}: {}", name(description), description.title)?;
        let parts = [
            ("What it is", description.what),
            ("What it costs", description.why),
            ("Example", description.example),
            ("What would disprove it", description.disproved_by),
        ];
        for (title, text) in parts {
            writeln!(out, "\n{title}")?;
            for line in wrap(text, width.saturating_sub(2)) {
                writeln!(out, "  {line}")?;
            }
        }
        Ok(())
    })?;
    Ok(ui::OK)
}

fn list() -> anyhow::Result<ui::Code> {
    ui::out(|out| {
        for description in all().chain([&none::DESCRIPTION]) {
            writeln!(out, "{:<16} {}", name(description), description.title)?;
        }
        writeln!(out, "\n`knee explain ID` tells more about one.")
    })?;
    Ok(ui::OK)
}

/// The name that answers use.
fn name(description: &Description) -> String {
    match to_value(description.id) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}
