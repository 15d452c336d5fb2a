//! The names of code that the HotSpot virtual machine (Java) made, read from its memory.
//!
//! HotSpot describes its own data for debuggers: tables of types and fields, exported as `gHotSpotVMTypes` and
//! `gHotSpotVMStructs` (src/hotspot/share/runtime/vmStructs.hpp). With them a code address leads to the code cache's block, the
//! method and its name, without any option of the program. Tried with JDK 17; where a field has another name, nothing is found. Methods that were inlined are not told apart from who calls them.
//!
//! All that is read may change meanwhile and is the target's word: lengths and steps are bounded, and what does not fit is no
//! name.

use crate::memory::Memory;
use std::collections::HashMap;
use std::ops::Range;

/// Entries of a table that are looked at. HotSpot has some 2,500 fields.
const ENTRIES: usize = 8192;

/// Sizes of the tables' entries, bytes: `VMStructEntry` and `VMTypeEntry` where pointers have 64 bits.
const FIELD: usize = 48;
const TYPE: usize = 40;

/// Names of types and fields lie together in the library; a part of this size holds them all, bytes.
const NAMES: u64 = 16 << 20;

/// The longest name of a type or field, and of a class or method, bytes.
const NAME: usize = 96;
const SYMBOL: usize = 1024;

/// Parts of the code cache (JDK 9: three), and steps back to the beginning of a block, of up to 254 segments each.
const HEAPS: u32 = 16;
const STEPS: usize = 4096;

/// What the virtual machine calls the code that runs methods which are not compiled, and what is added to its names of other code.
const INTERPRETER: &str = "Interpreter";
const STUB: &str = " (HotSpot)";

/// Where a frame of the interpreter has the address of its method, in bytes below the frame pointer (frame_x86.hpp).
pub(crate) const INTERPRETED: u64 = 24;

/// The largest frame of a compiled method, words. A thread's stack has a mebibyte.
const FRAME: u32 = 1 << 17;

/// The largest piece of code, bytes; compiled methods have up to some megabytes.
const CODE: u64 = 64 << 20;

/// A virtual machine's tables, before they are read.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    /// The process.
    pub pid: u32,
    /// Where the variables `gHotSpotVMStructs` and `gHotSpotVMTypes` are in its memory.
    pub fields: u64,
    /// As above.
    pub types: u64,
}

/// A piece of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeBlob {
    pub(super) start: u64,
    pub(super) end: u64,
    /// `package.Class.method`, `Interpreter`, or what the virtual machine calls other code, with ` (HotSpot)` after it.
    pub(super) name: String,
    /// Where its stack frame has a fixed size: from where it is whole, and how far the return address is above the stack pointer then, bytes.
    pub(super) frame: Option<(u64, u64)>,
}

/// The virtual machine of a process.
#[derive(Debug)]
pub(crate) struct HotSpot {
    tables: Tables,
    layout: Option<Option<VmOffsets>>,
    /// Where the interpreter's code lies, as soon as any of it was met.
    interpreter: Range<u64>,
}

impl HotSpot {
    pub(crate) fn new(tables: Tables) -> HotSpot {
        HotSpot { tables, layout: None, interpreter: 0..0 }
    }

    /// True for an address of the interpreter that was looked at before.
    pub(crate) fn interprets(&self, address: u64) -> bool {
        self.interpreter.contains(&address)
    }

    /// How far the return address is above the stack pointer at an address of a compiled method, bytes. `innermost`: the code
    /// there runs; it may not have made its frame yet. None for all other code.
    pub(crate) fn return_address(&mut self, address: u64, innermost: bool) -> Option<u64> {
        let (whole, distance) = self.find(address)?.frame?;
        (!innermost || address >= whole).then_some(distance)
    }

    /// The code at an address, or the interpreted method that is described there; none when the process has ended.
    pub(super) fn find(&mut self, address: u64) -> Option<CodeBlob> {
        let memory = Memory::of_process(self.tables.pid)?;
        let tables = self.tables;
        let layout = self.layout.get_or_insert_with(|| VmOffsets::read(&memory, tables)).as_ref()?;
        let Some(piece) = layout.piece(&memory, address) else {
            let name = layout.method(&memory, address)?;
            return Some(CodeBlob { start: address, end: add(address, 1)?, name, frame: None });
        };
        if piece.name == INTERPRETER {
            self.interpreter = piece.start..piece.end;
        }
        Some(piece)
    }
}

