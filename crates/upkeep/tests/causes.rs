//! A cause is one folder: what other code needs to know about it is a property in its `META`, and no code outside the
//! folder names it. So adding a cause takes a folder and a line in the registry.

use quote::ToTokens;
use std::collections::BTreeSet;
use syn::{Expr, ImplItem, Item};
use upkeep::imports::{Used, imports};
use upkeep::tree::{Source, for_tests, sources};

const FOLDER: &str = "crates/analyze/src/causes/";

/// The folder there that is not a cause.
const SHARED: &str = "shared";

/// Which code may name a cause although it is not in its folder: the beginning of the file's path, the cause's folder
/// (all of them if empty), and why.
const ALLOWED: [(&str, &str, &str); 4] = [
    ("crates/analyze/src/causes/mod.rs", "", "the registry"),
    (
        "",
        "none",
        "not a cause, but the answer where none is found: every reader of an answer has to distinguish it from causes",
    ),
    (
        "crates/recording/src/words.rs",
        "kernel_lock",
        "a column of the tables uses the same word for what a thread waited for",
    ),
    ("crates/knee/src/trials/", "", "the file of a trial lists the causes that it would remove"),
];

struct Named {
    folder: String,
    /// `USER_LOCK` of `CauseId::USER_LOCK`.
    constant: String,
    /// `"user-lock"`, with the quotes; empty if its name is a word that code may use for something else.
    id: String,
}

/// The constant in the source of a cause that has its name in answers.
fn named(source: &Source) -> Option<Named> {
    let folder = source.path.strip_prefix(FOLDER)?.strip_suffix("/mod.rs")?;
    let constants =
        source.file.items.iter().filter_map(|item| if let Item::Impl(item) = item { Some(item) } else { None });
    let constants = constants.filter(|item| item.self_ty.to_token_stream().to_string() == "CauseId");
    constants.flat_map(|item| &item.items).find_map(|item| {
        let ImplItem::Const(constant) = item else { return None };
        let Expr::Call(call) = &constant.expr else { return None };
        let id = call.args.first()?.to_token_stream().to_string();
        let id = if id.contains('-') { id } else { String::new() };
        Some(Named { folder: folder.to_owned(), constant: constant.ident.to_string(), id })
    })
}

/// The tokens of a file without those of its tests, separated by blanks.
fn code(source: &Source) -> String {
    let is_code = |item: &&Item| !matches!(item, Item::Mod(inner) if for_tests(&inner.attrs));
    source.file.items.iter().filter(is_code).map(|item| format!("{} ", item.to_token_stream())).collect()
}

fn allowed(path: &str, folder: &str) -> bool {
    path.starts_with(&format!("{FOLDER}{folder}/"))
        || ALLOWED.iter().any(|(start, cause, _)| path.starts_with(start) && (cause.is_empty() || *cause == folder))
}

#[test]
fn a_cause_is_named_only_in_its_own_folder() {
    let sources = sources().expect("sources");
    let causes: Vec<Named> = sources.iter().filter_map(named).collect();
    let folders = |source: &&Source| {
        let below = source.path.strip_prefix(FOLDER).and_then(|path| path.strip_suffix("/mod.rs"));
        below.is_some_and(|folder| !folder.contains('/') && folder != SHARED)
    };
    assert_eq!(causes.len(), sources.iter().filter(folders).count(), "each folder of a cause has the cause's name");
    let mut found: BTreeSet<String> = BTreeSet::new();
    for (source, used) in sources.iter().zip(imports(&sources)).filter(|(source, _)| !source.is_test) {
        let code = code(source);
        for cause in causes.iter().filter(|cause| !allowed(&source.path, &cause.folder)) {
            let uses = |used: &Used| {
                let Used::File(at) = used else { return false };
                sources[*at].path.starts_with(&format!("{FOLDER}{}/", cause.folder))
            };
            let names = |words: String| code.contains(&words);
            if used.iter().any(uses) || names(format!("causes :: {} ", cause.folder)) {
                found.insert(format!("{} uses causes::{}", source.path, cause.folder));
            }
            if names(format!("CauseId :: {} ", cause.constant)) || (!cause.id.is_empty() && names(cause.id.clone())) {
                found.insert(format!("{} names {}", source.path, cause.constant));
            }
        }
    }
    let list: String = found.iter().map(|each| format!("\n  {each}")).collect();
    assert!(
        found.is_empty(),
        "Make what is needed of these causes a property in their META, or allow it with a reason:{list}"
    );
}

/// An exception that is no longer needed would let a new name pass unnoticed.
#[test]
fn each_exception_is_needed() {
    let sources = sources().expect("sources");
    let causes: Vec<Named> = sources.iter().filter_map(named).collect();
    for (start, folder, why) in ALLOWED.iter().filter(|(start, ..)| !start.ends_with(".rs")) {
        let names = |source: &Source| {
            let code = code(source);
            let of = |cause: &&Named| folder.is_empty() || cause.folder == *folder;
            causes.iter().filter(of).any(|cause| code.contains(&format!("CauseId :: {} ", cause.constant)))
        };
        let outside = |source: &&Source| source.path.starts_with(start) && !source.path.starts_with(FOLDER);
        assert!(sources.iter().filter(outside).any(names), "nobody needs the exception for {start:?}: {why}");
    }
}
