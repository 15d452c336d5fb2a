//! Modules: the programs and libraries that processes map, each read once and shared.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::build_id::BuildId;
use crate::elf::{ElfFile, Segment, Source};
use crate::error::ModuleError;
use crate::functions::UnwindSections;
use crate::go::GoTable;
use crate::maps::{MappedFile, Mapping, parse_maps};

/// A module, shared by all processes that map the same file.
pub type ModuleRef = Arc<Module>;

/// Makes opening never block: a path may meanwhile lead to a pipe, on which an ordinary open would hang. The value of
/// `O_NONBLOCK` on x86-64, aarch64, RISC-V and Arm.
const OPEN_WITHOUT_WAITING: i32 = 0o4000;

/// A program, library or vdso image. Its file stays open, so that symbols can be read after the process has ended or
/// the file was replaced.
#[derive(Debug)]
pub struct Module {
    path: PathBuf,
    opened: PathBuf,
    pub(crate) elf: ElfFile,
    pub(crate) unwind: UnwindSections,
    go: Option<GoTable>,
    build_id: Option<BuildId>,
}

impl Module {
    fn new(path: PathBuf, opened: PathBuf, source: Source) -> Result<Self, ModuleError> {
        let elf = ElfFile::read(opened.clone(), source)?;
        let unwind = UnwindSections::read(&elf)?;
        let build_id = BuildId::read(&elf)?;
        // If the table is damaged, only the names that no other table has are missing.
        let go = GoTable::read(&elf).unwrap_or_default();
        Ok(Self { path, opened, elf, unwind, go, build_id })
    }

    /// The path as the process sees it; `[vdso]` for the vdso.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path under which the file was opened: the same path, or one below the process's root.
    pub(crate) fn opened(&self) -> &Path {
        &self.opened
    }

    /// The linker's fingerprint of the file, when it has one.
    pub fn build_id(&self) -> Option<&BuildId> {
        self.build_id.as_ref()
    }

