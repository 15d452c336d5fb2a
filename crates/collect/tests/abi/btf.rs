//! Reads the structs in the BTF of a compiled object: what the compiler made of the header.
//!
//! May import: `header`, `object`.

use crate::header::{Laid, Layout};
use object::{Object, ObjectSection};
use std::collections::BTreeMap;

/// Kinds of BTF types that have more bytes after their header, from the kernel's documentation (bpf/btf).
const INT: u32 = 1;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const ENUM64: u32 = 19;
/// Kinds that only refer to another type: typedef, volatile, const, restrict.
const STANDING: std::ops::RangeInclusive<u32> = 8..=11;
const PTR: u32 = 2;

struct Type<'a> {
    name: usize,
    kind: u32,
    count: usize,
    /// A size in bytes, or the number of another type.
    word: u32,
    rest: &'a [u8],
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The named structs of an object file with their fields. BTF does not contain the alignment, which is given as 0.
pub(crate) fn structs(object: &[u8]) -> Option<BTreeMap<String, Layout>> {
    let file = object::File::parse(object).ok()?;
    let data = file.section_by_name(".BTF")?.data().ok()?;
    let header = word(data, 4)? as usize;
    let part = |at: usize| Some((header + word(data, at)? as usize, word(data, at + 4)? as usize));
    let ((types_at, types_length), (names_at, names_length)) = (part(8)?, part(16)?);
    let (mut left, names) =
        (data.get(types_at..types_at + types_length)?, data.get(names_at..names_at + names_length)?);
    let name =
        |at: usize| Some(String::from_utf8_lossy(names.get(at..)?.split(|&byte| byte == 0).next()?).into_owned());
    // Types are numbered from 1.
    let mut types = vec![Type { name: 0, kind: 0, count: 0, word: 0, rest: &[] }];
    while !left.is_empty() {
        let (start, info, size) = (word(left, 0)? as usize, word(left, 4)?, word(left, 8)?);
        let (kind, count) = (info >> 24 & 31, (info & 0xffff) as usize);
        let length = match kind {
            INT | VAR | DECL_TAG => 4,
            ARRAY => 12,
            STRUCT | UNION | DATASEC | ENUM64 => 12 * count,
            ENUM | FUNC_PROTO => 8 * count,
            _ => 0,
        };
        types.push(Type { name: start, kind, count, word: size, rest: left.get(12..12 + length)? });
        left = left.get(12 + length..)?;
    }
    let mut found = BTreeMap::new();
    for each in types.iter().filter(|each| each.kind == STRUCT) {
        let fields = (0..each.count).map(|field| {
            let (at, kind, bits) =
                (word(each.rest, 12 * field)?, word(each.rest, 12 * field + 4)?, word(each.rest, 12 * field + 8)?);
            Some(Laid { name: name(at as usize)?, offset: u64::from(bits) / 8, size: size(&types, kind as usize)? })
        });
        let layout = Layout { fields: fields.collect::<Option<_>>()?, size: u64::from(each.word), alignment: 0 };
        found.insert(name(each.name)?, layout);
    }
    Some(found)
}

fn size(types: &[Type<'_>], number: usize) -> Option<u64> {
    let found = types.get(number)?;
    match found.kind {
        kind if STANDING.contains(&kind) => size(types, found.word as usize),
        PTR => Some(8),
        ARRAY => Some(size(types, word(found.rest, 0)? as usize)? * u64::from(word(found.rest, 8)?)),
        _ => Some(u64::from(found.word)),
    }
}
