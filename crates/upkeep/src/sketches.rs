//! Which kinds of sketches the folder of a cause has: modules of these names, with tests, in `sketches.rs` or `sketches/`.

use crate::tree::children;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use syn::Item;

/// The modules that each cause must have: programs with the cause, programs that only look like it, programs without it.
pub const KINDS: [&str; 3] = ["positive", "near_miss", "clean"];

/// The kinds of sketches for which a cause's folder has no test.
pub fn lacking(folder: &Path) -> Result<Vec<&'static str>, String> {
    let mut found = BTreeSet::new();
    let file = folder.join("sketches.rs");
    if file.is_file() {
        read(&file, &mut found)?;
    }
    let rooms = folder.join("sketches");
    if rooms.is_dir() {
        for file in children(&rooms)?.iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")) {
            read(file, &mut found)?;
        }
    }
    Ok(KINDS.into_iter().filter(|kind| !found.contains(*kind)).collect())
}

/// The names of a file's modules that hold a test.
fn read(file: &Path, found: &mut BTreeSet<String>) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let parsed = syn::parse_file(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    for item in parsed.items {
        if let Item::Mod(module) = item
            && module.content.is_some_and(|(_, items)| items.iter().any(is_test))
        {
            found.insert(module.ident.to_string());
        }
    }
    Ok(())
}

fn is_test(item: &Item) -> bool {
    matches!(item, Item::Fn(function) if function.attrs.iter().any(|attribute| attribute.path().is_ident("test")))
}
