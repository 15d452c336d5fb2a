//! What a program image knows that the sampling of shared memory asks for. May import: `image`, `sharing`, resolve.

use super::image::Image;
use crate::sharing::{ImageCode, NamedVariable};
use resolve::{ModuleRef, Objects};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

/// Variables of the modules that were asked for; none where they cannot be read.
#[derive(Debug, Default)]
pub(super) struct Variables(RefCell<HashMap<PathBuf, Option<Objects>>>);

impl Variables {
    fn find(&self, module: &ModuleRef, stated: u64) -> Option<resolve::Object> {
        let mut known = self.0.borrow_mut();
        let objects = known.entry(module.path().to_path_buf()).or_insert_with(|| Objects::read(module).ok());
        objects.as_ref()?.find(stated)
    }
}

/// An image with the variables of its modules.
pub(super) struct Known<'a> {
    pub(super) image: &'a Image,
    pub(super) variables: &'a Variables,
}

impl ImageCode for Known<'_> {
    fn function_start(&self, address: u64) -> Option<u64> {
        self.image.unwinder().function_start(address)
    }

    fn variable(&self, address: u64) -> Option<NamedVariable> {
        let (module, stated) = self.image.unwinder().locate_data(address)?;
        let object = self.variables.find(module, stated);
        Some(NamedVariable { module: module.path().to_string_lossy().into_owned(), object })
    }
}
