//! What a machine allows, for `knee doctor`.

use super::Style;
use super::page::Page;
use super::style::Tone;
use recording::meta::Capability;
use std::io::{self, Write};

/// A longer name loses its middle.
const LONGEST: usize = 36;

/// Writes one block per capability: whether it is there and why, what its absence costs, what would enable it.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(capabilities: &[Capability], style: Style, out: &mut impl Write) -> io::Result<()> {
    let page = &mut Page::new(out, style, false);
    let longest = capabilities.iter().map(|c| crate::text::width(&page.shown(&c.what))).max().unwrap_or(0).min(LONGEST);
    for capability in capabilities {
        let what = crate::text::shorten(&page.shown(&capability.what), longest);
        let pad = " ".repeat(longest - crate::text::width(&what));
        let (sign, tone) = if capability.available { ("yes", Tone::Plain) } else { ("NO ", Tone::Warning) };
        page.paragraph(&format!("{sign}  {what}{pad}  "), tone, &capability.why)?;
        if !capability.available {
            page.paragraph("     costs   ", Tone::Plain, &capability.costs)?;
            if let Some(command) = &capability.unlock {
                page.whole("     unlock  ", command)?;
            }
        }
    }
    Ok(())
}
