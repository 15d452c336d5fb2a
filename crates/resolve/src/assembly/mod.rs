//! The methods of .NET's class library, which is compiled ahead of time (ReadyToRun): file offset → method.
//!
//! The code lies in the assembly's own file, a PE image with the metadata of ECMA-335 and the tables of ReadyToRun
//! (docs/design/coreclr/botr/readytorun-format.md of dotnet/runtime). The virtual machine reports names only of code that
//! it compiles itself, so without these tables a wait in `Task.WaitAll` or `Barrier.SignalAndWait` has no name until the
//! method has been called often.
//!
//! | module | holds |
//! |---|---|
//! | `image` | the bytes of a file, its sections, and where the tables begin |
//! | `metadata` | names of types and methods |
//! | `entry_points` | which method has which code |
//! | `native` | the compressed numbers, arrays and hash tables of ReadyToRun |
//!
//! Files belong to the target and are hostile. May import: `jit` (names in the form of the sources), `module` (opening
//! files), `symbols` (frames).

mod entry_points;
mod image;
mod metadata;
mod native;

use std::collections::HashMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::jit::of_metadata;
use crate::module::open_regular;
use crate::symbols::{FunctionSite, ResolvedFrame};
use image::PeImage;

/// The largest file that is read, in bytes. The largest assembly of .NET 8 has 14 MiB.
const FILE_LIMIT: u64 = 256 << 20;

/// Assemblies by path, each read once.
#[derive(Debug, Default)]
pub struct Assemblies {
    /// The inode that a process has mapped by this path.
    mapped: HashMap<PathBuf, u64>,
    read: HashMap<PathBuf, Option<Assembly>>,
}

impl Assemblies {
    /// A process has mapped code of this file, which may be an assembly.
    pub fn see(&mut self, path: &Path, inode: u64) {
        if !self.mapped.contains_key(path) {
            self.mapped.insert(path.to_path_buf(), inode);
        }
    }

    /// Names code by offsets in a file, in the same order; nothing where the file is no assembly that was compiled ahead, or
    /// where the path leads to another inode than the one that was seen, as it may for a path inside a container.
    pub fn frames(&mut self, path: &Path, file_offsets: &[u64]) -> Vec<ResolvedFrame> {
        let assembly = match (self.read.get(path), self.mapped.get(path)) {
            (Some(known), _) => known,
            (None, inode) => {
                let opened = inode.and_then(|inode| Assembly::open(path, *inode));
                self.read.entry(path.to_path_buf()).or_insert(opened)
            }
        };
        let Some(assembly) = assembly else { return Vec::new() };
        let frame = |&offset: &u64| ResolvedFrame {
            functions: vec![FunctionSite {
                function: assembly.method(offset).map(str::to_owned),
                ..FunctionSite::default()
            }],
            function_start: None,
        };
        file_offsets.iter().map(frame).collect()
    }
}

