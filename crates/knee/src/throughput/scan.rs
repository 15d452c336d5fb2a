//! Scans one run's output line by line while it is printed, in bounded memory.

use super::forms::Forms;
use super::times::TimeMatch;
use super::tools::LoadReport;

/// Longer lines are cut to this: results are printed in short lines.
const LONGEST_LINE: usize = 4096;

/// What a form found in a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Match {
    /// How many times it matched.
    pub(crate) count: u64,
    /// The last match's number.
    pub(crate) value: Option<f64>,
    /// Its unit.
    pub(crate) unit: String,
}

/// What was found in a run's output.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Found {
    /// What every form found, in the order of the forms.
    pub(crate) forms: Vec<Match>,
    /// What every form of a time found.
    pub(crate) times: Vec<TimeMatch>,
    /// The report of a known load.
    pub(crate) load: Option<LoadReport>,
}

impl Found {
    /// True when any form matched with a usable number.
    pub(crate) fn any(&self) -> bool {
        self.forms.iter().any(|found| found.value.is_some())
    }
}

/// Splits two streams into lines and searches them for the forms, while the target runs (and waits if this is slow).
#[derive(Debug)]
pub(crate) struct Scanner<'f> {
    forms: &'f Forms,
    lines: [Vec<u8>; 2],
    found: Found,
}

impl<'f> Scanner<'f> {
    pub(crate) fn new(forms: &'f Forms) -> Scanner<'f> {
        Scanner {
            forms,
            lines: [Vec::new(), Vec::new()],
            found: Found {
                forms: vec![Match::default(); forms.forms.len()],
                times: vec![TimeMatch::default(); forms.times.len()],
                load: None,
            },
        }
    }

    /// The next bytes of stream 0 (standard output) or 1 (standard error).
    pub(crate) fn bytes(&mut self, stream: usize, mut bytes: &[u8]) {
        // Progress displays end their lines with a carriage return.
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            self.keep(stream, &bytes[..end]);
            self.line(stream);
            bytes = &bytes[end + 1..];
        }
        self.keep(stream, bytes);
    }

    /// The output has ended.
    pub(crate) fn finish(mut self) -> Found {
        self.line(0);
        self.line(1);
        self.found
    }

    fn keep(&mut self, stream: usize, bytes: &[u8]) {
        let line = &mut self.lines[stream];
        let room = LONGEST_LINE.saturating_sub(line.len());
        line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&mut self, stream: usize) {
        let line = std::mem::take(&mut self.lines[stream]);
        if line.is_empty() {
            return;
        }
        let Forms { forms, times, set, given } = self.forms;
        let matches = (*given || is_text(&line)).then(|| set.matches(&line));
        for index in matches.iter().flatten() {
            let Some(form) = forms.get(index) else {
                let index = index - forms.len();
                let found = &mut self.found.times[index];
                // Of two times none is used: a log with one in each line need not be read on.
                if found.count > 1 {
                    continue;
                }
                for time in times[index].matches(&line) {
                    found.count += 1;
                    found.last = Some(time);
                }
                continue;
            };
            let found = &mut self.found.forms[index];
            for (value, unit) in form.matches(&line) {
                found.count += 1;
                found.value = value;
                found.unit = unit;
            }
        }
        // Reuse the buffer: chatty programs print millions of lines.
        let mut line = line;
        line.clear();
        self.lines[stream] = line;
    }
}

/// True for a line that a program prints for people: of a compressed stream, some bytes look like a number and a unit.
/// Progress displays move back and set colours.
fn is_text(line: &[u8]) -> bool {
    let shown = |byte: &u8| *byte >= b' ' || matches!(byte, b'\t' | b'\x07' | b'\x08' | b'\x0b' | b'\x0c' | b'\x1b');
    // A line that was cut may end within a character.
    let whole = std::str::from_utf8(line).map_or_else(|error| error.error_len().is_none(), |_| true);
    whole && line.iter().all(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(forms: &Forms, output: &[u8]) -> Vec<f64> {
        let mut scanner = Scanner::new(forms);
        output.chunks(7).for_each(|piece| scanner.bytes(0, piece));
        scanner.finish().forms.iter().filter_map(|found| found.value).collect()
    }

    #[test]
    fn numbers_in_binary_output_are_no_rate() {
        let forms = Forms::common().unwrap();
        for line in [&b"\x03k\x9f 5.000 ops/s \xe2"[..], b"5.000 ops/s \x9f\xff", b"\x01 5.000 ops/s"] {
            assert!(rates(&forms, line).is_empty(), "{line:?}");
        }
        // Near misses: a colour, a character of several bytes, and one that the end of the line cuts.
        for line in ["\x1b[1m 5.000 ops/s\x1b[0m", "Größe: 5.000 ops/s"] {
            let found = rates(&forms, line.as_bytes());
            assert!(!found.is_empty() && found.iter().all(|rate| *rate == 5.0), "{line:?}: {found:?}");
        }
        let mut cut = b"5.000 ops/s ".to_vec();
        cut.resize(LONGEST_LINE - 1, b' ');
        cut.extend("ß".as_bytes());
        assert!(rates(&forms, &cut).contains(&5.0));
    }

    #[test]
    fn a_given_pattern_is_looked_for_in_every_line() {
        let forms = Forms::given("([0-9.]+) ops").unwrap();
        assert_eq!(rates(&forms, b"\xb5 5.000 ops/s"), [5.0]);
    }
}
