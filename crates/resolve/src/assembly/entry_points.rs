//! Which method has which code: by its number in the metadata, and for methods of generic types by a signature.

use super::image::{Bytes, PeImage};
use super::native::{Array, hashed, unsigned};

/// Kinds of tables (readytorun.h).
const RUNTIME_FUNCTIONS: u32 = 102;
const METHOD_ENTRY_POINTS: u32 = 103;
const INSTANCE_ENTRY_POINTS: u32 = 109;

/// Flags before a method's signature (readytorun.h).
const MEMBER_OF_OTHER: u32 = 0x10;
const SLOT: u32 = 0x08;
const OWNER_TYPE: u32 = 0x40;
const OTHER_CONTEXT: u32 = 0x80;
const INSTANTIATED: u32 = 0x04;

/// Types nest in a signature at most so deep.
const NESTING: u32 = 50;

/// The longest signature that is read, in bytes: many entries of a damaged table may lead to the same long one.
const SIGNATURE_LIMIT: usize = 1024;

/// Code of a method, by addresses in the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its number in the table of methods, from 1.
    pub(super) method: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// All code whose method is known.
pub(super) fn all(image: &PeImage<'_>) -> Option<Vec<Piece>> {
    let functions = functions(image)?;
    let mut starts: Vec<(u32, u32)> = Vec::new();
    if let Some(table) = image.table(METHOD_ENTRY_POINTS) {
        let entries = Array::read(table)?;
        starts.extend(entries.entries().filter_map(|(index, at)| Some((function(table, at)?, index.checked_add(1)?))));
    }
    if let Some(table) = image.table(INSTANCE_ENTRY_POINTS) {
        let entries = hashed(table)?.into_iter();
        starts.extend(entries.filter_map(|at| instance(table, at)));
    }
    starts.sort_unstable();
    let ends = starts.iter().skip(1).map(|&(next, _)| next).chain([functions.len() as u32]);
    // A method's exception handlers follow it as functions of their own.
    let pieces = starts.iter().zip(ends).flat_map(|(&(first, method), end)| {
        let own = functions.get(first as usize..end.max(first) as usize).unwrap_or_default();
        own.iter().map(move |&(start, end)| Piece { method, start, end })
    });
    Some(pieces.filter(|piece| piece.method > 0).collect())
}

/// Starts and ends of all functions.
fn functions(image: &PeImage<'_>) -> Option<Vec<(u32, u32)>> {
    let table = image.table(RUNTIME_FUNCTIONS)?;
    let size = if image.lists_ends { 12 } else { 8 };
    let starts: Vec<u32> = table.0.chunks_exact(size).filter_map(|entry| Bytes(entry).word(0)).collect();
    let end = |number: usize, next: Option<&u32>| match image.lists_ends {
        true => Bytes(table.0).word(number * size + 4),
        false => next.copied(),
    };
    let all = starts.iter().enumerate();
    Some(all.map(|(at, &start)| (start, end(at, starts.get(at + 1)).unwrap_or(start))).collect())
}

/// The number of the function at which a method begins.
fn function(table: Bytes<'_>, at: usize) -> Option<u32> {
    let (value, _) = unsigned(table, at)?;
    // What must be done before the first call follows, here or elsewhere.
    Some(if value & 1 == 0 { value >> 1 } else { value >> 2 })
}

/// The function of a method of a generic type or with type arguments, and the method's number: 0 where that is in another
/// assembly.
fn instance(table: Bytes<'_>, at: usize) -> Option<(u32, u32)> {
    let bytes = table.from(at)?.0;
    let mut signature = Signature { bytes: Bytes(&bytes[..bytes.len().min(SIGNATURE_LIMIT)]), at: 0, elsewhere: false };
    let flags = signature.number()?;
    if flags & OTHER_CONTEXT != 0 {
        signature.elsewhere = true;
        signature.number()?;
    }
    if flags & OWNER_TYPE != 0 {
        signature.skip_type(0)?;
    }
    let method = signature.number()?;
    if flags & INSTANTIATED != 0 {
        let count = signature.number()?;
        // Where its arguments are from does not matter.
        let elsewhere = signature.elsewhere;
        (0..count).try_for_each(|_| signature.skip_type(0))?;
        signature.elsewhere = elsewhere;
    }
    let known = flags & (MEMBER_OF_OTHER | SLOT) == 0 && !signature.elsewhere;
    Some((function(table, at + signature.at)?, if known { method } else { 0 }))
}

/// A signature of ECMA-335 (II.23.2) with what ReadyToRun adds.
struct Signature<'a> {
    bytes: Bytes<'a>,
    at: usize,
    /// Whether its outermost type is of another assembly.
    elsewhere: bool,
}

impl Signature<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.byte(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// A compressed unsigned number.
    fn number(&mut self) -> Option<u32> {
        let first = u32::from(self.byte()?);
        let mut more =
            |count: u32, start: u32| (0..count).try_fold(start, |value, _| Some(value << 8 | u32::from(self.byte()?)));
        match first {
            0..0x80 => Some(first),
            0x80..0xc0 => more(1, first & 0x3f),
            0xc0..0xe0 => more(3, first & 0x1f),
            _ => None,
        }
    }

    fn skip_type(&mut self, depth: u32) -> Option<()> {
        if depth > NESTING {
            return None;
        }
        match self.byte()? {
            // Numbers, texts, objects; the type that stands for all reference types.
            0x01..=0x0e | 0x16 | 0x18 | 0x19 | 0x1c | 0x3e => Some(()),
            // Pointer, reference, vector, pinned, and the native form of a value.
            0x0f | 0x10 | 0x1d | 0x45 | 0x3d => self.skip_type(depth + 1),
            // A value or class by its token; a type parameter by its number.
            0x11 | 0x12 | 0x13 | 0x1e | 0x3b => self.number().map(|_| ()),
            // An array: its element, its rank, sizes and lower bounds.
            0x14 => {
                self.skip_type(depth + 1)?;
                self.number()?;
                for _ in 0..2 {
                    let count = self.number()?;
                    (0..count).try_for_each(|_| self.number().map(|_| ()))?;
                }
                Some(())
            }
            // A generic type and its arguments.
            0x15 => {
                self.skip_type(depth + 1)?;
                let elsewhere = self.elsewhere;
                let count = self.number()?;
                (0..count).try_for_each(|_| self.skip_type(depth + 1))?;
                self.elsewhere = elsewhere;
                Some(())
            }
            // A required or optional modifier.
            0x1f | 0x20 => {
                self.number()?;
                self.skip_type(depth + 1)
            }
            // A type of another assembly.
            0x3f => {
                self.elsewhere = true;
                self.number()?;
                self.skip_type(depth + 1)
            }
            _ => None,
        }
    }
}
