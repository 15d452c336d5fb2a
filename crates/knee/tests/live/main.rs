//! Tests that observe real programs and need root: `./dev live` runs them, one at a time.

mod faults;
mod goroutines;
mod load;
mod names;
mod processors;
mod rights;
mod streams;
mod sweep;
mod trials;
mod watch;