/// The methods of one assembly that was compiled ahead of time.
#[derive(Debug, Default)]
struct Assembly {
    /// Sorted by start: file offsets of the code, and the method's number.
    code: Vec<Code>,
    /// By number.
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Code {
    start: u64,
    end: u64,
    name: u32,
}

impl Assembly {
    /// Reads the file; none where it is no such assembly, or is damaged.
    fn open(path: &Path, inode: u64) -> Option<Self> {
        let (file, metadata) = open_regular(path).ok()?;
        if metadata.ino() != inode || metadata.len() > FILE_LIMIT {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(FILE_LIMIT).read_to_end(&mut bytes).ok()?;
        Self::read(&bytes)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let image = PeImage::read(bytes)?;
        let methods = metadata::methods(image.metadata()?)?;
        let names = methods.iter().map(|method| of_metadata(&method.class, &method.name).unwrap_or_default()).collect();
        let mut code: Vec<Code> = entry_points::all(&image)?
            .into_iter()
            .filter_map(|piece| {
                let start = image.offset(piece.start)?;
                let end = start.checked_add(u64::from(piece.end.checked_sub(piece.start)?))?;
                // Methods count from 1.
                let name = piece.method.checked_sub(1).filter(|&name| (name as usize) < methods.len())?;
                Some(Code { start, end, name })
            })
            .collect();
        code.sort_unstable();
        Some(Self { code, names })
    }

    /// The method whose code lies at an offset in the file.
    fn method(&self, offset: u64) -> Option<&str> {
        let after = self.code.partition_point(|code| code.start <= offset);
        let code = self.code.get(after.checked_sub(1)?).filter(|code| offset < code.end)?;
        self.names.get(code.name as usize).map(String::as_str).filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the only section is loaded, and where it lies in the file.
    const LOADED: u32 = 0x1000;
    const IN_FILE: u32 = 0x200;

    /// An assembly of which one section holds everything, built piece by piece.
    struct Section(Vec<u8>);

    impl Section {
        /// Appends bytes; returns their address and size.
        fn put(&mut self, bytes: &[u8]) -> [u32; 2] {
            let at = LOADED + self.0.len() as u32;
            self.0.extend(bytes);
            [at, bytes.len() as u32]
        }
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn shorts(shorts: &[u16]) -> Vec<u8> {
        shorts.iter().flat_map(|short| short.to_le_bytes()).collect()
    }

    /// Types `System.Threading.Barrier` and, inside it, `Turn`; the first has two methods, the second one.
    fn metadata() -> Vec<u8> {
        let mut names = vec![0];
        let mut name = |text: &str| {
            let at = names.len() as u16;
            names.extend(text.bytes().chain([0]));
            at
        };
        let mut tables = [words(&[0]), vec![2, 0, 0, 1], words(&[1 << 2 | 1 << 6, 1 << 9, 0, 0, 3, 3, 1])].concat();
        for (class, space, method) in [("<Module>", "", 1), ("Barrier`1", "System.Threading", 1), ("Turn", "", 3)] {
            tables.extend([words(&[0]), shorts(&[name(class), name(space), 0, 1, method])].concat());
        }
        for method in ["SignalAndWait", "Add", "<Run>b__0"] {
            tables.extend([words(&[0, 0]), shorts(&[name(method), 0, 1])].concat());
        }
        tables.extend(shorts(&[3, 2]));
        tables.resize(tables.len().next_multiple_of(4), 0);
        let (first, second) = (16 + 4 + 4 + 12 + 20, tables.len() as u32);
        [
            words(&[0x424a_5342, 1 << 16 | 1, 0, 4]),
            b"v4\0\0".to_vec(),
            shorts(&[0, 2]),
            words(&[first, second]),
            b"#~\0\0".to_vec(),
            words(&[first + second, names.len() as u32]),
            b"#Strings\0\0\0\0".to_vec(),
            tables,
            names,
        ]
        .concat()
    }

    fn assembly() -> Vec<u8> {
        let mut section = Section(Vec::new());
        let code = section.put(&[0xc3; 0x40])[0];
        // Four functions of 16 bytes; the second is a handler of the first.
        let bounds = (0..4).flat_map(|at| [code + 16 * at, code + 16 * at + 16, 0]).collect::<Vec<_>>();
        let functions = section.put(&words(&bounds));
        // Of three methods, the first and the third: a tree for each bit of the index, down to where one is left. The
        // third has something to do before its first call.
        let methods = section.put(&[3 << 3, 1, 1 << 1, 1 << 1, (3 << 2 | 3) << 1, 0, 0, 2 << 3, (2 << 2 | 1) << 1]);
        // The second, with type arguments, of a generic type: one bucket with one entry.
        let signature = [0x44, 0x15, 0x12, 2, 1, 8, 2, 1, 0x0e, 3 << 2];
        let instances = section.put(&[&[0, 2, 4, 0xaa, 1 << 1], &signature[..]].concat());
        let table = |kind: u32, place: [u32; 2]| [kind, place[0], place[1]];
        let header = [table(102, functions), table(103, methods), table(109, instances)].concat();
        let native = section.put(&words(&[&[0x0052_5452, 9, 0, 3], &header[..]].concat()));
        let metadata = section.put(&metadata());
        let mut cli = [0; 18];
        (cli[2], cli[3], cli[16], cli[17]) = (metadata[0], metadata[1], native[0], native[1]);
        let cli = section.put(&words(&cli));

        let mut file = vec![0; IN_FILE as usize];
        let mut set = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        set(0, b"MZ");
        set(0x3c, &words(&[0x40]));
        set(0x40, b"PE\0\0");
        set(0x44, &shorts(&[0x8664 ^ 0x7b79, 1]));
        set(0x44 + 16, &shorts(&[240]));
        set(0x58, &shorts(&[0x20b]));
        set(0x58 + 112 + 8 * 14, &words(&cli));
        set(0x58 + 240 + 12, &words(&[LOADED, section.0.len() as u32, IN_FILE]));
        file.extend(section.0);
        file
    }

    #[test]
    fn code_has_the_method_that_it_belongs_to() {
        let assembly = Assembly::read(&assembly()).unwrap();
        let method = |at: u64| assembly.method(u64::from(IN_FILE) + at);
        assert_eq!(method(0), Some("System.Threading.Barrier.SignalAndWait"));
        assert_eq!(method(0x1f), Some("System.Threading.Barrier.SignalAndWait"), "its handler");
        assert_eq!(method(0x20), Some("System.Threading.Barrier.Turn.Run.lambda"));
        assert_eq!(method(0x3f), Some("System.Threading.Barrier.Add"), "with type arguments");
        assert_eq!(method(0x40), None);
    }

    #[test]
    fn damaged_files_cause_no_panic() {
        let whole = assembly();
        for length in 0..whole.len() {
            Assembly::read(&whole[..length]);
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                if let Some(assembly) = Assembly::read(&damaged) {
                    assembly.method(u64::from(IN_FILE));
                }
            }
        }
    }

    #[test]
    fn other_files_have_no_methods() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text.dll");
        std::fs::write(&path, "no assembly").unwrap();
        let frames = |path: &Path, other: u64| {
            let mut assemblies = Assemblies::default();
            assemblies.see(path, std::fs::metadata(path).unwrap().ino() + other);
            assemblies.frames(path, &[u64::from(IN_FILE), 1])
        };
        assert_eq!(frames(&path, 0), []);
        let path = folder.path().join("shop.dll");
        std::fs::write(&path, assembly()).unwrap();
        assert_eq!(frames(&path, 1), [], "the path leads to another file");
        let frames = frames(&path, 0);
        let names: Vec<_> = frames.iter().map(|frame| frame.functions[0].function.as_deref()).collect();
        assert_eq!(names, [Some("System.Threading.Barrier.SignalAndWait"), None]);
    }
}
