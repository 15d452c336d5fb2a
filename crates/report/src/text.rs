//! Makes text from the target harmless, and cuts text to a width.
//!
//! Symbols, thread names and paths are whatever the target wants them to be. Shown as they are, they could move the
//! cursor, recolour or hide text (escape sequences), reorder it (bidirectional marks) or break the layout (characters
//! without width). Every such character becomes a visible mark.

use unicode_width::UnicodeWidthChar;

/// Longest place that is shown whole, in columns: a file name may have 255 letters, but no honest one is as long.
const LONGEST_PLACE: usize = 120;

/// Columns of sentences, even on a wide terminal: longer lines are hard to read.
pub(crate) const WIDEST_PROSE: usize = 100;

/// Replaces a character that is not shown.
const HIDDEN: char = '\u{fffd}';

/// The text with one mark for each character that controls a terminal or is invisible.
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if is_visible(c) { c } else { HIDDEN }).collect()
}

/// True for characters that take a place of their own on the screen. Controls (C0, DEL, C1) have no width, nor have
/// marks that reorder or join the text around them, nor combining marks, which can be piled up.
pub(crate) fn is_visible(c: char) -> bool {
    c.width().is_some_and(|width| width > 0) && !matches!(c, '\u{00ad}' | '\u{2028}' | '\u{2029}')
}

/// The text in ASCII, for terminals that know nothing else.
pub fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => plain.push(c),
            '×' => plain.push('x'),
            '–' | '−' | '‐' | '‑' | '─' => plain.push('-'),
            '—' => plain.push_str("--"),
            '±' => plain.push_str("+-"),
            '…' => plain.push('~'),
            '→' => plain.push_str("->"),
            '·' => plain.push('|'),
            '≈' => plain.push('~'),
            'µ' | 'μ' => plain.push('u'),
            '‘' | '’' => plain.push('\''),
            '“' | '”' => plain.push('"'),
            _ => plain.push('?'),
        }
    }
    plain
}

/// Columns that harmless text takes.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(1)).sum()
}

/// The text in at most `limit` columns: a longer one loses its middle, because both ends of a name tell more.
pub fn shorten(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let room = limit.saturating_sub(1);
    let head = take(text.chars(), room - room / 2);
    let tail: Vec<char> = take(text.chars().rev(), room / 2).chars().rev().collect();
    let mut short = head;
    if limit > 0 {
        short.push('…');
    }
    short.extend(tail);
    short
}

/// ` (file.cpp:12)` at the end of a text: people find the code by it.
pub fn place_in(text: &str) -> &str {
    let inside =
        |at: usize| text.get(at + 2..text.len() - 1).is_some_and(|inside| !inside.contains(['(', ')', '<', '>']));
    let at = text.rfind(" (").filter(|at| text.ends_with(')') && inside(*at));
    at.and_then(|at| text.get(at..)).unwrap_or_default()
}

/// As [`shorten`], but the place at the end of the text stays whole: only the name before it loses its middle.
pub fn shorten_name(text: &str, limit: usize) -> String {
    let place = place_in(text);
    let room = limit.saturating_sub(width(place));
    match text.strip_suffix(place) {
        Some(name) if width(text) > limit && room > 1 => shorten(name, room) + place,
        _ => shorten(text, limit),
    }
}

/// A word of at most `limit` columns; one that ends like a place, `file.cpp:12`, may have [`LONGEST_PLACE`].
fn shorten_word(word: &str, limit: usize) -> String {
    let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let line =
        bare.rsplit_once(':').is_some_and(|(_, line)| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()));
    shorten(word, if line { limit.max(LONGEST_PLACE) } else { limit })
}

fn take(chars: impl Iterator<Item = char>, limit: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(1);
            used <= limit
        })
        .collect()
}

/// Lines of at most `limit` columns, broken at spaces, but not before a percent sign. A word longer than a line is
/// broken anywhere, so that none of it is lost.
pub fn wrap(text: &str, limit: usize) -> Vec<String> {
    wrapped(text, limit, true)
}

/// As [`wrap`], but no word is broken: one that is longer than a line has a longer line to itself.
pub fn wrap_words(text: &str, limit: usize) -> Vec<String> {
    wrapped(text, limit, false)
}

