//! Checks the pages of a column where the Parquet library trusts the file: there it would panic, or take as much memory
//! as the file claims to need.

use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;

use super::values::{differences, ones, references, strings};

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
        let count = page.num_values() as usize;
        let present = match levels {
            Some(levels) => ones(levels, count).ok_or("a page has fewer levels than values")?,
            None => count,
        };
        let whole = match page.encoding() {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY if !self.dictionary => {
                return Err("a page refers to a dictionary that is missing");
            }
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => references(values, present),
            Encoding::PLAIN => return self.holds(values, present),
            Encoding::DELTA_BINARY_PACKED => differences(values, present),
            _ => return Err("a page is in an encoding that no release has written"),
        };
        if whole { Ok(()) } else { Err(SHORT) }
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
