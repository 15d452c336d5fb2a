//! Checks the pages of a column where the Parquet library trusts the file: there it would panic, or take as much memory
//! as the file claims to need.

use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;

/// Passes on the pages of a flat column. A page with fewer values than it claims is an error, and so is a page that
/// refers to a missing dictionary.
pub(crate) struct CheckedPages {
    inner: Box<dyn PageReader>,
    descriptor: ColumnDescPtr,
    dictionary: bool,
}

impl CheckedPages {
    pub(crate) fn new(inner: Box<dyn PageReader>, descriptor: ColumnDescPtr) -> CheckedPages {
        CheckedPages { inner, descriptor, dictionary: false }
    }

    /// Checks a page. `Err` says what is wrong with it.
    fn check(&mut self, page: &Page) -> Result<(), &'static str> {
        let bytes: &[u8] = page.buffer();
        let (levels, values) = match page {
            Page::DictionaryPage { num_values, .. } => {
                self.dictionary = true;
                // The library allocates memory for this many values before it reads the first.
                return self.holds(bytes, *num_values as usize);
            }
            Page::DataPage { .. } if !self.optional() => (None, bytes),
            Page::DataPage { def_level_encoding: Encoding::RLE, .. } => {
                let length = bytes.first_chunk().map_or(u32::MAX, |length| u32::from_le_bytes(*length));
                let split = bytes.get(4..).and_then(|rest| rest.split_at_checked(length as usize));
                let (levels, values) = split.ok_or("a page ends within its levels")?;
                (Some(levels), values)
            }
            Page::DataPage { .. } => return Err("a page's levels are in an encoding that is no longer used"),
            Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
                if *rep_levels_byte_len != 0 {
                    return Err("a page of plain values claims to be nested");
                }
                let split = bytes.split_at_checked(*def_levels_byte_len as usize);
                let (levels, values) = split.ok_or("a page ends within its levels")?;
                (self.optional().then_some(levels), values)
            }
        };
        match page.encoding() {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY if !self.dictionary => {
                Err("a page refers to a dictionary that is missing")
            }
            encoding @ (Encoding::PLAIN | Encoding::DELTA_BINARY_PACKED) => {
                let count = page.num_values() as usize;
                let present = match levels {
                    Some(levels) => ones(levels, count).ok_or("a page has fewer levels than values")?,
                    None => count,
                };
                match encoding {
                    Encoding::PLAIN => self.holds(values, present),
                    _ if present == 0 || differences(values).is_some_and(|held| held >= present as u64) => Ok(()),
                    _ => Err(SHORT),
                }
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY => {
                Err("a page is in an encoding that no release has written")
            }
            _ => Ok(()),
        }
    }

    fn optional(&self) -> bool {
        self.descriptor.max_def_level() > 0
    }

    /// Whether `bytes` really has this many values in the plain encoding.
    fn holds(&self, bytes: &[u8], count: usize) -> Result<(), &'static str> {
        let width = match self.descriptor.physical_type() {
            PhysicalType::BYTE_ARRAY => return if strings(bytes, count) { Ok(()) } else { Err(SHORT) },
            // Bits; the library itself checks their number.
            PhysicalType::BOOLEAN => return if count.div_ceil(8) <= bytes.len() { Ok(()) } else { Err(SHORT) },
            PhysicalType::INT32 | PhysicalType::FLOAT => 4,
            PhysicalType::INT64 | PhysicalType::DOUBLE => 8,
            PhysicalType::INT96 => 12,
            PhysicalType::FIXED_LEN_BYTE_ARRAY => usize::try_from(self.descriptor.type_length()).unwrap_or(0).max(1),
        };
        if count.checked_mul(width).is_some_and(|length| length <= bytes.len()) { Ok(()) } else { Err(SHORT) }
    }
}

const SHORT: &str = "a page holds fewer values than it claims";

/// Whether there are this many strings, each preceded by its length in 4 bytes.
fn strings(mut bytes: &[u8], count: usize) -> bool {
    (0..count).all(|_| {
        let rest =
            bytes.split_first_chunk().and_then(|(length, rest)| rest.get(u32::from_le_bytes(*length) as usize..));
        bytes = rest.unwrap_or_default();
        rest.is_some()
    })
}

/// How many of `count` levels of one bit are 1; none when there are fewer levels. The format is Parquet's hybrid of run
/// lengths and packed bits. Each part begins with a LEB128 number: twice the length of a run, followed by the run's
/// value; or twice the number of bytes of packed bits that follow, plus 1.
fn ones(mut bytes: &[u8], count: usize) -> Option<usize> {
    let (mut read, mut ones) = (0, 0);
    while read < count {
        let header = number(&mut bytes)?;
        let left = count - read;
        if header % 2 == 1 {
            let packed = usize::try_from(header / 2).ok()?.min(left.div_ceil(8));
            let (bits, rest) = bytes.split_at_checked(packed)?;
            let used = left.min(packed * 8);
            ones += (0..used).filter(|bit| bits[bit / 8] >> (bit % 8) & 1 == 1).count();
            (read, bytes) = (read + used, rest);
        } else {
            let run = usize::try_from(header / 2).ok()?.min(left);
            let (value, rest) = bytes.split_first()?;
            ones += if *value == 0 { 0 } else { run };
            (read, bytes) = (read + run, rest);
        }
    }
    Some(ones)
}

/// How many values a page in delta encoding claims. Its header is four numbers: the size of a block, the parts of a
/// block, the count of values, the first value.
fn differences(mut bytes: &[u8]) -> Option<u64> {
    let _block = number(&mut bytes)?;
    let _parts = number(&mut bytes)?;
    number(&mut bytes)
}

/// Takes a number in LEB128 from the front.
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

impl Iterator for CheckedPages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.inner.get_next_page()?;
        if let Some(page) = &page {
            self.check(page).map_err(|why| ParquetError::General(why.to_owned()))?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        self.inner.at_record_boundary()
    }
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
    fn a_header_of_differences_tells_their_count() {
        assert_eq!(differences(&[128, 1, 4, 5, 2]), Some(5));
        assert_eq!(differences(&[128, 1, 4, 0, 0]), Some(0), "the library would read a first value nevertheless");
        assert_eq!(differences(&[128, 1, 4]), None);
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
    }
}
