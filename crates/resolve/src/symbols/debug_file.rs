//! Separate debug files: distributions strip debug information from programs and ship it in separate packages.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::build_id::BuildId;
use crate::elf::{ElfFile, Source};
use crate::module::{Module, open_regular};

/// A debug file, and the file with the parts that it shares with other debug files.
#[derive(Debug)]
pub(crate) struct DebugFile {
    pub(crate) elf: ElfFile,
    pub(crate) shared: Option<ElfFile>,
}

/// The debug file of a module, searched by build id and then by the name in `.gnu_debuglink`, in the places where
/// debuggers look. Only a file that belongs to exactly this build is accepted.
pub(crate) fn find_debug_file(module: &Module, directories: &[PathBuf]) -> Option<DebugFile> {
    let root = root_of(module);
    let directories: Vec<PathBuf> = match &root {
        Some(root) => directories.iter().map(|directory| below(root, directory)).chain(directories.to_vec()).collect(),
        None => directories.to_vec(),
    };
    let link = debug_link(&module.elf);
    let by_id = module.build_id().into_iter().flat_map(|id| directories.iter().map(|dir| dir.join(id_path(id))));
    let by_link = link.iter().flat_map(|(name, _)| linked_paths(module, name, &directories));
    by_id.chain(by_link).find_map(|path| {
        let elf = open(&path)?;
        let has_something = elf.section(".debug_info").is_some() || elf.section(".symtab").is_some();
        (has_something && belongs(module, &elf, link.as_ref().map(|&(_, checksum)| checksum)))
            .then(|| DebugFile { shared: shared_file(&elf, &path, &directories), elf })
    })
}

/// The file of the debug sections' common parts (`dwz`), when the debug information refers to one.
pub(crate) fn shared_file(elf: &ElfFile, path: &Path, directories: &[PathBuf]) -> Option<ElfFile> {
    let section = elf.section_bytes(".gnu_debugaltlink").ok()??;
    let end = section.iter().position(|&byte| byte == 0)?;
    let (name, id) = (&section[..end], section.get(end + 1..)?);
    let named = path.parent()?.join(OsStr::from_bytes(name));
    let wanted = |elf: &ElfFile| BuildId::read(elf).ok().flatten().is_some_and(|found| found.bytes() == id);
    let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let by_id = directories.iter().filter_map(|directory| {
        let (first, rest) = digits.split_at_checked(2)?;
        Some(directory.join(format!(".build-id/{first}/{rest}.debug")))
    });
    [named].into_iter().chain(by_id).find_map(|path| open(&path).filter(wanted))
}

pub(crate) fn open(path: &Path) -> Option<ElfFile> {
    let (file, _) = open_regular(path).ok()?;
    ElfFile::read(path.to_path_buf(), Source::File(file)).ok()
}

/// Whether a debug file is of the same build. Two builds of a library often have the same name, but never the same build
/// id; files without a build id have a checksum.
fn belongs(module: &Module, debug: &ElfFile, checksum: Option<u32>) -> bool {
    match (module.build_id(), BuildId::read(debug)) {
        (Some(id), Ok(Some(found))) => *id == found,
        (None, _) => checksum.is_some_and(|checksum| crc32(debug) == Some(checksum)),
        _ => false,
    }
}

fn id_path(id: &BuildId) -> PathBuf {
    let digits = id.to_string();
    let (first, rest) = digits.split_at(2); // an id has at least one byte
    PathBuf::from(format!(".build-id/{first}/{rest}.debug"))
}

/// The name and the checksum in `.gnu_debuglink`. A name with directories would lead elsewhere and is ignored.
fn debug_link(elf: &ElfFile) -> Option<(Vec<u8>, u32)> {
    let section = elf.section_bytes(".gnu_debuglink").ok()??;
    let end = section.iter().position(|&byte| byte == 0)?;
    let checksum = section.get((end + 1).next_multiple_of(4)..)?.first_chunk::<4>()?;
    let name = &section[..end];
    let valid = !name.is_empty() && !name.contains(&b'/') && name != b"..";
    valid.then(|| (name.to_vec(), u32::from_le_bytes(*checksum)))
}

fn linked_paths(module: &Module, name: &[u8], directories: &[PathBuf]) -> Vec<PathBuf> {
    let name = OsStr::from_bytes(name);
    let mut paths = Vec::new();
    if let Some(beside) = module.opened().parent() {
        paths.extend([beside.join(name), beside.join(".debug").join(name)]);
    }
    if let Some(home) = module.path().parent() {
        paths.extend(directories.iter().map(|directory| below(directory, home).join(name)));
    }
    // The module could be taken for its own debug file.
    paths.retain(|path| path != module.opened());
    paths
}

/// The process's root directory, when the module was opened below one.
pub(crate) fn root_of(module: &Module) -> Option<PathBuf> {
    let root = module.opened().as_os_str().as_bytes().strip_suffix(module.path().as_os_str().as_bytes())?;
    (!root.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(root)))
}

pub(crate) fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// The checksum of `.gnu_debuglink`: CRC-32 with the reflected polynomial of Ethernet and zip.
fn crc32(elf: &ElfFile) -> Option<u32> {
    const TABLE: [u32; 256] = crc_table();
    let mut crc = u32::MAX;
    elf.for_each_piece(|bytes| {
        for &byte in bytes {
            crc = TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8);
        }
    })
    .ok()?;
    Some(!crc)
}

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = (value >> 1) ^ if value & 1 == 1 { 0xedb8_8320 } else { 0 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}
