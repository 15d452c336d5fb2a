//! One table to one Parquet file and back, column by column, through parquet's column API.
//!
//! Also the macro that declares a table: the row's struct is the schema, so the two cannot drift apart.

use crate::cell::Cell;
use crate::error::Error;
use crate::pages::{CheckedPages, NumberedPages};
use crate::private;
use parquet::basic::{Compression, Encoding, Repetition, Type as PhysicalType};
use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type, TypePtr};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// More rows than any writer puts into a part; a file with more is damaged.
pub(crate) const MAX_PART_ROWS: usize = 64 << 20;

/// Cells of a column that are read at once.
const AT_ONCE: usize = 4096;

/// What a column holds, for the documentation and for other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnInfo {
    /// The column's name.
    pub name: &'static str,
    /// Its Rust type, as written in the row's struct; `Option` means that it can be null.
    pub kind: &'static str,
    /// What it means, with its unit.
    pub doc: &'static str,
}

/// A row type: one kind of fact, one folder of Parquet parts.
pub trait Table: Sized + Clone + Send + sealed::Rows {
    /// The folder's name inside the recording.
    const NAME: &'static str;
    /// The columns, in order.
    const COLUMNS: &'static [ColumnInfo];
}

pub(crate) mod sealed {
    use super::*;

    /// Converts the declared rows to and from a row group; implemented only by the table macro.
    pub trait Rows: Sized {
        /// The Parquet types of the columns, in order.
        fn fields() -> Vec<Type>;
        /// For each column, whether delta encoding takes less room than a dictionary.
        fn differences(rows: &[Self]) -> Vec<bool>;
        /// Writes all columns of one row group.
        fn write(rows: &[Self], group: &mut SerializedRowGroupWriter<'_, File>) -> Result<(), ParquetError>;
        /// Reads all rows of one row group, in order.
        fn read(group: &GroupReader<'_>, each: impl FnMut(Self)) -> Result<(), Error>;
    }
}

/// One row group, its schema, and the path for errors.
pub struct GroupReader<'a> {
    group: &'a dyn RowGroupReader,
    schema: &'a SchemaDescriptor,
    path: &'a Path,
    rows: usize,
}

pub(crate) fn field<T: Cell>(name: &str) -> Type {
    let repetition = if T::OPTIONAL { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(name, T::Data::get_physical_type())
        .with_repetition(repetition)
        .with_logical_type(T::logical())
        .build()
        .expect("a primitive type with a matching logical type is always valid")
}

pub(crate) fn write_column<T: Cell>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    cells: impl Iterator<Item = Option<<T::Data as DataType>::T>>,
) -> Result<(), ParquetError> {
    let mut values = Vec::new();
    let mut levels = Vec::new();
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    let mut column =
        group.next_column()?.ok_or_else(|| ParquetError::General("the schema has fewer columns".to_owned()))?;
    let definition = T::OPTIONAL.then_some(levels.as_slice());
    column.typed::<T::Data>().write_batch(&values, definition, None)?;
    column.close()
}

impl GroupReader<'_> {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn column<T: Cell>(&self, name: &'static str) -> Result<Column<'_, T>, Error> {
        let wrong = |why: String| Error::Column { path: self.path.to_owned(), column: name, why };
        let parquet = |source| Error::Parquet { path: self.path.to_owned(), source };
        let column = |reader, optional| Column {
            name,
            path: self.path,
            reader,
            optional,
            rows: self.rows,
            read: 0,
            values: Vec::new(),
            levels: Vec::new(),
            cells: Vec::new(),
        };
        let found = self.schema.columns().iter().position(|c| c.path().parts() == [name]);
        let Some(index) = found else {
            // A column that an older minor version did not have: this is only allowed for optional ones.
            if T::OPTIONAL {
                return Ok(column(None, true));
            }
            return Err(Error::MissingColumn { path: self.path.to_owned(), column: name });
        };
        let descriptor = &self.schema.columns()[index];
        if descriptor.physical_type() != T::Data::get_physical_type() {
            let (want, have) = (T::Data::get_physical_type(), descriptor.physical_type());
            return Err(wrong(format!("holds {have}, expected {want}")));
        }
        if descriptor.max_rep_level() != 0 || descriptor.max_def_level() > 1 {
            return Err(wrong("is nested, expected plain values".to_owned()));
        }
        // The library does not check these values, and would panic.
        let chunk = self.group.metadata().column(index);
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        if start < 0 || chunk.data_page_offset() < 0 || chunk.compressed_size() < 0 {
            return Err(wrong("claims to start before the file does".to_owned()));
        }
        let pages = self.group.get_column_page_reader(index).map_err(parquet)?;
        let optional = descriptor.max_def_level() == 1;
        let pages = Box::new(CheckedPages::new(pages, Arc::clone(descriptor)));
        let reader = match T::WORD {
            Some(number) => get_column_reader(
                NumberedPages::descriptor(descriptor).map_err(parquet)?,
                Box::new(NumberedPages::new(pages, optional, number)),
            ),
            None => get_column_reader(Arc::clone(descriptor), pages),
        };
        Ok(column(Some(get_typed_column_reader(reader)), optional))
    }
}

