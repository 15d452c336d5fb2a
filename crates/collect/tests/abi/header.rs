//! Parses `bpf/shared.h` and writes the same in Rust.
//!
//! May import: nothing.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The items of the header, in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    Constant { name: String, value: String, comment: Option<String> },
    Enum { values: Vec<(String, Option<String>)>, first: u32, comment: Option<String> },
    Struct(Struct),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) comment: Option<String>,
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) comment: Option<String>,
    /// As in C: `u32`, or the name of a struct.
    pub(crate) kind: String,
    /// As in C; `None` for no array.
    pub(crate) length: Option<String>,
    /// Bytes that follow the record; in Rust they are no field.
    pub(crate) follows: bool,
}

/// Where a field lies and how large it is, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Laid {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// A struct's fields with their places, its size and its alignment, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    pub(crate) fields: Vec<Laid>,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
}

#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) items: Vec<Item>,
    /// Sizes that the header asserts, by the name of the struct.
    pub(crate) sizes: BTreeMap<String, u64>,
}

/// Parses the header. What it does not understand is an error and is never skipped.
pub(crate) fn parse(text: &str) -> Result<Header, String> {
    let (mut items, mut sizes, mut comment) = (Vec::new(), BTreeMap::new(), None);
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let wrong = |what: &str| Err(format!("line {}: {what}: {line}", number + 1));
        let trimmed = line.trim();
        if trimmed.is_empty() {
            comment = None;
        } else if let Some(start) = trimmed.strip_prefix("/*") {
            let mut words = start.to_string();
            while !words.contains("*/") {
                let Some((_, more)) = lines.next() else { return wrong("a comment without an end") };
                write!(words, " {}", more.trim().trim_start_matches('*').trim()).map_err(|error| error.to_string())?;
            }
            comment = Some(words.trim_end_matches("*/").trim().to_string());
        } else if let Some(asserted) = trimmed.strip_prefix("SIZE(").and_then(|rest| rest.strip_suffix(");")) {
            let Some((name, size)) = asserted.split_once(", ") else { return wrong("not a size") };
            sizes.insert(name.to_string(), size.parse().map_err(|_| format!("not a size: {line}"))?);
        } else if let Some(define) = trimmed.strip_prefix("#define ") {
            let (define, behind) = apart(define);
            match define.split_once(' ') {
                // The guard, FOLLOWS and SIZE are only for C.
                None => {}
                Some((name, _)) if name.contains('(') => {}
                Some((name, value)) => items.push(Item::Constant {
                    name: name.to_string(),
                    value: value.trim().to_string(),
                    comment: behind.or(comment.take()),
                }),
            }
            // A comment above a group of constants belongs to the first.
            comment = None;
        } else if trimmed.starts_with('#') {
            // The other lines of the guard.
        } else if let Some(inside) = trimmed.strip_prefix("enum ") {
            let Some((_, mut inside)) = inside.split_once('{').map(|(name, rest)| (name, rest.to_string())) else {
                return wrong("not an enum");
            };
            while !inside.contains("};") {
                let Some((_, more)) = lines.next() else { return wrong("an enum without an end") };
                write!(inside, "\n{more}").map_err(|error| error.to_string())?;
            }
            items.push(enumeration(inside.trim().trim_end_matches("};"), comment.take())?);
        } else if let Some(name) = trimmed.strip_prefix("struct ").and_then(|rest| rest.strip_suffix(" {")) {
            let mut fields: Vec<Field> = Vec::new();
            let mut above = None;
            loop {
                let Some((_, line)) = lines.next() else { return wrong("a struct without an end") };
                let line = line.trim();
                if line == "};" {
                    break;
                }
                if line.is_empty() {
                    above = None;
                } else if let Some(words) = line.strip_prefix("/*") {
                    above = Some(words.trim_end_matches("*/").trim().to_string());
                } else {
                    let mut field = field(line)?;
                    field.comment = field.comment.or(above.take());
                    fields.push(field);
                }
            }
            items.push(Item::Struct(Struct { name: name.to_string(), comment: comment.take(), fields }));
        } else {
            return wrong("not understood");
        }
    }
    Ok(Header { items, sizes })
}

