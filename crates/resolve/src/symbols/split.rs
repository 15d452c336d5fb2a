//! Debug information that the compiler put into separate files (`-gsplit-dwarf`): one `.dwo` for each unit, or all of
//! them in a package (`.dwp`) beside the program.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::SplitDwarfLoad;
use gimli::{Dwarf, DwarfPackage, DwoId, Error, LittleEndian, Reader as _, SectionId};

use super::debug_file::{below, open, root_of};
use crate::elf::{DwarfReader, ElfFile};
use crate::module::Module;

/// Finds the split units of a module.
pub(crate) struct SplitUnits {
    /// The root directory of the process, when it differs from ours.
    root: Option<PathBuf>,
    package_path: PathBuf,
    package: OnceCell<Option<DwarfPackage<DwarfReader>>>,
}

impl SplitUnits {
    pub(crate) fn for_module(module: &Module) -> Self {
        let mut package_path = module.opened().as_os_str().to_owned();
        package_path.push(".dwp");
        Self { root: root_of(module), package_path: package_path.into(), package: OnceCell::new() }
    }

    /// The unit that the debug information refers to; none when it is missing or belongs to another build.
    pub(crate) fn load(&self, load: &SplitDwarfLoad<DwarfReader>) -> Option<Arc<Dwarf<DwarfReader>>> {
        let package = self.package.get_or_init(|| read_package(&self.package_path));
        if let Some(Ok(Some(unit))) = package.as_ref().map(|package| package.find_cu(load.dwo_id, &load.parent)) {
            return Some(Arc::new(unit));
        }
        let name = path(load.path.as_ref()?)?;
        let folder = load.comp_dir.as_ref().and_then(path).unwrap_or_default();
        let place = folder.join(name);
        let rooted = self.root.as_ref().map(|root| below(root, &place));
        rooted.into_iter().chain([place]).filter(|place| place.is_absolute()).find_map(|place| {
            let file = open(&place)?;
            let mut unit = Dwarf::load(|id| section(&file, id)).ok()?;
            unit.make_dwo(&load.parent);
            is_unit(&unit, load.dwo_id).then(|| Arc::new(unit))
        })
    }
}

fn read_package(path: &Path) -> Option<DwarfPackage<DwarfReader>> {
    let file = open(path)?;
    DwarfPackage::load(|id| section(&file, id), DwarfReader::new(Arc::from([]), LittleEndian)).ok()
}

/// Whether a unit is of the wanted build: rebuilding a program replaces its units, and each build has its own number.
fn is_unit(dwarf: &Dwarf<DwarfReader>, wanted: DwoId) -> bool {
    let first = dwarf.units().next().ok().flatten();
    first.and_then(|header| dwarf.unit(header).ok()).is_some_and(|unit| unit.dwo_id == Some(wanted))
}

fn section(file: &ElfFile, id: SectionId) -> Result<DwarfReader, Error> {
    let bytes = id.dwo_name().and_then(|name| file.section_bytes(name).ok().flatten());
    Ok(DwarfReader::new(bytes.unwrap_or_else(|| Arc::from([])), LittleEndian))
}

fn path(text: &DwarfReader) -> Option<PathBuf> {
    /// The longest path that the kernel opens, in bytes.
    const LIMIT: usize = 4096;
    let bytes = text.to_slice().ok()?;
    let valid = !bytes.is_empty() && bytes.len() < LIMIT && !bytes.contains(&0);
    valid.then(|| PathBuf::from(OsString::from_vec(bytes.into_owned())))
}
