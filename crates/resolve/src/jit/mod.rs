//! Names of code that a program made at run time, by address and time.
//!
//! When asked to, runtimes write the names of such code into files: `/tmp/perf-PID.map`, which perf introduced, and
//! jitdump (`jit-PID.dump`), which also has lines and the times at which code was placed at an address. Both grow while
//! the program runs. The HotSpot virtual machine's names can be read from its memory without an option. All of it
//! belongs to the target and is hostile.
//!
//! | module | holds |
//! |---|---|
//! | `code_map` | which code is at an address now |
//! | `perf_map`, `dump` | the two kinds of files, read as they grow |
//! | `reported` | what runtimes write into both as a name |
//! | `dotnet`, `mono` | names of .NET, and of Mono, in the form of its sources |
//! | `scope_table` | which functions were inlined into a piece of code, and where |
//! | `hotspot` | the names that the HotSpot virtual machine has in its memory, with lines |
//! | `script` | names of Node.js and Python, with the files in them |
//! | `origin` | the process that writes the files, and where they are |
//! | `names` | all of it for one process |
//!
//! May import: `demangle`, `maps` (numbers, mapped files), `memory`, `module` (opening files).

mod code_map;
mod dotnet;
mod dump;
mod hotspot;
mod mono;
mod names;
mod origin;
mod perf_map;
mod reported;
mod scope_table;
mod script;

pub use code_map::{FunctionAt, JitFunction};
pub(crate) use dotnet::of_metadata;
pub use dump::is_dump;
pub use hotspot::Tables;
pub(crate) use hotspot::{BYTECODE, CALLER, HotSpot, INTERPRETED};
pub use names::RuntimeCode;
pub use scope_table::CodeSite;

/// Entry points for fuzzing: otherwise both readers reach their files only through a running process.
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    use super::code_map::CodeMap;
    use super::{dump::DumpFile, perf_map::PerfMapFile};
    use std::fs::File;

    /// Reads a map file to its end. True when it named any function.
    pub fn perf_map(file: &File) -> bool {
        let (mut reader, mut map) = (PerfMapFile::default(), CodeMap::default());
        while reader.read(file, 1, &mut map).unwrap_or(false) {}
        map.find(0x1000);
        !map.is_empty()
    }

    /// Reads a dump to its end. True when it named any function.
    pub fn dump(file: File) -> bool {
        let (mut reader, mut map) = (DumpFile::new(file), CodeMap::default());
        while reader.read(1).unwrap_or(false) {}
        for (since_ns, change) in std::mem::take(&mut reader.pending) {
            change.apply(since_ns, &mut map);
        }
        map.find(0x1000);
        !map.is_empty()
    }
}
