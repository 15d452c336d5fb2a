//! Pages of a column, checked where the Parquet library takes a file at its word and would panic.
//!
//! May import: parquet.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;

/// Hands on the pages of a column. A page of places in a dictionary that never came is an error.
pub(crate) struct Checked {
    inner: Box<dyn PageReader>,
    dictionary: bool,
}

impl Checked {
    pub(crate) fn new(inner: Box<dyn PageReader>) -> Checked {
        Checked { inner, dictionary: false }
    }
}

fn in_dictionary(page: &Page) -> bool {
    matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
}

impl Iterator for Checked {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.inner.get_next_page()?;
        match &page {
            Some(Page::DictionaryPage { .. }) => self.dictionary = true,
            Some(data) if !self.dictionary && in_dictionary(data) => {
                return Err(ParquetError::General("a page refers to a dictionary that is missing".to_owned()));
            }
            _ => {}
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
