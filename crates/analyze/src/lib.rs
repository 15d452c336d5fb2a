//! analyze
#![forbid(unsafe_code)]
