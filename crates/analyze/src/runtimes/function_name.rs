//! A demangled function name of Rust, C++, Go, Java or C, taken apart.

/// A function's name, parsed once for all look-ups.
#[derive(Debug)]
pub struct FunctionName<'n> {
    /// The whole name.
    pub name: &'n str,
    /// The C name in it (see [`plain`]).
    pub c_name: &'n str,
    /// True when it is more than a C name: it has a path or a compiler's suffix.
    pub has_path: bool,
    /// Its paths: one, or those of the type and the trait of `<Type as Trait>::function`.
    pub paths: Vec<String>,
}

impl<'n> FunctionName<'n> {
    /// Parses a name.
    pub fn new(name: &'n str) -> FunctionName<'n> {
        let has_path = name.contains("::") || name.contains('.');
        FunctionName { name, c_name: plain(name), has_path, paths: paths(name) }
    }
}

/// A C name without leading underscores, symbol version and compiler suffixes: `__random` and `random@@GLIBC_2.2.5`
/// become `random`.
pub fn plain(name: &str) -> &str {
    let name = name.split('@').next().unwrap_or(name);
    // Looked up for each function of each stack: one pass over the name, not one for each suffix.
    let may_be = |at: &usize| matches!(name.as_bytes().get(at + 1), Some(b'c' | b'p' | b'i' | b'l'));
    // `main.partition` has no suffix: it ends there, or a number follows.
    let ends = |rest: &str| rest.is_empty() || rest.starts_with('.');
    let begins = |at: &usize| {
        let rest = name.get(*at..).unwrap_or_default();
        SUFFIXES.iter().any(|suffix| rest.strip_prefix(suffix).is_some_and(ends))
    };
    let suffix = |at: &usize| may_be(at) && begins(at);
    let end = name.match_indices('.').map(|(at, _)| at).find(suffix);
    name.get(..end.unwrap_or(name.len())).unwrap_or(name).trim_start_matches('_')
}

/// What compilers append to the name of a function that they split or copy.
const SUFFIXES: [&str; 6] = [".constprop", ".part", ".isra", ".cold", ".lto_priv", ".llvm"];

/// A name as people write it: without type arguments, parameters and compiler suffixes. The answer also keeps the whole
/// name.
pub fn readable(name: &str) -> String {
    if let Some(name) = of_cython(name).or_else(|| nested_in_python(name)) {
        return name;
    }
    let name = &without_go_types(written(name));
    let name = without_notes(name).trim_start_matches("(anonymous namespace)::");
    if !name.contains("::") && !name.contains(['<', '(']) || name.starts_with('(') || is_go(name) || initializes(name) {
        return name.to_owned();
    }
    let name = closures_alone(&name.replace("(anonymous namespace)::", ""));
    let told = match paths(&name).as_slice() {
        // The type says more than the trait, unless it is a type parameter.
        [of, by] if of.contains("::") => {
            let method = by.rsplit("::").next().unwrap_or_default();
            format!("{of}::{method}")
        }
        [.., path] => path.clone(),
        [] => String::new(),
    };
    if told.is_empty() { name } else { told }
}

/// The Python name of a function that Cython made: `numcodecs.blosc.compress` for
/// `__pyx_pw_9numcodecs_5blosc_21compress`. Each part has its length before it; a function that Python calls has a number
/// instead (Cython/Compiler/Naming.py and Symtab.py).
fn of_cython(name: &str) -> Option<String> {
    let name = plain(name).strip_prefix("pyx_")?;
    let numbered = name.strip_prefix("pw_").or_else(|| name.strip_prefix("pf_"));
    let mut rest = numbered.or_else(|| name.strip_prefix("f_"))?;
    let is_next = |rest: &str| numbered.is_none() || rest.starts_with(|c: char| c.is_ascii_digit());
    let mut told = String::new();
    loop {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = rest.get(..rest.len() - after.len())?;
        let part = digits.parse().ok().and_then(|length: usize| after.split_at_checked(length));
        let next = part.and_then(|(part, rest)| Some((part, rest.strip_prefix('_').filter(|rest| is_next(rest))?)));
        let Some((part, inner)) = next else { return (!after.is_empty()).then(|| told + after) };
        told = told + part + ".";
        rest = inner;
    }
}

/// The name of a Python function without a name of its own, or inside of another one: `load.<lambda>` for
/// `load.<locals>.<lambda>` (PEP 3155). `<module>` has no part before it.
fn nested_in_python(name: &str) -> Option<String> {
    const UNNAMED: [&str; 5] = ["<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>"];
    let unnamed =
        UNNAMED.iter().any(|part| name.strip_suffix(part).is_some_and(|of| of.is_empty() || of.ends_with('.')));
    (unnamed || name.contains(".<locals>.")).then(|| name.replace(".<locals>", ""))
}

/// The function in which code was written, where Go's compiler wrapped a deferred call or a started goroutine into one of its
/// own: `main.serve` for `main.serve.deferwrap1`.
pub fn written(name: &str) -> &str {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let wrapped = [".deferwrap", ".gowrap"].iter().find_map(|wrap| digits.strip_suffix(wrap));
    wrapped.filter(|_| digits.len() < name.len()).unwrap_or(name)
}

/// The package of a Go function: `example.com/lru/v2` for `example.com/lru/v2.(*Cache).Get`.
pub fn package(name: &str) -> &str {
    let path = name.split(['(', '[']).next().unwrap_or(name);
    let last = path.rfind('/').unwrap_or(0);
    let end = path.get(last..).and_then(|last_part| last_part.find('.'));
    path.get(..last + end.unwrap_or(path.len() - last)).unwrap_or(path)
}

/// True for a Java class's constructors and its static initializer, whose names are in angle brackets (JVM specification,
/// 2.9).
fn initializes(name: &str) -> bool {
    name.ends_with(".<init>") || name.ends_with(".<clinit>")
}

/// True for Go's methods, whose receiver is in brackets.
fn is_go(name: &str) -> bool {
    !name.contains("::") && name.contains(".(")
}

/// Removes Go's type arguments, which are in square brackets: `lru.(*Cache[go.shape.uint64]).Get`,
/// `slices.SortFunc[...]`. A shape may be any type, with all its fields.
fn without_go_types(name: &str) -> String {
    let other = name.contains("::") || name.contains(['<', '{']) || !name.contains('.');
    if other && !name.contains("[go.shape.") {
        return name.to_owned();
    }
    let mut told = String::with_capacity(name.len());
    let mut depth = 0_usize;
    for c in name.chars() {
        depth += usize::from(c == '[');
        if depth == 0 {
            told.push(c);
        }
        depth = depth.saturating_sub(usize::from(c == ']'));
    }
    told
}

/// Removes ` [clone .constprop.0]` and the like.
fn without_notes(name: &str) -> &str {
    name.find(" [").and_then(|at| name.get(..at)).unwrap_or(name)
}

/// `{lambda(int, char)#1}` becomes `{lambda}`, without the parameters of its call operator.
fn closures_alone(name: &str) -> String {
    let mut told = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("{lambda(") {
        told += before;
        told += "{lambda}";
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    (told + rest).replace("{lambda}::operator()", "{lambda}")
}

/// The paths of a name, without type arguments, parameters and return type: one, or those of the type and the trait of
/// `<Type as Trait>::function`.
fn paths(name: &str) -> Vec<String> {
    let name = name.trim();
    if name.starts_with('<') {
        let end = closing(name).unwrap_or(name.len());
        let inner = name.get(1..end).unwrap_or("");
        let rest = name.get(end + 1..).unwrap_or("");
        return match split_as(inner) {
            Some((of, by)) => vec![bare(of), bare(by) + &bare(rest)],
            None => vec![bare(inner) + &bare(rest)],
        };
    }
    vec![bare(name)]
}

/// Index of the `>` that closes the `<` at the start. The `>` of an arrow closes nothing.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_i32;
    let mut previous = b' ';
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if previous != b'-' && previous != b'=' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(i);
        }
        previous = byte;
    }
    None
}

