//! The function table that every Go program contains (`.gopclntab`), even when it is stripped: the names of its
//! functions, their files and lines, and the size of their stack frames at each instruction.
//!
//! The format is that of Go 1.18 and newer (`runtime/symtab.go`, `internal/abi/symtab.go` and `debug/gosym` in Go's
//! tree). `table` reads it, `place` finds the addresses that its offsets are relative to. May import: `demangle`,
//! `elf`, `error`, `site`.

mod place;
mod table;

pub(crate) use table::{GoFrame, GoTable};
