//! The function table that every Go program carries (`.gopclntab`), also when it is stripped: the names of its functions,
//! their files and lines, and how large their stack frames are at each instruction.
//!
//! The format is that of Go 1.18 and newer (`runtime/symtab.go`, `internal/abi/symtab.go` and `debug/gosym` in Go's tree).
//! `table` reads it, `place` finds the address from which it counts. May import: `demangle`, `elf`, `error`,
//! `site`.

mod place;
mod table;

pub(crate) use table::{GoFrame, GoTable};