    /// The same number for each copy of the file, wherever it lies: from the build id, else from the tables of its
    /// functions. None where it has neither.
    pub fn fingerprint(&self) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        if let Some(id) = &self.build_id {
            id.hash(&mut hasher);
            return Some(hasher.finish());
        }
        let section = |name: &str| self.elf.section_bytes(name).ok().flatten().filter(|bytes| !bytes.is_empty());
        let functions = section(".eh_frame_hdr")?;
        (functions, section(".dynsym")).hash(&mut hasher);
        Some(hasher.finish())
    }

    /// The address that the file itself states for its byte at `file_offset`, as disassemblers and `addr2line` show
    /// it. None when no segment loads that byte.
    pub fn stated_address(&self, file_offset: u64) -> Option<u64> {
        // Segments may share a page of the file; code is in the executable one.
        let holds = |segment: &&Segment| {
            file_offset.checked_sub(segment.offset).is_some_and(|within| within < segment.file_size)
        };
        let segments = || self.elf.segments.iter().filter(holds);
        let segment = segments().find(|segment| segment.executable).or_else(|| segments().next())?;
        (file_offset - segment.offset).checked_add(segment.address)
    }

    /// The reverse of [`Module::stated_address`].
    pub fn file_offset(&self, stated_address: u64) -> Option<u64> {
        self.elf.segments.iter().find_map(|segment| {
            let within = stated_address.checked_sub(segment.address)?;
            (within < segment.file_size).then(|| within.checked_add(segment.offset))?
        })
    }

    /// The offset in the file of the function that contains the byte at `file_offset`. It comes from the unwind
    /// information, which stripped files have too, and gives a stable label (`libfoo.so+0x1230`) for a function without
    /// a name.
    pub fn function_start(&self, file_offset: u64) -> Option<u64> {
        let address = self.stated_address(file_offset)?;
        let start = self.go.as_ref().and_then(|go| go.find(address)).map(|function| function.start);
        self.file_offset(start.or_else(|| self.unwind.function_start(address))?)
    }

    /// The stated addresses of a variable or function that the file exports, by its full name.
    pub(crate) fn exported(&self, name: &str) -> Option<Range<u64>> {
        self.symbol_in(".dynsym", ".dynstr", name)
    }

    /// The stated addresses of a variable or function of the file, by its whole name. Stripped files have none.
    pub(crate) fn symbol(&self, name: &str) -> Option<Range<u64>> {
        self.symbol_in(".symtab", ".strtab", name)
    }

    fn symbol_in(&self, symbols: &str, names: &str, name: &str) -> Option<Range<u64>> {
        // A symbol of 64-bit ELF: name (4 bytes), kind, visibility, section (2), address (8), size (8).
        let section = |name: &str| self.elf.section_bytes(name).ok().flatten();
        let (symbols, names) = (section(symbols)?, section(names)?);
        let is_it = |symbol: &&[u8]| {
            let at = symbol.first_chunk().map_or(usize::MAX, |at| u32::from_le_bytes(*at) as usize);
            let rest = names.get(at..).and_then(|rest| rest.strip_prefix(name.as_bytes()));
            rest.is_some_and(|rest| rest.first() == Some(&0))
        };
        let symbol = symbols.chunks_exact(24).find(is_it)?;
        let long = |at: usize| symbol.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let start = long(8).filter(|address| *address != 0)?;
        Some(start..start.checked_add(long(16)?)?)
    }

    /// The function table of a Go program.
    pub(crate) fn go(&self) -> Option<&GoTable> {
        self.go.as_ref()
    }

    /// At most `length` bytes of instructions at an offset in the file.
    pub(crate) fn code(&self, file_offset: u64, length: usize) -> Vec<u8> {
        self.elf.some_bytes(file_offset, length)
    }

    /// Whether a stated address lies in one of its segments as they are in memory.
    pub(crate) fn covers(&self, stated_address: u64) -> bool {
        let within = |segment: &Segment| {
            stated_address.checked_sub(segment.address).is_some_and(|within| within < segment.memory_size)
        };
        self.elf.segments.iter().any(within)
    }

    /// What must be added (modulo 2^64) to a stated address to get the address in the process that has `mapping`.
    pub(crate) fn bias(&self, mapping: &Mapping) -> Option<u64> {
        let length = mapping.end - mapping.start;
        let segment = self.elf.segments.iter().find(|segment| {
            let end = segment.offset.saturating_add(segment.file_size);
            segment.executable
                && segment.offset < mapping.file_offset.saturating_add(length)
                && mapping.file_offset < end
        })?;
        let start = segment.address.wrapping_sub(segment.offset).wrapping_add(mapping.file_offset);
        Some(mapping.start.wrapping_sub(start))
    }

    /// The lowest stated address: 0 for a file that can be loaded anywhere.
    pub(crate) fn base(&self) -> u64 {
        self.elf.segments.iter().map(|segment| segment.address).min().unwrap_or(0)
    }
}

/// Distinguishes one version of a file from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    path: PathBuf,
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// All modules that were opened, shared by the unwinders of all processes. Clones share their contents.
#[derive(Debug, Clone, Default)]
pub struct ModuleCache {
    files: Arc<Mutex<HashMap<Key, ModuleRef>>>,
    vdso: Arc<OnceLock<ModuleRef>>,
}

