//! Unwind information of a module: its sections, and where its functions start according to them.
//!
//! Functions of a stripped file have no names but still have their ranges here, because exceptions and stack traces
//! need these at run time.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, EhFrameHdr, Encoding, EndianSlice, Format, LittleEndian,
    Operation, RegisterRule, UnwindContext, UnwindSection, X86_64,
};

use crate::decode::Registers;
use crate::elf::ElfFile;
use crate::error::ModuleError;

/// The sections that describe how to unwind a module's functions, with the stated addresses that they refer to.
#[derive(Debug, Default)]
pub(crate) struct UnwindSections {
    pub(crate) eh_frame: Option<Arc<[u8]>>,
    pub(crate) eh_frame_hdr: Option<Arc<[u8]>>,
    pub(crate) debug_frame: Option<Arc<[u8]>>,
    pub(crate) eh_frame_range: Option<Range<u64>>,
    pub(crate) eh_frame_hdr_range: Option<Range<u64>>,
    pub(crate) text_range: Option<Range<u64>>,
    pub(crate) got_range: Option<Range<u64>>,
    functions: OnceLock<Vec<Range<u64>>>,
}

impl UnwindSections {
    pub(crate) fn read(elf: &ElfFile) -> Result<Self, ModuleError> {
        let range = |name| {
            let section = elf.section(name)?;
            Some(section.address..section.address.checked_add(section.size)?)
        };
        let mut sections = Self {
            eh_frame: elf.section_bytes(".eh_frame")?.filter(|bytes| !bytes.is_empty()),
            eh_frame_hdr: elf.section_bytes(".eh_frame_hdr")?,
            eh_frame_range: range(".eh_frame"),
            eh_frame_hdr_range: range(".eh_frame_hdr"),
            text_range: range(".text"),
            got_range: range(".got"),
            ..Self::default()
        };
        if !sections.has_search_table() {
            sections.eh_frame_hdr = None; // an unwinder then builds its own table
        }
        if sections.eh_frame.is_none() {
            sections.debug_frame = elf.section_bytes(".debug_frame")?.filter(|bytes| !bytes.is_empty());
        }
        Ok(sections)
    }

    /// True when there is unwind information at all.
    pub(crate) fn any(&self) -> bool {
        self.eh_frame.is_some() || self.debug_frame.is_some()
    }

    /// Whether `.eh_frame_hdr` has the sorted table that makes it useful; it may lack it.
    fn has_search_table(&self) -> bool {
        self.eh_frame_hdr.as_ref().is_some_and(|bytes| {
            EhFrameHdr::new(bytes, LittleEndian).parse(&self.bases(), 8).is_ok_and(|header| header.table().is_some())
        })
    }

    fn bases(&self) -> BaseAddresses {
        let start = |range: &Option<Range<u64>>| range.as_ref().map_or(0, |range| range.start);
        BaseAddresses::default()
            .set_eh_frame(start(&self.eh_frame_range))
            .set_eh_frame_hdr(start(&self.eh_frame_hdr_range))
            .set_text(start(&self.text_range))
            .set_got(start(&self.got_range))
    }

    /// The stated start of the function that covers a stated address.
    pub(crate) fn function_start(&self, address: u64) -> Option<u64> {
        self.function(address).map(|function| function.start)
    }

    /// The stated addresses of the function that covers a stated address.
    pub(crate) fn function(&self, address: u64) -> Option<Range<u64>> {
        let functions = self.functions.get_or_init(|| self.read_functions());
        let after = functions.partition_point(|function| function.start <= address);
        let function = functions.get(after.checked_sub(1)?)?;
        function.contains(&address).then(|| function.clone())
    }

    /// Where the frame of the function at a stated address begins (the canonical frame address), given the registers at
    /// that address.
    pub(crate) fn frame_address(&self, stated: u64, registers: &Registers) -> Option<u64> {
        let rule = if let Some(bytes) = &self.eh_frame {
            let mut section = EhFrame::new(bytes, LittleEndian);
            section.set_address_size(8);
            self.frame_rule(&section, stated)
        } else {
            let mut section = DebugFrame::new(self.debug_frame.as_ref()?, LittleEndian);
            section.set_address_size(8);
            self.frame_rule(&section, stated)
        };
        match rule? {
            CfaRule::RegisterAndOffset { register, offset } => {
                Some(registers.by_dwarf_number(register.0)?.wrapping_add_signed(offset))
            }
            CfaRule::Expression(_) => None,
        }
    }

