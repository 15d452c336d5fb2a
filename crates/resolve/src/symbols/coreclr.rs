//! Functions of .NET's virtual machine, by the tables through which managed code finds them.
//!
//! Released builds of `libcoreclr.so` are stripped. But the machine binds methods of the class library to its own
//! functions by name when a program runs, so each build carries these names: for each class of the library a list of
//! its internal methods (`ECClass` and `ECFunc`, ecall.h and ecalllist.h), and for the calls that need a transition a
//! list of pairs (`DllImportEntry`, qcallentrypoints.cpp; .NET 7 and newer). A wait inside the machine can then be told
//! by the function that managed code called: `System.Threading.Monitor.ReliableEnter` is a `lock` statement.
//! Compiled code calls the functions that allocate without a name. They are recognised by their places in the table that
//! the machine fills with faster versions at start (`hlpDynamicFuncTable`, jitinterface.cpp and jithelpers.h).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::module::Module;

/// A name in these tables is at most this long; longer text is something else.
const NAME_LIMIT: usize = 100;

/// How many entries of such lists are read in all. .NET 8 has some 400; lists of a damaged file may overlap.
const METHODS_LIMIT: usize = 100_000;

/// So many pairs of a name and a function must follow each other. One alone may be chance; the shortest list of the
/// machine's own has more than a hundred.
const FEWEST_PAIRS: usize = 16;

/// The flags before each function of a class (ecall.h): the list ends here; a signature follows.
const ENDS: u64 = 1;
const HAS_SIGNATURE: u64 = 2;

/// Functions of one source file lie at most so far apart, in bytes.
const NEAR: u64 = 0x3000;

/// All flags that exist, in the low 16 bits of their word; above them is a number for methods that are bound at start.
const FLAGS: u64 = 0xf;

/// The functions of `module` that its tables name, by the stated address of their first instruction. Empty for other
/// modules, and where the tables have another form.
pub(super) fn functions(module: &Module) -> BTreeMap<u64, String> {
    let named = module.path().file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"libcoreclr.so"));
    if !named {
        return BTreeMap::new();
    }
    MachineTables::read(module).map(|tables| tables.functions()).unwrap_or_default()
}

/// A function of the machine itself. Programs in other languages may have one of the same name.
fn in_machine(name: &str) -> String {
    format!("CoreCLR::{name}")
}

/// Words and texts of the file, as they are once it is loaded at its stated addresses.
struct MachineTables {
    /// Tables of addresses that stay as they are, and those that change.
    constant: Words,
    changing: Words,
    texts: (u64, Arc<[u8]>),
    code: Range<u64>,
}

struct Words {
    start: u64,
    words: Vec<u64>,
}

