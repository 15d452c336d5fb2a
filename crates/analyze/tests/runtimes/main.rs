//! What is known of languages and their virtual machines.

#[path = "../common/mod.rs"]
mod common;

mod dotnet;
mod goroutines;
mod names;
