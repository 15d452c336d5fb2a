//! What lies at addresses of a program image; used by the sampling of shared memory.

use super::image::Image;
use crate::sharing::{ImageCode, NamedVariable, Snapshot};
use resolve::decode::replay::StackBytes;
use resolve::{DataTypes, MappedFile, ModuleRef, Objects, Placed};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

/// Variables and types of the modules that were asked for; none where they cannot be read.
#[derive(Debug, Default)]
pub(super) struct Variables {
    objects: RefCell<HashMap<PathBuf, Option<Objects>>>,
    types: RefCell<HashMap<PathBuf, Option<DataTypes>>>,
}

impl Variables {
    fn find(&self, module: &ModuleRef, stated: u64) -> Option<resolve::Object> {
        let mut known = self.objects.borrow_mut();
        let objects = known.entry(module.path().to_path_buf()).or_insert_with(|| Objects::read(module).ok());
        let object = objects.as_ref()?.find(stated)?;
        let member = self.types(module, |types| types.member_of_static(stated));
        Some(resolve::Object { member, ..object })
    }

    fn types<T>(&self, module: &ModuleRef, look: impl FnOnce(&DataTypes) -> Option<T>) -> Option<T> {
        let mut known = self.types.borrow_mut();
        let types = known.entry(module.path().to_path_buf()).or_insert_with(|| DataTypes::read(module).ok().flatten());
        types.as_ref().and_then(look)
    }

    /// What a variable of the code points to at the moment of a sample.
    fn pointed(&self, image: &Image, snapshot: &Snapshot, address: u64) -> Option<Placed> {
        let located = image.unwinder().locate(snapshot.registers.ip)?;
        let module = located.module?;
        let stated = module.stated_address(located.file_offset)?;
        // The access may be in the sampled function or in one that it called.
        let access_stated = image.unwinder().locate(snapshot.instruction).and_then(|access| {
            let same = access.module.is_some_and(|other| std::sync::Arc::ptr_eq(other, module));
            module.stated_address(access.file_offset).filter(|_| same)
        });
        let looked_at = resolve::Moment {
            registers: &snapshot.registers,
            stack: StackBytes { start: snapshot.start, bytes: &snapshot.stack },
            stated,
            access_stated: access_stated.unwrap_or(stated),
            array: snapshot.array,
        };
        self.types(module, |types| types.pointed(module, &looked_at, address))
    }
}

/// An image with the variables of its modules.
pub(super) struct ImageData<'a> {
    pub(super) image: &'a Image,
    pub(super) variables: &'a Variables,
}

impl ImageCode for ImageData<'_> {
    fn made_at_run_time(&self, address: u64) -> bool {
        let located = self.image.unwinder().locate(address);
        located.is_some_and(|code| code.mapping.path == MappedFile::Anonymous)
    }

    fn stacks_in_heap(&self) -> bool {
        self.image.has_goroutines()
    }

    fn function_start(&self, address: u64) -> Option<u64> {
        self.image.unwinder().function_start(address)
    }

    fn variable(&self, address: u64) -> Option<NamedVariable> {
        let (module, stated) = self.image.unwinder().locate_data(address)?;
        let object = self.variables.find(module, stated);
        Some(NamedVariable { module: module.path().to_string_lossy().into_owned(), object })
    }

    fn pointed(&self, snapshots: &[Snapshot], address: u64) -> Option<Placed> {
        snapshots.iter().find_map(|snapshot| self.variables.pointed(self.image, snapshot, address))
    }
}
