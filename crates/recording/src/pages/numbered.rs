//! Columns of words, read as numbers: the text of a word is looked at once per dictionary, not once per row.

use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, Type};
use std::sync::Arc;

/// Passes on the pages of a flat column of strings, with a number in place of each string.
pub(crate) struct NumberedPages {
    /// Checked pages: each holds the strings that it claims.
    inner: Box<dyn PageReader>,
    optional: bool,
    number: fn(&[u8]) -> i32,
}

impl NumberedPages {
    pub(crate) fn new(inner: Box<dyn PageReader>, optional: bool, number: fn(&[u8]) -> i32) -> NumberedPages {
        NumberedPages { inner, optional, number }
    }

    /// The descriptor of the column of numbers.
    pub(crate) fn descriptor(words: &ColumnDescPtr) -> Result<ColumnDescPtr, ParquetError> {
        let kind = Type::primitive_type_builder(words.name(), PhysicalType::INT32)
            .with_repetition(words.self_type().get_basic_info().repetition())
            .build()?;
        let (levels, path) = (words.max_def_level(), words.path().clone());
        Ok(Arc::new(ColumnDescriptor::new(Arc::new(kind), levels, words.max_rep_level(), path)))
    }

    fn numbered(&self, page: Page) -> Result<Page, ParquetError> {
        let plain = page.encoding() == Encoding::PLAIN || matches!(page, Page::DictionaryPage { .. });
        let by_dictionary = matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
        if !plain && !by_dictionary {
            return Err(ParquetError::General("a page of words is in an encoding for numbers".to_owned()));
        }
        Ok(match page {
            Page::DictionaryPage { buf, num_values, encoding, is_sorted } => {
                let numbers = self.numbers(&buf, 0, num_values);
                Page::DictionaryPage { buf: numbers.into(), num_values, encoding, is_sorted }
            }
            Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, statistics }
                if plain =>
            {
                let levels = match (self.optional, buf.first_chunk()) {
                    (true, Some(length)) => (u32::from_le_bytes(*length) as usize).saturating_add(4),
                    _ => 0,
                };
                let buf = self.numbers(&buf, levels, num_values).into();
                Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, statistics }
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls,
                num_rows,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                statistics,
            } if plain => Page::DataPageV2 {
                buf: self.numbers(&buf, def_levels_byte_len as usize, num_values).into(),
                num_values,
                encoding,
                num_nulls,
                num_rows,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                statistics,
            },
            page => page,
        })
    }

    /// The levels unchanged, then a number for each of the strings after them, at most `count`.
    fn numbers(&self, bytes: &[u8], levels: usize, count: u32) -> Vec<u8> {
        let (levels, mut words) = bytes.split_at_checked(levels).unwrap_or((bytes, &[]));
        let mut made = levels.to_vec();
        for _ in 0..count {
            let Some((length, rest)) = words.split_first_chunk() else { break };
            let Some((word, rest)) = rest.split_at_checked(u32::from_le_bytes(*length) as usize) else { break };
            made.extend((self.number)(word).to_le_bytes());
            words = rest;
        }
        made
    }
}

impl Iterator for NumberedPages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for NumberedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        self.inner.get_next_page()?.map(|page| self.numbered(page)).transpose()
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