impl ModuleCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The module of a file that need not be mapped anywhere.
    ///
    /// # Errors
    /// The file cannot be read or is not a 64-bit ELF file.
    pub fn open(&self, path: &Path) -> Result<ModuleRef, ModuleError> {
        let (file, metadata) = open_regular(path)?;
        self.intern(path, path, file, &metadata)
    }

    /// The vdso of this process, which is the same for every 64-bit process on this kernel. Read from this process's
    /// own memory (`/proc/self/mem`).
    ///
    /// # Errors
    /// This process has none, or must not read its own memory.
    pub fn vdso(&self) -> Result<ModuleRef, ModuleError> {
        if let Some(module) = self.vdso.get() {
            return Ok(module.clone());
        }
        let module = Arc::new(Module::new("[vdso]".into(), "[vdso]".into(), Source::Memory(vdso_image()?))?);
        Ok(self.vdso.get_or_init(|| module).clone())
    }

    /// The module of a file that a process has mapped. `root` is the process's root directory as this process sees it
    /// (`/proc/PID/root`); without it, the path is taken as it is and must lead to the mapped inode.
    pub(crate) fn mapped(&self, mapping: &Mapping, path: &Path, root: Option<&Path>) -> Result<ModuleRef, ModuleError> {
        let opened = match root {
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
            None => path.to_path_buf(),
        };
        let by_path = open_regular(&opened);
        if let Ok((file, metadata)) = &by_path
            && metadata.ino() == mapping.inode
            && let Ok(file) = file.try_clone()
        {
            return self.intern(path, &opened, file, metadata);
        }
        // The file was removed or replaced, or stacked file systems (overlayfs) show different inodes. For those with
        // the right to follow it, the kernel has a link to the very file that is mapped.
        if let Some(process) = root.and_then(Path::parent) {
            let link = process.join(format!("map_files/{:x}-{:x}", mapping.start, mapping.end));
            if let Ok((file, metadata)) = open_regular(&link) {
                return self.intern(path, &link, file, &metadata);
            }
        }
        // When a process ends, its root is gone; the plain path is good enough if it leads to the same inode.
        if root.is_some()
            && by_path.is_err()
            && let Ok((file, metadata)) = open_regular(path)
            && metadata.ino() == mapping.inode
        {
            return self.intern(path, path, file, &metadata);
        }
        let (file, metadata) = by_path?;
        // In the process's own view, a path with another inode means a stacked file system, not a new file: a removed
        // or replaced file would have been marked as deleted.
        if root.is_some() && !mapping.deleted {
            return self.intern(path, &opened, file, &metadata);
        }
        Err(ModuleError::Replaced { path: opened, mapped: mapping.inode, found: metadata.ino() })
    }

    fn intern(
        &self,
        path: &Path,
        opened: &Path,
        file: File,
        metadata: &std::fs::Metadata,
    ) -> Result<ModuleRef, ModuleError> {
        let key = Key {
            path: path.to_path_buf(),
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        };
        let known = self.files.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(module) = known {
            return Ok(module);
        }
        let module = Arc::new(Module::new(key.path.clone(), opened.to_path_buf(), Source::File(file))?);
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(files.entry(key).or_insert(module).clone())
    }
}

/// Opens a regular file for reading.
pub(crate) fn open_regular(path: &Path) -> Result<(File, std::fs::Metadata), ModuleError> {
    let unreadable = |source: io::Error| ModuleError::Read { path: path.to_path_buf(), source };
    let file = OpenOptions::new().read(true).custom_flags(OPEN_WITHOUT_WAITING).open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(ModuleError::NotAFile { path: path.to_path_buf() });
    }
    Ok((file, metadata))
}

/// Copies the vdso out of this process's memory, through the file that the kernel offers for it.
fn vdso_image() -> Result<Arc<[u8]>, ModuleError> {
    use std::os::unix::fs::FileExt;
    /// The vdso has two to four pages; anything larger than this is not a vdso.
    const LIMIT: u64 = 1 << 20;
    let unreadable = |path: &'static str| move |source| ModuleError::Read { path: path.into(), source };
    let maps = std::fs::read("/proc/self/maps").map_err(unreadable("/proc/self/maps"))?;
    let range = parse_maps(maps)
        .unwrap_or_default()
        .into_iter()
        .find(|mapping| mapping.path == MappedFile::Vdso && mapping.end - mapping.start <= LIMIT)
        .ok_or(ModuleError::NoVdso)?;
    let memory = File::open("/proc/self/mem").map_err(unreadable("/proc/self/mem"))?;
    let mut image = vec![0; (range.end - range.start) as usize];
    memory.read_exact_at(&mut image, range.start).map_err(unreadable("/proc/self/mem"))?;
    Ok(Arc::from(image))
}
