//! report
#![forbid(unsafe_code)]