/// Splits at the ` as ` that is not inside brackets.
fn split_as(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_i32;
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'[' => depth += 1,
            b'>' | b')' | b']' => depth -= 1,
            b' ' if depth == 0 => {
                if let Some(rest) = text.get(i..).and_then(|t| t.strip_prefix(" as ")) {
                    return Some((text.get(..i)?, rest));
                }
            }
            _ => {}
        }
    }
    None
}

/// A path without type arguments, parameters, references, return type and the ABI of a library (`[abi:cxx11]`).
fn bare(text: &str) -> String {
    let text = text.replace("[abi:cxx11]", "");
    let text = text.trim_start_matches(['&', '*', '[', '(']).trim_start_matches("mut ").trim_start_matches("dyn ");
    let mut kept = String::with_capacity(text.len());
    let mut depth = 0_i32;
    let mut previous = ' ';
    for (i, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if previous != '-' && previous != '=' => depth = (depth - 1).max(0),
            // Go's methods and C++'s unnamed namespace have brackets inside the path.
            '(' if depth == 0 => match text.get(i..) {
                Some(t) if t.starts_with("(*") || t.starts_with("(anonymous namespace)") => kept.push(c),
                _ => break,
            },
            ' ' if depth == 0 && !kept.ends_with("operator") && !kept.ends_with("(anonymous") => kept.clear(),
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
        previous = c;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_suffixes_are_no_part_of_a_name() {
        for (name, told) in [
            ("work.constprop.0", "work"),
            ("work.isra.0.cold", "work"),
            ("__memset.part.3", "memset"),
            ("work.llvm.1234", "work"),
            ("main.partition", "main.partition"),
            ("org.coldstore.Shelf.put", "org.coldstore.Shelf.put"),
        ] {
            assert_eq!(plain(name), told);
        }
    }

    #[test]
    fn functions_have_packages() {
        for (name, told) in [
            ("example.com/lru/v2.(*Cache[go.shape.*example.com/a/b.T]).Get", "example.com/lru/v2"),
            ("github.com/klauspost/compress/zstd.(*Encoder).EncodeAll.func1", "github.com/klauspost/compress/zstd"),
            ("database/sql.Open", "database/sql"),
            ("main.run", "main"),
            ("memcpy", "memcpy"),
        ] {
            assert_eq!(package(name), told);
        }
    }

    #[test]
    fn names_as_people_say_them() {
        let info = "spdlog::logger::info<unsigned long&>(fmt::v9::basic_format_string<char, long&>, unsigned long&)";
        for (name, told) in [
            ("simulate", "simulate"),
            ("main.(*registry).record", "main.(*registry).record"),
            ("example.com/lru/v2.(*Cache[go.shape.uint64,go.shape.*uint8]).Get", "example.com/lru/v2.(*Cache).Get"),
            ("slices.SortFunc[...]", "slices.SortFunc"),
            ("main.(*Table).Plan.deferwrap1", "main.(*Table).Plan"),
            ("runtime.gcBgMarkStartWorkers.gowrap12", "runtime.gcBgMarkStartWorkers"),
            ("main.deferwrap", "main.deferwrap"),
            ("com.acme.Shop.sell", "com.acme.Shop.sell"),
            ("com.acme.Shop.<init>", "com.acme.Shop.<init>"),
            ("com.acme.Shop$Stock.<clinit>", "com.acme.Shop$Stock.<clinit>"),
            ("admit(unsigned int, unsigned int)", "admit"),
            ("lru.(*Cache[go.shape.struct { main.to []uint16; main.f func(int) <-chan int }]).Get", "lru.(*Cache).Get"),
            ("std::map<int, Order>::erase[abi:cxx11](std::_Rb_tree_iterator<Order>)", "std::map::erase"),
            (info, "spdlog::logger::info"),
            ("scan_block(unsigned char const*, Tally*) [clone .constprop.0]", "scan_block"),
            ("(anonymous namespace)::ingest(leveldb::DB*, int)", "ingest"),
            ("run(int)::{lambda(int, char)#2}::operator()(int, char) const", "run"),
            ("moka::sync::Cache<K,V,S>::get_with", "moka::sync::Cache::get_with"),
            ("<r2d2::PooledConnection<M> as core::ops::Drop>::drop", "r2d2::PooledConnection::drop"),
            ("<T as moka::Weigh>::weigh", "moka::Weigh::weigh"),
            ("(anonymous)", "(anonymous)"),
            ("app::main::{{closure}}", "app::main::{{closure}}"),
            ("operator new(unsigned long)", "operator new"),
            ("__pyx_pw_9numcodecs_5blosc_5Blosc_3encode", "numcodecs.blosc.Blosc.encode"),
            ("__pyx_pf_9numcodecs_5blosc_20compress", "numcodecs.blosc.compress"),
            ("__pyx_pw_5blosc_3get_name", "blosc.get_name"),
            ("__pyx_f_5blosc_get_lock", "blosc.get_lock"),
            ("__pyx_memoryview_new", "__pyx_memoryview_new"),
            ("main.<locals>.<genexpr>", "main.<genexpr>"),
            ("Feed.load.<locals>.parse", "Feed.load.parse"),
            ("<lambda>", "<lambda>"),
            ("<module>", "module"),
        ] {
            assert_eq!(readable(name), told, "{name}");
        }
    }
}
