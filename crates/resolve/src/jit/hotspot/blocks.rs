//! The blocks of HotSpot's code cache: which block is at an address, its kind, and how its frames are left.
//!
//! Imports `memory`.

use super::tables::{VmTypes, add, text_at};
use crate::memory::Memory;

/// How many parts of the code cache are looked at (JDK 9 has three), and how many steps back to the beginning of a
/// block, each of up to 254 segments.
const HEAPS: u32 = 16;
const STEPS: usize = 4096;

/// HotSpot's name for the interpreter's code.
pub(super) const INTERPRETER: &str = "Interpreter";

/// The largest frame of a compiled method, in words. A thread's stack usually has one MiB.
const FRAME: u32 = 1 << 17;

/// The largest block of code, in bytes; compiled methods have up to some megabytes.
const CODE: u64 = 64 << 20;

/// A block that is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) start: u64,
    pub(super) end: u64,
    /// HotSpot's name for it: `nmethod`, `Interpreter`, or the name of a stub.
    pub(super) kind: String,
    /// The address of its method's description, and the number of the compilation where that is known.
    pub(super) method: Option<(u64, u32)>,
}

/// Offsets and addresses of the fields that lead from an address to a block.
#[derive(Debug)]
pub(super) struct BlockFields {
    /// The address of the list of the code cache's parts.
    heaps: u64,
    len: u64,
    data: u64,
    memory: u64,
    segments: u64,
    segment_size: u64,
    low: u64,
    high: u64,
    /// The size of a block's header with its mark of use, and the offset of that mark.
    used: u64,
    header: u64,
    name: u64,
    size: u64,
    code: CodeField,
    frame_size: u64,
    frame_complete: u64,
    method: u64,
    compile_id: Option<u64>,
}

/// How the beginning of a block's instructions is stored. JDK 25 has the second form.
#[derive(Debug)]
enum CodeField {
    Address(u64),
    Distance(u64),
}

impl BlockFields {
    pub(super) fn from_types(types: &VmTypes, memory: &Memory) -> Option<BlockFields> {
        let field = |of: &str, name: &str| types.field(of, name);
        let code = field("CodeBlob", "_code_begin").map(CodeField::Address);
        Some(BlockFields {
            heaps: memory.word(field("CodeCache", "_heaps")?)?,
            // JDK 11 has the second name.
            len: field("GrowableArrayBase", "_len").or_else(|| field("GenericGrowableArray", "_len"))?,
            data: field("GrowableArray<int>", "_data")?,
            memory: field("CodeHeap", "_memory")?,
            segments: field("CodeHeap", "_segmap")?,
            segment_size: field("CodeHeap", "_log2_segment_size")?,
            low: field("VirtualSpace", "_low")?,
            high: field("VirtualSpace", "_high")?,
            used: field("HeapBlock", "_header")?.checked_add(field("HeapBlock::Header", "_used")?)?,
            header: types.size("HeapBlock")?,
            name: field("CodeBlob", "_name")?,
            size: field("CodeBlob", "_size")?,
            code: code.or_else(|| field("CodeBlob", "_code_offset").map(CodeField::Distance))?,
            frame_size: field("CodeBlob", "_frame_size")?,
            frame_complete: field("CodeBlob", "_frame_complete_offset")?,
            method: field("CompiledMethod", "_method").or_else(|| field("nmethod", "_method"))?,
            compile_id: field("nmethod", "_compile_id"),
        })
    }

    /// The block around an address.
    pub(super) fn find(&self, memory: &Memory, address: u64) -> Option<Block> {
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
                0 => {
                    let start = add(add(low, segment << size)?, self.header)?;
                    return self.block(memory, start).filter(|block| (start..block.end).contains(&address));
                }
                0xff => return None,
                back => segment = segment.checked_sub(back.into())?,
            }
        }
        None
    }

    /// The block that starts at an address, after its header; none when it is not in use.
    pub(super) fn block(&self, memory: &Memory, start: u64) -> Option<Block> {
        let used = memory.bytes::<1>(add(start.checked_sub(self.header)?, self.used)?)?[0] != 0;
        let size = u64::from(memory.half(add(start, self.size)?)?);
        if !used || size > CODE {
            return None;
        }
        let kind = text_at(memory, memory.word(add(start, self.name)?)?)?;
        let method = if kind.ends_with("nmethod") {
            let compilation = self.compile_id.and_then(|field| memory.half(add(start, field)?));
            Some((memory.word(add(start, self.method)?)?, compilation.unwrap_or(0)))
        } else {
            None
        };
        (!kind.is_empty()).then_some(Block { start, end: add(start, size)?, kind, method })
    }

    /// Where a block's instructions begin.
    pub(super) fn code(&self, memory: &Memory, block: u64) -> Option<u64> {
        match self.code {
            CodeField::Address(field) => memory.word(add(block, field)?),
            CodeField::Distance(field) => add(block, u64::from(memory.half(add(block, field)?)?)),
        }
    }

    /// The address of the first instruction at which a block's frame is complete. In stubs the offset is negative
    /// (`CodeOffsets::frame_never_safe`): their frame is known to be complete only while they call something.
    pub(super) fn whole(&self, memory: &Memory, block: u64) -> Option<u64> {
        let field = add(block, self.frame_complete)?;
        let complete = match self.code {
            CodeField::Address(_) => i32::from_le_bytes(memory.bytes(field)?),
            CodeField::Distance(_) => i16::from_le_bytes(memory.bytes(field)?).into(),
        };
        let code = self.code(memory, block)?;
        u64::try_from(complete).map_or(Some(u64::MAX), |complete| add(code, complete))
    }

    /// For a block whose stack frame has a fixed size: from which instruction the frame is complete, and how many bytes
    /// the return address is then above the stack pointer. The return address is the last word of the frame. Code
    /// without frames has a size of 0.
    pub(super) fn frame(&self, memory: &Memory, block: &Block) -> Option<(u64, u64)> {
        if block.kind == INTERPRETER {
            return None;
        }
        let words = memory.half(add(block.start, self.frame_size)?)?;
        let distance = u64::from(words).checked_sub(1)?.checked_mul(8)?;
        (words < FRAME).then_some((self.whole(memory, block.start)?, distance))
    }
}
