//! The register of heuristics: all numeric constants in the rooms that judge, and the constants and functions anywhere
//! whose documentation says that they decide something. That documentation has one paragraph per heading, which begins with it: `Decides:`,
//! `From:` (a paper, a manual page, a measurement, statistics, or that it was chosen), `Shown by:` (the program or test
//! that checks it; may be missing), `Wrong if:`.

use crate::tree::{Source, documentation, for_tests};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use syn::{Attribute, ImplItem, Item, Type};

/// The headings, in the order of the table.
pub const HEADINGS: [&str; 4] = ["Decides", "From", "Shown by", "Wrong if"];

/// The headings that must not be missing.
pub const REQUIRED: [&str; 3] = ["Decides", "From", "Wrong if"];

/// A constant, or a rule in a function, that decides something.
pub struct Heuristic {
    /// The file, relative to the workspace's root.
    pub path: String,
    /// The name of the constant or of the function.
    pub name: String,
    /// The constant's value, as it is written; absent for a function.
    pub value: Option<String>,
    /// Whether the value is a number.
    pub is_number: bool,
    /// The text under each heading of its documentation; a heading may be missing.
    pub sections: BTreeMap<&'static str, String>,
}

impl Heuristic {
    /// Whether its documentation has all required headings.
    pub fn is_complete(&self) -> bool {
        REQUIRED.iter().all(|heading| self.sections.contains_key(heading))
    }
}

/// The numeric constants in sources whose path begins with one of `rooms`, and whatever else has one of the headings in
/// its documentation.
pub fn heuristics(sources: &[Source], rooms: &[&str]) -> Vec<Heuristic> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test) {
        let judges = rooms.iter().any(|room| source.path.starts_with(room));
        let mut all = Vec::new();
        gather(&source.path, &source.file.items, &mut all);
        found.extend(all.into_iter().filter(|each| (judges && each.is_number) || !each.sections.is_empty()));
    }
    found
}

fn gather(path: &str, items: &[Item], found: &mut Vec<Heuristic>) {
    for item in items {
        match item {
            Item::Const(item) => {
                let value = Some(tidy(&item.expr.to_token_stream().to_string()));
                found.push(heuristic(path, &item.ident, value, is_number(&item.ty), &item.attrs));
            }
            Item::Fn(item) => found.push(heuristic(path, &item.sig.ident, None, false, &item.attrs)),
            Item::Impl(item) => found.extend(item.items.iter().filter_map(|item| match item {
                ImplItem::Fn(item) => Some(heuristic(path, &item.sig.ident, None, false, &item.attrs)),
                _ => None,
            })),
            Item::Mod(inner) if !for_tests(&inner.attrs) => {
                gather(path, inner.content.as_ref().map_or(&[], |(_, items)| items.as_slice()), found);
            }
            _ => {}
        }
    }
}

fn heuristic(
    path: &str,
    name: &syn::Ident,
    value: Option<String>,
    is_number: bool,
    attributes: &[Attribute],
) -> Heuristic {
    let sections = sections(&documentation(attributes));
    Heuristic { path: path.to_string(), name: name.to_string(), value, is_number, sections }
}

fn is_number(kind: &Type) -> bool {
    let Type::Path(path) = kind else { return false };
    let numbers = ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "f32", "f64", "Duration"];
    path.path.segments.last().is_some_and(|last| numbers.iter().any(|number| last.ident == number))
}

/// The tokens, without the spaces that nobody would write between them.
fn tidy(tokens: &str) -> String {
    tokens
        .replace(" :: ", "::")
        .replace(" ,", ",")
        .replace(" (", "(")
        .replace("( ", "(")
        .replace(" )", ")")
        .replace(" . ", ".")
}

fn sections(lines: &[String]) -> BTreeMap<&'static str, String> {
    let mut sections: BTreeMap<&'static str, String> = BTreeMap::new();
    let mut current = None;
    for line in lines {
        let begins =
            HEADINGS.iter().find_map(|heading| Some((*heading, line.strip_prefix(heading)?.strip_prefix(':')?)));
        match (begins, current) {
            (Some((heading, rest)), _) => {
                current = Some(heading);
                sections.insert(heading, rest.trim().to_string());
            }
            (None, Some(heading)) if !line.is_empty() => {
                let text = sections.entry(heading).or_default();
                text.push(' ');
                text.push_str(line);
            }
            _ => current = None,
        }
    }
    sections
}

/// The page for the book.
pub fn page(heuristics: &[Heuristic]) -> String {
    let mut out = String::from(
        "# Heuristics\n\n<!-- Made from the code by `KNEE_WRITE_DOCS=1 cargo test -p upkeep --test heuristics`. -->\n\n\
         Every number that decides something in an answer: what it decides, where it comes from, which test or benchmark checks it, and\n\
         what would make it wrong. *Chosen* means that nobody measured it. Rules without a number that can be wrong are listed too, by the\n\
         function that applies them. The table is made from the code.\n",
    );
    let complete: Vec<&Heuristic> = heuristics.iter().filter(|each| each.is_complete()).collect();
    let files: BTreeSet<&str> = complete.iter().map(|each| each.path.as_str()).collect();
    for file in files {
        let (krate, room) = file.trim_start_matches("crates/").split_once("/src/").unwrap_or(("", file));
        out += &format!("\n## {krate}: {}\n\n", room.trim_end_matches(".rs"));
        out += "| constant | decides | from | shown by | wrong if |\n|---|---|---|---|---|\n";
        for each in complete.iter().filter(|each| each.path == file) {
            let cells =
                HEADINGS.map(|heading| each.sections.get(heading).map_or("", String::as_str).replace('|', "\\|"));
            let what = match &each.value {
                Some(value) => format!("`{}` = `{}`", each.name, value.replace('|', "\\|")),
                None => format!("`{}()`", each.name),
            };
            out += &format!("| {what} | {} |\n", cells.join(" | "));
        }
    }
    out
}
