//! A function at an address, as its compiler described it.

/// One function at an address; where others were inlined, each of them is one.
#[derive(Debug, Default)]
pub(crate) struct Site {
    /// The name, mangled when the compiler recorded that.
    pub(crate) name: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}