impl MachineTables {
    fn read(module: &Module) -> Option<Self> {
        let elf = &module.elf;
        let bytes = |name: &str| Some((elf.section(name)?.address, elf.section_bytes(name).ok()??));
        let code = elf.section(".text")?;
        let words = |name: &str| bytes(name).map(|(start, bytes)| Words::new(start, &bytes));
        let (mut constant, mut changing) = (words(".data.rel.ro")?, words(".data")?);
        // Most linkers leave a word empty that the loader fills with an address, and write the address here
        // (`R_X86_64_RELATIVE`, `R_AARCH64_RELATIVE`); others write it in place, too.
        for entry in bytes(".rela.dyn").as_ref().map_or(&[][..], |(_, bytes)| bytes).chunks_exact(24) {
            let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| entry[at + byte]));
            if matches!(word(8), 8 | 1027) {
                constant.set(word(0), word(16));
                changing.set(word(0), word(16));
            }
        }
        let code = code.address..code.address.checked_add(code.size)?;
        Some(Self { constant, changing, texts: bytes(".rodata")?, code })
    }

    fn functions(&self) -> BTreeMap<u64, String> {
        let mut functions = BTreeMap::new();
        self.classes(&mut functions);
        self.pairs(&mut functions);
        self.allocating(&mut functions);
        self.synchronized(&mut functions);
        functions
    }

    /// Lists of a class: name, namespace, and where its methods are.
    fn classes(&self, functions: &mut BTreeMap<u64, String>) {
        let mut room = METHODS_LIMIT;
        for triple in self.constant.words.windows(3) {
            if let Some((class, space)) = self.name(triple[0]).zip(self.name(triple[1]))
                && let Some(methods) = self.methods(triple[2], &mut room)
            {
                for (start, method) in methods {
                    functions.entry(start).or_insert_with(|| format!("{space}.{class}.{method}"));
                }
            }
        }
    }

    /// The methods at `list`: flags, function, name, and with one flag a signature; the last flags end it. None where
    /// something else is there. `room`: entries that may still be read.
    fn methods(&self, list: u64, room: &mut usize) -> Option<Vec<(u64, &str)>> {
        let mut rest = self.constant.words.get(self.constant.index(list)?..)?;
        let mut methods = Vec::new();
        loop {
            *room = room.checked_sub(1)?;
            match *rest {
                [flags, ..] if flags & ENDS != 0 => return (!methods.is_empty()).then_some(methods),
                [flags, function, name, ..] if flags & 0xffff <= FLAGS => {
                    let name = self.name(name)?;
                    // A method that the machine binds when it starts has no function here.
                    if self.code.contains(&function) {
                        methods.push((function, name));
                    } else if function != 0 {
                        return None;
                    }
                    rest = rest.get(if flags & HAS_SIGNATURE == 0 { 3 } else { 4 }..)?;
                }
                _ => return None,
            }
        }
    }

    /// Pairs of a name and a function.
    fn pairs(&self, functions: &mut BTreeMap<u64, String>) {
        let words = &self.constant.words;
        let mut at = 0;
        while at + 1 < words.len() {
            let pairs = words[at..].chunks_exact(2);
            let run: Vec<(u64, &str)> = pairs
                .map_while(|pair| Some((pair[1], self.name(pair[0]).filter(|_| self.code.contains(&pair[1]))?)))
                .collect();
            if run.len() >= FEWEST_PAIRS {
                at += 2 * run.len();
                functions.extend(run.into_iter().map(|(start, name)| (start, in_machine(name))));
            } else {
                at += 1;
            }
        }
    }

    /// Methods that are synchronized as a whole enter and leave their monitor through helpers of compiled code: to enter and
    /// leave, and the same for static methods. These four follow each other in their table, and come from the source file of
    /// the methods of `Monitor`: one before `Enter`, the others after `Exit` (jithelpers.h and jithelpers.cpp, .NET 6 to 9).
    fn synchronized(&self, functions: &mut BTreeMap<u64, String>) {
        let monitor = |method: &str| {
            let name = format!("System.Threading.Monitor.{method}");
            functions.iter().find(|(_, function)| **function == name).map(|(start, _)| *start)
        };
        let Some((enter, exit)) = monitor("Enter").zip(monitor("Exit")) else { return };
        let (before, after) = (enter.saturating_sub(NEAR)..enter, exit.saturating_add(1)..exit.saturating_add(NEAR));
        let fits = |run: &[u64]| match *run {
            [first, second, third, fourth] => {
                before.contains(&first)
                    && after.contains(&second)
                    && second < third
                    && (third..after.end).contains(&fourth)
            }
            _ => false,
        };
        let Some(helpers) = self.constant.words.windows(4).find(|run| fits(run)) else { return };
        for &start in helpers {
            functions.entry(start).or_insert_with(|| in_machine("JIT_Mon"));
        }
    }

    /// Of the helpers that may be replaced, those for new objects come twice, those for new arrays three times, and
    /// then comes nothing for a while (.NET 6 to 9). The function for new strings is alone in its table, and lies between
    /// the two.
    fn allocating(&self, functions: &mut BTreeMap<u64, String>) {
        let words = &self.changing.words;
        let is_code = |word: u64| self.code.contains(&word);
        let helpers = words.windows(9).find_map(|run| match *run {
            [object, same, array, second, third, 0, 0, 0, 0]
                if is_code(object) && object == same && is_code(array) && array == second && array == third =>
            {
                (object < array).then_some((object, array))
            }
            _ => None,
        });
        let Some((object, array)) = helpers else { return };
        functions.entry(object).or_insert_with(|| in_machine("JIT_New"));
        functions.entry(array).or_insert_with(|| in_machine("JIT_NewArr1"));
        let mut alone = words.windows(3).filter(|run| run[0] == 0 && run[2] == 0).map(|run| run[1]);
        if let Some(string) = alone.find(|word| (object + 1..array).contains(word)) {
            functions.entry(string).or_insert_with(|| in_machine("FramedAllocateString"));
        }
    }

    /// The name at an address: letters, digits, and the signs that names of .NET have.
    fn name(&self, address: u64) -> Option<&str> {
        let (start, texts) = &self.texts;
        let text = texts.get(usize::try_from(address.checked_sub(*start)?).ok()?..)?;
        let text = &text[..text.len().min(NAME_LIMIT)];
        let text = std::str::from_utf8(&text[..text.iter().position(|&byte| byte == 0)?]).ok()?;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '`');
        (text.len() > 1 && text.chars().all(fits)).then_some(text)
    }
}

