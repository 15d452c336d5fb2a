//! What the BPF programs and their loader exchange is written only in `bpf/shared.h`. These tests check the Rust side
//! and the kept objects against it:
//!
//! - `src/bpf/abi/records.rs` is what the header gives (`KNEE_WRITE_ABI=1 cargo test -p collect --test abi` writes it);
//! - the structs in the kept objects, as the compiler laid them out, agree with the header field by field;
//! - the sizes that the header asserts in C are those of the Rust structs.
//!
//! May import: nothing of `collect`.

mod btf;
mod header;

use header::{Header, Laid, Layout, parse};
use std::path::{Path, PathBuf};

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn header() -> (String, Header) {
    let text = std::fs::read_to_string(place("bpf/shared.h")).expect("the header");
    let parsed = parse(&text).expect("a header that can be read");
    (text, parsed)
}

/// Where a struct of the object differs from that of the header.
fn difference(name: &str, ours: &Layout, theirs: &Layout) -> Option<String> {
    let line = |laid: Option<&Laid>| {
        laid.map_or("nothing".to_string(), |laid| format!("{} at {}, {} bytes", laid.name, laid.offset, laid.size))
    };
    let longest = ours.fields.len().max(theirs.fields.len());
    (0..longest)
        .map(|at| (ours.fields.get(at), theirs.fields.get(at)))
        .find(|(ours, theirs)| ours != theirs)
        .map(|(ours, theirs)| format!("{name}: the header has {}, the object {}", line(ours), line(theirs)))
        .or_else(|| {
            (ours.size != theirs.size)
                .then(|| format!("{name}: {} bytes in the header, {} in the object", ours.size, theirs.size))
        })
}

#[test]
fn the_rust_side_is_what_the_header_gives() {
    let (_, header) = header();
    let made = header.rust().expect("a layout without holes");
    let path = place("src/bpf/abi/records.rs");
    if std::env::var_os("KNEE_WRITE_ABI").is_some() {
        std::fs::write(&path, made).expect("the file can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "{} is not what bpf/shared.h gives: KNEE_WRITE_ABI=1 cargo test -p collect --test abi",
        path.display()
    );
}

#[test]
fn the_kept_objects_have_the_structs_of_the_header() {
    let (_, header) = header();
    for object in
        ["bpf/knee.x86_64.o", "bpf/knee.aarch64.o", "bpf/knee-before-6.1.x86_64.o", "bpf/knee-before-6.1.aarch64.o"]
    {
        let bytes = std::fs::read(place(object)).expect("a kept object");
        let structs = btf::structs(&bytes).expect("an object with BTF");
        let mut compared = 0;
        for ours in header.structs() {
            // Structs that only pass through a ring have no type in the object; the programs' own assertions check
            // their sizes.
            let Some(theirs) = structs.get(&ours.name) else {
                let passes = ours.name.ends_with("_event") || ["header", "registers"].contains(&ours.name.as_str());
                assert!(passes, "{object} has no struct {}", ours.name);
                continue;
            };
            let layout = header.layout(ours, true).expect("a layout without holes");
            assert_eq!(difference(&ours.name, &layout, theirs), None, "{object}: make -C crates/collect/bpf");
            compared += 1;
        }
        assert!(compared >= 20, "{object}: {compared} structs compared");
    }
}

#[test]
fn sizes_asserted_in_c_are_those_of_the_layout() {
    let (_, header) = header();
    assert!(header.sizes.len() >= 20, "{:?}", header.sizes);
    for (name, size) in &header.sizes {
        let found = header.structs().find(|found| found.name == *name).expect("a struct of the header");
        assert_eq!(header.layout(found, true).map(|layout| layout.size), Ok(*size), "{name}");
    }
}

#[test]
fn two_swapped_fields_of_one_size_are_seen() {
    let (text, _) = header();
    let swapped =
        text.replacen("\tu64 blocked_ns;\n\tu64 runnable_ns;\n", "\tu64 runnable_ns;\n\tu64 blocked_ns;\n", 1);
    assert_ne!(text, swapped);
    let header = parse(&swapped).expect("a header");
    let structs = btf::structs(&std::fs::read(place("bpf/knee.x86_64.o")).expect("an object")).expect("BTF");
    let seen: Vec<String> = header
        .structs()
        .filter_map(|ours| {
            difference(&ours.name, &header.layout(ours, true).expect("a layout"), structs.get(&ours.name)?)
        })
        .collect();
    assert_eq!(seen, ["pending_wait: the header has runnable_ns at 32, 8 bytes, the object blocked_ns at 32, 8 bytes"]);
}

#[test]
fn holes_and_unknown_lines_are_refused() {
    let layout = |text: &str| {
        let header = parse(text)?;
        let first = header.structs().next().ok_or("no struct")?;
        header.layout(first, true)
    };
    let refused = |text: &str| layout(text).expect_err("a refusal");
    assert!(refused("struct a {\n\tu32 b;\n\tu64 c;\n};").contains("a hole before it"));
    assert!(refused("struct a {\n\tu64 b;\n\tu32 c;\n};").contains("a hole at its end"));
    assert!(refused("struct a {\n\tlong b;\n};").contains("what is a long?"));
    assert!(refused("union a {\n\tu64 b;\n};").contains("not understood"));
    assert!(refused("struct a {\n\tu64 b[MANY];\n};").contains("neither a number nor a constant"));
    assert_eq!(layout("struct a {\n\tu32 b[2];\n\tu64 c;\n};").map(|layout| layout.size), Ok(16));
}
