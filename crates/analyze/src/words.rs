//! Small phrases that several sentences need. May import: nothing.

/// "1 thread", "4 threads".
pub(crate) fn count_threads(threads: u32) -> String {
    count(threads, "thread")
}

/// "1 processor", "4 processors".
pub(crate) fn count(number: u32, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// A share of 1: "12 %"; what is there and rounds to nothing is "less than 1 %".
pub(crate) fn percent(share: f64) -> String {
    match share > 0.0 && share < 0.005 {
        true => "less than 1 %".to_owned(),
        false => format!("{:.0} %", 100.0 * share),
    }
}

/// "a", "a and b", "a, b and c".
pub(crate) fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [several @ .., last] => format!("{} and {last}", several.join(", ")),
    }
}
