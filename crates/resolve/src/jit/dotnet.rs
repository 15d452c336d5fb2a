//! Converts the names that .NET writes into a map file to the form of its sources.
//!
//! CoreCLR's own form (perfmap.cpp) includes the return type, the assembly, the classes that the compiler made for
//! lambdas and state machines, and the optimization level.

/// `instance void [App] App.Cache+<>c::<Get>b__0(string)[Tier0]` as `App.Cache.Get.lambda`; none for a name in another
/// form.
pub(super) fn tidy(raw: &str) -> Option<String> {
    // The number of a stub differs from run to run.
    if let Some((_, what)) = raw.strip_prefix("stub<").and_then(|stub| stub.split_once('>')) {
        return Some(format!("stub<>{what}"));
    }
    let (before, method) = raw.split_once("::")?;
    // The assembly is in brackets before the class; the assembly of a return type is not followed by a blank.
    let (assembly, class) = before.rsplit_once("] ").map(|(before, class)| (before.rsplit_once('['), class))?;
    assembly?;
    let method = method.split(['(', '[']).next()?.trim();
    if class.is_empty() || class.contains(' ') {
        return None;
    }
    of_source(&without_arguments(class), method)
}

/// The source's name of a method as metadata has it: the class with the number of its type parameters.
pub(crate) fn of_metadata(class: &str, method: &str) -> Option<String> {
    of_source(&without_arguments(class), method)
}

/// The source's name of a method; none where it has none. `class` has no type arguments.
pub(super) fn of_source(class: &str, method: &str) -> Option<String> {
    if method.is_empty() {
        return None;
    }
    let mut name = String::with_capacity(class.len() + method.len());
    let mut within = None;
    for part in class.split(['+', '/']) {
        match made_by_compiler(part) {
            None => push(&mut name, part),
            // `<RunAsync>d__5`: the state machine of an async or iterator method.
            Some((Some(of), _)) => within = Some(of.to_owned()),
            Some((None, _)) => {}
        }
    }
    match (made_by_compiler(method), within) {
        (Some((None, _)), _) => push(&mut name, "lambda"),
        (Some((Some(of), rest)), _) => {
            push(&mut name, of);
            // The statements of a file without a class are in `<Main>$`.
            if rest == "$" {
                return Some(name);
            }
            // `<Main>g__Sum|0_1` is a function inside Main, `<Main>b__0_1` a lambda.
            push(&mut name, rest.strip_prefix("g__").and_then(|r| r.split('|').next()).unwrap_or("lambda"));
        }
        (_, Some(of)) if method == "MoveNext" => push(&mut name, &of),
        // Libraries number the code that they generate, such as regular expressions. The number is dropped, because with
        // more threads there are more of the same.
        _ if class == "dynamicClass" => push(&mut name, without_number(method)),
        _ => push(&mut name, method),
    }
    Some(name)
}

/// A name without the number at its end.
pub(super) fn without_number(name: &str) -> &str {
    let kept = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if kept.is_empty() { name } else { kept }
}

fn push(name: &mut String, part: &str) {
    if !name.is_empty() {
        name.push('.');
    }
    name.push_str(part);
}

/// The method in a name that the compiler made, and the rest: `<Main>b__0` gives `Main` and `b__0`, `<>c` gives no
/// method.
fn made_by_compiler(part: &str) -> Option<(Option<&str>, &str)> {
    let inside = part.strip_prefix('<')?;
    // `<<Main>$>b__0` is of `<Main>$`.
    let (of, rest) = match inside.strip_prefix('<') {
        Some(inner) => inner.split_once(">$>")?,
        None => inside.split_once('>')?,
    };
    Some(((!of.is_empty()).then_some(of), rest))
}

/// A class without its type arguments: ``Dictionary`2[System.Int32,System.Int64]+Entry`` is `Dictionary+Entry`.
fn without_arguments(class: &str) -> String {
    let mut kept = String::with_capacity(class.len());
    let (mut depth, mut counting) = (0_u32, false);
    for c in class.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            '`' => counting = true,
            _ if counting && c.is_ascii_digit() => {}
            _ => {
                counting = false;
                kept.push(c);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tidied(raw: &str) -> String {
        tidy(raw).unwrap_or_else(|| "none".to_owned())
    }

    #[test]
    fn names_are_those_of_the_source() {
        let cases = [
            ("instance void [App] App.Cache::Add(string)[OptimizedTier1]", "App.Cache.Add"),
            ("void [App] Program::Main(string[])[Tier0]", "Program.Main"),
            (
                "instance bool [System.Private.CoreLib] System.Collections.Generic.Dictionary`2[System.__Canon,System.Int32]::TryGetValue(!0,!1&)[PreJIT]",
                "System.Collections.Generic.Dictionary.TryGetValue",
            ),
            (
                "instance class [System.Private.CoreLib]System.Threading.Tasks.Task [App] App.Job::RunAsync()[Tier0]",
                "App.Job.RunAsync",
            ),
            ("instance void [App] Program+<>c__DisplayClass0_0::<Main>b__1()[QuickJitted]", "Program.Main.lambda"),
            ("instance void [App] App.Job+<RunAsync>d__5::MoveNext()[OptimizedTier1]", "App.Job.RunAsync"),
            ("int32 [App] Program::<Main>g__Sum|0_1(int32)", "Program.Main.Sum"),
            ("void [App] Program::<Main>$(string[])[Tier0]", "Program.Main"),
            ("void [App] Program::<<Main>$>b__0_1()[Tier0]", "Program.Main.lambda"),
            ("int32 [App] Program::<<Main>$>g__Sum|0_1(int32)[Tier0]", "Program.Main.Sum"),
            ("instance void [App] Program+<<Main>$>d__0::MoveNext()[Tier0]", "Program.Main"),
            ("void [App] Program::<>m__0()[Tier0]", "Program.lambda"),
            (
                "instance bool [System.Text.RegularExpressions] dynamicClass::Go12(class Runner)[Optimized]",
                "dynamicClass.Go",
            ),
            ("instance bool [App] App.Board::Go12()[Tier0]", "App.Board.Go12"),
            (
                "stub<777> AllocateTemporaryEntryPoints<PRECODE_FIXUP>",
                "stub<> AllocateTemporaryEntryPoints<PRECODE_FIXUP>",
            ),
            (
                "instance !0 [System.Private.CoreLib] System.Collections.Generic.List`1+Enumerator[System.Int32]::get_Current()[PreJIT]",
                "System.Collections.Generic.List.Enumerator.get_Current",
            ),
        ];
        for (raw, name) in cases {
            assert_eq!(tidied(raw), name, "{raw}");
        }
    }

    #[test]
    fn names_of_other_forms_stay_unchanged() {
        let others = [
            "LazyCompile:*work /app/main.js:3",
            "py::run:/x y.py",
            "Lcom/acme/Stock;::take",
            "a::b(int)",
            "x] ::y",
            "[a] ::",
            "[a] b::",
            "",
        ];
        for raw in others {
            assert_eq!(tidy(raw), None, "{raw}");
        }
    }
}
