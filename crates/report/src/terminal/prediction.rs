//! What more processors would bring: the page of `knee predict`.

use super::Style;
use super::page::Page;
use super::style::Tone;
use super::table::{Lean, Table};
use crate::prediction::{below, headline, reading, refusal, table};
use analyze::prediction::Prediction;
use std::io::{self, Write};

/// Writes a prediction, for people.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(prediction: &Prediction, style: Style, out: &mut impl Write) -> io::Result<()> {
    let page = &mut Page::new(out, style, false);
    page.command("", &prediction.command)?;
    if let Some(refused) = &prediction.refused {
        page.blank()?;
        return page.paragraph("", Tone::Warning, &refusal(refused));
    }
    page.paragraph("", Tone::Strong, &headline(prediction))?;
    page.blank()?;
    let told = table(prediction);
    let mut shown = Table::default();
    for title in &told.titles {
        let lean = if *title == "limited by" { Lean::Left } else { Lean::Right };
        shown.column(*title, lean, 0);
    }
    told.rows.into_iter().for_each(|cells| shown.row(Tone::Plain, cells));
    page.table(&shown)?;
    page.blank()?;
    for text in below(prediction) {
        page.paragraph("", Tone::Plain, &text)?;
    }
    reading(prediction).map_or(Ok(()), |reading| page.paragraph("", Tone::Faint, reading))
}
