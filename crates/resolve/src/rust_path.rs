//! Rust functions by their full paths where debug information has only lines (`debug = "line-tables-only"`). It then calls
//! an inlined function just `lock<u64>`; only the file shows that the function belongs to the standard library.
//!
//! Imports nothing of the crate.

/// The name with the path of its module, for a function of the standard library or of a package, by its source file. None
/// for other files, and for names that have a path already.
///
/// The compiler calls the standard library's files `/rustc/HASH/library/CRATE/src/…`, and those of the packages that it is
/// built with `/rust/deps/NAME-VERSION/src/…`; Cargo unpacks packages to `registry/src/INDEX/NAME-VERSION/src/…` (Cargo's
/// book, "Cargo Home").
pub(crate) fn qualified(name: &str, file: &str) -> Option<String> {
    let bare = name.split('<').next().filter(|bare| !bare.is_empty() && !bare.contains("::"))?;
    // Closures are `{closure#0}`. Any other name that is not plain is left as it is.
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '{' | '}' | '#');
    if !bare.chars().all(plain) {
        return None;
    }
    let (package, source) = in_library(file).or_else(|| in_package(file))?;
    let source = source.strip_suffix(".rs")?;
    let mut path = package.replace('-', "_");
    let modules = source.split('/').filter(|part| !part.is_empty());
    for module in modules.filter(|module| !matches!(*module, "mod" | "lib")) {
        path.push_str("::");
        path.push_str(module);
    }
    Some(format!("{path}::{name}"))
}

/// A crate of the standard library, and the file below its `src`.
fn in_library(file: &str) -> Option<(&str, &str)> {
    let known = file.starts_with("/rustc/") || file.contains("/rustlib/src/rust/");
    let (_, rest) = file.split_once("/library/").filter(|_| known)?;
    rest.split_once("/src/").filter(|(package, _)| !package.contains('/'))
}

/// A package's name, and the file below its `src`.
fn in_package(file: &str) -> Option<(&str, &str)> {
    let unpacked = file.split_once("/registry/src/").and_then(|(_, rest)| rest.split_once('/')).map(|(_, rest)| rest);
    let (folder, source) = unpacked.or_else(|| file.strip_prefix("/rust/deps/"))?.split_once("/src/")?;
    let version = |at: usize| {
        let digits = folder.get(at + 1..)?.trim_start_matches(|c: char| c.is_ascii_digit());
        (digits.len() < folder.len() - at - 1 && digits.starts_with('.')).then_some(at)
    };
    let name = folder.match_indices('-').find_map(|(at, _)| version(at))?;
    folder.get(..name).filter(|name| !name.contains('/')).map(|name| (name, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, file: &str) -> String {
        qualified(name, file).unwrap_or_else(|| name.to_owned())
    }

    #[test]
    fn the_file_gives_the_module() {
        let mutex = "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/sync/poison/mutex.rs";
        assert_eq!(named("lock<a::B>", mutex), "std::sync::poison::mutex::lock<a::B>");
        let pool =
            "/home/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/tokio-1.48.0/src/runtime/blocking/pool.rs";
        assert_eq!(named("{closure#0}<F>", pool), "tokio::runtime::blocking::pool::{closure#0}<F>");
        let md = "/home/u/.cargo/registry/src/github.com-1ecc6299db9ec823/md-5-0.10.6/src/lib.rs";
        assert_eq!(named("compress", md), "md_5::compress");
        let release = "/c/registry/src/i/axum-core-1.0.0-rc.1/src/ext/mod.rs";
        assert_eq!(named("get", release), "axum_core::ext::get");
        assert_eq!(named("find", "/rust/deps/hashbrown-0.15.5/src/raw/mod.rs"), "hashbrown::raw::find");
        let source = "/r/toolchains/stable/lib/rustlib/src/rust/library/alloc/src/vec/mod.rs";
        assert_eq!(named("push<u8>", source), "alloc::vec::push<u8>");
    }

    #[test]
    fn other_names_and_files_stay_unchanged() {
        let mutex = "/rustc/1/library/std/src/sync/mutex.rs";
        for name in ["std::sync::Mutex<T>::lock", "<A as B>::lock", "", "operator=="] {
            assert_eq!(qualified(name, mutex), None, "{name}");
        }
        for file in [
            "src/main.rs",
            "/home/u/library/app/src/main.rs",
            "/rustc/1/library/a/b/src/x.rs",
            "/c/registry/src/i/x/src/a.rs",
        ] {
            assert_eq!(qualified("lock", file), None, "{file}");
        }
    }
}
