//! Function names as programmers write them.
//!
//! Imports nothing of the crate. Names come from the target and are hostile: short mangled names can stand for
//! gigabytes of text, and may contain control characters for the terminal.

use std::borrow::Cow;
use std::fmt;

/// The longest name that is returned, in bytes; a longer one is cut and ends in `…`. Tables and graphs show far less,
/// and names that differ only beyond this help nobody; real templates seldom exceed 2,000.
pub(crate) const NAME_LIMIT: usize = 4096;

/// The longest mangled name that is understood, in bytes. Compilers hash longer ones.
pub(crate) const MANGLED_LIMIT: usize = 16 * 1024;

/// True for mangled names of C++ and Rust compilers, which hold more than a plain name.
pub(crate) fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z") || name.starts_with("_R")
}

/// The name as in the source, without return type (C++) and hash (Rust); plain names stay as they are.
pub(crate) fn demangle(name: &str) -> String {
    let mut plain = Bounded::default();
    let understood = name.len() <= MANGLED_LIMIT && (rust(name, &mut plain) || cpp(name, &mut plain));
    if understood { plain.finish() } else { bounded(&with_dots(name)) }
}

/// Go's linker writes a dot in the last part of a package's path as `%2e`: `gopkg.in/yaml%2ev3.Unmarshal`. No other language
/// has a `%` in its names.
pub(crate) fn with_dots(name: &str) -> Cow<'_, str> {
    if name.contains("%2e") { Cow::Owned(name.replace("%2e", ".")) } else { Cow::Borrowed(name) }
}

/// The name of a type with long type arguments left out: `accumulator_set<…>`.
pub(crate) fn without_long_arguments(name: &str) -> String {
    /// The longest arguments that are shown, in bytes: `map<string, vector<int>>` stays as it is.
    const LONGEST: usize = 24;
    let mut told = String::with_capacity(name.len().min(NAME_LIMIT));
    let (mut depth, mut begin) = (0_usize, 0);
    for (at, c) in name.char_indices() {
        match c {
            '<' => {
                if depth == 0 {
                    told.push('<');
                    begin = at + 1;
                }
                depth += 1;
            }
            '>' if depth == 1 => {
                depth = 0;
                let arguments = name.get(begin..at).unwrap_or_default();
                told.push_str(if arguments.len() > LONGEST { "…" } else { arguments });
                told.push('>');
            }
            '>' if depth > 1 => depth -= 1,
            _ if depth == 0 => told.push(c),
            _ => {}
        }
    }
    // The name was cut inside its arguments.
    if depth > 0 {
        told.push_str("…>");
    }
    told
}

/// The text without characters that control a terminal, cut at [`NAME_LIMIT`].
pub(crate) fn bounded(text: &str) -> String {
    let mut plain = Bounded::default();
    let _ = fmt::Write::write_str(&mut plain, text); // fails when the name is cut, which `finish` marks
    plain.finish()
}

fn rust(name: &str, out: &mut Bounded) -> bool {
    let from_rust = name.starts_with("_R") || (name.starts_with("_ZN") && has_rust_hash(name));
    if !from_rust {
        return false;
    }
    match rustc_demangle::try_demangle(name) {
        Ok(demangled) => fmt::Write::write_fmt(out, format_args!("{demangled:#}")).is_ok() || out.full,
        Err(_) => false,
    }
}

/// The older Rust mangling differs from that of C++ only in its last part, a hash of 16 digits.
fn has_rust_hash(name: &str) -> bool {
    name.match_indices("17h").any(|(at, mark)| {
        let tail = &name.as_bytes()[at + mark.len()..];
        tail.len() >= 17 && tail[..16].iter().all(u8::is_ascii_hexdigit) && tail[16] == b'E'
    })
}

fn cpp(name: &str, out: &mut Bounded) -> bool {
    if !name.starts_with("_Z") {
        return false;
    }
    let options = cpp_demangle::DemangleOptions::new().no_return_type();
    match cpp_demangle::Symbol::new(name) {
        Ok(symbol) => symbol.structured_demangle(out, &options).is_ok() || out.full,
        Err(_) => false,
    }
}

/// Text that stops the writer at [`NAME_LIMIT`].
#[derive(Default)]
struct Bounded {
    text: String,
    full: bool,
}

impl Bounded {
    fn finish(mut self) -> String {
        if self.full {
            self.text.push('…');
        }
        self.text
    }
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        for character in part.chars() {
            if self.text.len() + character.len_utf8() > NAME_LIMIT {
                self.full = true;
                return Err(fmt::Error);
            }
            self.text.push(if character.is_control() { char::REPLACEMENT_CHARACTER } else { character });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_compilers_become_readable() {
        assert_eq!(demangle("simulate"), "simulate");
        assert_eq!(demangle("_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(
            demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"),
            "std::vector<int, std::allocator<int> >::push_back(int&&)"
        );
        assert_eq!(demangle("_ZN4core3ptr13drop_in_place17h0123456789abcdefE"), "core::ptr::drop_in_place");
        assert_eq!(demangle("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(demangle("_Znonsense"), "_Znonsense");
        assert_eq!(demangle("_R"), "_R");
        assert_eq!(demangle("gopkg.in/yaml%2ev3.(*Decoder).Decode"), "gopkg.in/yaml.v3.(*Decoder).Decode");
    }

    #[test]
    fn long_type_arguments_are_left_out() {
        assert_eq!(without_long_arguments("stats"), "stats");
        assert_eq!(without_long_arguments("map<int, vector<int>>::node"), "map<int, vector<int>>::node");
        let long = "accumulator_set<double, stats<tag::count, tag::mean>, void>";
        assert_eq!(without_long_arguments(&format!("{long}::cell<int>")), "accumulator_set<…>::cell<int>");
        assert_eq!(without_long_arguments("cut<double, stats<tag::co"), "cut<…>");
        assert_eq!(without_long_arguments("a>b"), "a>b");
    }

    #[test]
    fn hostile_names_stay_short_and_harmless() {
        assert_eq!(demangle("a\x1b[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
        let long = demangle(&"x".repeat(10 * NAME_LIMIT));
        assert_eq!(long.len(), NAME_LIMIT + '…'.len_utf8());
        // Each substitution doubles the text of the one before.
        let mut bomb = String::from("_Z1fSt4pairIiiE");
        for at in 0..30 {
            let digit = char::from_digit(at, 36).unwrap().to_ascii_uppercase();
            bomb.push_str(&format!("St4pairIS{digit}_S{digit}_E"));
        }
        assert!(demangle(&bomb).len() <= NAME_LIMIT + '…'.len_utf8());
        assert!(!demangle(&format!("_Z{}", "N".repeat(8000))).is_empty());
        assert!(!demangle(&format!("_Z1f{}i", "P".repeat(8000))).is_empty());
    }
}
