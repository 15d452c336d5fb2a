//! The pages of a column on their way to the Parquet library: [`checked`] what it trusts, [`numbered`] words as numbers.
//!
//! May import: nothing of the crate.

mod checked;
mod numbered;

pub(crate) use checked::Checked;
pub(crate) use numbered::Numbered;
