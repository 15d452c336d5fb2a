//! From an address to names and lines, in the memory of a virtual machine with one compiled method.

use super::image::{CODE, Image, PRICE, SELL, SHOP, TABLES, image};
use super::ints::{PACKINGS, Packing};
use super::machine::{CodeBlob, VmLayout};
use proptest::prelude::*;
use std::collections::HashMap;

fn find(image: &Image, address: u64) -> Option<CodeBlob> {
    let memory = image.memory();
    VmLayout::read(&memory, TABLES)?.piece(&memory, address, &mut HashMap::new())
}

/// The functions at an address, like `sell:12`, innermost first.
fn called(piece: &CodeBlob, address: u64) -> String {
    let sites = piece.function.sites(address - piece.start);
    let text = |site: &super::super::CodeSite<'_>| {
        let function = site.function.strip_prefix("com.acme.Shop.").unwrap_or(site.function);
        assert!(site.file.is_none_or(|file| file == "Shop.java") && site.file.is_some() >= site.line.is_some());
        site.line.map_or(function.to_owned(), |line| format!("{function}:{line}"))
    };
    sites.iter().map(text).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_method_is_named_by_class_and_name() {
    let image = image(true, Packing::Zeros);
    for address in [SHOP.0, 0x8180, SHOP.1 - 1] {
        let found = find(&image, address).unwrap();
        assert_eq!((found.start, found.end, found.function.name.as_str()), (SHOP.0, SHOP.1, "com.acme.Shop.sell"));
    }
    for address in [0x8000, SHOP.1, 0x9fff, 0xa000] {
        assert_eq!(find(&image, address), None, "{address:#x}");
    }
    let mut unused = image;
    unused.put(SHOP.0 - 4, &[0]);
    assert_eq!(find(&unused, 0x8180), None);
}

#[test]
fn inlined_methods_have_lines() {
    for (old, packing) in [true, false].into_iter().flat_map(|old| PACKINGS.map(|packing| (old, packing))) {
        let image = image(old, packing);
        let found = find(&image, CODE + 4).unwrap();
        for (distance, expected) in [
            (0, "sell:12"),
            (11, "sell:12"),
            (12, "sell:113"),
            (15, "sell:113"),
            // A scope begins where the one before it ends.
            (16, "price:7 sell:113"),
            (23, "price:7 sell:113"),
            (24, "sell"),
            (40, "sell"),
        ] {
            assert_eq!(called(&found, CODE + distance), expected, "{distance} {old} {packing:?}");
        }
    }
}

#[test]
fn inconsistent_data_are_left_out() {
    // Scopes that lead to a different method than that of the block.
    let mut other = image(true, Packing::Zeros);
    other.word(SHOP.0 + 0xa0, PRICE);
    assert_eq!(called(&find(&other, CODE).unwrap(), CODE + 16), "sell");
    // A caller that is not described before its callee.
    let mut circle = image(true, Packing::Zeros);
    circle.put(SHOP.0 + 0xb1, &[4]);
    assert_eq!(called(&find(&circle, CODE).unwrap(), CODE + 16), "sell");
    // No table of lines, and one that ends too early.
    let mut without = image(true, Packing::Zeros);
    without.put(0x6152, &[0]);
    assert_eq!(called(&find(&without, CODE).unwrap(), CODE + 16), "price sell:113");
    let mut short = image(true, Packing::Zeros);
    short.half(0x6158, 5);
    assert_eq!(called(&find(&short, CODE).unwrap(), CODE + 16), "price sell:113");
    // Fields with other names.
    let mut renamed = image(false, Packing::NoZeros);
    let at = renamed.0.windows(15).position(|text| text == b"_immutable_data").unwrap();
    renamed.put(at as u64, b"_imperturbable_");
    assert_eq!(called(&find(&renamed, CODE).unwrap(), CODE + 16), "sell");
}

#[test]
fn other_code_has_the_name_that_the_virtual_machine_gives_it() {
    let frame = |image: &Image| {
        let memory = image.memory();
        let blocks = VmLayout::read(&memory, TABLES).unwrap().blocks;
        blocks.frame(&memory, &blocks.find(&memory, 0x8180).unwrap())
    };
    let mut stub = image(true, Packing::Zeros);
    assert_eq!(frame(&stub), Some((CODE + 12, 40)));
    let mut names = 0x3f00;
    for (kind, expected) in [("Interpreter", "Interpreter"), ("_new_instance_Java", "_new_instance_Java (HotSpot)")] {
        let kind = stub.name(&mut names, kind);
        stub.word(SHOP.0, kind);
        assert_eq!(find(&stub, 0x8180).unwrap().function.name, expected);
        assert_eq!(frame(&stub).is_some(), expected != "Interpreter");
    }
    for old in [true, false] {
        let mut stub = image(old, Packing::Zeros);
        stub.put(SHOP.0 + 0x24, &[0xff; 4]);
        assert_eq!(frame(&stub), Some((u64::MAX, 40)));
    }
}

#[test]
fn a_method_that_the_interpreter_runs_has_the_line_of_its_bytecode() {
    let memory = image(true, Packing::Zeros).memory();
    let layout = VmLayout::read(&memory, TABLES).unwrap();
    let bytecodes = 0x6120;
    for (bytecode, start, expected) in [
        (bytecodes, bytecodes, "sell:12"),
        (bytecodes + 9, bytecodes + 9, "sell:113"),
        (bytecodes + 20, SELL, "sell"),
        (0, SELL, "sell"),
    ] {
        let found = layout.interpreted(&memory, SELL, bytecode).unwrap();
        assert_eq!((found.start, called(&found, start).as_str()), (start, expected));
    }
    assert_eq!(layout.interpreted(&memory, 0x7000, bytecodes), None);
}

proptest! {
    #[test]
    fn damaged_memory_is_survived(
        old in any::<bool>(),
        changes in prop::collection::vec((0usize..0x8290, prop_oneof![any::<u64>(), 0u64..0x9000]), 0..8),
        length in 0usize..0x8400,
    ) {
        let mut damaged = image(old, if old { Packing::Zeros } else { Packing::NoZeros });
        for (at, value) in changes {
            damaged.put(at as u64, &value.to_le_bytes());
        }
        damaged.0.truncate(length.max(0x4000));
        for address in [0, 0x8000, 0x8180, 0xa000, u64::MAX] {
            if let Some(piece) = find(&damaged, address) {
                piece.function.sites(address.saturating_sub(piece.start));
            }
        }
        let memory = damaged.memory();
        if let Some(layout) = VmLayout::read(&memory, TABLES) {
            layout.interpreted(&memory, SELL, 0x6120);
            layout.interpreted(&memory, u64::MAX, u64::MAX);
        }
    }

    #[test]
    fn damaged_scopes_are_survived(
        changes in prop::collection::vec((0u64..0x180, any::<u8>()), 1..12),
    ) {
        let mut damaged = image(true, Packing::NoZeros);
        for (at, value) in changes {
            damaged.put(SHOP.0 + at, &[value]);
        }
        if let Some(piece) = find(&damaged, CODE) {
            for address in CODE..CODE + 48 {
                let sites = piece.function.sites(address - piece.start);
                prop_assert!(sites.iter().all(|site| site.function.starts_with("com.acme.Shop.") || sites.len() == 1));
            }
        }
    }
}
