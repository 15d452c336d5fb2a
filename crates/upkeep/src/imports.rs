//! Which file uses which others, by `use` and by paths in code. Re-exports are followed to the file that defines the
//! item; a module does not use its children by declaring them or re-exporting their items. Test code does not count.

use crate::tree::{Source, for_tests};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Item, ItemMod, ItemUse, UseTree, Visibility};

/// What a file uses: another file or a crate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Used {
    /// A file of the same crate, by its number among the sources.
    File(usize),
    /// Another crate.
    Crate(String),
}

/// What each source uses, by the source's number.
pub fn imports(sources: &[Source]) -> Vec<BTreeSet<Used>> {
    let index: BTreeMap<(&str, &[String]), usize> =
        sources.iter().enumerate().map(|(at, each)| ((each.krate.as_str(), each.module.as_slice()), at)).collect();
    let exports: Vec<Exports> = sources.iter().map(Exports::from_source).collect();
    let tree = Tree { sources, index, exports };
    (0..sources.len()).map(|at| tree.uses(at)).collect()
}

struct Tree<'a> {
    sources: &'a [Source],
    index: BTreeMap<(&'a str, &'a [String]), usize>,
    exports: Vec<Exports>,
}

/// What a module re-exports: names with the paths that they stand for, and paths from which everything is re-exported.
#[derive(Default)]
struct Exports {
    named: BTreeMap<String, Vec<String>>,
    all: Vec<Vec<String>>,
}

impl Exports {
    fn from_source(source: &Source) -> Exports {
        let mut exports = Exports::default();
        for item in &source.file.items {
            if let Item::Use(found) = item
                && !matches!(found.vis, Visibility::Inherited)
            {
                spread(&found.tree, &mut Vec::new(), &mut |path, name| match name {
                    Some(name) => drop(exports.named.insert(name, path)),
                    None => exports.all.push(path),
                });
            }
        }
        exports
    }
}

/// Calls `each` with every path in a `use` and the name that it gets; no name for a glob.
fn spread(tree: &UseTree, before: &mut Vec<String>, each: &mut impl FnMut(Vec<String>, Option<String>)) {
    let with = |before: &[String], name: String| before.iter().cloned().chain([name]).collect::<Vec<_>>();
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            spread(&path.tree, before, each);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => each(before.clone(), before.last().cloned()),
        UseTree::Name(name) => each(with(before, name.ident.to_string()), Some(name.ident.to_string())),
        UseTree::Rename(name) if name.ident == "self" => each(before.clone(), Some(name.rename.to_string())),
        UseTree::Rename(name) => each(with(before, name.ident.to_string()), Some(name.rename.to_string())),
        UseTree::Glob(_) => each(before.clone(), None),
        UseTree::Group(group) => group.items.iter().for_each(|inner| spread(inner, before, each)),
    }
}

impl Tree<'_> {
    fn uses(&self, at: usize) -> BTreeSet<Used> {
        let mut paths = Paths { found: Vec::new(), nested: 0, exporting: self.sources[at].is_folder };
        paths.visit_file(&self.sources[at].file);
        let used = paths.found.iter().filter_map(|(path, nested)| self.resolve(at, path, *nested, 0));
        used.filter(|used| *used != Used::File(at)).collect()
    }

    /// The file that defines what a path names. `nested`: how many inline modules the path is inside in its own file.
    fn resolve(&self, at: usize, path: &[String], nested: usize, depth: usize) -> Option<Used> {
        let source = &self.sources[at];
        let (first, mut rest) = path.split_first()?;
        let mut module = source.module.clone();
        match first.as_str() {
            "crate" => module.clear(),
            "self" => {}
            "super" => {
                let mut ups = 1;
                while rest.first().is_some_and(|name| name == "super") {
                    (ups, rest) = (ups + 1, &rest[1..]);
                }
                for _ in 0..ups - nested.min(ups) {
                    module.pop()?;
                }
                if ups <= nested {
                    return None;
                }
            }
            name => {
                let child: Vec<String> = module.iter().cloned().chain([name.to_string()]).collect();
                if !self.index.contains_key(&(source.krate.as_str(), child.as_slice())) {
                    let is_crate = self.sources.iter().any(|other| other.krate == name && name != source.krate);
                    // The binary and the tests of a library name it like another crate.
                    return is_crate.then(|| Used::Crate(name.to_string()));
                }
                rest = path;
            }
        }
        self.descend(&source.krate, module, rest, depth)
    }

    fn descend(&self, krate: &str, mut module: Vec<String>, rest: &[String], depth: usize) -> Option<Used> {
        let Some((name, after)) = rest.split_first() else {
            return self.index.get(&(krate, module.as_slice())).map(|&at| Used::File(at));
        };
        let at = *self.index.get(&(krate, module.as_slice()))?;
        module.push(name.clone());
        if self.index.contains_key(&(krate, module.as_slice())) {
            return self.descend(krate, module, after, depth);
        }
        if depth < 8 {
            let exports = &self.exports[at];
            if let Some(path) = exports.named.get(name) {
                return self.resolve(at, path, 0, depth + 1);
            }
            for path in &exports.all {
                if let Some(Used::File(there)) = self.resolve(at, path, 0, depth + 1)
                    && defines(&self.sources[there], name)
                {
                    return Some(Used::File(there));
                }
            }
        }
        Some(Used::File(at))
    }
}

fn defines(source: &Source, name: &str) -> bool {
    source.file.items.iter().any(|item| match item {
        Item::Const(item) => item.ident == name,
        Item::Enum(item) => item.ident == name,
        Item::Fn(item) => item.sig.ident == name,
        Item::Static(item) => item.ident == name,
        Item::Struct(item) => item.ident == name,
        Item::Trait(item) => item.ident == name,
        Item::Type(item) => item.ident == name,
        _ => false,
    })
}

/// Collects the paths in a file.
struct Paths {
    found: Vec<(Vec<String>, usize)>,
    nested: usize,
    exporting: bool,
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.nested += 1;
        visit::visit_item_mod(self, item);
        self.nested -= 1;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let reexport = self.exporting && self.nested == 0 && !matches!(item.vis, Visibility::Inherited);
        if !reexport {
            let nested = self.nested;
            spread(&item.tree, &mut Vec::new(), &mut |path, _| self.found.push((path, nested)));
        }
    }

    // `pub(in crate::room)` does not use the room.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 {
            self.found.push((names, self.nested));
        }
        visit::visit_path(self, path);
    }
}
