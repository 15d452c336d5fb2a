//! Sketches of programs without a cause.

mod next_limit;
mod small_loss;