/// The code of a line, and the comment after it.
fn apart(line: &str) -> (&str, Option<String>) {
    match line.split_once("/*") {
        Some((code, words)) => (code.trim(), Some(words.trim_end_matches("*/").trim().to_string())),
        None => (line.trim(), None),
    }
}

fn enumeration(inside: &str, comment: Option<String>) -> Result<Item, String> {
    let (mut values, mut first) = (Vec::new(), 0);
    for line in inside.lines() {
        let (code, behind) = apart(line);
        for value in code.split(',').map(str::trim).filter(|value| !value.is_empty()) {
            let name = match value.split_once(" = ") {
                Some((name, number)) if values.is_empty() => {
                    first = number.parse().map_err(|_| format!("not a number: {value}"))?;
                    name
                }
                Some(_) => return Err(format!("only the first value of an enum may have a number: {value}")),
                None => value,
            };
            values.push((name.to_string(), behind.clone()));
        }
    }
    Ok(Item::Enum { values, first, comment })
}

fn field(line: &str) -> Result<Field, String> {
    let (code, comment) = apart(line);
    let wrong = || format!("not a field: {line}");
    let code = code.strip_suffix(';').ok_or_else(wrong)?;
    let (follows, code) = code.strip_prefix("FOLLOWS ").map_or((false, code), |rest| (true, rest));
    let code = code.strip_prefix("struct ").unwrap_or(code);
    let (kind, name) = code.split_once(' ').ok_or_else(wrong)?;
    let (name, length) = match name.split_once('[') {
        Some((name, length)) => (name, Some(length.strip_suffix(']').ok_or_else(wrong)?.to_string())),
        None => (name, None),
    };
    Ok(Field { name: name.to_string(), comment, kind: kind.to_string(), length, follows })
}

impl Header {
    pub(crate) fn structs(&self) -> impl Iterator<Item = &Struct> {
        self.items.iter().filter_map(|item| if let Item::Struct(found) = item { Some(found) } else { None })
    }

    /// The value of a constant, or of a sum of constants.
    pub(crate) fn number(&self, words: &str) -> Result<u64, String> {
        words.split(" + ").map(|word| self.one_number(word)).sum()
    }

