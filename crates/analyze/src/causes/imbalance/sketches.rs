//! Sketches of unequal shares.

mod callers;
mod divided;
mod ends;
mod keys;
mod meeting;
mod pools;
mod spinning;
mod tasks;
