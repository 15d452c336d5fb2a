//! The only way to write text into the page: text from the target is made harmless and escaped here.

use crate::text;

/// Longer names lose their middle: a name of 100 kB is an attack or a template, and nobody reads it.
const LONGEST: usize = 300;

/// HTML being written.
#[derive(Debug, Default)]
pub(in crate::html) struct Markup(String);

impl Markup {
    /// Markup of the page's own. Never anything that came from a recording.
    pub(in crate::html) fn raw(&mut self, html: &str) -> &mut Markup {
        self.0.push_str(html);
        self
    }

    /// A text: for elements and for attributes in double quotes.
    pub(in crate::html) fn text(&mut self, text: &str) -> &mut Markup {
        self.0.push_str(&escape(text));
        self
    }

    /// A name in a narrow place: a long one may break after the dividers of its parts, and a number stays with its `%`.
    pub(in crate::html) fn name(&mut self, text: &str) -> &mut Markup {
        self.0.push_str(&breakable(text));
        self
    }

    /// Sentences: a number stays with its `%`. Not for text that people copy.
    pub(in crate::html) fn sentence(&mut self, text: &str) -> &mut Markup {
        let mut whole = String::with_capacity(text.len());
        let mut rest = escape(text);
        while let Some(at) = rest.find(" %") {
            let tail = rest.split_off(at);
            let number = rest.ends_with(|c: char| c.is_ascii_digit());
            whole.push_str(&rest);
            whole.push_str(if number { "&nbsp;%" } else { " %" });
            rest = tail.get(2..).unwrap_or("").to_owned();
        }
        whole.push_str(&rest);
        self.raw(&whole)
    }

    /// A paragraph.
    pub(in crate::html) fn p(&mut self, class: &str, text: &str) -> &mut Markup {
        self.raw(&format!("<p class=\"{class}\">")).sentence(text).raw("</p>\n")
    }

    pub(in crate::html) fn html(&self) -> &str {
        &self.0
    }

    pub(in crate::html) fn into_html(self) -> String {
        self.0
    }
}

/// A text without control characters, of a length that can be read.
pub(in crate::html) fn readable(text: &str) -> String {
    // Shortened before the slower work on characters: a name may have 100,000 characters, a page 10,000 names.
    let few = if text.len() > 8 * LONGEST { cut(text, 4 * LONGEST) } else { text.to_owned() };
    text::shorten(&text::harmless(&few), LONGEST)
}

/// Keeps about `each` bytes at both ends, whole characters.
fn cut(text: &str, each: usize) -> String {
    let head = text.char_indices().map(|(i, _)| i).take_while(|i| *i <= each).last().unwrap_or(0);
    let from = text.len().saturating_sub(each);
    let tail = text.char_indices().map(|(i, _)| i).find(|i| *i >= from).unwrap_or(text.len());
    format!("{}…{}", text.get(..head).unwrap_or(""), text.get(tail..).unwrap_or(""))
}

/// Escapes the five characters that have a meaning in HTML, in text made harmless. A text beyond 2000 bytes is cut as
/// by [`readable`]; the analysis writes no sentence that long, so only names are ever cut.
pub(in crate::html) fn escape(text: &str) -> String {
    let whole = if text.len() <= 2000 { text::harmless(text) } else { readable(text) };
    let mut safe = String::with_capacity(whole.len());
    for c in whole.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// Shorter words are never broken.
const BREAKS_FROM: usize = 13;

/// The [`escape`]d text with marks where long words may break.
fn breakable(text: &str) -> String {
    let mut whole = String::with_capacity(text.len() + 16);
    for (i, word) in text.split(' ').enumerate() {
        if i > 0 {
            let percent = word.starts_with('%') && text.contains(|c: char| c.is_ascii_digit());
            whole.push_str(if percent { "&nbsp;" } else { " " });
        }
        if word.chars().count() < BREAKS_FROM {
            whole.push_str(&escape(word));
            continue;
        }
        let mut rest = word;
        // A break is allowed after a run of dividers, if something follows.
        while let Some(at) = rest.find(DIVIDERS) {
            let length = rest.get(at..).and_then(|tail| tail.find(|c: char| !DIVIDERS.contains(&c)));
            let Some((head, tail)) = length.and_then(|length| rest.split_at_checked(at + length)) else { break };
            whole.push_str(&escape(head));
            // A file and its line stay together.
            let line = head.ends_with(':') && !head.ends_with("::");
            whole.push_str(if line { "" } else { "<wbr>" });
            rest = tail;
        }
        whole.push_str(&escape(rest));
    }
    whole
}

/// The characters that divide the parts of symbols, paths and file names.
const DIVIDERS: [char; 7] = ['_', '/', ':', ',', '-', '<', '='];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_percent_sign() {
        let mut m = Markup::default();
        m.sentence("74 % of <it>, 5 %; a % b");
        assert_eq!(m.html(), "74&nbsp;% of &lt;it&gt;, 5&nbsp;%; a % b");
    }

    #[test]
    fn long_names_may_break_between_their_parts() {
        assert_eq!(breakable("__pthread_clockjoin_ex"), "__<wbr>pthread_<wbr>clockjoin_<wbr>ex");
        assert_eq!(breakable("worker 9 (100 %)"), "worker 9 (100&nbsp;%)");
        assert_eq!(breakable("insert (pthread_mutex.c:147)"), "insert (pthread_<wbr>mutex.c:147)");
        assert_eq!(breakable("std::vector<int>::push_"), "std::<wbr>vector&lt;<wbr>int&gt;::<wbr>push_");
        assert!(!breakable("<img src=x onerror='alert(1)'>").contains("<img"));
    }

    #[test]
    fn markup_becomes_text() {
        let hostile = "</script><img src=x onerror='alert(1)'>&\"\u{202e}\u{0}\u{1b}[2J";
        let safe = escape(hostile);
        assert!(!safe.contains(['<', '>', '"', '\'', '\u{202e}', '\u{0}', '\u{1b}']), "{safe}");
        assert!(safe.starts_with("&lt;/script&gt;&lt;img"));
    }

    #[test]
    fn long_names_are_cut_at_whole_characters() {
        let long = "日".repeat(100_000);
        let short = readable(&long);
        assert!(short.len() < 2000 && short.contains('…'));
        assert!(readable("short") == "short");
    }
}
