//! The simulated memory of a virtual machine with one compiled method, for tests.

use super::ints::Packing;
use super::ints::tests::{pack, table};
use super::tables::{FIELD, TYPE, Tables};
use crate::memory::Memory;
use std::io::Write;

/// The bytes at each address.
#[derive(Default)]
pub(super) struct Image(pub(super) Vec<u8>);

impl Image {
    pub(super) fn put(&mut self, at: u64, bytes: &[u8]) {
        let at = at as usize;
        self.0.resize(self.0.len().max(at + bytes.len()), 0);
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn word(&mut self, at: u64, value: u64) {
        self.put(at, &value.to_le_bytes());
    }

    pub(super) fn half(&mut self, at: u64, value: u32) {
        self.put(at, &value.to_le_bytes());
    }

    pub(super) fn name(&mut self, at: &mut u64, name: &str) -> u64 {
        let here = *at;
        self.put(here, name.as_bytes());
        *at += name.len() as u64 + 1;
        here
    }

    pub(super) fn symbol(&mut self, at: u64, text: &str) {
        self.put(at, &(text.len() as u16).to_le_bytes());
        self.put(at + 2, text.as_bytes());
    }

    pub(super) fn memory(&self) -> Memory {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&self.0).unwrap();
        Memory(file)
    }
}

pub(super) const TABLES: Tables = Tables { pid: 0, fields: 0x10, types: 0x18 };

/// The method's block, and its first instruction.
pub(super) const SHOP: (u64, u64) = (0x8108, 0x8288);
pub(super) const CODE: u64 = SHOP.0 + 0x60;

/// Descriptions of methods.
pub(super) const SELL: u64 = 0x6000;
pub(super) const PRICE: u64 = 0x6040;

/// Fields with the same names in all versions.
const FIELDS: &[(&str, &str, bool, u64)] = &[
    ("CodeCache", "_heaps", true, 0x5000),
    ("GrowableArrayBase", "_len", false, 0),
    ("GrowableArray<int>", "_data", false, 8),
    ("CodeHeap", "_memory", false, 0x10),
    ("CodeHeap", "_segmap", false, 0x40),
    ("CodeHeap", "_log2_segment_size", false, 0x80),
    ("VirtualSpace", "_low", false, 0),
    ("VirtualSpace", "_high", false, 8),
    ("HeapBlock", "_header", false, 0),
    ("HeapBlock::Header", "_used", false, 4),
    ("CodeBlob", "_name", false, 0),
    ("CodeBlob", "_size", false, 8),
    ("CodeBlob", "_frame_size", false, 0x20),
    ("CodeBlob", "_frame_complete_offset", false, 0x24),
    ("nmethod", "_compile_id", false, 0x28),
    ("nmethod", "_scopes_pcs_offset", false, 0x38),
    ("Method", "_constMethod", false, 8),
    ("ConstMethod", "_constants", false, 8),
    ("ConstMethod", "_name_index", false, 0x10),
    ("ConstMethod", "_code_size", false, 0x14),
    ("ConstMethod", "_constMethod_size", false, 0x18),
    ("ConstantPool", "_pool_holder", false, 8),
    ("Klass", "_name", false, 8),
    ("Symbol", "_length", false, 0),
    ("Symbol", "_body", false, 2),
];

/// Fields as in JDK 11, and as in JDK 25.
const OLD: &[(&str, &str, bool, u64)] = &[
    ("CodeBlob", "_code_begin", false, 0x18),
    ("CompiledMethod", "_method", false, 0x10),
    ("CompiledMethod", "_scopes_data_begin", false, 0x30),
    ("nmethod", "_metadata_offset", false, 0x3c),
    ("nmethod", "_dependencies_offset", false, 0x40),
    ("ConstMethod", "_flags", false, 0x12),
    ("InstanceKlass", "_source_file_name_index", false, 0x12),
];
const NEW: &[(&str, &str, bool, u64)] = &[
    ("CodeBlob", "_code_offset", false, 0x18),
    ("CodeBlob", "_mutable_data", false, 0x48),
    ("CodeBlob", "_relocation_size", false, 0x50),
    ("CodeBlob", "_mutable_data_size", false, 0x54),
    ("nmethod", "_method", false, 0x10),
    ("nmethod", "_immutable_data", false, 0x30),
    ("nmethod", "_scopes_data_offset", false, 0x3c),
    ("nmethod", "_immutable_data_size", false, 0x40),
    ("ConstMethod", "_flags._flags", false, 0x12),
    ("ConstantPool", "_source_file_name_index", false, 0x12),
];

