//! Sweep files, valid and invalid. Messages are snapshots, because people read them.

use super::*;

use crate::plan::cases::{Variant, expand};
use report::comparison::Picture;

fn text(body: &str) -> Result<SweepFile, Failure> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sum.toml");
    std::fs::write(&path, body).unwrap();
    load(&path)
}

/// The failure as it is printed, without the folder of this test.
fn shown_failure(body: &str) -> String {
    let failure = text(body).unwrap_err();
    assert_eq!(failure.status, Status::Usage);
    let lines = std::iter::once(failure.to_string()).chain(failure.shown.clone()).collect::<Vec<_>>().join("\n");
    let folder = std::env::temp_dir();
    let cut = |line: &str| match (line.find(&*folder.to_string_lossy()), line.find("sum.toml")) {
        (Some(start), Some(end)) => format!("{}{}", &line[..start], &line[end..]),
        _ => line.to_owned(),
    };
    lines.lines().map(cut).collect::<Vec<_>>().join("\n")
}

const GOOD: &str = r#"
title = "Sums"
about = """
Two
lines."""
build = "make -C {folder}"
command = "./sum '--size={size}' --mode={mode} {threads}"
threads = "1-3"
runs = 2
warm-up = 0
timeout = 1.5
throughput = 'rate=([0-9.]+)'
env = { A = 1, B = "{threads}" }

[params]
size = ["1K", 2000]

[[variants]]
name = "mapped"
params = { mode = "map" }
expect = ["kernel-lock", "page-fault"]
place = "map_all()"
needs = "libnothing.so.9"

[[variants]]
name = "read"
params = { mode = "read" }
env = { A = "two" }
expect = "none"

[picture]
x = "size"
log = "x"

[published]
source = "Somebody, 2001"
figures = "slow"
"#;

#[test]
fn every_key_is_read() {
    let file = text(GOOD).unwrap();
    assert_eq!((file.title.as_str(), file.about.as_str()), ("Sums", "Two lines."));
    assert_eq!((file.threads.as_slice(), file.runs, file.warm_up), (&[1, 2, 3][..], Some(2), Some(0)));
    assert_eq!((file.timeout, file.throughput.as_deref()), (Some(1.5), Some("rate=([0-9.]+)")));
    assert_eq!(file.parameters[0].values, ["1K", "2000"]);
    assert_eq!(file.picture, Picture { x: Some("size".into()), log_x: true, log_y: false });
    assert_eq!(file.published.unwrap().figures, ["slow"]);
    let [mapped, read] = &file.variants[..] else { panic!("two variants") };
    assert_eq!(mapped.variant.expect, ["kernel-lock", "page-fault"]);
    assert_eq!(
        (mapped.needs.as_slice(), mapped.place.as_deref()),
        (&["libnothing.so.9".to_owned()][..], Some("map_all()"))
    );
    let env: Vec<_> =
        read.variant.template.env.iter().map(|(n, v)| (n.to_str().unwrap(), v.to_str().unwrap())).collect();
    assert_eq!(env, [("B", "{threads}"), ("A", "two")]);
    let variants: Vec<Variant> = file.variants.iter().map(|v| v.variant.clone()).collect();
    let cases = expand(&variants, &file.parameters, recording::meta::Counted::Threads).unwrap();
    let labels: Vec<String> = cases.iter().map(|case| case.label()).collect();
    assert_eq!(labels, ["mapped, size=1K", "mapped, size=2000", "read, size=1K", "read, size=2000"]);
    assert_eq!(
        cases[3].template.at(3, recording::meta::Counted::Threads).argv,
        ["./sum", "--size=2000", "--mode=read", "3"]
    );
}

#[test]
fn a_short_file_is_enough() {
    let file = text("title = \"t\"\ncommand = [\"/bin/sum\", \"{threads}\"]\nthreads = 4\n").unwrap();
    assert_eq!(file.threads, [4]);
    assert_eq!(file.variants[0].variant.name, "sum");
    assert_eq!(file.picture, Picture::default());
}

