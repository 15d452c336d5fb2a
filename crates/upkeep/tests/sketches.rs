//! Each cause has sketches of programs that have it, that look alike, and that do not have it.

use std::fs;
use std::path::Path;
use upkeep::sketches::{KINDS, lacking};
use upkeep::tree::{children, root};

/// Where causes are, and what is no cause there.
const CAUSES: &str = "crates/analyze/src/causes";
const NO_CAUSE: &str = "shared";

#[test]
fn each_cause_has_a_positive_a_near_miss_and_a_clean_sketch() {
    let folders = children(&root().join(CAUSES)).expect("causes");
    let causes: Vec<_> = folders.iter().filter(|path| path.is_dir() && !path.ends_with(NO_CAUSE)).collect();
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
fn a_cause_without_a_kind_is_told() {
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
