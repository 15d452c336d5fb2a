//! resolve
#![forbid(unsafe_code)]
