//! The arguments of a mark: where their values are when a thread passes the mark.
//!
//! Imports nothing of the crate. A note has each argument as `SIZE@OPERAND`, the operand in the assembler's form:
//! `8@%rdi`, `-4@$-1`, `8@-24(%rbp)`, `8@x0`, `8@[sp, 16]`. The size is in bytes, negative for signed values.

/// How many arguments the format allows.
const ARGUMENT_LIMIT: usize = 12;

/// The longest text of an operand that is kept for a message, in characters.
const TEXT_LIMIT: usize = 80;

/// An argument of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// Size in bytes: 1, 2, 4 or 8. Further bytes at the place do not belong to the value.
    pub size: u8,
    /// Whether the value must be sign-extended.
    pub signed: bool,
    /// Where the value is.
    pub place: ArgumentLocation,
}

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentLocation {
    /// It is this constant. Unsigned values above `i64::MAX` are stored as the negative number with the same 64 bits.
    Constant(i64),
    /// In a register.
    Register(RegisterPart),
    /// In memory, at base + index × scale + displacement.
    Memory {
        /// The register with the base address; none for zero.
        base: Option<RegisterPart>,
        /// The register that is scaled and added; none for zero.
        index: Option<Index>,
        /// Added, in bytes.
        displacement: i64,
    },
}

/// A register, or a part of one, as the kernel stores it for an interrupted program (`struct pt_regs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterPart {
    /// Its place in `struct pt_regs`, in words of 8 bytes.
    ///
    /// x86-64: r15 0, r14 1, r13 2, r12 3, bp 4, bx 5, r11 6, r10 7, r9 8, r8 9, ax 10, cx 11, dx 12, si 13, di 14,
    /// sp 19 (`arch/x86/include/asm/ptrace.h`). AArch64: x0 to x30 are 0 to 30, sp is 31
    /// (`arch/arm64/include/uapi/asm/ptrace.h`).
    pub word: u8,
    /// How many bits to shift the word to the right: 8 for the second byte of a register (`%ah`), otherwise 0.
    pub shift: u8,
    /// Size in bytes, after the shift: 1, 2, 4 or 8.
    pub size: u8,
}

/// An index register in an address, with its scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index {
    /// The register with the index: a whole one.
    pub register: RegisterPart,
    /// What it is multiplied by: 1, 2, 4 or 8.
    pub scale: u8,
}

/// An argument that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the argument `{text}`: {reason}")]
pub struct OperandError {
    /// Its text in the note, at most 80 characters; not safe to display unescaped.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// How a processor's registers are named and its operands are written.
pub(super) type OperandParser = fn(operand: &str) -> Result<ArgumentLocation, &'static str>;

pub(super) const X86_64: OperandParser = x86_64;
pub(super) const AARCH64: OperandParser = aarch64;

const NUMBER: &str = "a number in it cannot be read";
const REGISTER: &str = "it names no general register of this processor";
const SYMBOL: &str = "its address depends on a symbol or on the instruction pointer";
const FORM: &str = "its form is unknown";

/// Parses all arguments of a note.
pub(super) fn parse(text: &str, registers: OperandParser) -> Vec<Result<Argument, OperandError>> {
    // Arguments are separated by spaces, but some also contain spaces: only text that starts with a size begins a new
    // one.
    let mut operands: Vec<String> = Vec::new();
    for word in text.split_ascii_whitespace() {
        match operands.last_mut() {
            Some(last) if split_size(word).is_none() => {
                last.push(' ');
                last.push_str(word);
            }
            _ => operands.push(word.to_owned()),
        }
    }
    operands.truncate(ARGUMENT_LIMIT);
    let argument = |operand: &String| {
        argument(operand, registers)
            .map_err(|reason| OperandError { text: operand.chars().take(TEXT_LIMIT).collect(), reason })
    };
    operands.iter().map(argument).collect()
}

/// Splits `SIZE@OPERAND`.
fn split_size(text: &str) -> Option<(&str, &str)> {
    let (size, operand) = text.split_once('@')?;
    let digits = size.strip_prefix('-').unwrap_or(size).trim_end_matches('f');
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some((size, operand))
}

fn argument(text: &str, registers: OperandParser) -> Result<Argument, &'static str> {
    let (size, operand) = split_size(text).ok_or("it has no size")?;
    let signed = size.starts_with('-');
    let size = match size.trim_start_matches('-') {
        "1" => 1,
        "2" => 2,
        "4" => 4,
        "8" => 8,
        _ => return Err("it is not an integer of 1, 2, 4 or 8 bytes"),
    };
    Ok(Argument { size, signed, place: registers(operand)? })
}

/// A decimal or hexadecimal number of 64 bits, with or without a sign.
fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|digit: char| digit.is_ascii_digit()) {
        return None;
    }
    let (digits, radix) = digits.strip_prefix("0x").map_or((digits, 10), |digits| (digits, 16));
    let size = u64::from_str_radix(digits, radix).ok()?;
    if text.starts_with('-') { 0i64.checked_sub_unsigned(size) } else { Some(size.cast_signed()) }
}

