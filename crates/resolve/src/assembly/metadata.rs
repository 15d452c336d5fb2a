//! Names of types and methods, from the metadata of an assembly (ECMA-335, part II, chapters 22 to 24).

use super::image::Bytes;

/// The metadata begins with these letters.
const METADATA: u32 = 0x424a_5342;

/// Rows of one table that are read at most: tokens have 24 bits.
const ROWS_LIMIT: u32 = 1 << 24;

/// Types nest in each other at most so deep.
const NESTING: usize = 20;

/// The longest name that is read, in bytes.
const NAME_LIMIT: usize = 1000;

/// All names of a file together are at most so long, in bytes: a small file may use one long name for many rows. Those of
/// the class library, each with its type, take 3 MiB.
const NAMES_LIMIT: usize = 64 << 20;

/// A method and its type, as the metadata has them: ``System.Collections.Generic.List`1+Enumerator``, `MoveNext`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MetadataMethod {
    pub(super) class: String,
    pub(super) name: String,
}

/// A column: a number of bytes, a place in the heap of names, of GUIDs or of blobs, a row of a table, or one of several
/// tables, with the number of bits that say which.
#[derive(Debug, Clone, Copy)]
enum Column {
    Plain(usize),
    Name,
    Guid,
    Blob,
    Row(usize),
    Coded(u32, &'static [usize]),
}
use Column::{Blob, Coded, Guid, Name, Plain, Row};

const TYPE: Column = Coded(2, &[0x02, 0x01, 0x1b]);
const SCOPE: Column = Coded(2, &[0x00, 0x1a, 0x23, 0x01]);
const HAS_ATTRIBUTE: Column = Coded(
    5,
    &[
        0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27,
        0x28, 0x2a, 0x2c, 0x2b,
    ],
);
const METHOD_OR_MEMBER: Column = Coded(1, &[0x06, 0x0a]);
const IMPLEMENTATION: Column = Coded(2, &[0x26, 0x23, 0x27]);

const TYPE_DEF: usize = 0x02;
const METHOD_DEF: usize = 0x06;
const NESTED: usize = 0x29;

/// The columns of all tables up to the last one that is read, by number (II.22).
const TABLES: [&[Column]; NESTED + 1] = [
    &[Plain(2), Name, Guid, Guid, Guid],
    &[SCOPE, Name, Name],
    &[Plain(4), Name, Name, TYPE, Row(0x04), Row(0x06)],
    &[Row(0x04)],
    &[Plain(2), Name, Blob],
    &[Row(0x06)],
    &[Plain(8), Name, Blob, Row(0x08)],
    &[Row(0x08)],
    &[Plain(4), Name],
    &[Row(0x02), TYPE],
    &[Coded(3, &[0x02, 0x01, 0x1a, 0x06, 0x1b]), Name, Blob],
    &[Plain(2), Coded(2, &[0x04, 0x08, 0x17]), Blob],
    &[HAS_ATTRIBUTE, Coded(3, &[0x06, 0x0a]), Blob],
    &[Coded(1, &[0x04, 0x08]), Blob],
    &[Plain(2), Coded(2, &[0x02, 0x06, 0x20]), Blob],
    &[Plain(6), Row(0x02)],
    &[Plain(4), Row(0x04)],
    &[Blob],
    &[Row(0x02), Row(0x14)],
    &[Row(0x14)],
    &[Plain(2), Name, TYPE],
    &[Row(0x02), Row(0x17)],
    &[Row(0x17)],
    &[Plain(2), Name, Blob],
    &[Plain(2), Row(0x06), Coded(1, &[0x14, 0x17])],
    &[Row(0x02), METHOD_OR_MEMBER, METHOD_OR_MEMBER],
    &[Name],
    &[Blob],
    &[Plain(2), Coded(1, &[0x04, 0x06]), Name, Row(0x1a)],
    &[Plain(4), Row(0x04)],
    &[Plain(8)],
    &[Plain(4)],
    &[Plain(16), Blob, Name, Name],
    &[Plain(4)],
    &[Plain(12)],
    &[Plain(12), Blob, Name, Name, Blob],
    &[Plain(4), Row(0x23)],
    &[Plain(12), Row(0x23)],
    &[Plain(4), Name, Blob],
    &[Plain(8), Name, Name, IMPLEMENTATION],
    &[Plain(8), Name, IMPLEMENTATION],
    &[Row(0x02), Row(0x02)],
];

/// All methods, in the order of their table.
pub(super) fn methods(metadata: Bytes<'_>) -> Option<Vec<MetadataMethod>> {
    let tables = MetadataTables::read(metadata)?;
    let mut room = NAMES_LIMIT;
    let classes = tables.classes(&mut room)?;
    let mut methods = Vec::new();
    for row in 0..tables.rows[METHOD_DEF] {
        let name = tables.name(METHOD_DEF, row, 1)?;
        room = room.checked_sub(name.len())?;
        methods.push(MetadataMethod { class: String::new(), name });
    }
    for (at, class) in classes.iter().enumerate() {
        // A type's methods begin here, and end where those of the next one begin; both count from 1.
        let first = tables.cell(TYPE_DEF, at as u32, 5)?;
        let next = tables.cell(TYPE_DEF, at as u32 + 1, 5).unwrap_or(tables.rows[METHOD_DEF] + 1);
        let own = first.saturating_sub(1) as usize..next.saturating_sub(1) as usize;
        for method in methods.get_mut(own).into_iter().flatten() {
            room = room.checked_sub(class.len())?;
            method.class.clone_from(class);
        }
    }
    Some(methods)
}

struct MetadataTables<'a> {
    names: Bytes<'a>,
    /// Rows of each table.
    rows: [u32; 64],
    /// Which heaps are so large that places in them have four bytes: names, GUIDs, blobs.
    large: u8,
    /// The rows of all tables, one table after another.
    bytes: Bytes<'a>,
}