/// Where the fields lie that lead from an address to a name: offsets in their types, bytes.
#[derive(Debug)]
struct VmOffsets {
    /// The address of the list of the code cache's parts.
    heaps: u64,
    len: u64,
    data: u64,
    memory: u64,
    segments: u64,
    segment_size: u64,
    low: u64,
    high: u64,
    /// A block's header, the mark of its use in it, and the size of both.
    used: u64,
    header: u64,
    blob_name: u64,
    blob_size: u64,
    code_begin: u64,
    frame_size: u64,
    frame_complete: u64,
    method: u64,
    const_method: u64,
    constants: u64,
    name_index: u64,
    holder: u64,
    constant_pool: u64,
    class_name: u64,
    length: u64,
    body: u64,
}

impl VmOffsets {
    fn read(memory: &Memory, tables: Tables) -> Option<VmOffsets> {
        let rows = table(memory, memory.word(tables.fields)?, FIELD)?;
        let names = NameMemory::of(memory, rows.chunks_exact(FIELD).flat_map(|row| [long(row, 0), long(row, 8)]))?;
        let mut fields: HashMap<(String, String), u64> = HashMap::new();
        for row in rows.chunks_exact(FIELD) {
            // A static field has an address, the others an offset.
            let place = if long(row, 24) as u32 == 0 { long(row, 32) } else { long(row, 40) };
            if let (Some(of), Some(field)) = (names.at(long(row, 0)), names.at(long(row, 8))) {
                fields.insert((of, field), place);
            }
        }
        let rows = table(memory, memory.word(tables.types)?, TYPE)?;
        let names = NameMemory::of(memory, rows.chunks_exact(TYPE).map(|row| long(row, 0)))?;
        let sizes: HashMap<String, u64> =
            rows.chunks_exact(TYPE).filter_map(|row| Some((names.at(long(row, 0))?, long(row, 32)))).collect();
        let field = |of: &str, name: &str| fields.get(&(of.to_owned(), name.to_owned())).copied();
        Some(VmOffsets {
            heaps: memory.word(field("CodeCache", "_heaps")?)?,
            len: field("GrowableArrayBase", "_len")?,
            data: field("GrowableArray<int>", "_data")?,
            memory: field("CodeHeap", "_memory")?,
            segments: field("CodeHeap", "_segmap")?,
            segment_size: field("CodeHeap", "_log2_segment_size")?,
            low: field("VirtualSpace", "_low")?,
            high: field("VirtualSpace", "_high")?,
            used: field("HeapBlock", "_header")?.checked_add(field("HeapBlock::Header", "_used")?)?,
            header: *sizes.get("HeapBlock")?,
            blob_name: field("CodeBlob", "_name")?,
            blob_size: field("CodeBlob", "_size")?,
            code_begin: field("CodeBlob", "_code_begin")?,
            frame_size: field("CodeBlob", "_frame_size")?,
            frame_complete: field("CodeBlob", "_frame_complete_offset")?,
            method: field("CompiledMethod", "_method").or_else(|| field("nmethod", "_method"))?,
            const_method: field("Method", "_constMethod")?,
            constants: field("ConstMethod", "_constants")?,
            name_index: field("ConstMethod", "_name_index")?,
            holder: field("ConstantPool", "_pool_holder")?,
            constant_pool: *sizes.get("ConstantPool")?,
            class_name: field("Klass", "_name")?,
            length: field("Symbol", "_length")?,
            body: field("Symbol", "_body")?,
        })
    }

