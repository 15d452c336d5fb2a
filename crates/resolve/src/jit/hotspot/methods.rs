//! A method's name, its source file, and the lines of its bytecodes.
//!
//! Imports `memory`.

use super::ints::{PACKINGS, lines};
use super::tables::{VmTypes, add};
use crate::memory::Memory;
use std::sync::Arc;

/// The longest name of a class, method or file, bytes.
const SYMBOL: usize = 1024;

/// The largest table of lines, bytes. A method has at most 65,535 bytes of bytecode.
const LINES: u64 = 1 << 18;

/// Flag of a method that has a table of lines (`_has_linenumber_table`), the same from JDK 8 to 25.
const HAS_LINES: u8 = 1;

/// What could be read of a method's description.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Method {
    /// `package.Class.method`.
    pub(super) name: Arc<str>,
    /// As the class states it, without its folder.
    pub(super) file: Option<Arc<str>>,
    /// None where they are not known.
    bytecodes: Option<Bytecodes>,
}

/// A method's bytecodes.
#[derive(Debug, PartialEq, Eq)]
struct Bytecodes {
    /// The address of the first.
    start: u64,
    /// How many bytes.
    size: u32,
    /// Lines by the bytecodes at which they begin, ascending.
    lines: Vec<(u32, u32)>,
}

impl Method {
    /// The line of a bytecode, as `Method::line_number_from_bci` finds it.
    pub(super) fn line(&self, bytecode: u32) -> Option<u32> {
        let lines = &self.bytecodes.as_ref()?.lines;
        let after = lines.partition_point(|(begins, _)| *begins <= bytecode);
        lines.get(after.checked_sub(1)?).map(|(_, line)| *line).filter(|line| *line > 0)
    }

    /// The number of the bytecode at an address.
    pub(super) fn bytecode(&self, address: u64) -> Option<u32> {
        let bytecodes = self.bytecodes.as_ref()?;
        u32::try_from(address.checked_sub(bytecodes.start)?).ok().filter(|at| *at < bytecodes.size)
    }

    /// Whether the method can have this bytecode.
    pub(super) fn has(&self, bytecode: u32) -> bool {
        self.bytecodes.as_ref().is_none_or(|bytecodes| bytecode < bytecodes.size || bytecode == 0)
    }
}

/// The fields that lead from a method to names and lines.
#[derive(Debug)]
pub(super) struct MethodFields {
    const_method: u64,
    constants: u64,
    name_index: u64,
    holder: u64,
    constant_pool: u64,
    class_name: u64,
    length: u64,
    body: u64,
    file: Option<FileField>,
    lines: Option<LineFields>,
}

/// Which structure has the index of the file's name: the class in JDK 11, its constants since JDK 17.
#[derive(Debug)]
enum FileField {
    Class(u64),
    Constants(u64),
}

/// How to find the bytecodes; the table of lines follows them.
#[derive(Debug)]
struct LineFields {
    /// The size of what precedes the bytecodes, bytes.
    header: u64,
    /// Where the size of all of it is stored, in words.
    words: u64,
    size: u64,
    flags: u64,
}

impl MethodFields {
    pub(super) fn from_types(types: &VmTypes) -> Option<MethodFields> {
        let field = |of: &str, name: &str| types.field(of, name);
        let in_class = field("InstanceKlass", "_source_file_name_index").map(FileField::Class);
        let in_constants = || field("ConstantPool", "_source_file_name_index").map(FileField::Constants);
        let lines = || {
            Some(LineFields {
                header: types.size("ConstMethod").filter(|size| size.is_multiple_of(8))?,
                words: field("ConstMethod", "_constMethod_size")?,
                size: field("ConstMethod", "_code_size")?,
                flags: field("ConstMethod", "_flags").or_else(|| field("ConstMethod", "_flags._flags"))?,
            })
        };
        Some(MethodFields {
            const_method: field("Method", "_constMethod")?,
            constants: field("ConstMethod", "_constants")?,
            name_index: field("ConstMethod", "_name_index")?,
            holder: field("ConstantPool", "_pool_holder")?,
            constant_pool: types.size("ConstantPool")?,
            class_name: field("Klass", "_name")?,
            length: field("Symbol", "_length")?,
            body: field("Symbol", "_body")?,
            file: in_class.or_else(in_constants),
            lines: lines(),
        })
    }

