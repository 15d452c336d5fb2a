//! What a run printed: the beginning and the end are kept; of the middle of a long output only the size.

use crate::throughput::{Found, Scanner};
use collect::{OutputSink, Stream};
use std::collections::VecDeque;
use std::io;
use std::path::Path;

/// How many bytes are kept of each stream's beginning, and as many of its end.
const KEPT: usize = 64 << 10;

/// One stream.
#[derive(Debug, Default)]
struct KeptStream {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl KeptStream {
    fn bytes(&mut self, bytes: &[u8]) {
        let room = KEPT - self.head.len();
        let (head, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(head);
        // Only the end of a large piece can be kept.
        let end = &rest[rest.len().saturating_sub(KEPT)..];
        self.left_out += (rest.len() - end.len()) as u64;
        let excess = (self.tail.len() + end.len()).saturating_sub(KEPT);
        self.left_out += excess as u64;
        self.tail.drain(..excess);
        self.tail.extend(end);
    }

    fn text(&self) -> Vec<u8> {
        let mut text = self.head.clone();
        if self.left_out > 0 {
            text.extend_from_slice(format!("\n[knee: {} bytes left out]\n", self.left_out).as_bytes());
        }
        text.extend(&self.tail);
        text
    }
}

/// Receives a run's output while it is printed.
#[derive(Debug)]
pub(crate) struct Capture<'f> {
    streams: [KeptStream; 2],
    scanner: Option<Scanner<'f>>,
}

impl<'f> Capture<'f> {
    /// Without a scanner the output is not searched.
    pub(crate) fn new(scanner: Option<Scanner<'f>>) -> Capture<'f> {
        Capture { streams: Default::default(), scanner }
    }

    /// The kept output, and what the throughput forms found in it.
    pub(crate) fn finish(self) -> (Output, Found) {
        let [out, err] = self.streams.each_ref().map(KeptStream::text);
        (Output { out, err }, self.scanner.map(Scanner::finish).unwrap_or_default())
    }
}

impl OutputSink for Capture<'_> {
    fn bytes(&mut self, stream: Stream, bytes: &[u8]) {
        let index = usize::from(stream == Stream::Err);
        self.streams[index].bytes(bytes);
        self.scanner.iter_mut().for_each(|scanner| scanner.bytes(index, bytes));
    }
}

/// What is kept of a run's output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Output {
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
}

impl Output {
    /// Writes `run-NNN.out` and `run-NNN.err`, with `infix` before the last dot; an empty stream gets no file.
    pub(crate) fn write(&self, folder: &Path, run: u32, infix: &str) -> io::Result<()> {
        for (bytes, extension) in [(&self.out, "out"), (&self.err, "err")] {
            if !bytes.is_empty() {
                recording::private::write(&folder.join(format!("run-{run:03}{infix}.{extension}")), bytes)?;
            }
        }
        Ok(())
    }

    /// The last lines, at most `most`. Standard error takes precedence, because programs report errors there.
    pub(crate) fn last_lines(&self, most: usize) -> Vec<String> {
        let mut lines = last(&self.out, most);
        let errors = last(&self.err, most);
        lines.drain(..(lines.len() + errors.len()).saturating_sub(most).min(lines.len()));
        lines.extend(errors);
        lines
    }

    /// The kept output as text, standard output first.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}", String::from_utf8_lossy(&self.out), String::from_utf8_lossy(&self.err))
    }

    /// All lines, standard output first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = last(&self.out, usize::MAX);
        lines.extend(last(&self.err, usize::MAX));
        lines
    }
}

fn last(bytes: &[u8], most: usize) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(most)..].iter().map(|line| line.replace('\t', "    ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_outputs_are_whole() {
        let mut kept = KeptStream::default();
        kept.bytes(b"one\n");
        kept.bytes(b"two\n");
        assert_eq!(kept.text(), b"one\ntwo\n");
    }

    #[test]
    fn long_outputs_keep_both_ends() {
        for piece in [1_000, 65_536, 1 << 20] {
            let mut kept = KeptStream::default();
            let all: Vec<u8> = (0..1_000_000_u32).flat_map(|i| (i % 251).to_le_bytes()).collect();
            all.chunks(piece).for_each(|bytes| kept.bytes(bytes));
            assert!(kept.head.len() == KEPT && kept.tail.len() == KEPT);
            assert_eq!(kept.left_out as usize, all.len() - 2 * KEPT);
            let text = kept.text();
            assert!(text.starts_with(&all[..KEPT]) && text.ends_with(&all[all.len() - KEPT..]));
        }
    }

    #[test]
    fn standard_error_comes_last() {
        let output = Output { out: b"1\n2\n3\n".to_vec(), err: b"no\tfile\n\n".to_vec() };
        assert_eq!(output.last_lines(3), ["2", "3", "no    file"]);
        assert_eq!(output.last_lines(1), ["no    file"]);
        assert_eq!(Output::default().last_lines(5), Vec::<String>::new());
    }
}