/// Reads the cells of one column, some at a time, so that memory holds few rows twice.
pub(crate) struct Column<'a, T: Cell> {
    name: &'static str,
    path: &'a Path,
    /// None for a column that the file lacks.
    reader: Option<ColumnReaderImpl<T::Read>>,
    optional: bool,
    /// Rows of the group, and how many have been read.
    rows: usize,
    read: usize,
    values: Vec<<T::Read as DataType>::T>,
    levels: Vec<i16>,
    cells: Vec<T>,
}

impl<T: Cell> Column<'_, T> {
    /// The cells of the next [`AT_ONCE`] rows, or of the rows that are left.
    pub(crate) fn next(&mut self) -> Result<std::vec::Drain<'_, T>, Error> {
        let most = AT_ONCE.min(self.rows - self.read);
        self.cells.reserve(most);
        let mut left = most;
        while left > 0 {
            left -= match self.reader.is_some() {
                true => self.read_more(left)?,
                false => {
                    for _ in 0..left {
                        let none = T::decode(None).map_err(|why| self.wrong(why))?;
                        self.cells.push(none);
                    }
                    left
                }
            };
        }
        self.read += most;
        if self.cells.len() != most {
            return Err(self.wrong("has more or fewer values than rows".to_owned()));
        }
        Ok(self.cells.drain(..))
    }

    /// Reads and decodes at most `most` cells; returns how many it read.
    fn read_more(&mut self, most: usize) -> Result<usize, Error> {
        self.values.clear();
        self.levels.clear();
        let levels = self.optional.then_some(&mut self.levels);
        let Some(reader) = &mut self.reader else { return Ok(0) };
        let read = reader.read_records(most, levels, None, &mut self.values);
        let (rows, ..) = read.map_err(|source| Error::Parquet { path: self.path.to_owned(), source })?;
        if rows == 0 {
            let read = self.read + AT_ONCE.min(self.rows - self.read) - most;
            return Err(self.wrong(format!("ends after {read} of {} rows", self.rows)));
        }
        let mut values = self.values.drain(..);
        let mut decoded = Ok(());
        if self.optional {
            for level in &self.levels {
                match T::decode(if *level == 1 { values.next() } else { None }) {
                    Ok(cell) => self.cells.push(cell),
                    Err(why) => decoded = Err(why),
                }
            }
        } else {
            for value in values.by_ref() {
                match T::decode(Some(value)) {
                    Ok(cell) => self.cells.push(cell),
                    Err(why) => decoded = Err(why),
                }
            }
        }
        drop(values);
        decoded.map_err(|why| self.wrong(why))?;
        Ok(rows)
    }

    fn wrong(&self, why: String) -> Error {
        Error::Column { path: self.path.to_owned(), column: self.name, why }
    }
}

