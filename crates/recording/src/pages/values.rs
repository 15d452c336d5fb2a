//! Walks the values of a page in the encodings that releases have written, and says whether as many are there as the
//! page claims. Sources: the Parquet format's "Encodings", and what the Parquet library 60 asserts.

/// The largest block of a page of differences. The library writes 128 or 256 values a block.
const MAX_BLOCK: u64 = 1 << 16;

/// Bits of one number of a dictionary, at most.
const MAX_WIDTH: u8 = 32;

/// Whether there are this many strings, each preceded by its length in 4 bytes.
pub(super) fn strings(mut bytes: &[u8], count: usize) -> bool {
    (0..count).all(|_| {
        let rest =
            bytes.split_first_chunk().and_then(|(length, rest)| rest.get(u32::from_le_bytes(*length) as usize..));
        bytes = rest.unwrap_or_default();
        rest.is_some()
    })
}

/// How many of `count` levels of one bit are 1; none when there are fewer levels.
pub(super) fn ones(bytes: &[u8], count: usize) -> Option<usize> {
    let mut ones = 0;
    runs(bytes, 1, count, |run| {
        ones += match run {
            Run::Repeated { value, count } => usize::from(value != [0]) * count,
            Run::Packed { bits, count } => (0..count).filter(|bit| bits[bit / 8] >> (bit % 8) & 1 == 1).count(),
        };
    })?;
    Some(ones)
}

/// Whether a page that refers to a dictionary has `count` values: first the bits of a number, then its runs.
pub(super) fn references(bytes: &[u8], count: usize) -> bool {
    let width = bytes.split_first().filter(|(width, _)| **width <= MAX_WIDTH);
    width.is_some_and(|(width, rest)| runs(rest, usize::from(*width), count, |_| ()).is_some())
}

