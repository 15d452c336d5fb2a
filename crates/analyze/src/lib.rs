//! The analysis: from a recording to an answer.
#![forbid(unsafe_code)]

pub mod answer;
