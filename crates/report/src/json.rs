//! The answer for programs: `--format json` and `verdict.json`.
//!
//! `docs/answer.schema.json` describes the shape; a test checks that they agree.

use crate::text::is_visible;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes an answer (or a part of one) as indented JSON with a line feed at the end.
///
/// JSON may be shown on a terminal, so every character that could control a terminal is written as an escape.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(answer: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    let text = serde_json::to_string_pretty(answer)?;
    let mut safe = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        // Outside strings JSON has only ASCII and line feeds, so whatever is escaped here is inside a string.
        if c == '\n' || is_visible(c) {
            safe.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(safe, "\\u{unit:04x}").map_err(io::Error::other)?;
            }
        }
    }
    safe.push('\n');
    out.write_all(safe.as_bytes())
}
