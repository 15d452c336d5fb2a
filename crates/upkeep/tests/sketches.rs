//! Each cause has sketches of programs that have it, that look alike, and that do not have it.

use std::fs;
use std::path::Path;
use upkeep::sketches::{KINDS, lacking};
use upkeep::tree::{children, root};

/// The folder of the causes, and the folder there that is not one.
const CAUSES: &str = "crates/analyze/src/causes";
const SHARED: &str = "shared";

#[test]
fn each_cause_has_a_positive_a_near_miss_and_a_clean_sketch() {
    let folders = children(&root().join(CAUSES)).expect("causes");
    let causes: Vec<_> = folders.iter().filter(|path| path.is_dir() && !path.ends_with(SHARED)).collect();
    assert!(causes.len() > 20, "{causes:?}");
    let lacking: Vec<String> = causes
        .iter()
        .map(|folder| (folder, lacking(folder).expect("sketches")))
        .filter(|(_, kinds)| !kinds.is_empty())
        .map(|(folder, kinds)| format!("\n  {}: {kinds:?}", folder.display()))
        .collect();
    assert!(
        lacking.is_empty(),
        "Causes without a test in one of these modules of their `sketches`:{}",
        lacking.concat()
    );
}

#[test]
fn missing_kinds_are_found() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("made_up_cause");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("sketches")).expect("a folder");
    assert_eq!(lacking(&folder), Ok(KINDS.to_vec()), "no sketches at all");
    let with = |kind: &str| format!("mod {kind} {{ #[test] fn it_is_so() {{}} }}\n");
    fs::write(folder.join("sketches.rs"), with("positive") + "mod clean { fn no_test() {} }\n").expect("a file");
    assert_eq!(lacking(&folder), Ok(vec!["near_miss", "clean"]), "a module without a test does not count");
    fs::write(folder.join("sketches/alike.rs"), with("near_miss")).expect("a file");
    assert_eq!(lacking(&folder), Ok(vec!["clean"]));
    fs::write(folder.join("sketches/others.rs"), with("clean")).expect("a file");
    assert_eq!(lacking(&folder), Ok(vec![]));
}
