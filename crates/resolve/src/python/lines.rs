//! Tables of the lines of instructions, in the three forms that CPython has had (Objects/lnotab_notes.txt,
//! Objects/locations.md in its sources). Imports nothing of the crate.

/// The form of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineTable {
    /// Up to 3.9: pairs of a number of bytes (unsigned) and a number of lines (signed); each pair is added to the
    /// position, and the line begins there.
    Steps,
    /// 3.10: ranges, each with a number of bytes and the difference from the line before; -128 means no line.
    Ranges,
    /// From 3.11 on: entries for a few instructions each, with columns.
    Places,
}

impl LineTable {
    /// The line of the instruction at a distance from the start, in bytes. `first`: the line of the `def`.
    pub(super) fn at(self, table: &[u8], first: u32, distance: u64) -> Option<u32> {
        let line = match self {
            LineTable::Steps => steps(table, i64::from(first), distance),
            LineTable::Ranges => ranges(table, i64::from(first), distance),
            LineTable::Places => places(table, i64::from(first), distance),
        };
        u32::try_from(line?).ok().filter(|line| *line > 0)
    }
}

fn steps(table: &[u8], first: i64, distance: u64) -> Option<i64> {
    let (mut at, mut line) = (0, first);
    for [bytes, lines] in table.as_chunks().0 {
        at += u64::from(*bytes);
        if at > distance {
            break;
        }
        line += i64::from(*lines as i8);
    }
    Some(line)
}

fn ranges(table: &[u8], first: i64, distance: u64) -> Option<i64> {
    let (mut end, mut line) = (0, first);
    for [bytes, lines] in table.as_chunks().0 {
        let lines = *lines as i8;
        line += if lines == i8::MIN { 0 } else { i64::from(lines) };
        end += u64::from(*bytes);
        if distance < end {
            return (lines != i8::MIN).then_some(line);
        }
    }
    None
}

/// An entry begins with a byte whose highest bit is set; the other bits are its kind (4 bits) and its length in units
/// of two bytes, minus 1 (3 bits). Kinds up to 9 are on the same line; 10 to 12 are `kind - 10` lines later; 13 and 14
/// have the difference as a number of several bytes; 15 has no line.
fn places(table: &[u8], first: i64, distance: u64) -> Option<i64> {
    let (mut end, mut line) = (0, first);
    let mut rest = table;
    while let Some((head, after)) = rest.split_first() {
        if head & 0x80 == 0 {
            return None;
        }
        let kind = (head >> 3) & 15;
        match kind {
            10..=12 => line += i64::from(kind) - 10,
            13 | 14 => line = line.checked_add(signed(after)?)?,
            _ => {}
        }
        end += 2 * (u64::from(head & 7) + 1);
        if distance < end {
            return (kind != 15).then_some(line);
        }
        let length = after.iter().take_while(|byte| *byte & 0x80 == 0).count();
        rest = after.get(length..)?;
    }
    None
}

/// Six bits in each byte, the lowest first; bit 6 means that another byte follows. The lowest bit of the number is its
/// sign.
fn signed(bytes: &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for (index, byte) in bytes.iter().take(6).enumerate() {
        number |= u64::from(byte & 63) << (6 * index);
        if byte & 64 == 0 {
            let size = (number >> 1) as i64;
            return Some(if number & 1 == 1 { -size } else { size });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tables that CPython made of this function, whose `def` is on line 10:
    ///
    /// ```python
    /// def f(x):
    ///     y = x + 1
    ///
    ///     for i in range(y):
    ///         y += g(i,
    ///                x)
    ///     return y
    /// ```
    fn lines(form: LineTable, table: &str, distances: &[u64]) -> Vec<Option<u32>> {
        let byte = |at: usize| u8::from_str_radix(&table[at..at + 2], 16).unwrap();
        let table: Vec<u8> = (0..table.len()).step_by(2).map(byte).collect();
        distances.iter().map(|distance| form.at(&table, 10, *distance)).collect()
    }

    #[test]
    fn tables_of_python_3_9_and_3_10_are_followed() {
        let is = [11, 11, 13, 13, 14, 15, 14, 16].map(Some);
        assert_eq!(lines(LineTable::Steps, "000108020c01060102ff0802", &[0, 6, 8, 19, 20, 26, 28, 36]), is);
        assert_eq!(lines(LineTable::Ranges, "08010c020601020108ff0402", &[0, 6, 8, 19, 20, 26, 28, 36]), is);
        assert_eq!(lines(LineTable::Ranges, "08010480", &[4, 8, 12]), [Some(11), None, None], "no line, and the end");
    }

    #[test]
    fn tables_of_python_3_11_and_3_12_are_followed() {
        let of_3_11 = "8000d80809884189058041e50d12903189588c58f000020512f0000205128801d808098d518871d80f10f103010e12f40001\
                       0e12f10001091288018801e00b0c8048";
        let is = [10, 11, 11, 13, 13, 14, 14, 15, 14, 16].map(Some);
        assert_eq!(lines(LineTable::Places, of_3_11, &[0, 2, 11, 12, 44, 46, 61, 62, 64, 88]), is);
        let of_3_12 = "8000d80809884189058041e40d1290318b58f2000205128801d808098c518871d80f10f303010e12f1000109128901f00302\
                       0512f006000c0d8048";
        assert_eq!(
            lines(LineTable::Places, of_3_12, &[0, 2, 12, 40, 54, 56, 72, 74]),
            [10, 11, 13, 14, 15, 14, 13, 16].map(Some)
        );
        assert_eq!(lines(LineTable::Places, of_3_12, &[78]), [None], "the table ends");
        assert_eq!(lines(LineTable::Places, "f800", &[0]), [None], "no line");
    }

    proptest! {
        #[test]
        fn any_table_is_survived(table in proptest::collection::vec(any::<u8>(), 0..64), first in any::<u32>(), distance in 0u64..600) {
            for form in [LineTable::Steps, LineTable::Ranges, LineTable::Places] {
                form.at(&table, first, distance);
            }
        }
    }
}