/// A memory in which `price` was inlined into `sell`. `old` chooses the field names; `packing` says how numbers are
/// packed.
pub(super) fn image(old: bool, packing: Packing) -> Image {
    let mut image = Image::default();
    let mut names = 0x3000;
    image.word(0x10, 0x1000);
    image.word(0x18, 0x2800);
    for (index, (of, field, is_static, place)) in FIELDS.iter().chain(if old { OLD } else { NEW }).enumerate() {
        let row = 0x1000 + (FIELD * index) as u64;
        let (of, field) = (image.name(&mut names, of), image.name(&mut names, field));
        image.word(row, of);
        image.word(row + 8, field);
        image.word(row + 24, u64::from(*is_static));
        image.word(row + if *is_static { 40 } else { 32 }, *place);
    }
    for (index, (of, size)) in [("HeapBlock", 8), ("ConstantPool", 0x20), ("ConstMethod", 0x20)].into_iter().enumerate()
    {
        let row = 0x2800 + (TYPE * index) as u64;
        let of = image.name(&mut names, of);
        image.word(row, of);
        image.word(row + 32, size);
    }
    // The list of heaps; one heap of 64 segments of 128 bytes from 0x8000 on; and its segment map.
    image.word(0x5000, 0x5010);
    image.half(0x5010, 1);
    image.word(0x5018, 0x5020);
    image.word(0x5020, 0x5100);
    image.word(0x5110, 0x8000);
    image.word(0x5118, 0xa000);
    image.word(0x5140, 0x5200);
    image.half(0x5180, 7);
    image.put(0x5200, &[0xff; 64]);
    image.put(0x5202, &[0, 1, 2, 3]);
    // A block of four segments with a method: a frame of six words, complete after twelve bytes.
    image.put(SHOP.0 - 4, &[1]);
    let kind = image.name(&mut names, "nmethod");
    image.word(SHOP.0, kind);
    image.half(SHOP.0 + 8, (SHOP.1 - SHOP.0) as u32);
    image.word(SHOP.0 + 0x10, SELL);
    image.put(SHOP.0 + 0x20, &[6, 0, 0, 0, 12, 0, 0, 0]);
    describe(&mut image, packing);
    let methods: Vec<u8> = [SELL, PRICE].iter().flat_map(|method| method.to_le_bytes()).collect();
    let (places, packed) = scopes(packing);
    if old {
        image.word(SHOP.0 + 0x18, CODE);
        image.word(SHOP.0 + 0x30, SHOP.0 + 0xb0);
        for (field, distance) in [(0x38, 0xd0), (0x3c, 0xa0), (0x40, 0xd0 + places.len() as u32)] {
            image.half(SHOP.0 + field, distance);
        }
        image.put(SHOP.0 + 0xa0, &methods);
        image.put(SHOP.0 + 0xb0, &packed);
        image.put(SHOP.0 + 0xd0, &places);
    } else {
        image.half(SHOP.0 + 0x18, 0x60);
        image.word(SHOP.0 + 0x30, 0x7800);
        image.word(SHOP.0 + 0x48, 0x7900);
        let size = 8 + places.len() as u32;
        for (field, distance) in [(0x38, 8), (0x3c, size), (0x40, size + packed.len() as u32), (0x50, 8), (0x54, 24)] {
            image.half(SHOP.0 + field, distance);
        }
        image.put(0x7808, &places);
        image.put(0x7800 + u64::from(size), &packed);
        image.put(0x7908, &methods);
    }
    image
}

/// Both methods, their class and its constants.
fn describe(image: &mut Image, packing: Packing) {
    let lines: [&[(u32, u32)]; 2] = [&[(0, 12), (8, 113)], &[(0, 6), (3, 7)]];
    for (method, described, name, size, lines) in
        [(SELL, 0x6100, 3u16, 20u16, lines[0]), (PRICE, 0x6140, 4, 10, lines[1])]
    {
        image.word(method + 8, described);
        image.word(described + 8, 0x6200);
        image.put(described + 0x10, &name.to_le_bytes());
        image.put(described + 0x12, &[1]);
        image.put(described + 0x14, &size.to_le_bytes());
        image.half(described + 0x18, 8);
        image.put(described + 0x20 + u64::from(size), &table(lines, packing));
    }
    image.word(0x6208, 0x6300);
    image.word(0x6220 + 24, 0x6400);
    image.word(0x6220 + 32, 0x6420);
    image.word(0x6220 + 40, 0x6440);
    image.put(0x6212, &[5, 0]);
    image.put(0x6312, &[5, 0]);
    image.word(0x6308, 0x6500);
    image.symbol(0x6400, "sell");
    image.symbol(0x6420, "price");
    image.symbol(0x6440, "Shop.java");
    image.symbol(0x6500, "com/acme/Shop");
}

/// The debug information: addresses and packed scopes. `sell` at bytecode 8, with `price` at bytecode 3.
fn scopes(packing: Packing) -> (Vec<u8>, Vec<u8>) {
    let mut packed = vec![0xff];
    let mut scope = |sender, method, bytecode: u32| {
        let at = packed.len() as u32;
        [sender, method, bytecode + 1].iter().for_each(|number| pack(*number, packing, &mut packed));
        at
    };
    let sell = scope(0, 1, 8);
    let price = scope(sell, 2, 3);
    // HotSpot pads with zeros.
    packed.resize(24, 0);
    let places = [(-1, 0), (16, sell), (24, price), (32, 0), (i32::MAX, 0)];
    let row = |(distance, scope): &(i32, u32)| [*distance, *scope as i32, 0, 0].map(i32::to_le_bytes).concat();
    (places.iter().flat_map(row).collect(), packed)
}
