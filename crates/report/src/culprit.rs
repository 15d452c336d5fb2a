//! A culprit in one line: the function, its place, and who called it.

use crate::text;
use crate::words;
use analyze::answer::{Culprit, Site};
use analyze::runtimes::function_name::readable;

/// Callers shown for a culprit.
const MOST_CALLERS: usize = 2;
/// On a terminal, a function's name longer than this loses its middle: a line holds no more, and signatures of C++ fill
/// screens.
pub const ON_A_LINE: usize = 72;
/// Where lines have no end, in files and other formats: names longer than this were made long on purpose, and every viewer
/// cuts them earlier.
pub const WITHOUT_END: usize = 500;
/// A file name longer than this was made long on purpose; it is shortened.
const LONGEST_FILE: usize = 100;

/// `random in libc.so.6, called from simulate at birthday.c:17`. `shown` makes names harmless for the medium that shows
/// them; of names longer than `longest`, the middle is left out, and never the place.
pub fn blame(culprit: &Culprit, longest: usize, shown: impl Fn(&str) -> String) -> String {
    let short = |name: &str| text::shorten(&shown(name), longest);
    let whole = |file: &str| text::shorten(&shown(file), LONGEST_FILE);
    let mut words = match (&culprit.function, &culprit.object) {
        (Some(function), _) => short(&readable(function)),
        (None, Some(object)) => format!("the object at {}", short(object)),
        (None, None) => "code without a name".to_owned(),
    };
    if let Some(module) = words::module(culprit) {
        words += &format!(" in {}", short(module));
    }
    if let Some(file) = &culprit.file {
        words += &format!(" at {}", place(&whole(file), culprit.line));
    }
    let (label, places) = words::places(culprit);
    for (i, site) in places.iter().take(MOST_CALLERS).enumerate() {
        words += &if i == 0 { format!(", {label} ") } else { " and ".to_owned() };
        let same = site.function.is_some() && site.function == culprit.function;
        words += &match (&site.file, same) {
            (Some(file), true) => place(&whole(file), site.line),
            _ => caller(site, short, whole),
        };
    }
    if places.len() > MOST_CALLERS {
        words += &format!(" and {} more", places.len() - MOST_CALLERS);
    }
    words
}

fn caller(site: &Site, short: impl Fn(&str) -> String, whole: impl Fn(&str) -> String) -> String {
    let function = site.function.as_deref().map(|name| short(&readable(name)));
    match (&site.file, function) {
        (Some(file), Some(function)) => format!("{function} at {}", place(&whole(file), site.line)),
        (Some(file), None) => place(&whole(file), site.line),
        (None, Some(function)) if site.address.is_empty() => format!("{function} ({})", short(&site.module)),
        (None, Some(function)) => format!("{function} ({}+{})", short(&site.module), short(&site.address)),
        (None, None) => format!("{}+{}", short(&site.module), short(&site.address)),
    }
}

fn place(file: &str, line: Option<u32>) -> String {
    line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}
