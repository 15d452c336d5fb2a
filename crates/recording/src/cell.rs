//! How one value becomes a Parquet value and back.

use crate::ids::{FrameId, ModuleId, RunId, SiteId, StackId, ThreadId, WaitId};
use parquet::basic::LogicalType;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};

/// A Rust type that a column can hold.
pub(crate) trait Cell: Sized {
    /// Parquet's physical type.
    type Data: DataType;
    /// The physical type that it is read as: words are read as numbers.
    type Read: DataType;
    /// Turns a word into its number; none for columns of other types.
    const WORD: Option<fn(&[u8]) -> i32> = None;
    /// True when a row may have no value.
    const OPTIONAL: bool = false;
    /// Tells other tools what the physical value means.
    fn logical() -> Option<LogicalType>;
    /// The value as stored; `None` is null.
    fn encode(&self) -> Option<<Self::Data as DataType>::T>;
    /// The value as read; the error says what was wrong with it.
    fn decode(stored: Option<<Self::Read as DataType>::T>) -> Result<Self, String>;
}

fn required<T>(stored: Option<T>) -> Result<T, String> {
    stored.ok_or_else(|| "has no value in a row that needs one".to_owned())
}

macro_rules! integer {
    ($rust:ty, $data:ty, $bits:literal, $signed:literal) => {
        impl Cell for $rust {
            type Data = $data;
            type Read = $data;
            fn logical() -> Option<LogicalType> {
                Some(LogicalType::integer($bits, $signed))
            }
            fn encode(&self) -> Option<<$data as DataType>::T> {
                Some(*self as _)
            }
            fn decode(stored: Option<<$data as DataType>::T>) -> Result<Self, String> {
                required(stored).map(|value| value as $rust)
            }
        }
    };
}

integer!(u32, Int32Type, 32, false);
integer!(i32, Int32Type, 32, true);
integer!(u64, Int64Type, 64, false);

macro_rules! handle {
    ($($name:ident)*) => {$(
        impl Cell for $name {
            type Data = Int32Type;
            type Read = Int32Type;
            fn logical() -> Option<LogicalType> {
                u32::logical()
            }
            fn encode(&self) -> Option<i32> {
                self.0.encode()
            }
            fn decode(stored: Option<i32>) -> Result<Self, String> {
                u32::decode(stored).map($name)
            }
        }
    )*};
}

handle!(RunId ThreadId WaitId SiteId StackId FrameId ModuleId);

impl Cell for bool {
    type Data = BoolType;
    type Read = BoolType;
    fn logical() -> Option<LogicalType> {
        None
    }
    fn encode(&self) -> Option<bool> {
        Some(*self)
    }
    fn decode(stored: Option<bool>) -> Result<Self, String> {
        required(stored)
    }
}

impl Cell for f64 {
    type Data = DoubleType;
    type Read = DoubleType;
    fn logical() -> Option<LogicalType> {
        None
    }
    fn encode(&self) -> Option<f64> {
        Some(*self)
    }
    fn decode(stored: Option<f64>) -> Result<Self, String> {
        required(stored)
    }
}

impl Cell for String {
    type Data = ByteArrayType;
    type Read = ByteArrayType;
    fn logical() -> Option<LogicalType> {
        Some(LogicalType::String)
    }
    fn encode(&self) -> Option<ByteArray> {
        Some(ByteArray::from(self.as_str()))
    }
    fn decode(stored: Option<ByteArray>) -> Result<Self, String> {
        // Names come from the target and need not be UTF-8; invalid bytes become U+FFFD.
        required(stored).map(|bytes| String::from_utf8_lossy(bytes.data()).into_owned())
    }
}

impl Cell for Vec<u8> {
    type Data = ByteArrayType;
    type Read = ByteArrayType;
    fn logical() -> Option<LogicalType> {
        None
    }
    fn encode(&self) -> Option<ByteArray> {
        Some(ByteArray::from(self.as_slice()))
    }
    fn decode(stored: Option<ByteArray>) -> Result<Self, String> {
        required(stored).map(|bytes| bytes.data().to_vec())
    }
}

impl<T: Cell> Cell for Option<T> {
    type Data = T::Data;
    type Read = T::Read;
    const WORD: Option<fn(&[u8]) -> i32> = T::WORD;
    const OPTIONAL: bool = true;
    fn logical() -> Option<LogicalType> {
        T::logical()
    }
    fn encode(&self) -> Option<<Self::Data as DataType>::T> {
        self.as_ref().and_then(T::encode)
    }
    fn decode(stored: Option<<Self::Read as DataType>::T>) -> Result<Self, String> {
        stored.map(|value| T::decode(Some(value))).transpose()
    }
}

/// Declares an enum that is stored as its lower-case name, so that every data tool shows words.
///
/// A name that this release does not know (written by a newer minor version) reads as the last variant.
macro_rules! words {
    ($($(#[$doc:meta])* pub enum $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every variant, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The variant for words that this release does not know.
            const LAST: $name = $name::ALL[$name::ALL.len() - 1];

            /// The word stored in the table.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl crate::cell::Cell for $name {
            type Data = parquet::data_type::ByteArrayType;
            type Read = parquet::data_type::Int32Type;
            const WORD: Option<fn(&[u8]) -> i32> = Some(|word| {
                $name::ALL.iter().position(|known| known.word().as_bytes() == word).map_or(-1, |at| at as i32)
            });
            fn logical() -> Option<parquet::basic::LogicalType> {
                Some(parquet::basic::LogicalType::String)
            }
            fn encode(&self) -> Option<parquet::data_type::ByteArray> {
                Some(parquet::data_type::ByteArray::from(self.word()))
            }
            fn decode(stored: Option<i32>) -> Result<Self, String> {
                let number = stored.ok_or_else(|| "has no value in a row that needs one".to_owned())?;
                Ok(usize::try_from(number).ok().and_then(|at| $name::ALL.get(at)).copied().unwrap_or($name::LAST))
            }
        }
    )*};
}
pub(crate) use words;
