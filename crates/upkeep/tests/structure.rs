//! Rules about folders, circular imports, names and allowed imports of the workspace's sources.

use std::collections::{BTreeMap, BTreeSet};
use syn::Item;
use upkeep::imports::{Used, imports};
use upkeep::tree::{Source, folder_sizes, for_tests, sources};

/// The most source files in a folder: more cannot be taken in at a glance.
const MOST_FILES: usize = 15;

/// Fails with `help` and what was found, if anything was.
fn none(found: &BTreeSet<String>, help: &str) {
    let list: String = found.iter().map(|each| format!("\n  {each}")).collect();
    assert!(found.is_empty(), "{help}:{list}");
}

#[test]
fn folders_are_small() {
    let large = folder_sizes()
        .expect("sources")
        .into_iter()
        .filter(|(_, files)| *files > MOST_FILES)
        .map(|(folder, _)| folder)
        .collect();
    none(&large, "Folders with more than 15 files: make a room of those that belong together");
}

/// Files that import each other in a circle can only be read together.
#[test]
fn files_do_not_use_each_other_in_a_circle() {
    let sources = sources().expect("sources");
    let imports = imports(&sources);
    let next = |at: usize| {
        imports[at].iter().filter_map(|used| if let Used::File(there) = used { Some(*there) } else { None })
    };
    let reached: Vec<BTreeSet<usize>> = (0..sources.len())
        .map(|at| {
            let (mut seen, mut left) = (BTreeSet::new(), vec![at]);
            while let Some(from) = left.pop() {
                left.extend(next(from).filter(|there| seen.insert(*there)));
            }
            seen
        })
        .collect();
    let in_circle: Vec<usize> =
        (0..sources.len()).filter(|&at| !sources[at].is_test && reached[at].contains(&at)).collect();
    let shown = |at: &usize| {
        let others = next(*at).filter(|&there| reached[there].contains(at)).map(|there| sources[there].path.as_str());
        format!("{} uses {}", sources[*at].path, others.collect::<Vec<_>>().join(", "))
    };
    let ways = in_circle.iter().map(shown).collect();
    none(&ways, "Files that use each other in a circle: move what both need below both");
}

#[test]
fn a_crate_has_each_type_name_only_once() {
    let mut names: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for source in sources().expect("sources").iter().filter(|source| !source.is_test) {
        types(&source.file.items, &mut |name| {
            names.entry((source.krate.clone(), name)).or_default().insert(source.path.clone());
        });
    }
    let twice = names.into_iter().filter(|(_, places)| places.len() > 1);
    let twice = twice.map(|((krate, name), places)| format!("{krate}: {name} in {places:?}")).collect();
    none(&twice, "Several types with one name in a crate: name each after what it is");
}

fn types(items: &[Item], each: &mut impl FnMut(String)) {
    for item in items {
        match item {
            Item::Struct(item) => each(item.ident.to_string()),
            Item::Enum(item) => each(item.ident.to_string()),
            Item::Trait(item) => each(item.ident.to_string()),
            Item::Type(item) => each(item.ident.to_string()),
            Item::Mod(inner) if !for_tests(&inner.attrs) => {
                types(inner.content.as_ref().map_or(&[], |(_, items)| items.as_slice()), each);
            }
            _ => {}
        }
    }
}

/// The names in backquotes after `May import:` in a header, up to the end of the sentence; `None` without that
/// sentence.
fn wall(header: &str) -> Option<Vec<String>> {
    let (_, list) = header.split_once("May import:")?;
    let words = list.replace('\n', " ");
    let sentence = words.split(". ").next().unwrap_or_default();
    Some(sentence.split('`').skip(1).step_by(2).map(str::to_string).collect())
}

/// The files of a folder may use only what the folder's header allows, of the crate and of the workspace; and each
/// allowed name must be used by some file below the folder.
#[test]
fn rooms_use_only_what_their_header_allows() {
    let sources = sources().expect("sources");
    let imports = imports(&sources);
    let (mut without, mut over, mut idle) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let folders: Vec<(&Source, Option<Vec<String>>)> =
        sources.iter().filter(|source| source.is_folder).map(|source| (source, wall(&source.header()))).collect();
    for (room, wall) in &folders {
        let Some(wall) = wall else {
            if !room.path.ends_with("main.rs") {
                without.insert(room.path.clone());
            }
            continue;
        };
        let mut used_names: BTreeSet<&str> = BTreeSet::new();
        let below = |source: &Source| source.krate == room.krate && source.module.starts_with(&room.module);
        for (source, used) in sources.iter().zip(&imports).filter(|(source, _)| !source.is_test && below(source)) {
            let own = |other: &&(&Source, Option<Vec<String>>)| {
                other.0.krate == source.krate && source.module.starts_with(&other.0.module)
            };
            let nearest = folders.iter().filter(own).map(|(other, _)| other.module.len()).max();
            for used in used {
                let (names, shown) = match used {
                    Used::Crate(name) => (vec![name.clone()], name.clone()),
                    Used::File(at) if sources[*at].module.starts_with(&room.module) => continue,
                    Used::File(at) => (names_of(&sources[*at].module, &room.module), sources[*at].module.join("::")),
                };
                let allowed = wall.iter().filter(|name| names.contains(name)).map(String::as_str);
                let allowed: Vec<&str> = allowed.collect();
                if allowed.is_empty() && nearest == Some(room.module.len()) {
                    over.insert(format!("{} uses `{shown}`", source.path));
                }
                used_names.extend(allowed);
            }
        }
        let unused = wall.iter().filter(|name| !used_names.contains(name.as_str()));
        idle.extend(unused.map(|name| format!("{} names `{name}`", room.path)));
    }
    none(
        &over,
        "Files that use a room which `May import:` of their folder does not name. Use it elsewhere, or name it",
    );
    none(&idle, "`May import:` names rooms that no file of the folder uses");
    none(
        &without,
        "The first lines of lib.rs and mod.rs end with `May import:` and the rooms and crates of the workspace, in backquotes; missing in",
    );
}

/// The names under which the list of `room` may allow a file: its path from the crate's root, or from the folder that
/// both share.
fn names_of(theirs: &[String], room: &[String]) -> Vec<String> {
    let beside = room.len().saturating_sub(1);
    let from = |start: usize| {
        let path = theirs.get(start..).unwrap_or_default();
        (1..=path.len()).map(|length| path[..length].join("::")).collect::<Vec<_>>()
    };
    let mut names = from(0);
    if theirs.starts_with(&room[..beside]) {
        names.extend(from(beside));
    }
    names
}

/// A list of imports in a single file would only repeat its `use` lines, unchecked: only the folder's list counts.
#[test]
fn imports_are_listed_only_for_folders() {
    let listed = sources().expect("sources");
    let listed = listed.iter().filter(|source| !source.is_folder && source.header().contains("May import"));
    none(
        &listed.map(|source| source.path.clone()).collect(),
        "`May import` belongs only in lib.rs and mod.rs; remove it from",
    );
}
