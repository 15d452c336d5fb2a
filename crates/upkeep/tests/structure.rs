//! Folders, circles, names and walls of the workspace's sources. What is not yet so stands in `exceptions.txt`.

use std::collections::{BTreeMap, BTreeSet};
use syn::Item;
use upkeep::exceptions::held;
use upkeep::imports::{Used, imports};
use upkeep::tree::{Source, for_tests, sources};

/// Source files that a folder holds at most: more is no longer seen at a glance.
const MOST_FILES: usize = 15;

fn folder(source: &Source) -> String {
    source.path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_string())
}

fn hold(held: Result<(), String>) {
    held.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn folders_are_small() {
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources().expect("sources") {
        *files.entry(folder(&source)).or_default() += 1;
    }
    let large = files.into_iter().filter(|(_, files)| *files > MOST_FILES).map(|(folder, _)| folder).collect();
    hold(held("folder", large, "Folders with more than 15 files: make a room of those that belong together"));
}

/// Files that use each other are one room in several parts: who reads one has to read them all.
#[test]
fn files_use_each_other_in_no_circle() {
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
    let shown = |at: usize| {
        let others = next(at).filter(|&there| reached[there].contains(&at)).map(|there| sources[there].path.as_str());
        format!("\n  {} uses {}", sources[at].path, others.collect::<Vec<_>>().join(", "))
    };
    let ways: String = in_circle.iter().map(|&at| shown(at)).collect();
    let circles = in_circle.iter().map(|&at| folder(&sources[at])).collect();
    hold(held(
        "circle",
        circles,
        &format!("Files that use each other in a circle: move what both need below both.{ways}\nTheir folders"),
    ));
}

#[test]
fn a_name_of_a_type_is_there_once_in_a_crate() {
    let mut names: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for source in sources().expect("sources").iter().filter(|source| !source.is_test) {
        types(&source.file.items, &mut |name| {
            names.entry((source.krate.clone(), name)).or_default().insert(source.path.clone());
        });
    }
    let twice: Vec<_> = names.into_iter().filter(|(_, places)| places.len() > 1).collect();
    let shown: String = twice.iter().map(|((_, name), places)| format!("\n  {name}: {places:?}")).collect();
    let keys = twice.into_iter().map(|((krate, name), _)| format!("{krate} {name}")).collect();
    hold(held(
        "type",
        keys,
        &format!("Types of one name in a crate: give each the name of what it is.{shown}\nThe names"),
    ));
}

fn types(items: &[Item], told: &mut impl FnMut(String)) {
    for item in items {
        match item {
            Item::Struct(item) => told(item.ident.to_string()),
            Item::Enum(item) => told(item.ident.to_string()),
            Item::Trait(item) => told(item.ident.to_string()),
            Item::Type(item) => told(item.ident.to_string()),
            Item::Mod(inner) if !for_tests(&inner.attrs) => {
                types(inner.content.as_ref().map_or(&[], |(_, items)| items.as_slice()), told);
            }
            _ => {}
        }
    }
}

/// The names in backquotes behind `May import:` in a header, up to the end of its sentence; `None` without such a sentence.
fn wall(header: &str) -> Option<Vec<String>> {
    let (_, list) = header.split_once("May import:")?;
    let words = list.replace('\n', " ");
    let sentence = words.split(". ").next().unwrap_or_default();
    Some(sentence.split('`').skip(1).step_by(2).map(str::to_string).collect())
}

/// What the header of a folder allows is all that its files use of the crate and of the workspace.
#[test]
fn rooms_use_only_what_their_header_allows() {
    let sources = sources().expect("sources");
    let imports = imports(&sources);
    let (mut without, mut over, mut shown) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let folders: Vec<(&Source, Option<Vec<String>>)> =
        sources.iter().filter(|source| source.is_folder).map(|source| (source, wall(&source.header()))).collect();
    for (source, wall) in &folders {
        if wall.is_none() && !source.path.ends_with("main.rs") {
            without.insert(folder(source));
        }
    }
    for (source, used) in sources.iter().zip(&imports).filter(|(source, _)| !source.is_test) {
        let own = |room: &&(&Source, Option<Vec<String>>)| {
            room.0.krate == source.krate && source.module.starts_with(&room.0.module)
        };
        let Some((room, Some(wall))) = folders.iter().filter(own).max_by_key(|(room, _)| room.module.len()) else {
            continue;
        };
        for used in used {
            let (allowed, name) = match used {
                Used::Crate(name) => (wall.contains(name), name.clone()),
                Used::File(at) => {
                    let theirs = &sources[*at].module;
                    let inside = theirs.starts_with(&room.module);
                    // A room is named from the crate's root on, or from the folder that it shares with this one.
                    let beside = room.module.len().saturating_sub(1);
                    let named = |from: usize| {
                        let path = theirs.get(from..).unwrap_or_default();
                        (1..=path.len()).any(|length| wall.contains(&path[..length].join("::")))
                    };
                    (
                        inside || named(0) || (theirs.starts_with(&room.module[..beside]) && named(beside)),
                        theirs.join("::"),
                    )
                }
            };
            if !allowed {
                over.insert(folder(room));
                shown.insert(format!("\n  {} uses `{name}`", source.path));
            }
        }
    }
    let shown: String = shown.into_iter().collect();
    hold(held(
        "wall",
        over,
        &format!(
            "Files that use a room which `May import:` of their folder does not name. Use it elsewhere, or name it.{shown}\nThe folders"
        ),
    ));
    hold(held(
        "header",
        without,
        "The first lines of lib.rs and mod.rs end with `May import:` and the rooms and crates of the workspace, in backquotes; missing in",
    ));
}

/// A list of imports in each file says what its `use` lines say, and nothing checks it: the folder's is the one that counts.
#[test]
fn imports_are_listed_for_folders_alone() {
    let listed = sources().expect("sources");
    let listed = listed.iter().filter(|source| !source.is_folder && source.header().contains("May import"));
    hold(held(
        "list",
        listed.map(folder).collect(),
        "`May import` stands in lib.rs and mod.rs alone; take it out of the files in",
    ));
}