    /// Of a function that moves its stack pointer to an aligned address: how far from the frame pointer the function keeps
    /// where its frame begins. `None` for any other function, and where the file has no search table.
    ///
    /// GCC writes this as an expression (`DW_OP_breg6 (rbp); DW_OP_deref`), and the caller's frame pointer as saved where
    /// the frame pointer points.
    pub(crate) fn realigned(&self, stated: u64) -> Option<i64> {
        let (frames, header, bases) = (self.eh_frame.as_ref()?, self.eh_frame_hdr.as_ref()?, self.bases());
        let mut section = EhFrame::new(frames, LittleEndian);
        section.set_address_size(8);
        let header = EhFrameHdr::new(header, LittleEndian).parse(&bases, 8).ok()?;
        let mut context = UnwindContext::new();
        let row = header
            .table()?
            .unwind_info_for_address(&section, &bases, &mut context, stated, EhFrame::cie_from_offset)
            .ok()?;
        let CfaRule::Expression(frame) = row.cfa() else { return None };
        let Some(RegisterRule::Expression(saved)) = row.register(X86_64::RBP) else { return None };
        let mut saved = saved.get(&section).ok()?.operations(ENCODING);
        let mut frame = frame.get(&section).ok()?.operations(ENCODING);
        let (saved_at, kept_at) = (from_pointer(&saved.next().ok()??)?, from_pointer(&frame.next().ok()??)?);
        let loads = matches!(frame.next().ok()?, Some(Operation::Deref { size: 8, space: false, .. }));
        let ends = matches!((saved.next(), frame.next()), (Ok(None), Ok(None)));
        (saved_at == 0 && loads && ends).then_some(kept_at)
    }

    fn frame_rule<'a, S: UnwindSection<EndianSlice<'a, LittleEndian>>>(
        &self,
        section: &S,
        stated: u64,
    ) -> Option<CfaRule<usize>> {
        let mut context = UnwindContext::new();
        let row = section.unwind_info_for_address(&self.bases(), &mut context, stated, S::cie_from_offset).ok()?;
        Some(row.cfa().clone())
    }

    fn read_functions(&self) -> Vec<Range<u64>> {
        let mut functions = if let Some(bytes) = &self.eh_frame {
            let mut section = EhFrame::new(bytes, LittleEndian);
            section.set_address_size(8);
            self.collect(&section)
        } else if let Some(bytes) = &self.debug_frame {
            let mut section = DebugFrame::new(bytes, LittleEndian);
            section.set_address_size(8);
            self.collect(&section)
        } else {
            Vec::new()
        };
        functions.sort_unstable_by_key(|function| function.start);
        functions
    }

    /// The ranges that can be read; what follows the first malformed entry cannot be found and is left out.
    fn collect<'a, S: UnwindSection<EndianSlice<'a, LittleEndian>>>(&self, section: &S) -> Vec<Range<u64>> {
        let bases = self.bases();
        let mut functions = Vec::new();
        let mut entries = section.entries(&bases);
        while let Ok(Some(entry)) = entries.next() {
            if let CieOrFde::Fde(partial) = entry
                && let Ok(function) = partial.parse(S::cie_from_offset)
                && let Some(end) = function.initial_address().checked_add(function.len())
            {
                functions.push(function.initial_address()..end);
            }
        }
        functions
    }
}

/// How expressions in unwind information are written: addresses have eight bytes. Format and version matter only to
/// operations that refer to debug information.
const ENCODING: Encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };

/// The distance from the frame pointer, where an operation is the address of something there.
fn from_pointer(operation: &Operation<EndianSlice<'_, LittleEndian>>) -> Option<i64> {
    match operation {
        Operation::RegisterOffset { register: X86_64::RBP, offset, .. } => Some(*offset),
        _ => None,
    }
}