/// `$1`, `%rax`, `8(%rax,%rbx,4)`. In its other dialect the assembler writes `1` and `rax`; memory operands of that
/// dialect are not read.
fn x86_64(text: &str) -> Result<ArgumentLocation, &'static str> {
    if let Some(constant) = text.strip_prefix('$') {
        return number(constant).map(ArgumentLocation::Constant).ok_or(NUMBER);
    }
    if let Some((displacement, rest)) = text.split_once('(') {
        let displacement = match displacement {
            "" => 0,
            text => number(text).ok_or(SYMBOL)?,
        };
        let mut parts = rest.strip_suffix(')').ok_or(FORM)?.split(',').map(str::trim);
        let base = match parts.next() {
            Some("%rip" | "%eip") => return Err(SYMBOL),
            Some("") | None => None,
            Some(name) => Some(whole(x86_64_register(name))?),
        };
        let index = parts.next().map(|name| whole(x86_64_register(name))).transpose()?;
        let scale = match parts.next() {
            None | Some("1") => 1,
            Some("2") => 2,
            Some("4") => 4,
            Some("8") => 8,
            Some(_) => return Err(NUMBER),
        };
        if parts.next().is_some() || (base.is_none() && index.is_none()) {
            return Err(FORM);
        }
        return Ok(ArgumentLocation::Memory {
            base,
            index: index.map(|register| Index { register, scale }),
            displacement,
        });
    }
    if let Some(constant) = number(text) {
        return Ok(ArgumentLocation::Constant(constant));
    }
    if text.contains(['[', ':', ' ']) {
        return Err(FORM);
    }
    x86_64_register(text).map(ArgumentLocation::Register).ok_or(REGISTER)
}

/// Accepts only a register of 8 bytes, as used in addresses.
fn whole(register: Option<RegisterPart>) -> Result<RegisterPart, &'static str> {
    register.filter(|register| register.size == 8).ok_or(REGISTER)
}

/// The registers with names: their index in `struct pt_regs`, and their names at 8, 4, 2 and 1 bytes.
const X86_64_NAMED: [(u8, [&str; 4]); 8] = [
    (4, ["rbp", "ebp", "bp", "bpl"]),
    (5, ["rbx", "ebx", "bx", "bl"]),
    (10, ["rax", "eax", "ax", "al"]),
    (11, ["rcx", "ecx", "cx", "cl"]),
    (12, ["rdx", "edx", "dx", "dl"]),
    (13, ["rsi", "esi", "si", "sil"]),
    (14, ["rdi", "edi", "di", "dil"]),
    (19, ["rsp", "esp", "sp", "spl"]),
];

/// The registers with numbers.
const X86_64_NUMBERED: [(u8, &str); 8] =
    [(0, "r15"), (1, "r14"), (2, "r13"), (3, "r12"), (6, "r11"), (7, "r10"), (8, "r9"), (9, "r8")];

/// The four registers whose second byte has a name.
const X86_64_SECOND_BYTES: [(u8, &str); 4] = [(5, "bh"), (10, "ah"), (11, "ch"), (12, "dh")];

fn x86_64_register(name: &str) -> Option<RegisterPart> {
    let name = name.strip_prefix('%').unwrap_or(name);
    for (word, names) in X86_64_NAMED {
        if let Some(part) = names.iter().position(|&known| known == name) {
            return Some(RegisterPart { word, shift: 0, size: 8 >> part });
        }
    }
    for (word, whole) in X86_64_NUMBERED {
        let size = match name.strip_prefix(whole) {
            Some("") => 8,
            Some("d") => 4,
            Some("w") => 2,
            Some("b") => 1,
            _ => continue,
        };
        return Some(RegisterPart { word, shift: 0, size });
    }
    let (word, _) = X86_64_SECOND_BYTES.into_iter().find(|&(_, known)| known == name)?;
    Some(RegisterPart { word, shift: 8, size: 1 })
}

/// `1`, `x0`, `w0`, `[x0]`, `[sp, 16]`, `[x0, x1]`, `[x0, x1, lsl 3]`; numbers may start with `#`.
fn aarch64(text: &str) -> Result<ArgumentLocation, &'static str> {
    let unmarked = |text: &str| number(text.strip_prefix('#').unwrap_or(text));
    if let Some(constant) = unmarked(text) {
        return Ok(ArgumentLocation::Constant(constant));
    }
    let Some(rest) = text.strip_prefix('[') else {
        if matches!(text, "xzr" | "wzr") {
            return Ok(ArgumentLocation::Constant(0));
        }
        return aarch64_register(text).map(ArgumentLocation::Register).ok_or(REGISTER);
    };
    let parts: Vec<&str> = rest.strip_suffix(']').ok_or(FORM)?.split(',').map(str::trim).collect();
    let base = Some(whole(aarch64_register(parts[0]))?);
    let (index, displacement) = match parts[1..] {
        [] => (None, 0),
        [second] => match unmarked(second) {
            Some(displacement) => (None, displacement),
            None if second.contains(':') => return Err(SYMBOL),
            None => (Some(Index { register: whole(aarch64_register(second))?, scale: 1 }), 0),
        },
        [second, shift] => {
            let scale = match shift.strip_prefix("lsl").map(str::trim).and_then(unmarked) {
                Some(shift @ 0..=3) => 1 << shift,
                _ => return Err(FORM),
            };
            (Some(Index { register: whole(aarch64_register(second))?, scale }), 0)
        }
        _ => return Err(FORM),
    };
    Ok(ArgumentLocation::Memory { base, index, displacement })
}

fn aarch64_register(name: &str) -> Option<RegisterPart> {
    let register = |word, size| Some(RegisterPart { word, shift: 0, size });
    match name {
        "sp" => return register(31, 8),
        "wsp" => return register(31, 4),
        "fp" => return register(29, 8),
        "lr" => return register(30, 8),
        _ => {}
    }
    let (size, digits) = match name.split_at_checked(1)? {
        ("x", digits) => (8, digits),
        ("w", digits) => (4, digits),
        _ => return None,
    };
    let plain = digits.len() <= 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
    let word = digits.parse().ok().filter(|&word: &u8| plain && word <= 30)?;
    register(word, size)
}
