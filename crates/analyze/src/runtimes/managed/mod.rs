//! Virtual machines and interpreters: they start their own threads, and run code that is in no file. One file each.
//! May import: `function_name`, `names`, `runtime`, `types`.

pub(super) mod cpython;
pub(super) mod dotnet;
pub(super) mod java;
pub(super) mod mono;
pub(super) mod node;
pub(super) mod own_classes;
