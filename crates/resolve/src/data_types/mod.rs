//! Data addresses → members of types: what debug information says about the memory that code accesses.
//!
//! For a variable with static storage: which member or element is at an address (`slots[3].hits`). For other memory:
//! which member of which type. To find out, the variables of the accessing code are evaluated as they were at a sample;
//! one that points to an object which covers the address names it (`struct stats.hits`). A variable that points
//! elsewhere, or only nearby, names nothing: a wrong name is worse than none.
//!
//! Rooms: `units` the debug information by units; `layout` types, their sizes and members; `scopes` the variables of
//! the code at an address; `moment` a sample at an access; `values` where these variables are and what they hold.
//! May import: `decode`, `demangle`, `elf`, `error`, `module`, `symbols`.

mod layout;
mod moment;
mod scopes;
mod units;
mod values;

use std::path::PathBuf;

use crate::error::ModuleError;
use crate::module::Module;
use crate::symbols::debug_file::find_debug_file;

use layout::Layout;
use scopes::Scopes;
use units::Units;
use values::{Pointer, SampledFrame};

pub use moment::Moment;

/// Where distributions put separate debug files.
const DEBUG_DIRECTORY: &str = "/usr/lib/debug";

/// What lies at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The type, as the source would name it (`struct stats`); if it is not a structure, the variable that points there
    /// (`*count`, or `counts` with an index).
    pub type_name: String,
    /// The member, as written after the name (`.hits`, `[3].value`); empty for the whole object.
    pub member: String,
    /// Distance of the address from the object's start, bytes.
    pub offset: u64,
    /// The object's size, bytes.
    pub size: u64,
}

/// The types and variables of a module.
pub struct DataTypes {
    units: Units,
    scopes: Scopes,
}

impl std::fmt::Debug for DataTypes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DataTypes").field("units", &self.units.len()).finish_non_exhaustive()
    }
}

impl DataTypes {
    /// Reads the debug information of a module, from its own file or from a separate debug file. None when there is no
    /// debug information, or too much to search.
    ///
    /// # Errors
    /// The file cannot be read, or claims to be larger than it is.
    pub fn read(module: &Module) -> Result<Option<Self>, ModuleError> {
        let units = if module.elf.section(".debug_info").is_some() {
            Units::read(&module.elf)?
        } else {
            match find_debug_file(module, &[PathBuf::from(DEBUG_DIRECTORY)]) {
                Some(debug) => Units::read(&debug.elf)?,
                None => None,
            }
        };
        Ok(units.map(|units| Self { scopes: Scopes::default(), units }))
    }

    /// The member or element at a stated address in a variable with static storage, as the source would write it after
    /// the variable's name. None when debug information does not list the variable, or when the address is the start
    /// of a variable without members.
    pub fn member_of_static(&self, stated_address: u64) -> Option<String> {
        let (variable, start) = self.scopes.static_at(&self.units, stated_address)?;
        let layout = Layout { units: &self.units };
        let found = layout.member(&variable, stated_address - start)?;
        (!found.is_empty()).then_some(found)
    }

    /// The object at an address to which a variable of the sampled code points. `module`: the module that these types
    /// belong to.
    pub fn pointed(&self, module: &Module, moment: &Moment<'_>, address: u64) -> Option<Placed> {
        let layout = Layout { units: &self.units };
        let mut best: Option<(Rank, Placed)> = None;
        for at in [moment.stated, moment.access_stated] {
            let frame = SampledFrame { moment, cfa: module.unwind.frame_address(at, moment.registers) };
            for variable in self.scopes.variables(&self.units, at).iter() {
                for pointer in frame.pointers(&layout, variable, at) {
                    let Some(found) = place(&layout, moment, address, &pointer) else { continue };
                    if best.as_ref().is_none_or(|(rank, _)| found.0 > *rank) {
                        best = Some(found);
                    }
                }
            }
            if best.is_some() {
                break;
            }
        }
        best.map(|(_, placed)| placed)
    }
}

/// Ranks names: structures of the program come before other variables, and those before structures of a language's own
/// library (such as an atomic inside a counter). Among equals the largest is best, because it says most about the
/// address.
type Rank = (u8, u64);

fn place(layout: &Layout<'_>, moment: &Moment<'_>, address: u64, pointer: &Pointer) -> Option<(Rank, Placed)> {
    let size = layout.size(&pointer.to)?;
    let distance = address.checked_sub(pointer.value)?;
    // A pointer to an array's first element does not show the array's length. But an instruction that adds an index to
    // this very pointer shows that it is an array.
    let indexed = moment.array == Some(pointer.value) || pointer.count.is_some_and(|count| distance / size < count);
    let (index, within) = match distance < size {
        true => (0, distance),
        false if indexed => (distance / size, distance % size),
        false => return None,
    };
    let member = layout.member(&pointer.to, within)?;
    match layout.structure(&pointer.to) {
        Some(structure) if !structure.library || !member.is_empty() => {
            let rank = (if structure.library { 0 } else { 2 }, size);
            let placed = Placed { type_name: structure.name, member, offset: within, size };
            Some((rank, placed))
        }
        Some(_) => None,
        None if pointer.name == "this" || pointer.name == "self" => None,
        None => {
            let (type_name, member) = match indexed {
                true => (pointer.name.clone(), format!("[{index}]{member}")),
                false => (format!("*{}", pointer.name), member),
            };
            Some(((1, size), Placed { type_name, member, offset: distance, size }))
        }
    }
}
