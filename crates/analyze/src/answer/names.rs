//! Names that the code of an answer holds as constants, read back from a kept answer.

use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Text of the code itself. Under its own name, because serde takes what is spelled as a reference from what it reads.
pub type Constant = &'static str;

/// Names that were read. An answer has a few dozen, the same in each: they are kept until the process ends.
static READ: Mutex<BTreeSet<Constant>> = Mutex::new(BTreeSet::new());

/// A name that lives as long as the process.
///
/// # Errors
/// Where there is no text.
pub(super) fn kept_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Constant, D::Error> {
    let name = String::deserialize(deserializer)?;
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = read.get(name.as_str()) {
        return Ok(known);
    }
    let name: Constant = Box::leak(name.into_boxed_str());
    read.insert(name);
    Ok(name)
}
