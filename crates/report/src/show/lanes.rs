//! Lanes as text: one line per thread, one character per bucket.

use super::pick::Pick;
use crate::lanes::levels::bucketed;
use crate::lanes::sampled::sampled;
use crate::lanes::{Class, Span, Timeline};
use crate::observed::Observed;
use crate::{text, words};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Lanes of a stretch of time.
#[derive(Debug)]
pub struct Lanes {
    timeline: Timeline,
    /// Names, in the order of the lanes.
    names: Vec<String>,
    /// Start and end since the run's start, seconds.
    range: (f64, f64),
}

/// The character for a class, in Unicode and in ASCII.
fn glyph(class: Class) -> (char, char) {
    match class {
        Class::User => ('█', '#'),
        Class::System => ('▓', '='),
        Class::Sync => ('▒', '+'),
        Class::Spin => ('◌', '~'),
        Class::Allocator => ('▤', 'a'),
        Class::Runtime => ('▥', 'r'),
        Class::Unsampled => ('░', ':'),
        Class::Runnable => ('▁', '_'),
        Class::Preempted => ('▂', '-'),
        Class::Lock => ('×', 'x'),
        Class::Wait => ('·', '.'),
        Class::Io => ('○', 'o'),
        Class::Sleep => ('z', 'z'),
        Class::Kernel => ('!', '!'),
        Class::Unknown => ('?', '?'),
    }
}

impl Lanes {
    /// The picked part of the lanes: at most `most` threads.
    pub fn new(observed: &Observed<'_, '_>, pick: Pick, most: usize) -> Lanes {
        let most = if pick.tid.is_some() { usize::MAX } else { most };
        let mut timeline = sampled(observed, Timeline::new(observed, most));
        let meant = pick.threads(observed);
        timeline.lanes.retain(|l| meant.contains(&l.thread));
        let (from, to) = pick.range(observed);
        let begin = timeline.begin;
        (timeline.begin, timeline.end) = (from, to.max(from));
        for lane in &mut timeline.lanes {
            let cut = |s: &Span| Span { start: s.start.max(from), end: s.end.min(to), ..*s };
            lane.spans = lane.spans.iter().map(cut).filter(|s| s.end > s.start).collect();
        }
        let names = timeline.lanes.iter().map(|l| observed.thread(l.thread)).collect();
        let since = |time: u64| time.saturating_sub(begin) as f64 / 1e9;
        Lanes { timeline, names, range: (since(from), since(to)) }
    }

    /// One line a thread.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn text(&self, width: usize, unicode: bool, colour: bool, out: &mut dyn Write) -> io::Result<()> {
        let plain = |name: &str| if unicode { text::harmless(name) } else { text::ascii(&text::harmless(name)) };
        let names: Vec<String> = self.names.iter().map(|n| plain(n)).collect();
        let room = names.iter().map(|n| text::width(n)).max().unwrap_or(0).min(24);
        let count = width.saturating_sub(room + 1).max(8);
        let (from, to) = (words::time(self.range.0), words::time(self.range.1));
        let dash = if unicode { "–" } else { "-" };
        let each = words::time((self.range.1 - self.range.0) / count as f64);
        writeln!(out, "{}", plain(&format!("{from} {dash} {to}, one character is {each}")))?;
        let mut used: Vec<Class> = Vec::new();
        for (lane, name) in self.timeline.lanes.iter().zip(&names) {
            let name = text::shorten(name, room);
            let name = if unicode { name } else { text::ascii(&name) };
            write!(out, "{name}{} ", " ".repeat(room.saturating_sub(text::width(&name))))?;
            for (n, kind) in bucketed(&self.timeline, lane, count as u64) {
                let class = kind.map(|k| self.timeline.class(k));
                let mark = class.map_or(' ', |c| if unicode { glyph(c).0 } else { glyph(c).1 });
                let run: String = std::iter::repeat_n(mark, n as usize).collect();
                match class {
                    Some(class) if colour => write!(out, "{0}{run}{0:#}", paint(class))?,
                    _ => write!(out, "{run}")?,
                }
                used.extend(class.filter(|c| !used.contains(c)));
            }
            writeln!(out)?;
        }
        let legend: Vec<String> = Class::ALL
            .iter()
            .filter(|c| used.contains(c))
            .map(|c| format!("{} {}", if unicode { glyph(*c).0 } else { glyph(*c).1 }, c.name()))
            .collect();
        for line in text::wrap(&legend.join(", "), width) {
            writeln!(out, "{line}")?;
        }
        if self.timeline.left_out > 0 {
            writeln!(out, "{} left out", words::plural(self.timeline.left_out as u64, "short thread"))?;
        }
        Ok(())
    }

    /// Every span: thread, seconds since the run's start, what.
    pub fn value(&self, limit: usize) -> Value {
        let mut rows = Vec::new();
        let mut more = 0_usize;
        let since = |time: u64| time.saturating_sub(self.timeline.begin) as f64 / 1e9 + self.range.0;
        for (lane, name) in self.timeline.lanes.iter().zip(&self.names) {
            for span in &lane.spans {
                if rows.len() >= limit {
                    more += 1;
                    continue;
                }
                let kind = self.timeline.kinds.get(span.kind as usize);
                rows.push(json!({
                    "thread": name, "start_s": since(span.start), "end_s": since(span.end),
                    "state": kind.map_or(Class::Unknown, |k| k.class).name(),
                    "what": kind.map(|k| k.label.as_str()).filter(|l| !l.is_empty()),
                    "summed_up": span.mix > 0,
                }));
            }
        }
        json!({ "table": "timeline", "rows": rows, "more": more })
    }

    /// The same as CSV.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn csv(&self, limit: usize, out: &mut dyn Write) -> io::Result<()> {
        use super::view::{Cell, View, column};
        let mut view = View::new(
            "timeline",
            &[
                column("thread", "", ""),
                column("start_s", "", ""),
                column("end_s", "", ""),
                column("state", "", ""),
                column("what", "", ""),
            ],
        );
        let since = |time: u64| time.saturating_sub(self.timeline.begin) as f64 / 1e9 + self.range.0;
        let spans = self.timeline.lanes.iter().zip(&self.names).flat_map(|(l, n)| l.spans.iter().map(move |s| (s, n)));
        for (span, name) in spans.take(limit) {
            let kind = self.timeline.kinds.get(span.kind as usize);
            view.rows.push(vec![
                Cell::text(name.clone()),
                Cell::Seconds(since(span.start)),
                Cell::Seconds(since(span.end)),
                Cell::text(kind.map_or(Class::Unknown, |k| k.class).name()),
                Cell::text(kind.map(|k| k.label.clone()).unwrap_or_default()),
            ]);
        }
        view.csv(out)
    }
}

fn paint(class: Class) -> anstyle::Style {
    use anstyle::AnsiColor;
    let colour = match class {
        Class::User | Class::Unsampled => AnsiColor::Green,
        Class::System | Class::Allocator | Class::Runtime => AnsiColor::Blue,
        Class::Sync | Class::Spin => AnsiColor::Red,
        Class::Lock | Class::Wait | Class::Io | Class::Sleep => AnsiColor::Yellow,
        Class::Kernel => AnsiColor::Red,
        Class::Runnable | Class::Preempted => AnsiColor::Magenta,
        Class::Unknown => AnsiColor::BrightBlack,
    };
    anstyle::Style::new().fg_color(Some(colour.into()))
}
