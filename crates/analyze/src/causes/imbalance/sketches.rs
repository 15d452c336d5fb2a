//! Sketches of unequal shares.

mod ends;
mod keys;
mod meeting;
mod pools;
