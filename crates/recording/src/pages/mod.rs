//! The pages of a column on their way to the Parquet library: [`checked`] checks what the library trusts, [`values`]
//! walks their values, [`numbered`] turns words into numbers.
//!
//! May import: nothing of the crate.

mod checked;
mod numbered;
mod values;

pub(crate) use checked::CheckedPages;
pub(crate) use numbered::NumberedPages;
