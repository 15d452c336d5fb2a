//! Numbers as bytes, compressed and written as text inside the page; also how a lane becomes numbers.

use crate::lanes::Span;
use crate::lanes::levels::Stretch;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::Value;
use std::io::{self, Write};

/// Everything that the scripts read.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    /// The index: small, and describes the parts.
    pub(crate) index: Value,
    /// The large parts, by name.
    parts: Vec<(String, Vec<u8>)>,
    /// What was left out for the page's size, in sentences.
    pub(crate) thinned: Vec<String>,
}

impl Packed {
    /// Keeps a part that [`compress`] made.
    pub(crate) fn keep(&mut self, name: String, compressed: Vec<u8>) {
        self.parts.push((name, compressed));
    }

    /// As data blocks: elements whose type no browser runs (HTML standard, 4.12.1).
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
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
pub(crate) struct Compressor(DeflateEncoder<Vec<u8>>);

impl Default for Compressor {
    fn default() -> Compressor {
        Compressor(DeflateEncoder::new(Vec::new(), Compression::default()))
    }
}

impl Compressor {
    /// Adds bytes at the end.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Compressed bytes so far: some of what was added may still be missing.
    pub(crate) fn len(&self) -> usize {
        self.0.get_ref().len()
    }

    pub(crate) fn finish(self) -> io::Result<Vec<u8>> {
        self.0.finish()
    }
}

/// All of it at once.
pub(crate) fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressor = Compressor::default();
    compressor.add(bytes)?;
    compressor.finish()
}

/// A number in groups of seven bits, the lowest first; the top bit is set when more follow (LEB128).
pub(crate) fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A lane in buckets: the number of stretches, then for each its length in buckets and its kind + 1 (0 for none).
pub(crate) fn write_stretches(stretches: &[Stretch], bytes: &mut Vec<u8>) {
    number(stretches.len() as u64, bytes);
    for (length, kind) in stretches {
        number(*length, bytes);
        number(kind.map_or(0, |k| u64::from(k) + 1), bytes);
    }
}

/// A lane as it was recorded: the number of spans, then for each its distance from the one before (for the first, from
/// the run's start), its length in nanoseconds, and kind × 2, plus 1 when the span is summed up.
pub(crate) fn write_spans(spans: &[Span], begin: u64, bytes: &mut Vec<u8>) {
    number(spans.len() as u64, bytes);
    let mut at = begin;
    for span in spans {
        number(span.start.saturating_sub(at), bytes);
        number(span.end - span.start, bytes);
        number(u64::from(span.kind) * 2 + u64::from(span.mix > 0), bytes);
        at = span.end;
    }
}