pub(crate) fn write_part<T: Table>(path: &Path, rows: &[T]) -> Result<(), Error> {
    let parquet = |source| Error::Parquet { path: path.to_owned(), source };
    let file = private::create(path).map_err(Error::io("create", path))?;
    let fields: Vec<TypePtr> = T::fields().into_iter().map(Arc::new).collect();
    let schema = Type::group_type_builder(T::NAME).with_fields(fields).build().map_err(parquet)?;
    let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let whole = |field: &Type| matches!(field.get_physical_type(), PhysicalType::INT32 | PhysicalType::INT64);
    for (field, differences) in T::fields().iter().zip(T::differences(rows)) {
        if whole(field) && differences {
            let column = ColumnPath::from(field.name());
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    let properties = properties.build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(parquet)?;
    let mut group = writer.next_row_group().map_err(parquet)?;
    T::write(rows, &mut group).map_err(parquet)?;
    group.close().map_err(parquet)?;
    writer.close().map_err(parquet)?;
    Ok(())
}

/// Reads the rows of a part, in order.
pub(crate) fn read_part<T: Table>(path: &Path, mut each: impl FnMut(T)) -> Result<(), Error> {
    let parquet = |source| Error::Parquet { path: path.to_owned(), source };
    let file = File::open(path).map_err(Error::io("open", path))?;
    let reader = SerializedFileReader::new(file).map_err(parquet)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let mut all = 0_usize;
    for index in 0..reader.num_row_groups() {
        let claimed = reader.metadata().row_group(index).num_rows();
        let too_many = || Error::TooManyRows { path: path.to_owned(), rows: claimed, limit: MAX_PART_ROWS };
        let count = usize::try_from(claimed).map_err(|_| too_many())?;
        all = all.saturating_add(count);
        if all > MAX_PART_ROWS {
            return Err(too_many());
        }
        let group = reader.get_row_group(index).map_err(parquet)?;
        T::read(&GroupReader { group: &*group, schema, path, rows: count }, &mut each)?;
    }
    Ok(())
}

/// Declares tables: the struct is the row, the field's type the column's type, its comment the column's documentation.
macro_rules! tables {
    ($($(#[doc = $doc:literal])* pub struct $name:ident in $folder:literal {
        $($(#[doc = $cdoc:literal])* $column:ident: $kind:ty,)*
    })*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[doc = $cdoc])* pub $column: $kind,)* }

        impl crate::column::Table for $name {
            const NAME: &'static str = $folder;
            const COLUMNS: &'static [crate::column::ColumnInfo] = &[$(crate::column::ColumnInfo {
                name: stringify!($column),
                kind: stringify!($kind),
                doc: concat!($($cdoc, "\n"),*),
            }),*];
        }

        impl crate::column::sealed::Rows for $name {
            fn fields() -> Vec<parquet::schema::types::Type> {
                vec![$(crate::column::field::<$kind>(stringify!($column))),*]
            }
            fn differences(rows: &[Self]) -> Vec<bool> {
                let examined = crate::encoding::examined(rows);
                vec![$({
                    let values = crate::encoding::column(&examined, |row| &row.$column);
                    crate::encoding::differences_are_smaller(&values)
                }),*]
            }
            fn write(
                rows: &[Self],
                group: &mut parquet::file::writer::SerializedRowGroupWriter<'_, std::fs::File>,
            ) -> Result<(), parquet::errors::ParquetError> {
                $(crate::column::write_column::<$kind>(
                    group,
                    rows.iter().map(|row| crate::cell::Cell::encode(&row.$column)),
                )?;)*
                Ok(())
            }
            fn read(
                group: &crate::column::GroupReader<'_>,
                mut each: impl FnMut(Self),
            ) -> Result<(), crate::error::Error> {
                $(let mut $column = group.column::<$kind>(stringify!($column))?;)*
                let mut left = group.rows();
                while left > 0 {
                    $(let mut $column = $column.next()?;)*
                    // All columns have the same number of cells here.
                    while let ($(Some($column),)*) = ($($column.next(),)*) {
                        each($name { $($column,)* });
                        left -= 1;
                    }
                }
                Ok(())
            }
        }
    )*};
}
pub(crate) use tables;
