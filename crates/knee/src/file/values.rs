//! The kinds of values in a sweep file. A wrong value gives a mistake that names what was expected.

use super::problem::{Problem, nearest};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place.
pub(super) type Value<'t> = Spanned<DeValue<'t>>;

/// A table being read: a key that the reader does not know is a mistake.
pub(super) struct Section<'r, 't> {
    table: &'r DeTable<'t>,
    /// Its place, for mistakes about missing keys.
    pub(super) span: Range<usize>,
    known: &'static [&'static str],
}

impl<'r, 't> Section<'r, 't> {
    /// Notes a mistake for each unknown key.
    pub(super) fn new(
        table: &'r DeTable<'t>,
        span: Range<usize>,
        known: &'static [&'static str],
        problems: &mut Vec<Problem>,
    ) -> Section<'r, 't> {
        for (key, _) in table.iter() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let help = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", known.join(", ")),
            };
            problems.push(Problem { span: key.span(), what: format!("unknown key `{name}`"), help: Some(help) });
        }
        Section { table, span, known }
    }

    pub(super) fn get(&self, key: &'static str) -> Option<&'r Value<'t>> {
        debug_assert!(self.known.contains(&key));
        self.table.get(key)
    }

    /// The value of a key that must be there, converted.
    pub(super) fn required<T>(
        &self,
        key: &'static str,
        example: &str,
        problems: &mut Vec<Problem>,
        convert: impl FnOnce(&'r Value<'t>, &mut Vec<Problem>) -> Option<T>,
    ) -> Option<T> {
        match self.get(key) {
            Some(value) => convert(value, problems),
            None => {
                let help = Some(format!("for example: {example}"));
                problems.push(Problem { span: self.span.clone(), what: format!("`{key}` is missing"), help });
                None
            }
        }
    }

    /// The value of a key that may be left out.
    pub(super) fn optional<T>(
        &self,
        key: &'static str,
        problems: &mut Vec<Problem>,
        convert: impl FnOnce(&'r Value<'t>, &mut Vec<Problem>) -> Option<T>,
    ) -> Option<T> {
        self.get(key).and_then(|value| convert(value, problems))
    }
}

/// Notes a mistake about a value.
pub(super) fn wrong<T>(value: &Value<'_>, what: impl Into<String>, problems: &mut Vec<Problem>) -> Option<T> {
    problems.push(Problem { span: value.span(), what: what.into(), help: None });
    None
}

fn expected<T>(value: &Value<'_>, kind: &str, problems: &mut Vec<Problem>) -> Option<T> {
    wrong(value, format!("expected {kind}, found {}", value.get_ref().type_str()), problems)
}

/// A text that is not empty.
pub(super) fn text(value: &Value<'_>, problems: &mut Vec<Problem>) -> Option<String> {
    match value.get_ref().as_str() {
        Some("") => wrong(value, "this text is empty", problems),
        Some(text) if text.contains('\0') => wrong(value, "no argument can hold a zero byte", problems),
        Some(text) => Some(text.to_owned()),
        None => expected(value, "a text in quotes", problems),
    }
}

/// A text whose line ends become spaces, so that it can be wrapped again.
pub(super) fn prose(value: &Value<'_>, problems: &mut Vec<Problem>) -> Option<String> {
    text(value, problems).map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A whole number.
pub(super) fn whole(value: &Value<'_>, least: u32, problems: &mut Vec<Problem>) -> Option<u32> {
    const MOST: u32 = 10_000;
    let Some(integer) = value.get_ref().as_integer() else { return expected(value, "a whole number", problems) };
    let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok();
    match number.filter(|n| (least..=MOST).contains(n)) {
        Some(number) => Some(number),
        None => wrong(value, format!("expected a number from {least} to {MOST}"), problems),
    }
}

/// A time in seconds.
pub(super) fn seconds(value: &Value<'_>, problems: &mut Vec<Problem>) -> Option<f64> {
    let number = match value.get_ref() {
        DeValue::Integer(integer) => integer.as_str().parse().ok(),
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => return expected(value, "a number of seconds", problems),
    };
    match number.filter(|n: &f64| *n > 0.0 && *n <= 31_536_000.0) {
        Some(number) => Some(number),
        None => wrong(value, "expected a number of seconds above 0", problems),
    }
}

/// A value of a parameter or a variable: texts and numbers alike become texts.
pub(super) fn scalar(value: &Value<'_>, problems: &mut Vec<Problem>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) if text.contains('\0') => wrong(value, "no argument can hold a zero byte", problems),
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(integer) => Some(integer.to_string()),
        DeValue::Float(float) => Some(float.to_string()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        _ => expected(value, "a text or a number", problems),
    }
}

/// One value or a list of them, each converted; empty lists are mistakes.
pub(super) fn one_or_more<T>(
    value: &Value<'_>,
    problems: &mut Vec<Problem>,
    convert: impl Fn(&Value<'_>, &mut Vec<Problem>) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(items) = value.get_ref().as_array() else { return Some(vec![convert(value, problems)?]) };
    if items.is_empty() {
        return wrong(value, "this list is empty", problems);
    }
    // Every mistake of the list is noted, not only the first.
    let converted: Vec<Option<T>> = items.iter().map(|item| convert(item, problems)).collect();
    converted.into_iter().collect()
}

/// The entries of a table, each value converted.
pub(super) fn entries<T>(
    value: &Value<'_>,
    problems: &mut Vec<Problem>,
    convert: impl Fn(&Value<'_>, &mut Vec<Problem>) -> Option<T>,
) -> Option<Vec<(String, Range<usize>, T)>> {
    let Some(table) = value.get_ref().as_table() else {
        return expected(value, "a table of names and values", problems);
    };
    let converted: Vec<Option<_>> = table
        .iter()
        .map(|(key, value)| Some((key.get_ref().to_string(), key.span(), convert(value, problems)?)))
        .collect();
    converted.into_iter().collect()
}

/// A table with known keys.
pub(super) fn section<'r, 't>(
    value: &'r Value<'t>,
    known: &'static [&'static str],
    problems: &mut Vec<Problem>,
) -> Option<Section<'r, 't>> {
    match value.get_ref().as_table() {
        Some(table) => Some(Section::new(table, value.span(), known, problems)),
        None => expected(value, "a table", problems),
    }
}
