//! Numbers as bytes, compressed, as text inside the page. May import: flate2, base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::Value;
use std::io::{self, Write};

/// Everything that the scripts read.
#[derive(Debug, Default)]
pub(super) struct Packed {
    /// What there is, small.
    pub(super) index: Value,
    /// The large parts, by name.
    parts: Vec<(String, Vec<u8>)>,
    /// What was left out for the page's size, in sentences.
    pub(super) thinned: Vec<String>,
}

impl Packed {
    /// Keeps a part that [`compress`] made.
    pub(super) fn keep(&mut self, name: String, compressed: Vec<u8>) {
        self.parts.push((name, compressed));
    }

    /// As data blocks: elements whose type no browser runs (HTML standard, 4.12.1).
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for (name, bytes) in &self.parts {
            writeln!(
                out,
                "<script type=\"application/octet-stream\" id=\"{name}\">{}</script>",
                STANDARD.encode(bytes)
            )?;
        }
        // A `<` in a string could end the element.
        let index = self.index.to_string().replace('<', "\\u003c");
        writeln!(out, "<script type=\"application/json\" id=\"index\">{index}</script>")
    }
}

/// DEFLATE without a header, as the browsers' `DecompressionStream("deflate-raw")` reads it.
pub(super) fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// A number in groups of seven bits, the lowest first, the top bit set where more follow (LEB128).
pub(super) fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