fn wrapped(text: &str, limit: usize, breaks: bool) -> Vec<String> {
    let limit = limit.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        match words.last_mut().filter(|_| word.starts_with('%')) {
            Some(number) => *number += &format!(" {word}"),
            None => words.push(word.to_owned()),
        }
    }
    for word in &words {
        let needed = width(word) + if line.is_empty() { 0 } else { width(&line) + 1 };
        if needed <= limit {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            if breaks && width(&line) + c.width().unwrap_or(1) > limit && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// The text with words of at most `longest` columns, except places: longer words lose their middle.
pub(crate) fn shorten_words(text: &str, longest: usize) -> String {
    text.split(' ').map(|word| shorten_word(word, longest)).collect::<Vec<_>>().join(" ")
}

/// As [`wrap`], with long words shortened in their middle and at most `most` lines; a cut is marked by an ellipsis.
pub fn wrap_short(text: &str, limit: usize, longest_word: usize, most: usize) -> Vec<String> {
    let mut lines = wrap(&shorten_words(text, longest_word), limit);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = take(last.chars(), limit.saturating_sub(2)) + " …";
        }
    }
    lines
}

/// The text with its first letter as a capital.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// As a sentence: with a capital letter and a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut text = capital(text.trim());
    if !text.ends_with(['.', '?', '!']) {
        text.push('.');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_controls_a_terminal_passes() {
        let shown = harmless("\u{1b}[31mred\u{7}\r\n\t\u{9b}2J\u{7f}");
        assert_eq!(shown, "\u{fffd}[31mred\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}2J\u{fffd}");
    }

    #[test]
    fn nothing_that_reorders_or_hides_passes() {
        for c in "\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{061c}\
                  \u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{ad}\u{2028}\u{2029}\u{301}\u{fe0f}\u{e0041}\u{180e}"
            .chars()
        {
            assert_eq!(harmless(&c.to_string()), "\u{fffd}", "{:x}", c as u32);
        }
    }

    #[test]
    fn ordinary_names_stay() {
        for name in ["operator<<(std::ostream&, int)", "straße", "日本語", "naïve", "/tmp/a b/c"] {
            assert_eq!(harmless(name), name);
        }
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(shorten("abcdefghij", 10), "abcdefghij");
        assert_eq!(shorten("abcdefghijk", 10), "abcde…hijk");
        assert_eq!(shorten("日本語日本語", 7), "日…語");
        assert_eq!(shorten("abc", 1), "…");
        assert_eq!(shorten("abc", 0), "");
    }

    #[test]
    fn places_stay_whole() {
        let long = "std::map<int, int>::insert(std::pair<int, int>&&) (a_file.cpp:4711)";
        assert_eq!(place_in(long), " (a_file.cpp:4711)");
        assert_eq!(shorten_name(long, 30), "std::m…t>&&) (a_file.cpp:4711)");
        assert_eq!(shorten_name("simulate (birthday.c:41)", 30), "simulate (birthday.c:41)");
        assert_eq!(shorten_name("a_function_without_a_place", 11), "a_fun…place");
        assert_eq!(place_in("apply(std::function<void (int)>)"), "");
        assert_eq!(place_in("apply(void (*)(int))"), "");
        let name = "x".repeat(60);
        let lines = wrap_short(&format!("in {name} at {name}.cpp:12, say"), 200, 20, 9);
        assert_eq!(lines, [format!("in {} at {name}.cpp:12, say", shorten(&name, 20))]);
    }

    #[test]
    fn lines_keep_to_the_limit() {
        assert_eq!(wrap("the threads wait for a lock", 11), ["the threads", "wait for a", "lock"]);
        assert_eq!(wrap("a /very/long/path b", 6), ["a", "/very/", "long/p", "ath b"]);
        assert_eq!(wrap_words("a /very/long/path b c", 6), ["a", "/very/long/path", "b c"]);
        assert_eq!(wrap("", 5), Vec::<String>::new());
        assert_eq!(wrap("it is 75 % of all, 1 %, % x", 8), ["it is", "75 % of", "all,", "1 %, % x"]);
        let lines = wrap_short("one two three four five six", 9, 5, 2);
        assert_eq!(lines, ["one two", "three …"]);
    }

    #[test]
    fn ascii_has_no_other_character() {
        assert_eq!(ascii("3.2× ± 0.1 µs … − 日"), "3.2x +- 0.1 us ~ - ?");
        assert!(ascii(&harmless("\u{1b}é")).is_ascii());
    }
}
