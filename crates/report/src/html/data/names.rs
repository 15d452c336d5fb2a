//! Names that the scripts read, each once.

use super::super::markup::readable;
use std::collections::HashMap;

/// Names given out so far.
#[derive(Debug, Default)]
pub(crate) struct NameTable {
    pub(crate) names: Vec<String>,
    known: HashMap<String, usize>,
}

impl NameTable {
    /// The number of a name.
    pub(crate) fn index(&mut self, name: &str) -> usize {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let index = self.names.len();
        self.names.push(readable(name));
        self.known.insert(name.to_owned(), index);
        index
    }
}
