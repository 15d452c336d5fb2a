//! Code as its runtime reports it: the name in the form of its sources, and the file where the name has one.

use super::code_map::JitFunction;
use super::{dotnet, mono, script};
use crate::demangle::demangle;

/// The function with the name that a runtime wrote into a map file or a dump; none without a name. .NET writes the same
/// names into both.
pub(super) fn function(raw: &[u8]) -> Option<JitFunction> {
    let name = String::from_utf8_lossy(raw.trim_ascii()).into_owned();
    let name = dotnet::tidy(&name).or_else(|| mono::tidy(&name)).unwrap_or(name);
    if name.is_empty() {
        return None;
    }
    let name = demangle(&name);
    Some(script::code(&name).unwrap_or_else(|| JitFunction::named(name)))
}
