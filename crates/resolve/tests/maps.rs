//! Parsing memory maps, well-formed and hostile.
#![allow(clippy::unwrap_used, reason = "a failure in a helper fails the test")]

use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use proptest::prelude::*;
use resolve::{MappedFile, MapsError, parse_maps};

fn only(line: &str) -> resolve::Mapping {
    let mut mappings = parse_maps(line).unwrap();
    assert_eq!(mappings.len(), 1);
    mappings.remove(0)
}

fn file(path: &str) -> MappedFile {
    MappedFile::File(PathBuf::from(path))
}

#[test]
fn the_map_of_this_process_is_read() {
    let mappings = parse_maps(std::fs::read("/proc/self/maps").unwrap()).unwrap();
    let own = std::env::current_exe().unwrap();
    assert!(mappings.iter().any(|mapping| mapping.executable && mapping.path == MappedFile::File(own.clone())));
    assert!(mappings.iter().any(|mapping| mapping.path == MappedFile::Anonymous && !mapping.executable));
}

#[test]
fn all_fields_are_taken() {
    let mapping = only("7f0000001000-7f0000003000 r-xp 00002000 fe:01 131 /usr/lib/libc.so.6\n");
    assert_eq!((mapping.start, mapping.end, mapping.file_offset), (0x7f00_0000_1000, 0x7f00_0000_3000, 0x2000));
    assert_eq!((mapping.device, mapping.inode), ((0xfe, 1), 131));
    assert!(mapping.executable && !mapping.deleted);
    assert_eq!(mapping.path, file("/usr/lib/libc.so.6"));
    assert!(only("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]").executable);
}

#[test]
fn files_and_memory_with_unusual_names_are_distinguished() {
    let path = |name: &str| only(&format!("1000-2000 r-xp 00000000 00:00 5    {name}")).path;
    assert_eq!(path(""), MappedFile::Anonymous);
    assert_eq!(path("//anon"), MappedFile::Anonymous);
    assert_eq!(path("[heap]"), MappedFile::Anonymous);
    assert_eq!(path("[anon:jit code]"), MappedFile::Anonymous);
    assert_eq!(path("/memfd:doublemapper (deleted)"), MappedFile::Anonymous);
    assert_eq!(path("/dev/zero (deleted)"), MappedFile::Anonymous);
    assert_eq!(path("[vdso]"), MappedFile::Vdso);
    assert_eq!(path("[vsyscall]"), MappedFile::Other("[vsyscall]".into()));
    assert_eq!(path("anon_inode:[perf_event]"), MappedFile::Other("anon_inode:[perf_event]".into()));
    assert_eq!(path("/tmp/with blanks  and more "), file("/tmp/with blanks  and more "));
    assert_eq!(path(r"/tmp/two\012lines\040"), file("/tmp/two\nlines\\040"));
    assert_eq!(path("/[vdso]"), file("/[vdso]"));
}

#[test]
fn a_deleted_file_is_marked() {
    let mapping = only("1000-2000 r-xp 00000000 08:01 5 /tmp/a program (deleted)");
    assert!(mapping.deleted);
    assert_eq!(mapping.path, file("/tmp/a program"));
}

#[test]
fn a_path_need_not_be_utf8() {
    let mut line = b"1000-2000 r-xp 00000000 08:01 5 /tmp/".to_vec();
    line.extend([0xff, 0xfe]);
    let path = std::ffi::OsString::from_vec(b"/tmp/\xff\xfe".to_vec());
    assert_eq!(parse_maps(line).unwrap()[0].path, MappedFile::File(path.into()));
}

#[test]
fn malformed_lines_are_errors_that_name_the_line() {
    let good = "1000-2000 r-xp 00000000 08:01 5 /a\n";
    for bad in [
        "nonsense",
        "1000 r-xp 00000000 08:01 5",
        "2000-1000 r-xp 00000000 08:01 5",
        "1000-1000 r-xp 00000000 08:01 5",
        "+1000-2000 r-xp 00000000 08:01 5",
        "10000000000000000-20000000000000000 r-xp 00000000 08:01 5",
        "1000-2000 rx 00000000 08:01 5",
        "1000-2000 r-xp zz 08:01 5",
        "1000-2000 r-xp 00000000 0801 5",
        "1000-2000 r-xp 00000000 08:100000000 5",
        "1000-2000 r-xp 00000000 08:01 -5",
        "1000-2000 r-xp 00000000 08:01",
    ] {
        let error = parse_maps(format!("{good}{bad}\n{good}")).unwrap_err();
        assert!(matches!(error, MapsError::Malformed { line: 2, .. }), "{bad}: {error}");
        assert!(error.to_string().starts_with("line 2 of the memory map"));
    }
    let huge = format!("1000-2000 r-xp 00000000 08:01 5 /{}", "x".repeat(1 << 20));
    assert!(matches!(parse_maps(huge), Err(MapsError::TooLong { line: 1, .. })));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<Vec<u8>>()) {
        let _ = parse_maps(text);
    }

    #[test]
    fn no_text_of_the_usual_characters_makes_it_panic(text in r"([0-9a-f]{0,17}[-: rxp/\\n\n]){0,40}") {
        let _ = parse_maps(text);
    }

    #[test]
    fn what_the_kernel_writes_is_read_back(
        start in 0..u64::MAX - 1, length in 1..1u64 << 40, offset: u64, inode: u64, x: bool, name in "/[ -~\n]{1,60}"
    ) {
        let end = start.saturating_add(length);
        let execute = if x { 'x' } else { '-' };
        let escaped = name.replace('\n', r"\012");
        let line = format!("{start:08x}-{end:08x} r-{execute}p {offset:08x} fe:01 {inode}     {escaped}\n");
        let mapping = only(&line);
        prop_assert_eq!((mapping.start, mapping.end), (start, end));
        prop_assert_eq!((mapping.file_offset, mapping.inode, mapping.executable), (offset, inode, x));
        let plain = name.trim_end_matches(" (deleted)");
        if !name.contains(r"\012") && !name.starts_with("//anon") && plain == name {
            prop_assert_eq!(mapping.path, file(&name));
        }
    }
}