impl Words {
    fn new(start: u64, bytes: &[u8]) -> Self {
        let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(std::array::from_fn(|at| word[at])));
        Self { start, words: words.collect() }
    }

    fn index(&self, address: u64) -> Option<usize> {
        let within = address.checked_sub(self.start)?;
        let index = usize::try_from(within / 8).ok()?;
        (within % 8 == 0 && index < self.words.len()).then_some(index)
    }

    fn set(&mut self, address: u64, value: u64) {
        if let Some(index) = self.index(address) {
            self.words[index] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: u64 = 0x10_0000;
    const TEXTS: u64 = 0x1000;
    const CONSTANT: u64 = 0x2000;

    /// Tables of these words; a text stands for its address, a number below 100 for a function.
    fn tables(constant: &[Word], changing: &[u64]) -> MachineTables {
        let mut texts = Vec::new();
        let words = constant.iter().map(|word| match *word {
            Text(text) => {
                let at = TEXTS + texts.len() as u64;
                texts.extend(text.bytes().chain([0]));
                at
            }
            Function(number) => function(number),
            At(index) => CONSTANT + 8 * index,
            Plain(number) => number,
        });
        let constant = Words { start: CONSTANT, words: words.collect() };
        let changing = changing.iter().map(|&number| if number == 0 { 0 } else { function(number) }).collect();
        let changing = Words { start: 0x9000, words: changing };
        MachineTables { constant, changing, texts: (TEXTS, texts.into()), code: CODE..CODE + 0x1000 }
    }

    enum Word {
        Text(&'static str),
        Function(u64),
        At(u64),
        Plain(u64),
    }
    use Word::{At, Function, Plain, Text};

    fn function(number: u64) -> u64 {
        CODE + 16 * number
    }

    fn names(tables: &MachineTables) -> Vec<(u64, String)> {
        tables.functions().into_iter().map(|(start, name)| ((start - CODE) / 16, name)).collect()
    }

    /// The high bits of a method's flags are a number, or all set.
    const BOUND_LATER: u64 = 0xffff_ffff_ff00_0000;

    #[test]
    fn methods_of_a_class_have_its_name() {
        let all = tables(
            &[
                Plain(BOUND_LATER),
                Function(1),
                Text("ReliableEnter"),
                Plain(HAS_SIGNATURE),
                Function(2),
                Text("Exit"),
                Plain(77),
                Plain(0x1f_0000),
                Plain(0),
                Text("FastAllocateString"),
                Plain(BOUND_LATER | ENDS),
                Text("Monitor"),
                Text("System.Threading"),
                At(0),
            ],
            &[],
        );
        let expected = [(1, "System.Threading.Monitor.ReliableEnter"), (2, "System.Threading.Monitor.Exit")];
        assert_eq!(names(&all), expected.map(|(start, name)| (start, name.to_owned())));
    }

    #[test]
    fn a_list_that_does_not_end_or_holds_no_functions_is_none() {
        let open = [Plain(0), Function(1), Text("Enter"), Text("Monitor"), Text("System.Threading"), At(0)];
        assert_eq!(names(&tables(&open, &[])), []);
        let other = [Plain(0), Plain(5), Text("Enter"), Plain(ENDS), Text("Monitor"), Text("System.Threading"), At(0)];
        assert_eq!(names(&tables(&other, &[])), []);
    }

    #[test]
    fn pairs_count_where_many_follow_each_other() {
        let pairs = |count: usize| {
            let pair = |number: usize| [Text("ThreadNative_Start"), Function(number as u64 + 1)];
            [Plain(3)].into_iter().chain((0..count).flat_map(pair)).chain([Plain(0)]).collect::<Vec<_>>()
        };
        assert_eq!(names(&tables(&pairs(FEWEST_PAIRS), &[])).len(), FEWEST_PAIRS);
        assert_eq!(names(&tables(&pairs(FEWEST_PAIRS - 1), &[])), []);
    }

    #[test]
    fn helpers_of_synchronized_methods_are_found_by_their_places() {
        let names_of = |helpers: [u64; 4]| {
            let methods = [Plain(0), Function(40), Text("Enter"), Plain(0), Function(50), Text("Exit"), Plain(ENDS)];
            let class = [Text("Monitor"), Text("System.Threading"), At(4)];
            names(&tables(&helpers.map(Function).into_iter().chain(methods).chain(class).collect::<Vec<_>>(), &[]))
        };
        let found = |helpers| names_of(helpers).iter().filter(|(_, name)| name == "CoreCLR::JIT_Mon").count();
        assert_eq!(found([39, 51, 52, 54]), 4);
        assert_eq!(found([39, 52, 51, 54]), 0, "in another order");
        assert_eq!(found([41, 51, 52, 54]), 0, "between the two");
    }

    #[test]
    fn functions_that_allocate_are_found_by_their_places() {
        let expected = [(10, "CoreCLR::JIT_New"), (15, "CoreCLR::FramedAllocateString"), (20, "CoreCLR::JIT_NewArr1")];
        let expected = expected.map(|(start, name)| (start, name.to_owned()));
        let table = [0, 15, 0, 3, 3, 3, 10, 10, 20, 20, 20, 0, 0, 0, 0, 30, 0, 0];
        assert_eq!(names(&tables(&[], &table)), expected);
        let other = [0, 15, 0, 3, 3, 3, 10, 10, 20, 20, 0, 0, 0, 0, 30, 0, 0];
        assert_eq!(names(&tables(&[], &other)), []);
    }
}
