//! How a program is loaded, read from its file: whether a library can be preloaded, and which C library it uses.
//!
//! The file is hostile input: only its headers and the table of what it links to are read, within limits.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use object::elf;
use object::read::StringTable;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, ReadRef};

/// How many libraries a program may name. The largest link to some hundreds.
const MOST_LIBRARIES: usize = 4096;

const ENDIAN: Endianness = Endianness::Little;

/// The C library of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CLibrary {
    /// glibc.
    Gnu,
    /// musl.
    Musl,
    /// Another, by its loader.
    Other,
}

/// What kind of file execve(2) is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executable {
    /// A script, with the interpreter that its first line names.
    Script {
        /// The interpreter.
        interpreter: PathBuf,
    },
    /// An ELF file for this machine's architecture.
    Elf {
        /// The C library that its loader belongs to; none for a static program, into which no library can be loaded.
        c_library: Option<CLibrary>,
        /// The libraries that it names itself.
        libraries: Vec<String>,
        /// True for a program made by the Go compiler.
        go: bool,
    },
    /// Something else.
    Other,
}

/// Looks at a file.
///
/// # Errors
/// When it cannot be read.
pub fn executable(path: &Path) -> io::Result<Executable> {
    let file = File::open(path)?;
    let cache = ReadCache::new(&file);
    let first = cache.len().map(|size| size.min(256)).and_then(|size| cache.read_bytes_at(0, size)).unwrap_or_default();
    if let Some(line) = first.strip_prefix(b"#!") {
        let line = String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
        let mut words = line.split_whitespace();
        let (interpreter, argument) = (words.next().unwrap_or_default(), words.next());
        // `env` itself only finds and runs the program named after it.
        let interpreter = argument.filter(|_| interpreter.ends_with("/env")).unwrap_or(interpreter);
        return Ok(Executable::Script { interpreter: PathBuf::from(interpreter) });
    }
    Ok(parsed(&cache).unwrap_or(Executable::Other))
}

fn parsed<'data, R: ReadRef<'data>>(data: R) -> Option<Executable> {
    let header = elf::FileHeader64::<Endianness>::parse(data).ok()?;
    if !header.is_class_64() || !header.is_little_endian() {
        return None;
    }
    let segments = header.program_headers(ENDIAN, data).ok()?;
    let interpreter = segments.iter().find_map(|segment| segment.interpreter(ENDIAN, data).ok().flatten());
    let c_library = interpreter.map(|path| {
        let path = String::from_utf8_lossy(path);
        match path.rsplit('/').next().unwrap_or_default() {
            name if name.starts_with("ld-linux") => CLibrary::Gnu,
            name if name.starts_with("ld-musl") => CLibrary::Musl,
            _ => CLibrary::Other,
        }
    });
    let sections = header.sections(ENDIAN, data).ok();
    let go = sections.as_ref().is_some_and(|sections| {
        [b".go.buildinfo".as_slice(), b".gopclntab"].iter().any(|name| sections.section_by_name(ENDIAN, name).is_some())
    });
    Some(Executable::Elf { c_library, libraries: libraries(segments, data).unwrap_or_default(), go })
}

/// The names of `DT_NEEDED`, by the segments, which a stripped file has too.
fn libraries<'data, R: ReadRef<'data>>(segments: &[elf::ProgramHeader64<Endianness>], data: R) -> Option<Vec<String>> {
    let dynamic = segments.iter().find_map(|segment| segment.dynamic(ENDIAN, data).ok().flatten())?;
    let value = |tag: elf::DynamicTag| dynamic.iter().find(|entry| entry.tag(ENDIAN) == tag).map(|e| e.val(ENDIAN));
    let (table, size) = (value(elf::DT_STRTAB)?, value(elf::DT_STRSZ)?);
    // The dynamic section gives the string table's address; its offset in the file follows from the segments.
    let place = segments.iter().find_map(|segment| {
        let within = table.checked_sub(segment.p_vaddr(ENDIAN))?;
        let loaded = segment.p_type(ENDIAN) == elf::PT_LOAD && within < segment.p_filesz(ENDIAN);
        loaded.then(|| segment.p_offset(ENDIAN).checked_add(within)).flatten()
    })?;
    let strings = StringTable::new(data, place, place.checked_add(size)?);
    let needed = dynamic.iter().filter(|entry| entry.tag(ENDIAN) == elf::DT_NEEDED).take(MOST_LIBRARIES);
    let name = |entry: &elf::Dyn64<Endianness>| {
        let name = strings.get(u32::try_from(entry.val(ENDIAN)).ok()?).ok()?;
        Some(String::from_utf8_lossy(name).into_owned())
    };
    Some(needed.filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(contents: &[u8]) -> Executable {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, contents).unwrap();
        executable(&path).unwrap()
    }

    #[test]
    fn scripts_name_their_interpreter() {
        let script = |path: &str| Executable::Script { interpreter: path.into() };
        assert_eq!(of(b"#!/usr/bin/env python3\nx"), script("python3"));
        assert_eq!(of(b"#! /bin/sh -e\n"), script("/bin/sh"));
        assert_eq!(of(b"#!"), script(""));
    }

    #[test]
    fn the_test_program_itself_is_linked_to_its_c_library() {
        let Executable::Elf { c_library, libraries, go } = executable(&std::env::current_exe().unwrap()).unwrap()
        else {
            panic!("no ELF file")
        };
        let expected = if cfg!(target_env = "musl") { None } else { Some(CLibrary::Gnu) };
        assert!(c_library == expected && !go);
        assert_eq!(libraries.iter().any(|name| name.starts_with("libc.so")), c_library.is_some(), "{libraries:?}");
    }

    #[test]
    fn other_files_are_recognised_and_damaged_ones_cause_no_panic() {
        assert_eq!(of(b""), Executable::Other);
        assert_eq!(of(b"\x7fELF"), Executable::Other);
        let mut whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        whole.truncate(4000);
        for cut in [64, 100, 500, 4000] {
            // Must not panic, whatever is missing.
            of(&whole[..cut]);
        }
        for at in 16..512 {
            let mut broken = whole.clone();
            broken[at] = 0xff;
            of(&broken);
        }
        assert!(executable(Path::new("/nowhere")).is_err());
    }
}