    fn piece(&self, memory: &Memory, address: u64) -> Option<CodeBlob> {
        let count = memory.half(add(self.heaps, self.len)?)?.min(HEAPS);
        let list = memory.word(add(self.heaps, self.data)?)?;
        let heap = (0..u64::from(count)).find_map(|index| {
            let heap = memory.word(add(list, 8 * index)?)?;
            let space = add(heap, self.memory)?;
            let low = memory.word(add(space, self.low)?)?;
            (low..memory.word(add(space, self.high)?)?).contains(&address).then_some((heap, low))
        });
        let (heap, low) = heap?;
        let size = memory.half(add(heap, self.segment_size)?).filter(|size| *size < 32)?;
        let map = memory.word(add(add(heap, self.segments)?, self.low)?)?;
        let mut segment = (address - low) >> size;
        for _ in 0..STEPS {
            match memory.bytes::<1>(add(map, segment)?)?[0] {
                0 => return self.block(memory, add(low, segment << size)?, address),
                0xff => return None,
                back => segment = segment.checked_sub(back.into())?,
            }
        }
        None
    }

    /// The piece of code in a block.
    fn block(&self, memory: &Memory, block: u64, address: u64) -> Option<CodeBlob> {
        let used = memory.bytes::<1>(add(block, self.used)?)?[0] != 0;
        let start = add(block, self.header)?;
        let size = u64::from(memory.half(add(start, self.blob_size)?)?);
        let end = add(start, size)?;
        if !used || size > CODE || !(start..end).contains(&address) {
            return None;
        }
        let kind = text_at(memory, memory.word(add(start, self.blob_name)?)?)?;
        let compiled = kind.ends_with("nmethod");
        // The interpreter's frames have no fixed size.
        let frame = if kind == INTERPRETER { None } else { self.frame(memory, start) };
        let name = match kind.as_str() {
            INTERPRETER => kind,
            _ if compiled => self.method(memory, memory.word(add(start, self.method)?)?)?,
            _ => kind + STUB,
        };
        (!name.is_empty()).then_some(CodeBlob { start, end, name, frame })
    }

    /// A frame of so many words ends with the return address. Code without frames has a size of 0. The offset of the
    /// instruction from which on the frame is whole is negative in stubs (`CodeOffsets::frame_never_safe`): there it is only
    /// known to be whole while they have called something.
    fn frame(&self, memory: &Memory, code: u64) -> Option<(u64, u64)> {
        let words = memory.half(add(code, self.frame_size)?)?;
        let complete = memory.half(add(code, self.frame_complete)?)?;
        let begin = memory.word(add(code, self.code_begin)?)?;
        let whole = if complete < 1 << 31 { add(begin, u64::from(complete))? } else { u64::MAX };
        let distance = u64::from(words).checked_sub(1)?.checked_mul(8)?;
        (words < FRAME).then_some((whole, distance))
    }

    /// The name of the method that is described at an address.
    fn method(&self, memory: &Memory, method: u64) -> Option<String> {
        let const_method = memory.word(add(method, self.const_method)?)?;
        let pool = memory.word(add(const_method, self.constants)?)?;
        let index = u16::from_le_bytes(memory.bytes(add(const_method, self.name_index)?)?);
        let name = memory.word(add(pool, self.constant_pool.checked_add(8 * u64::from(index))?)?)?;
        let class = memory.word(add(memory.word(add(pool, self.holder)?)?, self.class_name)?)?;
        let class = self.symbol(memory, class)?;
        // What follows tells hidden classes of one name apart.
        let class = class.split(['/', '+']).take_while(|part| !part.starts_with("0x")).collect::<Vec<_>>().join(".");
        Some(format!("{class}.{}", self.symbol(memory, name)?))
    }

    fn symbol(&self, memory: &Memory, symbol: u64) -> Option<String> {
        let length = usize::from(u16::from_le_bytes(memory.bytes(add(symbol, self.length)?)?)).min(SYMBOL);
        let bytes = memory.some(add(symbol, self.body)?, length)?;
        let text = String::from_utf8(bytes).ok()?;
        (!text.is_empty() && !text.contains(char::is_control)).then_some(text)
    }
}

fn add(address: u64, offset: u64) -> Option<u64> {
    address.checked_add(offset)
}