    fn one_number(&self, word: &str) -> Result<u64, String> {
        let constant = self.items.iter().find_map(|item| match item {
            Item::Constant { name, value, .. } if name == word => Some(value),
            _ => None,
        });
        if let Some(value) = constant {
            return self.number(value);
        }
        let plain = word.trim_end_matches('u');
        match plain.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => plain.parse(),
        }
        .map_err(|_| format!("neither a number nor a constant: {word}"))
    }

    /// Where the fields of a struct lie: each at the next multiple of its own alignment, as in C on both architectures.
    /// With or without the bytes that follow.
    pub(crate) fn layout(&self, of: &Struct, with_following: bool) -> Result<Layout, String> {
        let (mut end, mut alignment, mut fields) = (0_u64, 1, Vec::new());
        for field in of.fields.iter().filter(|field| with_following || !field.follows) {
            let (size, aligned) = match field.kind.as_str() {
                "u8" | "char" => (1, 1),
                "u16" => (2, 2),
                "u32" => (4, 4),
                "u64" => (8, 8),
                name => {
                    let inner = self.structs().find(|found| found.name == name);
                    let inner = inner.ok_or_else(|| format!("{}.{}: what is a {name}?", of.name, field.name))?;
                    let layout = self.layout(inner, true)?;
                    (layout.size, layout.alignment)
                }
            };
            let size = size * field.length.as_ref().map_or(Ok(1), |length| self.number(length))?;
            if !end.is_multiple_of(aligned) {
                return Err(format!(
                    "{}.{}: a hole before it; say so with a field called padding",
                    of.name, field.name
                ));
            }
            fields.push(Laid { name: field.name.clone(), offset: end, size });
            (end, alignment) = (end + size, alignment.max(aligned));
        }
        if !end.is_multiple_of(alignment) {
            return Err(format!("{}: a hole at its end; say so with a field called padding", of.name));
        }
        Ok(Layout { fields, size: end, alignment })
    }

    /// The header in Rust, with each field's place asserted.
    pub(crate) fn rust(&self) -> Result<String, String> {
        let mut out = String::from(
            "//! Made from `bpf/shared.h` by `tests/abi`, which says how. Change the header, not this file.\n\n\
             #![allow(dead_code)] // Not all that the header has is asked for on this side.\n\n\
             use std::mem::offset_of;\n\n",
        );
        for item in &self.items {
            self.write_item(item, &mut out)?;
        }
        out.push_str("const _: () = {\n");
        for each in self.structs() {
            let (name, layout) = (camel(&each.name), self.layout(each, false)?);
            writeln!(out, "    assert!(size_of::<{name}>() == {});", layout.size).map_err(|error| error.to_string())?;
            for Laid { name: field, offset, .. } in &layout.fields {
                writeln!(out, "    assert!(offset_of!({name}, {field}) == {offset});")
                    .map_err(|error| error.to_string())?;
            }
        }
        out.push_str("};\n");
        Ok(out)
    }

    fn write_item(&self, item: &Item, out: &mut String) -> Result<(), String> {
        match item {
            Item::Constant { name, value, comment } => {
                document(comment.as_ref(), "", out);
                // Numbers with a `u` and bits are values in records (u32); the others are lengths (usize).
                let word = value.contains("0x") || value.contains('u');
                let (kind, value) = (if word { "u32" } else { "usize" }, value.replace('u', "_u32"));
                let value = value.trim_start_matches('(').trim_end_matches(')').replace("_u32", "");
                *out += &format!("pub(crate) const {name}: {kind} = {};\n", self.grouped(&value));
            }
            Item::Enum { values, first, comment } => {
                document(comment.as_ref(), "", out);
                for (number, (name, comment)) in (*first..).zip(values) {
                    document(comment.as_ref(), "", out);
                    *out += &format!("pub(crate) const {name}: u32 = {number};\n");
                }
            }
            Item::Struct(found) => {
                document(found.comment.as_ref(), "", out);
                let layout = self.layout(found, false)?;
                if found.fields.iter().any(|field| field.follows) {
                    *out += "/// Bytes follow it.\n";
                }
                let default = if self.has_default(found) { ", Default" } else { "" };
                *out += &format!("#[repr(C)]\n#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash{default})]\n");
                *out += &format!("pub(crate) struct {} {{\n", camel(&found.name));
                for field in found.fields.iter().take(layout.fields.len()) {
                    document(field.comment.as_ref(), "    ", out);
                    let kind = rust_kind(&field.kind);
                    let kind = field.length.as_ref().map_or(kind.clone(), |length| format!("[{kind}; {length}]"));
                    *out += &format!("    pub(crate) {}: {kind},\n", field.name);
                }
                *out += "}\n\n";
            }
        }
        Ok(())
    }

    fn grouped(&self, value: &str) -> String {
        match value.strip_prefix("0x") {
            Some(digits) if digits.len() == 8 => format!("0x{}_{}", &digits[..4], &digits[4..]),
            _ => value.to_string(),
        }
    }

    /// Rust's arrays implement Default up to 32 elements.
    fn has_default(&self, of: &Struct) -> bool {
        of.fields.iter().filter(|field| !field.follows).all(|field| {
            let few = field.length.as_ref().is_none_or(|length| self.number(length).is_ok_and(|length| length <= 32));
            few && self.structs().find(|found| found.name == field.kind).is_none_or(|inner| self.has_default(inner))
        })
    }
}

fn rust_kind(kind: &str) -> String {
    match kind {
        "char" => "u8".to_string(),
        "u8" | "u16" | "u32" | "u64" => kind.to_string(),
        name => camel(name),
    }
}

/// `place_key` → `PlaceKey`.
pub(crate) fn camel(name: &str) -> String {
    name.split('_')
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
        })
        .collect()
}

fn document(comment: Option<&String>, indent: &str, out: &mut String) {
    let Some(comment) = comment else { return };
    let mut line = String::new();
    for word in comment.split_whitespace() {
        if line.len() + word.len() > 110 {
            *out += &format!("{indent}///{line}\n");
            line.clear();
        }
        line += &format!(" {word}");
    }
    *out += &format!("{indent}///{line}\n");
}
