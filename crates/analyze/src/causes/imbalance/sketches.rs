//! Sketches of unequal shares.

mod divided;
mod ends;
mod keys;
mod meeting;
mod pools;
mod spinning;
