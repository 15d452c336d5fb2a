//! What a machine allows, for `knee doctor`. May import: `page`.

use super::Style;
use super::page::{Page, Tone};
use recording::meta::Capability;
use std::io::{self, Write};

/// Writes one block a capability: whether it is there and why, and what its absence costs and would lift it.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(capabilities: &[Capability], style: Style, out: &mut impl Write) -> io::Result<()> {
    let page = &mut Page::new(out, style, false);
    let longest = capabilities.iter().map(|c| crate::text::width(&page.shown(&c.what))).max().unwrap_or(0).min(28);
    for capability in capabilities {
        let what = crate::text::shorten(&page.shown(&capability.what), longest);
        let pad = " ".repeat(longest - crate::text::width(&what));
        let (sign, tone) = if capability.available { ("yes", Tone::Plain) } else { ("NO ", Tone::Warning) };
        page.paragraph(&format!("{what}{pad}  {sign}  "), tone, &capability.why, 4)?;
        if !capability.available {
            let indent = " ".repeat(longest + 7);
            page.paragraph(&format!("{indent}costs: "), Tone::Plain, &capability.costs, 4)?;
            if let Some(command) = &capability.unlock {
                page.whole(&format!("{indent}unlock: "), command)?;
            }
        }
    }
    Ok(())
}