/// A number of 64 bits in a row of a table.
fn long(row: &[u8], at: usize) -> u64 {
    row.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The zero-terminated text at an address, as far as it is printable.
fn text_at(memory: &Memory, address: u64) -> Option<String> {
    Some(text(&memory.upto(address, NAME)?))
}

/// The rows of a table up to the one whose first pointer is null.
fn table(memory: &Memory, address: u64, row: usize) -> Option<Vec<u8>> {
    let mut rows = Vec::new();
    while rows.len() < ENTRIES * row {
        let part = memory.upto(add(address, rows.len() as u64)?, 64 * row)?;
        let whole = part.get(..part.len() - part.len() % row)?;
        let end = whole.chunks_exact(row).position(|r| long(r, 0) == 0);
        rows.extend_from_slice(whole.get(..end.map_or(whole.len(), |end| end * row))?);
        if end.is_some() || whole.is_empty() {
            break;
        }
    }
    (!rows.is_empty()).then_some(rows)
}

fn text(bytes: &[u8]) -> String {
    bytes.iter().take_while(|b| b.is_ascii_graphic() || **b == b' ').map(|b| char::from(*b)).collect()
}

/// A part of the memory that holds names.
struct NameMemory {
    start: u64,
    bytes: Vec<u8>,
}

impl NameMemory {
    /// Reads what lies around pointers to names. A null pointer has none.
    fn of(memory: &Memory, pointers: impl Iterator<Item = u64> + Clone) -> Option<NameMemory> {
        let start = pointers.clone().filter(|p| *p != 0).min()?;
        let end = pointers.max()?.checked_add(NAME as u64)?;
        let size = end.checked_sub(start).filter(|size| *size <= NAMES)?;
        Some(NameMemory { start, bytes: memory.upto(start, usize::try_from(size).ok()?)? })
    }

    fn at(&self, pointer: u64) -> Option<String> {
        let rest = self.bytes.get(usize::try_from(pointer.checked_sub(self.start)?).ok()?..)?;
        let name = text(rest.get(..NAME.min(rest.len()))?);
        (!name.is_empty()).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    /// What lies where in the memory of a virtual machine that has one method.
    #[derive(Default)]
    struct Image(Vec<u8>);

    impl Image {
        fn put(&mut self, at: u64, bytes: &[u8]) {
            let at = at as usize;
            self.0.resize(self.0.len().max(at + bytes.len()), 0);
            self.0[at..at + bytes.len()].copy_from_slice(bytes);
        }

        fn word(&mut self, at: u64, value: u64) {
            self.put(at, &value.to_le_bytes());
        }

        fn name(&mut self, at: &mut u64, name: &str) -> u64 {
            let here = *at;
            self.put(here, name.as_bytes());
            *at += name.len() as u64 + 1;
            here
        }

        fn memory(&self) -> Memory {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&self.0).unwrap();
            Memory(file)
        }
    }

    const TABLES: Tables = Tables { pid: 0, fields: 0x10, types: 0x18 };
    const SHOP: (u64, u64) = (0x8108, 0x8208);

    fn image() -> Image {
        let mut image = Image::default();
        let fields: &[(&str, &str, bool, u64)] = &[
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
            ("CodeBlob", "_code_begin", false, 0x18),
            ("CodeBlob", "_frame_size", false, 0x20),
            ("CodeBlob", "_frame_complete_offset", false, 0x24),
            ("CompiledMethod", "_method", false, 0x10),
            ("Method", "_constMethod", false, 8),
            ("ConstMethod", "_constants", false, 8),
            ("ConstMethod", "_name_index", false, 0x10),
            ("ConstantPool", "_pool_holder", false, 8),
            ("Klass", "_name", false, 8),
            ("Symbol", "_length", false, 0),
            ("Symbol", "_body", false, 2),
        ];
        let mut names = 0x3000;
        image.word(0x10, 0x1000);
        image.word(0x18, 0x2800);
        for (index, (of, field, is_static, place)) in fields.iter().enumerate() {
            let row = 0x1000 + (FIELD * index) as u64;
            let (of, field) = (image.name(&mut names, of), image.name(&mut names, field));
            image.word(row, of);
            image.word(row + 8, field);
            image.word(row + 24, u64::from(*is_static));
            image.word(row + if *is_static { 40 } else { 32 }, *place);
        }
        for (index, (of, size)) in [("HeapBlock", 8), ("ConstantPool", 0x20)].into_iter().enumerate() {
            let row = 0x2800 + (TYPE * index) as u64;
            let of = image.name(&mut names, of);
            image.word(row, of);
            image.word(row + 32, size);
        }
        // The list of heaps, one heap of 64 segments of 128 bytes from 0x8000 on, and its map.
        image.word(0x5000, 0x5010);
        image.put(0x5010, &1u32.to_le_bytes());
        image.word(0x5018, 0x5020);
        image.word(0x5020, 0x5100);
        image.word(0x5110, 0x8000);
        image.word(0x5118, 0xa000);
        image.word(0x5140, 0x5200);
        image.put(0x5180, &7u32.to_le_bytes());
        image.put(0x5200, &[0xff; 64]);
        image.put(0x5202, &[0, 1, 2, 3]);
        // A block of four segments with a method.
        image.put(0x8104, &[1]);
        let kind = image.name(&mut names, "nmethod");
        image.word(SHOP.0, kind);
        image.put(SHOP.0 + 8, &0x100u32.to_le_bytes());
        image.word(SHOP.0 + 0x10, 0x6000);
        image.word(SHOP.0 + 0x18, SHOP.0 + 0x40);
        image.put(SHOP.0 + 0x20, &[6, 0, 0, 0, 12, 0, 0, 0]);
        image.word(0x6008, 0x6100);
        image.word(0x6108, 0x6200);
        image.put(0x6110, &3u16.to_le_bytes());
        image.word(0x6208, 0x6300);
        image.word(0x6220 + 24, 0x6400);
        image.word(0x6308, 0x6500);
        image.put(0x6400, b"\x04\0sell");
        image.put(0x6500, b"\x0d\0com/acme/Shop");
        image
    }

    fn find(image: &Image, address: u64) -> Option<CodeBlob> {
        let memory = image.memory();
        VmOffsets::read(&memory, TABLES)?.piece(&memory, address)
    }

    #[test]
    fn a_method_is_named_by_class_and_name() {
        // Six words, the last of which is the return address; whole after twelve bytes of code.
        let frame = Some((SHOP.0 + 0x40 + 12, 40));
        let expected = CodeBlob { start: SHOP.0, end: SHOP.1, name: "com.acme.Shop.sell".to_owned(), frame };
        for address in [SHOP.0, 0x8180, SHOP.1 - 1] {
            assert_eq!(find(&image(), address).as_ref(), Some(&expected), "{address:#x}");
        }
        for address in [0x8000, SHOP.1, 0x9fff, 0xa000] {
            assert_eq!(find(&image(), address), None, "{address:#x}");
        }
        let mut unused = image();
        unused.put(0x8104, &[0]);
        assert_eq!(find(&unused, 0x8180), None);
    }

    #[test]
    fn what_is_no_method_has_the_virtual_machine_s_name_for_it() {
        let mut stub = image();
        let mut names = 0x3f00;
        for (kind, expected) in [("Interpreter", "Interpreter"), ("_new_instance_Java", "_new_instance_Java (HotSpot)")]
        {
            let kind = stub.name(&mut names, kind);
            stub.word(SHOP.0, kind);
            let found = find(&stub, 0x8180).unwrap();
            assert_eq!((found.name.as_str(), found.frame.is_some()), (expected, expected != "Interpreter"));
        }
        let mut stub = image();
        stub.put(SHOP.0 + 0x24, &[0xff; 4]);
        assert_eq!(find(&stub, 0x8180).unwrap().frame, Some((u64::MAX, 40)));
        // A method that the interpreter runs is known by where it is described.
        let memory = image().memory();
        let layout = VmOffsets::read(&memory, TABLES).unwrap();
        assert_eq!(layout.method(&memory, 0x6000).as_deref(), Some("com.acme.Shop.sell"));
        assert_eq!(layout.method(&memory, 0x7000), None);
    }

    proptest! {
        #[test]
        fn damaged_memory_is_survived(
            changes in prop::collection::vec((0usize..0x8200, any::<u64>()), 0..8), length in 0usize..0x8300,
        ) {
            let mut damaged = image();
            for (at, value) in changes {
                damaged.put(at as u64, &value.to_le_bytes());
            }
            damaged.0.truncate(length.max(0x4000));
            for address in [0, 0x8000, 0x8180, 0xa000, u64::MAX] {
                let _ = find(&damaged, address);
            }
        }
    }
}
