//! Numbers as HotSpot packs them into bytes (`UNSIGNED5`), and tables of lines that are made of them.
//!
//! Each byte counts 64 times as much as the one before it; a byte of 192 or more is followed by another one, up to four
//! times. In newer versions (JDK 17 has the old form, JDK 21 the new one) one is added to each byte, so that none is
//! zero. The bytes show which form they have: the number 0 is a zero byte in the old form, and the new form has no zero
//! bytes; and numbers read in the wrong form are odd instead of even, so that signed numbers change their sign.
//!
//! Imports nothing of the crate.

/// How numbers are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// JDK 17 and older.
    Zeros,
    /// JDK 21 and newer.
    NoZeros,
}

pub(super) const PACKINGS: [Packing; 2] = [Packing::NoZeros, Packing::Zeros];

/// Bytes from this value on are followed by another one; at most `FOLLOWERS` follow the first.
const MORE: u8 = 192;
const FOLLOWERS: u32 = 4;
const BITS: u32 = 6;

/// Marks a row of a table of lines that does not fit into one byte.
const WIDE: u8 = 0xff;

/// Packed numbers, one after the other.
#[derive(Debug)]
pub(super) struct PackedInts<'a> {
    bytes: std::slice::Iter<'a, u8>,
    packing: Packing,
}

impl<'a> PackedInts<'a> {
    pub(super) fn new(bytes: &'a [u8], packing: Packing) -> PackedInts<'a> {
        PackedInts { bytes: bytes.iter(), packing }
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes.next().copied()
    }

    /// None at the end, and for a byte that cannot occur in such a number.
    pub(super) fn unsigned(&mut self) -> Option<u32> {
        let less = u8::from(self.packing == Packing::NoZeros);
        let mut sum: u32 = 0;
        for place in 0..=FOLLOWERS {
            let byte = self.byte()?;
            sum = sum.wrapping_add(u32::from(byte.checked_sub(less)?) << (BITS * place));
            if byte < MORE {
                break;
            }
        }
        Some(sum)
    }

    fn signed(&mut self) -> Option<i32> {
        let number = self.unsigned()?;
        Some((number >> 1) as i32 ^ -((number & 1) as i32))
    }
}

/// The lines of a method with the bytecodes at which they begin, which must increase and be below `size`. None for
/// bytes that are no such table or are packed in the other form.
pub(super) fn lines(bytes: &[u8], size: u32, packing: Packing) -> Option<Vec<(u32, u32)>> {
    let mut ints = PackedInts::new(bytes, packing);
    let (mut bytecode, mut line) = (0i32, 0i32);
    let mut rows = Vec::new();
    loop {
        let (ahead, lines) = match ints.byte()? {
            0 => return Some(rows),
            WIDE => (ints.signed()?, ints.signed()?),
            both => (i32::from(both >> 3), i32::from(both & 7)),
        };
        bytecode = bytecode.checked_add(ahead).filter(|_| ahead >= 0)?;
        line = line.checked_add(lines)?;
        let row = (u32::try_from(bytecode).ok().filter(|at| *at < size)?, u32::try_from(line).ok()?);
        rows.push(row);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As `UNSIGNED5::write_uint` does.
    pub(in super::super) fn pack(number: u32, packing: Packing, to: &mut Vec<u8>) {
        let more = u8::from(packing == Packing::NoZeros);
        let (most, mut rest) = (u32::from(MORE - more), number);
        for _ in 0..FOLLOWERS {
            if rest < most {
                break;
            }
            rest -= most;
            to.push((most + rest % 64) as u8 + more);
            rest /= 64;
        }
        to.push(rest as u8 + more);
    }

    pub(in super::super) fn table(rows: &[(u32, u32)], packing: Packing) -> Vec<u8> {
        let (mut bytes, mut before) = (Vec::new(), (0i32, 0i32));
        for (bytecode, line) in rows {
            let (ahead, lines) = (*bytecode as i32 - before.0, *line as i32 - before.1);
            before = (*bytecode as i32, *line as i32);
            let both = (ahead << 3) | lines;
            if (0..31).contains(&ahead) && (0..8).contains(&lines) && both > 0 {
                bytes.push(both as u8);
            } else {
                bytes.push(WIDE);
                for number in [ahead, lines] {
                    pack(((number << 1) ^ (number >> 31)) as u32, packing, &mut bytes);
                }
            }
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn known_bytes_give_the_same_numbers_as_in_hotspot() {
        let read = |bytes: &[u8], packing| PackedInts::new(bytes, packing).unsigned();
        assert_eq!(read(&[0], Packing::Zeros), Some(0));
        assert_eq!(read(&[191], Packing::Zeros), Some(191));
        assert_eq!(read(&[192, 0], Packing::Zeros), Some(192));
        assert_eq!(read(&[0xff, 1], Packing::Zeros), Some(255 + 64));
        assert_eq!(read(&[1], Packing::NoZeros), Some(0));
        assert_eq!(read(&[191], Packing::NoZeros), Some(190));
        assert_eq!(read(&[192, 1], Packing::NoZeros), Some(191));
        assert_eq!(read(&[0], Packing::NoZeros), None);
        assert_eq!(read(&[192], Packing::Zeros), None);
    }

    proptest! {
        #[test]
        fn numbers_come_back(number in any::<u32>(), shift in 0u32..32) {
            for packing in PACKINGS {
                let mut bytes = Vec::new();
                pack(number >> shift, packing, &mut bytes);
                prop_assert_eq!(PackedInts::new(&bytes, packing).unsigned(), Some(number >> shift));
            }
        }

        #[test]
        fn a_table_of_lines_fits_only_one_packing(steps in prop::collection::vec((0u32..300, -40i32..900), 1..20)) {
            let (mut bytecode, mut line, mut rows) = (0, 1000i32, Vec::new());
            for (ahead, lines) in steps {
                (bytecode, line) = (bytecode + ahead, line + lines);
                rows.push((bytecode, line as u32));
            }
            for packing in PACKINGS {
                let bytes = table(&rows, packing);
                let fits: Vec<_> = PACKINGS.iter().filter_map(|p| lines(&bytes, 65535, *p)).collect();
                prop_assert_eq!(&fits, &[rows.clone()], "{:?} {:?}", packing, bytes);
            }
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..64), size in any::<u32>()) {
            for packing in PACKINGS {
                let _ = lines(&bytes, size, packing);
            }
        }
    }
}