/// A part of a page of runs, and how many of its values are wanted.
enum Run<'a> {
    Repeated { value: &'a [u8], count: usize },
    Packed { bits: &'a [u8], count: usize },
}

/// Walks over `count` values of `width` bits; none when there are fewer. The format is Parquet's hybrid of run lengths
/// and packed bits. Each part begins with a LEB128 number: twice the length of a run, followed by the run's value in
/// whole bytes; or twice the number of groups of 8 packed values that follow, plus 1.
fn runs<'a>(mut bytes: &'a [u8], width: usize, count: usize, mut each: impl FnMut(Run<'a>)) -> Option<()> {
    let mut read = 0;
    // The library reads the first number also where no value is wanted.
    while read < count || read == 0 && !bytes.is_empty() {
        let header = number(&mut bytes)?;
        let left = count - read;
        if left == 0 {
            return Some(());
        }
        let length = usize::try_from(header / 2).ok()?;
        if header % 2 == 1 {
            let groups = length.min(left.div_ceil(8));
            let count = left.min(groups * 8);
            let (bits, rest) = bytes.split_at_checked(groups.checked_mul(width)?)?;
            (read, bytes) = (read + count, rest);
            each(Run::Packed { bits, count });
        } else {
            let count = length.min(left);
            let (value, rest) = bytes.split_at_checked(width.div_ceil(8))?;
            (read, bytes) = (read + count, rest);
            each(Run::Repeated { value, count });
        }
    }
    Some(())
}

/// Whether a page in delta encoding has `count` values. Its header is four numbers: the size of a block, the parts of a
/// block, the count of values, the first value. Each block is the smallest difference, the bits of a value for each
/// part, and the parts.
pub(super) fn differences(mut bytes: &[u8], count: usize) -> bool {
    walk_differences(&mut bytes, count).is_some()
}

fn walk_differences(bytes: &mut &[u8], count: usize) -> Option<()> {
    let block = number(bytes)?;
    let parts = number(bytes)?;
    let held = number(bytes)?;
    let _first = number(bytes)?;
    if block > MAX_BLOCK || parts == 0 || parts > block || held < count as u64 {
        return None;
    }
    let values = usize::try_from(block / parts).ok()?;
    let mut read = 1;
    while read < count {
        let _smallest = number(bytes)?;
        let (widths, rest) = bytes.split_at_checked(usize::try_from(parts).ok()?)?;
        *bytes = rest;
        for width in widths {
            if read < count {
                // The library reads no more of the last part than it needs.
                let wanted = values.min(count - read);
                let bits = |values: usize| (values * usize::from(*width)).div_ceil(8);
                bytes.get(..bits(wanted))?;
                *bytes = bytes.get(bits(values)..).unwrap_or_default();
                read += wanted;
            }
        }
    }
    Some(())
}

/// Takes a number in LEB128 from the front. None also where it has more than the 10 bytes of 64 bits: the library
/// panics there.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_counted_within_their_bytes() {
        let two = [1, 0, 0, 0, b'a', 0, 0, 0, 0];
        assert!(strings(&two, 0) && strings(&two, 2));
        assert!(!strings(&two, 3), "nothing is left");
        assert!(!strings(&two[..7], 2), "a length is cut");
        assert!(!strings(&[9, 0, 0, 0, b'a'], 1), "a string is cut");
        assert!(!strings(&[255, 255, 255, 255], 1));
    }

    #[test]
    fn differences_are_walked_block_by_block() {
        // Blocks of 128 values in 4 parts; 40 values, the first is 2. A block: smallest 0; parts of 1, 2, 0 and 0 bits.
        let header = [128, 1, 4, 40, 2];
        let block = [&[0, 1, 2, 0, 0][..], &[0xff; 4], &[0xff; 8]].concat();
        let page = [&header[..], &block].concat();
        assert!(differences(&page, 40) && differences(&page, 1) && differences(&page, 0));
        assert!(!differences(&page, 41), "it claims 40");
        // 1 value in the header, 32 in the first part, 7 of 2 bits.
        assert!(differences(&page[..page.len() - 6], 40), "a last part may be cut after its last value");
        assert!(!differences(&page[..page.len() - 7], 40));
        assert!(!differences(&header, 40), "no block");
        assert!(!differences(&header[..3], 0), "no first value: the library reads it nevertheless");
    }

    #[test]
    fn differences_that_make_the_library_panic_are_refused() {
        let long = [0xff; 11];
        assert!(!differences(&long, 0), "a number of 11 bytes");
        assert!(!differences(&[&[128, 1, 4, 40, 2][..], &long].concat(), 40), "in a block");
        // 2^62 values a block: their bits do not fit into 64 bits.
        let large = [128, 128, 128, 128, 128, 128, 128, 128, 64, 1, 40, 2, 0, 255];
        assert!(!differences(&[&large[..], &[0; 4000]].concat(), 40));
        assert!(!differences(&[128, 1, 0, 1, 2], 1), "no parts");
    }

    #[test]
    fn levels_are_counted() {
        // A run of 5 ones, then 8 packed bits of which 3 are wanted.
        let levels = [5 << 1, 1, 3, 0b0000_0101];
        assert_eq!(ones(&levels, 8), Some(7));
        assert_eq!(ones(&levels, 3), Some(3));
        assert_eq!(ones(&levels, 14), None);
        // A run of 300 zeros: its header takes two bytes.
        assert_eq!(ones(&[0xd8, 0x04, 0], 300), Some(0));
        for cut in [&[][..], &[3], &[10], &[0xff], &[0xff; 12]] {
            assert_eq!(ones(cut, 9), None, "{cut:?}");
        }
        // Empty runs make no progress, but the bytes come to an end.
        assert_eq!(ones(&[0, 1, 0, 1], 1), None);
        assert_eq!(ones(&[], 0), Some(0));
        assert_eq!(ones(&[0xff; 12], 0), None, "the library reads this number, and would panic");
    }

    #[test]
    fn references_are_walked_run_by_run() {
        // Numbers of 12 bits: 3 times the same, then 8 packed ones.
        let page = [&[12, 3 << 1, 7, 0, 3][..], &[0x55; 12]].concat();
        assert!(references(&page, 11) && references(&page, 3));
        assert!(!references(&page, 12) && !references(&page[..16], 11));
        assert!(references(&[0, 9 << 1], 9), "numbers of no bits, where all values are the same");
        assert!(references(&[12], 0) && !references(&[], 0) && !references(&[33, 2, 0, 0, 0, 0, 0], 1));
        // The second run's length has 11 bytes.
        assert!(!references(&[&[12, 3 << 1, 7, 0][..], &[0xff; 11]].concat(), 4));
    }
}
