//! What is not yet as it should be: lines `check key` in a file that may only become shorter.

use crate::tree::root;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Compares what a check found with its exceptions.
///
/// # Errors
/// What is found and no exception, with `help`; and exceptions of which nothing is left.
pub fn held(check: &str, found: BTreeSet<String>, help: &str) -> Result<(), String> {
    let path: PathBuf = root().join("crates/upkeep/exceptions.txt");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let prefix = format!("{check} ");
    let known: BTreeSet<String> =
        text.lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_string).collect();
    let list = |keys: Vec<&String>| keys.into_iter().map(|key| format!("\n  {check} {key}")).collect::<String>();
    let (fresh, stale) = (list(found.difference(&known).collect()), list(known.difference(&found).collect()));
    match (fresh.is_empty(), stale.is_empty()) {
        (true, true) => Ok(()),
        (false, _) => Err(format!("{help}:{fresh}")),
        (true, false) => Err(format!("Mended, so take these lines out of crates/upkeep/exceptions.txt:{stale}")),
    }
}
