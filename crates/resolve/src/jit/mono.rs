//! Converts the names that Mono writes into a map file (`--jitmap`) to the form of its sources.
//!
//! Mono's own form (mono_method_full_name in debug-helpers.c) has a colon before the method, the types of its
//! parameters, and what a generated method wraps.

use super::dotnet;

/// `App.Cache`1/Entry<int>:Add (int)` as `App.Cache.Entry.Add`; none for a name in another form.
pub(super) fn tidy(raw: &str) -> Option<String> {
    let method = match raw.strip_prefix("(wrapper ") {
        Some(rest) => rest.split_once(") ")?.1,
        None => raw,
    };
    let (name, parameters) = method.split_once(" (")?;
    let name = without_arguments(name);
    let (class, method) = name.rsplit_once(':')?;
    if !parameters.ends_with(')') || class.is_empty() || method.is_empty() || class.contains([' ', ':', '(']) {
        return None;
    }
    // Calls into the virtual machine, which belong to no class.
    if class == "object" {
        return Some(method.strip_prefix("__icall_wrapper_").unwrap_or(method).to_owned());
    }
    dotnet::of_source(class, method)
}

/// A name without its type arguments: ``List`1<System.Collections.Generic.List`1<int>>`` is `List`. The angle brackets
/// of names that the compiler made stay.
fn without_arguments(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    let (mut depth, mut counting) = (0_u32, false);
    for c in name.chars() {
        match c {
            // Type arguments come after a name; names that the compiler made begin with a bracket.
            '<' if depth > 0 || counting || kept.ends_with(|last: char| last.is_alphanumeric()) => depth += 1,
            '>' if depth > 0 => depth -= 1,
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

    #[test]
    fn names_are_those_of_the_source() {
        for (raw, name) in [
            ("Quotes.TariffBook:Issue (int,string,int,double)", "Quotes.TariffBook.Issue"),
            ("Program:Main (string[])", "Program.Main"),
            ("Quotes.TariffBook:.ctor ()", "Quotes.TariffBook..ctor"),
            ("(wrapper managed-to-native) System.Threading.Monitor:Exit (object)", "System.Threading.Monitor.Exit"),
            (
                "(wrapper managed-to-native) object:__icall_wrapper_mono_monitor_enter_v4_internal (object,intptr)",
                "mono_monitor_enter_v4_internal",
            ),
            ("(wrapper runtime-invoke) object:runtime_invoke_void (object,intptr)", "runtime_invoke_void"),
            ("App.Cache`2/Entry<int, string>:Add (int,string)", "App.Cache.Entry.Add"),
            (
                "System.Collections.Generic.Dictionary`2<int, System.Collections.Generic.List`1<int>>:TryGetValue (int,int&)",
                "System.Collections.Generic.Dictionary.TryGetValue",
            ),
            ("App.Program/<>c__DisplayClass0_0:<Main>b__1 ()", "App.Program.Main.lambda"),
            ("App.Job/<RunAsync>d__5:MoveNext ()", "App.Job.RunAsync"),
        ] {
            assert_eq!(tidy(raw).as_deref(), Some(name), "{raw}");
        }
    }

    #[test]
    fn names_of_other_forms_stay_unchanged() {
        for raw in [
            "generic_trampoline_jit",
            "LazyCompile:*work /app/main.js:3",
            "JS:*render (inline) /app/main.js:3:4",
            "py::run:/x y.py",
            "Lcom/acme/Stock;::take",
            "a::b (int)",
            ":x ()",
            "X: ()",
            "(wrapper ",
            "",
        ] {
            assert_eq!(tidy(raw), None, "{raw}");
        }
    }
}