    /// The method that is described at an address.
    pub(super) fn read(&self, memory: &Memory, method: u64) -> Option<Method> {
        let const_method = memory.word(add(method, self.const_method)?)?;
        let pool = memory.word(add(const_method, self.constants)?)?;
        let class = memory.word(add(pool, self.holder)?)?;
        let name = self.constant(memory, pool, short(memory, add(const_method, self.name_index)?)?)?;
        let class_name = self.symbol(memory, memory.word(add(class, self.class_name)?)?)?;
        Some(Method {
            name: format!("{}.{name}", of_source(&class_name)).into(),
            file: self.file(memory, pool, class),
            bytecodes: self.bytecodes(memory, const_method),
        })
    }

    fn file(&self, memory: &Memory, pool: u64, class: u64) -> Option<Arc<str>> {
        let field = match self.file.as_ref()? {
            FileField::Class(field) => add(class, *field)?,
            FileField::Constants(field) => add(pool, *field)?,
        };
        let index = short(memory, field).filter(|index| *index > 0)?;
        self.constant(memory, pool, index).map(Into::into)
    }

    fn bytecodes(&self, memory: &Memory, const_method: u64) -> Option<Bytecodes> {
        let fields = self.lines.as_ref()?;
        let size = short(memory, add(const_method, fields.size)?)?.into();
        let first = add(const_method, fields.header)?;
        let mut bytecodes = Bytecodes { start: first, size, lines: Vec::new() };
        let [flags] = memory.bytes(add(const_method, fields.flags)?)?;
        if flags & HAS_LINES == 0 {
            return Some(bytecodes);
        }
        let end = add(const_method, 8 * u64::from(memory.half(add(const_method, fields.words)?)?))?;
        let start = add(first, size.into())?;
        let length = end.checked_sub(start)?.min(LINES);
        let bytes = memory.upto(start, usize::try_from(length).ok()?)?;
        bytecodes.lines = PACKINGS.iter().find_map(|packing| lines(&bytes, size, *packing)).unwrap_or_default();
        Some(bytecodes)
    }

    /// The text at an index of a class's constants.
    fn constant(&self, memory: &Memory, pool: u64, index: u16) -> Option<String> {
        self.symbol(memory, memory.word(add(pool, self.constant_pool.checked_add(8 * u64::from(index))?)?)?)
    }

    fn symbol(&self, memory: &Memory, symbol: u64) -> Option<String> {
        let length = usize::from(short(memory, add(symbol, self.length)?)?).min(SYMBOL);
        let bytes = memory.some(add(symbol, self.body)?, length)?;
        let text = String::from_utf8(bytes).ok()?;
        (!text.is_empty() && !text.contains(char::is_control)).then_some(text)
    }
}

fn short(memory: &Memory, address: u64) -> Option<u16> {
    memory.bytes(address).map(u16::from_le_bytes)
}

/// The name of a class in its source. The numbers of classes that the virtual machine makes for lambdas differ from run
/// to run; what follows the `+` only distinguishes hidden classes with the same name.
fn of_source(class: &str) -> String {
    let parts = class.split(['/', '+']).take_while(|part| !part.starts_with("0x"));
    let name = parts.collect::<Vec<_>>().join(".");
    match name.split_once("$$Lambda$") {
        Some((outer, number)) if number.bytes().all(|b| b.is_ascii_digit()) => format!("{outer}$$Lambda"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::of_source;

    #[test]
    fn a_lambda_has_the_name_of_its_class_in_every_run() {
        assert_eq!(of_source("com/acme/Shop"), "com.acme.Shop");
        assert_eq!(of_source("com/acme/Shop$$Lambda$60+0x00007f2a3c0a1000"), "com.acme.Shop$$Lambda");
        assert_eq!(of_source("com/acme/Shop$$Lambda$60/0x0000000800c8"), "com.acme.Shop$$Lambda");
        assert_eq!(of_source("com/acme/Shop$$Lambda+0x00007f2a3c0a1000"), "com.acme.Shop$$Lambda");
        assert_eq!(of_source("com/acme/Shop$1"), "com.acme.Shop$1");
    }
}
