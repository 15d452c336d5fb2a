//! Small phrases that several sentences need, and the switch with which tests show that no sentence decides anything.
//!
//! Rooms: [`reasons`] what waits are for; [`runs`] what to know of the timed runs.
//!
//! May import: `account`, `curve`, `disturbance`, `recording`.

pub mod reasons;
pub mod runs;

/// A sentence, or its replacement in a test that rewords all sentences.
#[cfg(not(any(test, feature = "rewording")))]
pub(crate) fn said(words: String, _: impl FnOnce() -> String) -> String {
    words
}

#[cfg(any(test, feature = "rewording"))]
pub(crate) use reworded::said;

/// "1 processor", "4 processors".
pub(crate) fn count(number: u32, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// A share of 1: "12 %"; shares that are positive but would round to 0 are "less than 1 %".
pub(crate) fn percent(share: f64) -> String {
    match share > 0.0 && share < 0.005 {
        true => "less than 1 %".to_owned(),
        false => format!("{:.0} %", 100.0 * share),
    }
}

/// Two significant digits: 0.61, 1.9, 12.
pub(crate) fn two_digits(value: f64) -> String {
    match value.abs() {
        v if v < 0.995 => format!("{value:.2}"),
        v if v < 9.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// True for a ratio that is about 1: [`two_digits`] tells it as 1.0.
pub(crate) fn is_about_one(ratio: f64) -> bool {
    (0.995..1.05).contains(&ratio)
}

/// "a", "a and b", "a, b and c".
pub(crate) fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [several @ .., last] => format!("{} and {last}", several.join(", ")),
    }
}

/// Rewording of all sentences, for the tests of this crate.
#[cfg(any(test, feature = "rewording"))]
pub(crate) mod reworded {
    use std::cell::Cell;

    thread_local! {
        static REWORDED: Cell<bool> = const { Cell::new(false) };
    }

    /// The result of `answer` with every sentence replaced.
    pub fn reworded<T>(answer: impl FnOnce() -> T) -> T {
        REWORDED.set(true);
        let answered = answer();
        REWORDED.set(false);
        answered
    }

    /// A sentence, or its replacement.
    pub(crate) fn said(words: String, id: impl FnOnce() -> String) -> String {
        if REWORDED.get() { id() } else { words }
    }
}