#[test]
fn paths_are_relative_to_the_files_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sweeps")).unwrap();
    let path = folder.path().join("sweeps/sum.toml");
    std::fs::write(&path, "title = \"t\"\ncommand = \"./sum {threads}\"\nthreads = 1\nfolder = \"..\"\n").unwrap();
    assert_eq!(load(&path).unwrap().folder, folder.path().canonicalize().unwrap());
}

#[test]
fn mistakes_point_at_their_place() {
    insta::assert_snapshot!("syntax", shown_failure("title = \"t\"\nthreads = [1, 2\ncommand = \"x\"\n"));
    insta::assert_snapshot!("missing", shown_failure(""));
    insta::assert_snapshot!(
        "many",
        shown_failure(
            "title = 3\ntreads = [1]\nthreads = [1, 0]\nruns = 0\ncommand = \"./sum 'x\"\nthroughput = \"x(\"\n\
             [env]\n\"A=B\" = 1\n[params]\nn = []\n"
        )
    );
    insta::assert_snapshot!(
        "variants",
        shown_failure(
            "title = \"t\"\nthreads = 1\n[params]\nsize = [1, 2]\n\
             [[variants]]\nname = \"a\"\ncommand = \"./sum {size} {threads}\"\nexpct = \"none\"\n\
             [[variants]]\nname = \"a\"\ncommand = \"./sum\"\nexpect = \"user-lok\"\nparams = { siz = 3 }\n\
             [[variants]]\nname = \"c\"\n[picture]\nx = \"sise\"\n"
        )
    );
    insta::assert_snapshot!(
        "unused_parameter",
        shown_failure(
            "title = \"t\"\ncommand = \"./sum {threads} {iteration}\"\nthreads = 1\n[params]\niterations = [1, 2, 1]\n"
        )
    );
    insta::assert_snapshot!("hostile", shown_failure("title = \"\u{1b}[2J\u{202e}\"\ntitle2 = 1\u{7}\n"));
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let failure = load(folder.path()).unwrap_err();
    assert!(failure.to_string().contains("it is a folder"), "{failure}");
    let failure = load(Path::new("/proc/self/exe")).unwrap_err();
    assert!(failure.hint.unwrap().contains("after --"));
    let path = folder.path().join("bytes.toml");
    std::fs::write(&path, [b'a', 0xff]).unwrap();
    assert!(load(&path).unwrap_err().to_string().contains("not text"));
    assert!(load(&folder.path().join("missing.toml")).unwrap_err().to_string().contains("No such file"));
}

/// Every sweep file of the lab is valid and names the expected causes, and every variant without needs can be planned.
#[test]
fn the_files_of_the_lab_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/sweeps");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = load(&path).unwrap_or_else(|failure| panic!("{failure}\n{}", failure.shown.join("\n")));
        names.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
        assert!(!file.about.is_empty() && file.build.is_some(), "{}", path.display());
        for described in &file.variants {
            let name = &described.variant.name;
            assert!(!described.variant.expect.is_empty(), "{}: {name} expects nothing", path.display());
            // Its source exists and contains the function that is named as the culprit.
            let Some(place) = &described.place else { continue };
            let source = place.split([' ', ',', ':', ';']).find(|word| word.ends_with(".c"));
            let source = source.unwrap_or_else(|| panic!("{}: {name}: no source in {place}", path.display()));
            let code = std::fs::read_to_string(file.folder.join(source)).unwrap();
            for function in place.split_whitespace().filter_map(|word| word.split_once("()")).map(|(f, _)| f) {
                assert!(code.contains(&format!("{function}(")), "{source} has no {function}");
            }
        }
        let variants: Vec<Variant> = file.variants.iter().map(|v| v.variant.clone()).collect();
        expand(&variants, &file.parameters, recording::meta::Counted::Threads).unwrap();
    }
    names.sort();
    let makefile = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/Makefile")).unwrap();
    let (_, programs) = makefile.split_once("PROGRAMS :=").unwrap();
    let (programs, _) = programs.split_once("LISTS").unwrap();
    let mut programs: Vec<&str> = programs.split_whitespace().filter(|word| *word != "\\").chain(["list"]).collect();
    programs.sort_unstable();
    assert_eq!(names, programs, "a sweep file for each program of the lab");
}