impl<'a> MetadataTables<'a> {
    fn read(metadata: Bytes<'a>) -> Option<Self> {
        if metadata.word(0)? != METADATA {
            return None;
        }
        // Letters, version, reserved; then a text with its length, flags, and the number of streams.
        let mut at = 16usize.checked_add(metadata.word(12)? as usize)?;
        let count = metadata.short(at + 2)?;
        at += 4;
        let (mut tables, mut names) = (None, None);
        for _ in 0..count {
            let bytes = metadata.part(metadata.word(at)? as usize, metadata.word(at + 4)? as usize);
            let name = metadata.from(at + 8)?.0;
            let name = &name[..name.iter().take(32).position(|&byte| byte == 0)?];
            match name {
                b"#~" => tables = bytes,
                b"#Strings" => names = bytes,
                _ => {}
            }
            // A name is filled up to a multiple of four bytes, with at least one zero.
            at += 8 + (name.len() / 4 + 1) * 4;
        }
        let tables = tables?;
        let valid = tables.long(8)?;
        let mut rows = [0; 64];
        let mut at = 24;
        for (number, count) in rows.iter_mut().enumerate().filter(|(number, _)| valid >> number & 1 != 0) {
            *count = tables.word(at).filter(|&count| count < ROWS_LIMIT || number > NESTED)?;
            at += 4;
        }
        Some(Self { names: names?, rows, large: tables.byte(6)?, bytes: tables.from(at)? })
    }

    fn width(&self, column: Column) -> usize {
        let wide = |large: bool| if large { 4 } else { 2 };
        match column {
            Plain(width) => width,
            Name => wide(self.large & 1 != 0),
            Guid => wide(self.large & 2 != 0),
            Blob => wide(self.large & 4 != 0),
            Row(table) => wide(self.rows[table] > 0xffff),
            Coded(bits, tables) => wide(tables.iter().any(|&table| u64::from(self.rows[table]) >= 1 << (16 - bits))),
        }
    }

    fn row_size(&self, table: usize) -> usize {
        TABLES[table].iter().map(|&column| self.width(column)).sum()
    }

    /// A number in a table; columns and rows count from 0.
    fn cell(&self, table: usize, row: u32, column: usize) -> Option<u32> {
        if row >= self.rows[table] {
            return None;
        }
        let before: usize = (0..table).map(|table| self.row_size(table) * self.rows[table] as usize).sum();
        let start: usize = TABLES[table][..column].iter().map(|&column| self.width(column)).sum();
        let at = before + self.row_size(table) * row as usize + start;
        match self.width(TABLES[table][column]) {
            2 => self.bytes.short(at).map(u32::from),
            _ => self.bytes.word(at),
        }
    }

    fn name(&self, table: usize, row: u32, column: usize) -> Option<String> {
        let text = self.names.from(self.cell(table, row, column)? as usize)?.0;
        let end = text.iter().take(NAME_LIMIT).position(|&byte| byte == 0)?;
        Some(String::from_utf8_lossy(&text[..end]).into_owned())
    }

    /// The names of all types, with the types around them. `room`: bytes that names may still take.
    fn classes(&self, room: &mut usize) -> Option<Vec<String>> {
        let count = self.rows[TYPE_DEF];
        // A file that claims more rows than it holds is refused before there is memory for them.
        self.cell(TYPE_DEF, count.checked_sub(1)?, 0)?;
        let mut around: Vec<Option<u32>> = vec![None; count as usize];
        for row in 0..self.rows[NESTED] {
            let (inner, outer) =
                (self.cell(NESTED, row, 0)?.checked_sub(1)?, self.cell(NESTED, row, 1)?.checked_sub(1)?);
            *around.get_mut(inner as usize)? = Some(outer);
        }
        let mut class = |row: u32| {
            let mut parts = Vec::new();
            let mut outermost = row;
            let chain = std::iter::successors(Some(row), |&row| around.get(row as usize).copied().flatten());
            for row in chain.take(NESTING) {
                parts.push(self.name(TYPE_DEF, row, 1)?);
                outermost = row;
            }
            parts.reverse();
            let space = self.name(TYPE_DEF, outermost, 2)?;
            let dot = if space.is_empty() { "" } else { "." };
            let name = format!("{space}{dot}{}", parts.join("+"));
            *room = room.checked_sub(name.len())?;
            Some(name)
        };
        (0..count).map(&mut class).collect()
    }
}
