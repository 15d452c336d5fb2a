//! Sketches of unequal shares.

mod ends;
mod meeting;
mod pools;
