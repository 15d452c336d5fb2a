//! The sources of the workspace's crates.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta};

/// A source file.
pub struct Source {
    /// The crate's name in paths.
    pub krate: String,
    /// Relative to the workspace's root.
    pub path: String,
    /// The module's names, from the crate's root on; empty for `lib.rs` and `main.rs`.
    pub module: Vec<String>,
    /// Whether its child modules are in the same folder: `mod.rs`, `lib.rs`, `main.rs`.
    pub is_folder: bool,
    /// Whether it is compiled for tests only.
    pub is_test: bool,
    /// The syntax tree.
    pub file: syn::File,
}

impl Source {
    /// The text of the documentation at the top.
    pub fn header(&self) -> String {
        documentation(&self.file.attrs).join("\n")
    }
}

/// The workspace's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").components().collect()
}

/// Lines of documentation, trimmed.
pub fn documentation(attributes: &[Attribute]) -> Vec<String> {
    attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_string()),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

/// Whether an item is compiled for tests only.
pub fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Meta::List(list) = &attribute.meta else { return false };
        list.path.is_ident("cfg") && list.tokens.to_string() == "test"
    })
}

/// All files below the `src` folders of the workspace's crates, sorted by path within each crate.
pub fn sources() -> Result<Vec<Source>, String> {
    let mut found = Vec::new();
    let crates = root().join("crates");
    for folder in children(&crates)? {
        let (src, krate) = (folder.join("src"), name_of(&folder));
        let krate = if krate == "marks" { "knee_marks".to_string() } else { krate };
        if src.is_dir() {
            walk(&src, &krate, &[], false, &mut found)?;
        }
    }
    mark_tests(&mut found);
    Ok(found)
}

/// How many source files each folder of the crates has, tests and examples too; folders are relative to the root.
pub fn folder_sizes() -> Result<BTreeMap<String, usize>, String> {
    let mut sizes = BTreeMap::new();
    for folder in children(&root().join("crates"))? {
        count(&folder, &mut sizes)?;
    }
    Ok(sizes)
}

fn count(folder: &Path, sizes: &mut BTreeMap<String, usize>) -> Result<(), String> {
    for path in children(folder)? {
        if path.is_dir() {
            count(&path, sizes)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let shown = folder.strip_prefix(root()).unwrap_or(folder).display().to_string();
            *sizes.entry(shown).or_default() += 1;
        }
    }
    Ok(())
}

/// The files and folders in a folder, by name.
pub fn children(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let read = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = read.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path) -> String {
    path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn walk(folder: &Path, krate: &str, module: &[String], is_test: bool, found: &mut Vec<Source>) -> Result<(), String> {
    for path in children(folder)? {
        let name = name_of(&path);
        let below: Vec<String> = module.iter().cloned().chain([name.clone()]).collect();
        if path.is_dir() {
            walk(&path, krate, &below, is_test, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let is_folder = ["mod", "lib", "main"].contains(&name.as_str());
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let file = syn::parse_file(&text).map_err(|error| format!("{}: {error}", path.display()))?;
            let path = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            let module = if is_folder { module.to_vec() } else { below };
            found.push(Source { krate: krate.to_string(), path, module, is_folder, is_test, file });
        }
    }
    Ok(())
}

/// A file is for tests if the module that declares it is marked so, or is itself for tests.
fn mark_tests(sources: &mut [Source]) {
    let mut tests: Vec<(String, Vec<String>)> = Vec::new();
    for source in sources.iter() {
        for item in &source.file.items {
            if let Item::Mod(inner) = item
                && inner.content.is_none()
                && for_tests(&inner.attrs)
            {
                let module = source.module.iter().cloned().chain([inner.ident.to_string()]).collect();
                tests.push((source.krate.clone(), module));
            }
        }
    }
    for source in sources {
        source.is_test =
            tests.iter().any(|(krate, module)| *krate == source.krate && source.module.starts_with(module));
    }
}
