//! Sketches of unequal shares.

mod callers;
mod calls;
mod divided;
mod ends;
mod keys;
mod meeting;
mod no_work;
mod pools;
mod spinning;
mod tasks;
